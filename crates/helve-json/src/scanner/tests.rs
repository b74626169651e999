//! Scans of whole texts, and of serde's.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::inspect::remove_whitespace;

/// What a scan says of a whole text: each event with its position.
fn events(text: &str, watch: usize) -> Vec<(ScanEvent, usize)> {
    let mut scan = JsonScanner::new(watch);
    let mut pos = 0;
    let mut events = vec![];
    loop {
        let event = scan.run(text.as_bytes(), &mut pos);
        if event == ScanEvent::More {
            return events;
        }
        events.push((event, pos));
        if event == ScanEvent::Bad || event == ScanEvent::Stop && scan.depth() == 0 {
            return events;
        }
    }
}

#[test]
fn outer_members_are_told_and_inner_ones_pass_in_silence() {
    use ScanEvent::{Start, Stop};
    assert_eq!(
        events(r#"{"a": {"b": [1]}, "c": 2}"#, 1),
        [
            (Start(ValueKind::Object), 1),
            (Start(ValueKind::Key), 2),
            (Stop, 4),
            (Start(ValueKind::Object), 7),
            (Stop, 16),
            (Start(ValueKind::Key), 19),
            (Stop, 21),
            (Start(ValueKind::Scalar), 24),
            (Stop, 24),
            (Stop, 25),
        ]
    );
}

#[test]
fn faults_inside_strings_are_noted_and_others_stop_the_scan() {
    let faults = |text: &str| {
        let mut scan = JsonScanner::new(0);
        let mut pos = 0;
        while !matches!(
            scan.run(text.as_bytes(), &mut pos),
            ScanEvent::More | ScanEvent::Stop | ScanEvent::Bad
        ) {}
        (scan.faults().control, scan.faults().escape)
    };
    assert_eq!(faults("[\"a\nb\"]"), (true, false));
    assert_eq!(faults(r#"["\d"]"#), (false, true));
    assert_eq!(faults(r#"["\ud83d\ude00"]"#), (false, false));
    assert_eq!(faults(r#"["\ud83d"]"#), (false, true));
    assert_eq!(faults(r#"["\ud83d\n"]"#), (false, true));
    for bad in ["{'a': 1}", "[01]", "[1,]", "{\"a\" 1}", "[tru]", "[.5]", "[1.]", "[-]"] {
        let last = events(bad, 0).pop();
        assert!(matches!(last, Some((ScanEvent::Bad, _))), "{bad}");
    }
}

#[test]
fn compact_text_keeps_digits_and_strings() {
    assert_eq!(
        remove_whitespace("{ \"a b\" : [ 1 , 2.50 ],\n\"c\":\"\\\" \\\\\" }"),
        r#"{"a b":[1,2.50],"c":"\" \\"}"#
    );
}

fn accepted(text: &str, chunk: usize) -> bool {
    let mut scan = JsonScanner::new(0);
    for piece in text.as_bytes().chunks(chunk) {
        let mut pos = 0;
        loop {
            match scan.run(piece, &mut pos) {
                ScanEvent::More => break,
                ScanEvent::Bad => return false,
                ScanEvent::Stop if scan.depth() == 0 => {}
                _ => {}
            }
        }
    }
    scan.depth() == 0 && scan.state == ScanState::After && !scan.faults().any()
}

#[test]
fn no_value_is_deeper_than_serde_reads() {
    for depth in [DEPTH_MAX, DEPTH_MAX + 1] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for chunk in [1, text.len()] {
            assert_eq!(accepted(&text, chunk), depth == DEPTH_MAX, "{depth}");
        }
    }
}

proptest! {
    #[test]
    fn the_scan_accepts_what_serde_accepts(text in r#"\{("[ab\\"u0d8]{0,6}":? ?(1|-0\.5e1|true|"x"|\[1, ?2?\]|\{\}),?){0,3}\}"#, chunk in 1usize..5) {
        let is_json = serde_json::from_str::<Value>(&text).is_ok();
        prop_assert_eq!(accepted(&text, chunk), is_json, "{}", text);
    }

    #[test]
    fn what_serde_writes_is_accepted(parts in proptest::collection::vec(".*", 0..5), number in any::<f64>(), chunk in 1usize..9) {
        let text = serde_json::json!({"parts": parts, "n": number, "deep": [[{"x": null}]]}).to_string();
        prop_assert!(accepted(&text, chunk));
    }
}
