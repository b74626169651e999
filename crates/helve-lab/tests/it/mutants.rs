//! Bugs that are put in on purpose.

use helve_lab::drive::{Campaign, Verdict};
use helve_lab::mutants::Mutant;

/// The bug, and a rule that must be among those it breaks.
const FOUND_BY: [(Mutant, &str); 4] = [
    (Mutant::AckBeforeCommit, "I1"),
    (Mutant::BlindRetry, "I3"),
    (Mutant::EffectBeforeIntent, "I5"),
    (Mutant::UnknownAsFailed, "I7"),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_seeded_bug_is_found_by_its_rule() {
    assert_eq!(FOUND_BY.map(|(mutant, _)| mutant), Mutant::ALL);
    for (mutant, rule) in FOUND_BY {
        // One failing round may be cut short by another rule, so all of them are played until the rule speaks.
        let campaign = Campaign { mutant: Some(mutant), keep_going: true, ..super::campaign(100) };
        let Verdict { failures, .. } = campaign.run().await.unwrap();
        let broken: Vec<&str> =
            failures.iter().flat_map(|one| &one.finding.violations).map(|violation| violation.rule).collect();
        assert!(broken.contains(&rule), "{mutant} was not found by {rule}, but by {broken:?}");
        failures.iter().for_each(|failure| _ = std::fs::remove_dir_all(&failure.dir));
    }
}
