//! How every protocol is tried: recorded frames in, events out, in words.
//!
//! Each protocol has the same scenarios in its `fixtures/`, named alike; those of a stream have a frame on each line.

use std::collections::VecDeque;
use std::path::Path;

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

/// What a decoder makes of frames, one on each line.
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

#[test]
fn every_protocol_is_a_folder_of_the_same_files_with_the_same_scenarios() {
    let names = |folder: &Path| -> Vec<String> {
        let entries =
            folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders: Vec<_> =
        names(&source).into_iter().filter(|name| source.join(name).join("wire.rs").exists()).collect();
    assert_eq!(folders.len(), PROTOCOLS.len(), "{folders:?}");
    for folder in folders {
        let mut files = names(&source.join(&folder));
        // Tests that have outgrown their file.
        files.retain(|name| !["decode", "encode"].contains(&name.as_str()));
        assert_eq!(files, ["decode.rs", "encode.rs", "fixtures", "mod.rs", "wire.rs"], "{folder}");
        let fixtures = names(&source.join(&folder).join("fixtures"));
        for scenario in SCENARIOS {
            let found = fixtures.iter().any(|name| name.split('.').next() == Some(scenario));
            assert!(found, "{folder} has no fixture {scenario}: {fixtures:?}");
        }
        assert_eq!(fixtures.len(), SCENARIOS.len(), "{folder}: {fixtures:?}");
        let tests = source.join(&folder).join("decode").join("tests.rs");
        let tests = std::fs::read_to_string(tests).unwrap();
        for name in fixtures {
            assert!(tests.contains(&format!("../fixtures/{name}")), "{folder}: no test reads {name}");
        }
    }
}
