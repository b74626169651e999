//! Test support for all protocols: decodes recorded frames and prints the events.
//!
//! Each protocol has the same scenarios in its `fixtures/`; a recorded stream has one frame per line.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use helve_model::ModelEvent;

use crate::protocol::Decoder;
use crate::vendors::PROTOCOLS;

const SCENARIOS: &[&str] = &[
    "streams-text",
    "reasons-then-calls",
    "calls-two-tools-at-once",
    "cut-by-length",
    "reports-overload",
    "fails-in-band",
    "whole-answer",
];

/// Decodes frames, one per line, and prints the events.
pub(crate) fn read(mut decode: Decoder, frames: &str) -> String {
    let mut events = VecDeque::new();
    let mut failed = None;
    for frame in frames.lines().map(str::trim).filter(|line| !line.is_empty()).map(Some).chain([None]) {
        if let Err(error) = decode(frame, &mut events) {
            failed = Some(error);
            break;
        }
    }
    let mut text = words(&events);
    if let Some(error) = failed {
        text.push_str(&format!("{:?}: {error}\n", error.kind));
    }
    text
}

pub(crate) fn words(events: &VecDeque<ModelEvent>) -> String {
    let mut text = String::new();
    for event in events {
        text.push_str(&match event {
            ModelEvent::Reasoning(piece) => format!("reasoning {piece:?}\n"),
            ModelEvent::Text(piece) => format!("text {piece:?}\n"),
            ModelEvent::CallStarted { index, id, tool } => {
                format!("call {index} {} {tool}\n", id.as_deref().unwrap_or("-"))
            }
            ModelEvent::CallArguments { index, text } => format!("arguments {index} {text}\n"),
            ModelEvent::CallFinished { index } => format!("complete {index}\n"),
            ModelEvent::Usage(usage) => format!(
                "usage {} {} cached {} reasoning {}\n",
                usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens
            ),
            ModelEvent::Echo(value) => format!("echo {value}\n"),
            ModelEvent::Finished(reason) => format!("finished {reason:?}\n"),
        });
    }
    text
}

fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

/// The folders of the protocols.
fn folders() -> Vec<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = names(&source).into_iter().map(|name| source.join(name));
    folders.filter(|folder| folder.join("wire.rs").exists()).collect()
}

#[test]
fn every_protocol_has_the_same_files_and_scenarios() {
    assert_eq!(folders().len(), PROTOCOLS.len());
    for folder in folders() {
        let shown = folder.display();
        let mut files = names(&folder);
        // Folders with tests.
        files.retain(|name| !["decode", "encode"].contains(&name.as_str()));
        assert_eq!(files, ["decode.rs", "encode.rs", "fixtures", "mod.rs", "wire.rs"], "{shown}");
        let fixtures = names(&folder.join("fixtures"));
        for scenario in SCENARIOS {
            let found = fixtures.iter().any(|name| name.split('.').next() == Some(scenario));
            assert!(found, "{shown} has no fixture {scenario}: {fixtures:?}");
        }
        assert_eq!(fixtures.len(), SCENARIOS.len(), "{shown}: {fixtures:?}");
        let tests = folder.join("decode").join("tests.rs");
        let tests = std::fs::read_to_string(tests).unwrap();
        for name in fixtures {
            assert!(tests.contains(&format!("../fixtures/{name}")), "{shown}: no test reads {name}");
        }
    }
}

#[test]
fn lost_doubled_or_broken_frames_never_finish_an_answer_twice() {
    // Frames of all protocols, since a wrong address may answer in another protocol.
    let frames: Vec<String> = folders()
        .iter()
        .flat_map(|folder| SCENARIOS.iter().map(move |scenario| folder.join("fixtures").join(scenario)))
        .filter_map(|fixture| std::fs::read_to_string(fixture.with_extension("jsonl")).ok())
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let mut random: u64 = 7;
    let mut below = |sides: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % sides
    };
    for protocol in PROTOCOLS {
        for _ in 0..2_000 {
            let mut decode = (protocol.decoder)();
            let mut events = VecDeque::new();
            for _ in 0..below(12) {
                let frame = &frames[below(frames.len())];
                let mut end = if below(8) == 0 { below(frame.len()) } else { frame.len() };
                while !frame.is_char_boundary(end) {
                    end -= 1;
                }
                if decode(Some(&frame[..end]), &mut events).is_err() {
                    break;
                }
            }
            _ = decode(None, &mut events);
            let ends = events.iter().filter(|event| matches!(event, ModelEvent::Finished(_))).count();
            assert!(ends <= 1, "{}: {}", protocol.name, words(&events));
        }
    }
}
