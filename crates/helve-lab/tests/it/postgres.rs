//! The same load, rules and bugs with the data on a PostgreSQL that syncs; it is killed, too.

use helve_lab::database::StoreKind;
use helve_lab::drive::{Campaign, KillVerdict, LabelFilter};
use helve_lab::mutants::SEEDS;

/// Kills of one test run; `make fault ARGS="all --store postgres"` does 2,000 and 200.
const KILLS: usize = 30;
const DATABASE_KILLS: usize = 6;
/// Bugs that are about what is durable when.
const BUGS: [&str; 3] = ["ack_before_commit", "epoch_unchecked", "key_outside"];
const KILLS_OF_BUGS: usize = 300;

/// None where there is no PostgreSQL.
fn campaign(kills: usize) -> Option<Campaign> {
    if helve_test_support::find_postgres_programs().is_none() {
        helve_test_support::skip_test("fault lab on PostgreSQL", "no PostgreSQL is installed");
        return None;
    }
    Some(Campaign { store: StoreKind::Postgres, jobs: 2, ..super::campaign(kills) })
}

fn assert_no_violation(verdict: &KillVerdict, kills: usize) {
    let found: String = verdict.failures.iter().map(ToString::to_string).collect();
    assert!(verdict.failures.is_empty(), "{found}");
    assert_eq!(verdict.tally.kills, kills);
    assert!(verdict.tally.counted.events > kills, "too little was at stake\n{}", verdict.tally);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_promise_is_broken_by_kills_of_a_server_whose_data_is_on_postgresql() {
    let Some(campaign) = campaign(KILLS) else { return };
    assert_no_violation(&campaign.run().await.unwrap(), KILLS);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_promise_is_broken_by_deaths_of_postgresql_under_load() {
    let Some(campaign) = campaign(DATABASE_KILLS) else { return };
    let verdict = Campaign { places: LabelFilter::Database, ..campaign }.run().await.unwrap();
    assert_no_violation(&verdict, DATABASE_KILLS);
    assert_eq!(verdict.tally.databases.values().sum::<usize>(), DATABASE_KILLS);
}

#[tokio::test(flavor = "multi_thread")]
async fn bugs_about_what_is_durable_are_found_on_postgresql_too() {
    for name in BUGS {
        let Some(campaign) = campaign(KILLS_OF_BUGS) else { return };
        let seed = SEEDS.iter().find(|seed| seed.name == name).unwrap();
        let until = Some(seed.rule);
        let campaign = Campaign { mutant: Some(seed.mutant), until, places: LabelFilter::Labels, ..campaign };
        let verdict = campaign.run().await.unwrap();
        assert!(verdict.broke(seed.rule), "{name} was not found by {}: {:?}", seed.rule, verdict.rules());
        verdict.failures.iter().for_each(|failure| _ = std::fs::remove_dir_all(&failure.dir));
    }
}
