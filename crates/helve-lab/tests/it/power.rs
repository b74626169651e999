//! Power cuts at moments of a recorded life.

use helve_lab::power::{PowerCutPlan, PowerVerdict};
use helve_store_sql::Syncs;

/// The losses of one test run; `faultlab power` does as many as it is told.
const LOSSES: usize = 100;

fn cuts(losses: usize) -> PowerCutPlan {
    // To start the server after each would take too long here; the long form does.
    PowerCutPlan { start_every: 8, ..PowerCutPlan::new(super::campaign(0).command, 1, losses) }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_promise_is_broken_by_a_hundred_power_cuts() {
    let PowerVerdict { tally, bad } = cuts(LOSSES).run().await.unwrap();
    let found: String = bad.iter().map(ToString::to_string).collect();
    assert!(bad.is_empty(), "{found}");
    assert_eq!(tally.losses, LOSSES);
    // A record of nothing would have lost nothing.
    assert!(
        tally.syncs > 100 && tally.acknowledged > 300 && tally.effects > 10,
        "too little was at stake\n{tally}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_syncs_too_little_is_found_out() {
    for (syncs, rule) in [(Syncs::Checkpoints, "I1"), (Syncs::Never, "I1")] {
        let few = PowerCutPlan { syncs, start_every: usize::MAX, ..cuts(16) };
        let PowerVerdict { tally, bad } = few.run().await.unwrap();
        bad.iter().filter_map(|loss| loss.dir.as_ref()).for_each(|dir| _ = std::fs::remove_dir_all(dir));
        assert!(tally.lost(rule) > 0, "{syncs:?} was not found by {rule}\n{tally}");
    }
}
