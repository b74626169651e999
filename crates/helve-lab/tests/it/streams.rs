//! Readers that are cut off, and what they miss: nothing.

use helve_lab::drive::ServerCommand;
use helve_lab::streams::{StreamBug, StreamPlan, StreamVerdict};

fn storm(events: usize, reconnects: usize, flaw: Option<StreamBug>) -> StreamPlan {
    helve::assemble::install_tls();
    let command =
        ServerCommand { program: env!("CARGO_BIN_EXE_faultlab").into(), arguments: vec!["server".into()] };
    StreamPlan { command, seed: 1, events, reconnects, flaw, dir: None, progress: |_| {} }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_events_over_a_thousand_cut_connections_come_once_each() {
    let StreamVerdict { tally, faults, kept } = storm(20_000, 1_000, None).run().await.unwrap();
    assert!(faults.is_empty(), "{}\nkept in {kept:?}\n{tally}", faults.join("\n"));
    // A storm in which nothing happened would have found nothing either.
    let happened = [
        tally.live,
        tally.cut_in_head,
        tally.cut_in_frame,
        tally.cut_in_character,
        tally.broken,
        tally.drained,
        tally.slow,
        tally.at_head,
        tally.beyond,
        tally.killed,
        tally.terminated,
    ];
    assert!(happened.iter().all(|count| *count > 0), "too little was at stake\n{tally}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_bug_between_the_server_and_a_reader_is_found() {
    for flaw in StreamBug::ALL {
        let StreamVerdict { tally, faults, kept } = storm(1_500, 120, Some(flaw)).run().await.unwrap();
        assert!(tally.struck > 0, "{} did not strike", flaw.name());
        assert!(!faults.is_empty(), "{} was not found\n{tally}", flaw.name());
        kept.iter().for_each(|dir| _ = std::fs::remove_dir_all(dir));
    }
}
