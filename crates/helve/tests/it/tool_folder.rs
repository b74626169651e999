//! Tools that are programs in the data directory's folder, as their authors meet them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::serving::Served;
use crate::{err, helve, out, scratch};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/tools");

/// Where interpreters are on this machine.
fn search_path() -> String {
    std::env::var("PATH").unwrap()
}

fn copy_examples(data: &Path) {
    let folder = data.join("tools");
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(EXAMPLES).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
}

fn call(data: &Path, tool: &str, arguments: &Value) -> Result<String, String> {
    let arguments = arguments.to_string();
    let line = ["tools", "call", tool, &arguments, "--data", data.to_str().unwrap()];
    let output = helve().env("PATH", search_path()).args(line).output().unwrap();
    if output.status.success() { Ok(out(&output)) } else { Err(err(&output)) }
}

#[test]
fn the_examples_in_python_node_and_shell_are_tools() {
    let data = scratch();
    copy_examples(&data);
    let counted = call(&data, "word_count", &json!({"text": "one two\nthree"})).unwrap();
    assert_eq!(counted.trim(), r#"{"words": 3, "lines": 2, "characters": 13}"#);
    assert!(call(&data, "disk_space", &json!({})).unwrap().contains('%'));
    assert_eq!(call(&data, "countdown", &json!({"from": 3})).unwrap().trim(), "Lift-off.");
    let refused = call(&data, "countdown", &json!({"from": 60})).unwrap_err();
    assert!(refused.contains("50 is the most"), "{refused}");
    let invalid = call(&data, "word_count", &json!({})).unwrap_err();
    assert!(invalid.contains("text"), "{invalid}");
}

#[test]
fn a_program_dropped_into_the_folder_of_a_running_server_becomes_a_tool() {
    let data = scratch();
    let served = Served::start(&data, &[("PATH", &search_path())]);
    let folder = data.join("tools");
    fs::create_dir_all(&folder).unwrap();
    let script = "import json, sys\nprint(json.load(sys.stdin)['arguments']['n'] * 2)\n";
    fs::write(folder.join("twice.py"), script).unwrap();
    let definition = json!({
        "description": "Doubles a number.",
        "effect": "read",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    });
    fs::write(folder.join("twice.json"), definition.to_string()).unwrap();
    let listed = wait_for_state(&served, "twice", "on");
    assert_eq!((&listed["source"], &listed["effect"]), (&json!("folder"), &json!("read")));
    let called = served.ask("POST", "/api/tools/twice/call", "", r#"{"arguments": {"n": 21}}"#);
    assert!(called.contains(r#""42""#), "{called}");
    let deleted = served.ask("DELETE", "/api/tools/twice", "", "");
    assert!(deleted.contains("tool_in_folder"), "{deleted}");

    fs::write(folder.join("twice.json"), "{").unwrap();
    let broken = wait_for_state(&served, "twice", "broken");
    assert!(broken["problem"].as_str().unwrap().starts_with("`definition`"), "{broken}");
}

fn wait_for_state(served: &Served, name: &str, state: &str) -> Value {
    for _ in 0..300 {
        let answer = served.ask("GET", "/api/tools", "", "");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let tools: Value = serde_json::from_str(body).unwrap();
        let found = tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name);
        if let Some(tool) = found.filter(|tool| tool["state"] == state) {
            return tool.clone();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the tool `{name}` did not become {state}");
}
