//! Many deaths of the real server.

use helve_lab::drive::{Campaign, KillVerdict};
use helve_lab::labels;

/// The kills of one test run; `make fault` does 10,000.
const KILLS: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn no_promise_is_broken_by_three_hundred_kills_at_every_label_and_at_any_moment() {
    let campaign =
        Campaign { progress: |tally, _| eprintln!("{} kills", tally.kills), ..super::campaign(KILLS) };
    let KillVerdict { tally, failures } = campaign.run().await.unwrap();
    let found: String = failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{found}");
    assert_eq!(tally.kills, KILLS);
    // A campaign in which nothing happened would have found nothing either.
    for label in labels::all() {
        assert!(tally.at.contains_key(label), "nothing died at {label}\n{tally}");
    }
    assert!(tally.counted.unknown > 0 && tally.counted.effects > KILLS, "too little was at stake\n{tally}");
}
