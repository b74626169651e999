//! Agents that are rows, from the command line and beside a running server.

use std::path::Path;

use serde_json::{Value, json};

use crate::serving::Served;
use crate::{err, out, run, scratch};

const CLERK: &str = r#"{"agents": [
    {"name": "clerk", "id": "u-1", "display_name": "Clerk", "description": "Tells the time.", "tools": ["time"]},
    {"name": "other"}]}"#;

fn agents(data: &Path, arguments: &[&str], input: &str) -> std::process::Output {
    run(&[&["agents"], arguments, &["--data", data.to_str().unwrap()]].concat(), input)
}

fn done(data: &Path, arguments: &[&str], input: &str) -> String {
    let output = agents(data, arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", err(&output));
    out(&output)
}

fn refused(data: &Path, arguments: &[&str], input: &str) -> String {
    let output = agents(data, arguments, input);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", out(&output));
    let said = err(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn agents_are_added_linked_changed_compared_taken_back_and_removed() {
    let data = scratch();
    let tried = done(&data, &["add", "-", "--dry-run"], CLERK);
    assert_eq!(tried, "clerk  would be created\nother  would be created\n");
    assert_eq!(
        done(&data, &["create", "-"], CLERK),
        "clerk  created, version 1\nother  created, version 1\n"
    );
    let again = refused(&data, &["import", "-"], CLERK);
    assert!(again.contains("nothing was kept") && again.contains("`clerk` already"), "{again}");
    let replaced = done(&data, &["add", "-", "--replace"], CLERK);
    assert_eq!(replaced, "clerk  unchanged, version 1\nother  unchanged, version 1\n");
    assert!(done(&data, &["list"], "").contains("clerk    version 1      Clerk: Tells the time.\n"));

    let fixed = r#"{"arguments": {"zone": "Asia/Tokyo"}}"#;
    assert_eq!(done(&data, &["link", "u-1", "time", fixed], ""), "clerk  version 2, on\n");
    let wrong = refused(&data, &["link", "clerk", "time", r#"{"arguments": {"planet": "Mars"}}"#], "");
    assert!(wrong.contains("`tools.0.config.arguments.planet`: `time` has no parameter `planet`"), "{wrong}");
    done(&data, &["link", "clerk", "calculator", "--off"], "");
    let shown = json_of(&done(&data, &["show", "clerk"], ""));
    let config = json!({"arguments": {"zone": "Asia/Tokyo"}});
    assert_eq!(shown["tools"][0], json!({"name": "time", "enabled": true, "config": config}));
    assert_eq!(shown["tools"][1], json!({"name": "calculator", "enabled": false}));
    assert_eq!(done(&data, &["unlink", "clerk", "calculator"], ""), "clerk  version 4, on\n");

    done(&data, &["edit", "clerk", r#"{"max_steps": 3}"#, "--draft"], "");
    assert_eq!(done(&data, &["diff", "clerk"], ""), "max_steps: 10 → 3\n");
    assert_eq!(json_of(&done(&data, &["show", "clerk", "--draft"], ""))["max_steps"], 3);
    assert_eq!(done(&data, &["publish", "clerk"], ""), "clerk  version 5, on\n");
    let none = refused(&data, &["discard", "clerk"], "");
    assert!(none.contains("no draft") && none.contains("--draft` begins one"), "{none}");
    assert_eq!(done(&data, &["rollback", "clerk", "1"], ""), "clerk  version 6, on\n");
    assert_eq!(done(&data, &["diff", "clerk", "1", "6"], ""), "");
    assert_eq!(done(&data, &["versions", "clerk"], "").lines().count(), 6);
    assert_eq!(json_of(&done(&data, &["versions", "clerk", "--json"], ""))[2]["version"], 3);

    let file = done(&data, &["export", "clerk"], "");
    let other = scratch();
    assert_eq!(done(&other, &["add", "-"], &file), "clerk  created, version 1\n");
    assert_eq!(done(&data, &["disable", "clerk"], ""), "clerk  version 7, off\n");
    assert!(done(&data, &["list"], "").contains("(off)"));
    assert_eq!(done(&data, &["remove", "u-1"], ""), "clerk  deleted\n");
    let unknown = refused(&data, &["show", "othre"], "");
    assert!(unknown.contains("similar names: other"), "{unknown}");
    let configured = refused(&data, &["edit", "default", r#"{"max_steps": 2}"#], "");
    assert!(configured.contains("helve.toml"), "{configured}");
}

#[test]
fn a_running_server_finds_an_agent_of_the_command_line() {
    let data = scratch();
    let served = Served::start(&data, &[]);
    done(&data, &["add", "-"], CLERK);
    let began = std::time::Instant::now();
    while !served.ask("GET", "/api/agents/u-1", "", "").contains("\"clerk\"") {
        assert!(began.elapsed().as_secs() < 10, "the server has no such agent");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
