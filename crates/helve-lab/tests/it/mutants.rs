//! Bugs that are put in on purpose.

use helve_lab::drive::{Campaign, LabelFilter};
use helve_lab::mutants::{Finder, SEEDS};

/// How many kills a bug may survive; most are found by the first few, and chance has a say in all of them.
const KILLS: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn each_seeded_bug_is_found_by_its_rule() {
    for seed in SEEDS {
        let campaign = Campaign {
            mutant: Some(seed.mutant),
            calm: seed.finder == Finder::Calm,
            until: Some(seed.rule),
            places: LabelFilter::Labels,
            ..super::campaign(KILLS)
        };
        let verdict = campaign.run().await.unwrap();
        let (name, rule) = (seed.name, seed.rule);
        assert!(verdict.broke(rule), "{name} was not found by {rule}, but by {:?}", verdict.rules());
        verdict.failures.iter().for_each(|failure| _ = std::fs::remove_dir_all(&failure.dir));
    }
}
