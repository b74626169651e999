//! Tools that are rows, from the command line and beside a running server.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::serving::Served;
use crate::{err, out, run, scratch};

const SUM: &str = r#"{"name": "sum", "display_name": "Sums", "description": "Adds up.",
    "endpoint": {"url_template": "internal://calculator"}, "tags": ["mine"]}"#;

fn tools(data: &Path, arguments: &[&str], input: &str) -> std::process::Output {
    run(&[&["tools"], arguments, &["--data", data.to_str().unwrap()]].concat(), input)
}

fn done(data: &Path, arguments: &[&str], input: &str) -> String {
    let output = tools(data, arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", err(&output));
    out(&output)
}

fn refused(data: &Path, arguments: &[&str], input: &str) -> String {
    let output = tools(data, arguments, input);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", out(&output));
    assert_eq!(err(&output).lines().count(), 1, "{}", err(&output));
    err(&output)
}

#[test]
fn a_tool_is_added_called_changed_switched_and_removed() {
    let data = scratch();
    assert_eq!(done(&data, &["add", "-", "--dry-run"], SUM), "1 tool(s) can be made\n");
    assert_eq!(done(&data, &["add", "-"], SUM), "sum  version 1, on\n");
    assert_eq!(done(&data, &["call", "sum", r#"{"expression": "31 * 47"}"#], ""), "1457\n");
    let again = refused(&data, &["add", "-"], SUM);
    assert!(again.contains("`sum` already; change it with --replace"), "{again}");
    let other = SUM.replace("Adds up.", "Adds it all up.");
    assert_eq!(done(&data, &["add", "-", "--replace"], &other), "sum  version 2, on\n");
    // However many lines a description has, a list has one for each tool.
    let lines = done(&data, &["list"], "").lines().count();
    done(&data, &["add", "-"], &SUM.replace(r#""sum""#, r#""long""#).replace("Adds up.", "\\nAdds\\n\\nup."));
    assert_eq!(done(&data, &["list"], "").lines().count(), lines + 1);
    done(&data, &["remove", "long"], "");
    assert_eq!(done(&data, &["disable", "sum"], ""), "sum  version 3, off\n");
    assert!(done(&data, &["list"], "").contains("Adds it all up. (off)"));
    let off = refused(&data, &["call", "sum", r#"{"expression": "1 + 1"}"#], "");
    assert!(off.contains("switched off"), "{off}");
    assert_eq!(done(&data, &["enable", "sum"], ""), "sum  version 4, on\n");
    let shown: Value = serde_json::from_str(&done(&data, &["show", "sum"], "")).unwrap();
    assert_eq!((&shown["source"], &shown["version"]), (&"row".into(), &4.into()));
    assert_eq!(done(&data, &["versions", "sum"], "").lines().count(), 4);
    assert_eq!(done(&data, &["remove", "sum"], ""), "sum  deleted\n");
    assert_eq!(done(&data, &["versions", "sum"], "").lines().count(), 4);
    assert!(refused(&data, &["remove", "sum"], "").contains("`helve tools list` shows them"));
    assert!(refused(&data, &["remove", "time"], "").contains("comes with Helve"));
}

#[test]
fn of_a_file_with_a_wrong_tool_nothing_is_added() {
    let data = scratch();
    let file = data.join("tools.toml");
    let text = "[[tools]]\nname = \"sum\"\ndescription = \"Adds.\"\nendpoint.url = \"internal://calculator\"\n\n\
                [[tools]]\nname = \"lost\"\ndescription = \"Nowhere.\"\nendpoint.url = \"internal://nowhere\"\n";
    std::fs::write(&file, text).unwrap();
    let wrong = refused(&data, &["add", file.to_str().unwrap()], "");
    assert!(
        wrong.starts_with("helve: the tool `lost`: `endpoint.url_template`: nothing in Helve"),
        "{wrong}"
    );
    assert!(!done(&data, &["list"], "").contains("sum"));
    std::fs::write(&file, text.replace("nowhere", "time")).unwrap();
    assert_eq!(
        done(&data, &["add", file.to_str().unwrap()], ""),
        "sum  version 1, on\nlost  version 1, on\n"
    );
}

#[test]
fn a_running_server_has_what_the_command_line_adds_and_keeps_it_over_a_restart() {
    let data = scratch();
    let served = Served::start(&data, &[]);
    let sees = |word: &str| served.ask("GET", "/api/tools", "", "").contains(word);
    // The server looks once a second; it gets a minute.
    let noticed = |word: &str, there: bool| {
        for _ in 0..600 {
            if sees(word) == there {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server does not notice that `{word}` is {there}");
    };
    assert!(!sees("\"sum\""));
    done(&data, &["add", "-"], SUM);
    noticed("\"sum\"", true);
    done(&data, &["disable", "time"], "");
    noticed("\"enabled\":false", true);
    let changed = served.ask("PATCH", "/api/tools/sum", "If-Match: \"1\"\r\n", r#"{"category": "maths"}"#);
    assert!(changed.starts_with("HTTP/1.1 200") && changed.contains("etag: \"2\""), "{changed}");
    assert!(served.stop());

    let again = Served::start(&data, &[]);
    let listed = again.ask("GET", "/api/tools?category=maths", "", "");
    assert!(listed.contains("\"sum\""), "{listed}");
    assert!(again.ask("GET", "/api/tools?enabled=false", "", "").contains("\"time\""));
    assert!(again.ask("DELETE", "/api/tools/sum", "", "").starts_with("HTTP/1.1 204"));
    assert!(!done(&data, &["list"], "").contains("sum"));
}

#[test]
fn a_configuration_may_name_tools_that_are_not_there_and_have_never_been() {
    let data = scratch();
    let file = data.join("helve.toml");
    std::fs::write(
        &file,
        "[[agents]]\nname = \"clerk\"\ntools = [\"sum\"]\n\n[tools.sum]\nenabled = false\n",
    )
    .unwrap();
    let at = ["--config", file.to_str().unwrap()];
    let with = |arguments: &[&'static str]| [arguments, &at[..]].concat();
    let doctor = |expected: &str| {
        let output = run(&[&["doctor", "--data", data.to_str().unwrap()], &at[..]].concat(), "");
        assert!(out(&output).contains(expected), "{expected}: {}", out(&output));
    };
    doctor("there is no tool `sum`");
    doctor("the agent `clerk` starts without it");
    doctor("Helve can start");
    // The tool that the configuration waits for can be made.
    assert_eq!(done(&data, &with(&["add", "-"]), SUM), "sum  version 1, off\n");
    doctor("Helve can start");
    let held = refused(&data, &with(&["enable", "sum"]), "");
    assert!(held.contains("switched off in the configuration"), "{held}");
    done(&data, &with(&["remove", "sum"]), "");
    doctor("the tool `sum` was deleted");
    doctor("Helve can start");
}

#[test]
fn one_definition_is_declared_as_each_vendor_wants_it() {
    let data = scratch();
    done(&data, &["add", "-"], SUM);
    done(&data, &["disable", "save_note"], "");
    let served = Served::start(&data, &[]);
    for (format, name, schema) in [
        ("openai", "/function/name", "/function/parameters"),
        ("anthropic", "/name", "/input_schema"),
        ("gemini", "/name", "/parameters"),
    ] {
        let printed: Value = serde_json::from_str(&done(&data, &["export", "--format", format], "")).unwrap();
        let answer = served.ask("GET", &format!("/api/tools/export?format={format}"), "", "");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(serde_json::from_str::<Value>(body).unwrap(), printed, "{format}");
        let tools = printed.pointer("/0/functionDeclarations").unwrap_or(&printed).as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.pointer(name).unwrap().as_str().unwrap()).collect();
        assert!(names.contains(&"sum") && !names.contains(&"save_note"), "{format}: {names:?}");
        let sum = tools.iter().find(|tool| tool.pointer(name).unwrap() == "sum").unwrap();
        assert!(sum.pointer(schema).unwrap()["properties"]["expression"].is_object(), "{format}: {sum}");
    }
    let unknown = served.ask("GET", "/api/tools/export?format=telex", "", "");
    assert!(unknown.starts_with("HTTP/1.1 400") && unknown.contains("unknown_format"), "{unknown}");
    assert!(refused(&data, &["export", "--format", "telex"], "").contains("`telex`"));
}

/// T38.
#[test]
fn a_document_that_changed_puts_its_tool_in_quarantine_and_the_command_line_decides() {
    let data = scratch();
    let document = |summary: &str| {
        format!(
            r#"{{"openapi": "3.1.0", "info": {{"title": "Pets", "version": "1"}}, "servers": [{{"url": "https://pets.example.com"}}],
                "paths": {{"/pets": {{"get": {{"operationId": "list_pets", "summary": "{summary}"}}}}}}}}"#
        )
    };
    let import = |summary: &str, more: &[&str]| {
        done(&data, &[&["import-openapi", "-"], more].concat(), &document(summary))
    };
    assert!(import("Lists pets.", &[]).contains("Made: 1 new"));
    let held = import("Lists pets, and obeys.", &[]);
    assert!(
        held.contains("held       list_pets") && held.contains("`helve tools agree list_pets`"),
        "{held}"
    );
    assert!(done(&data, &["list"], "").contains("Lists pets. (quarantined"));
    let shown: Value = serde_json::from_str(&done(&data, &["show", "list_pets"], "")).unwrap();
    assert_eq!(shown["description"], "Lists pets.");
    assert_eq!(shown["quarantined"]["changes"][0]["now"], "Lists pets, and obeys.");
    assert!(!done(&data, &["export"], "").contains("list_pets"));
    let refused_call = refused(&data, &["call", "list_pets"], "");
    assert!(refused_call.contains("nobody has agreed"), "{refused_call}");
    assert!(refused(&data, &["agree", "list_pets", "--hash", "other"], "").contains("has changed meanwhile"));
    assert_eq!(done(&data, &["reject", "list_pets"], ""), "list_pets  version 1, on\n");
    assert!(refused(&data, &["agree", "list_pets"], "").contains("nothing else is offered"));

    import("Lists pets, and obeys.", &[]);
    assert_eq!(done(&data, &["agree", "list_pets"], ""), "list_pets  version 2, on\n");
    assert!(done(&data, &["list"], "").contains("Lists pets, and obeys.\n"));
    assert!(import("Lists all pets.", &["--agree"]).contains("Made: 0 new, 1 changed"));
    assert!(!done(&data, &["list"], "").contains("quarantined"));
}
