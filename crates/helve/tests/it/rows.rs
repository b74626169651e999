//! Tools that are rows, from the command line and beside a running server.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
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
    // `call` says first who makes the call.
    let said = err(&output);
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("no server is running")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    lines[0].to_owned()
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
    assert!(
        refused_call.contains("`list_pets` has changed and is in quarantine")
            && refused_call.contains("`helve tools show list_pets`, then `agree` or `reject`"),
        "{refused_call}"
    );
    assert!(refused(&data, &["agree", "list_pets", "--hash", "other"], "").contains("has changed meanwhile"));
    assert_eq!(done(&data, &["reject", "list_pets"], ""), "list_pets  version 1, on\n");
    assert!(refused(&data, &["agree", "list_pets"], "").contains("nothing else is offered"));

    import("Lists pets, and obeys.", &[]);
    assert_eq!(done(&data, &["agree", "list_pets"], ""), "list_pets  version 2, on\n");
    assert!(done(&data, &["list"], "").contains("Lists pets, and obeys.\n"));
    assert!(import("Lists all pets.", &["--agree"]).contains("Made: 0 new, 1 changed"));
    assert!(!done(&data, &["list"], "").contains("quarantined"));
}

/// A row as the tool system has it that Helve replaces.
const ROW: &str = r#"{"id": "weather", "name": "get_weather", "type": "invokable", "display_name": "天气", "description": "…", "category": "custom", "endpoint": {"url_template": "URL/w/{city}", "method": "GET", "headers": null, "auth": {"type": "bearer", "token_env": "WEATHER"}, "timeout": 30}, "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "…"}}, "required": ["city"]}, "response_transform": null, "rate_limit": null, "enabled": true, "version": "1.0.0", "tags": ["weather"]}"#;

#[test]
fn rows_are_imported_one_by_one_with_what_was_mapped_and_a_wrong_one_makes_the_command_fail() {
    let data = scratch();
    let row = ROW.replace("URL", "https://api.example.com");
    let inside = r#"{"id": "calc", "name": "calc", "description": "…", "endpoint": {"url_template": "internal://calculator", "method": "POST", "headers": null, "auth": null, "timeout": 5}, "parameters": {"type": "object", "properties": PARAMETERS, "required": null}, "version": "1.0.0"}"#;
    let wrong = inside.replace("PARAMETERS", r#"{"a": {"type": "number"}, "b": {"type": "number"}}"#);
    let clock = r#"{"name": "clock", "description": "…", "endpoint": {"url_template": "internal://time"}}"#;
    let lines = format!("{row}\n{wrong}\n{clock}\n");
    let output = tools(&data, &["import", "-"], &lines);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(out(&output), "get_weather  created, version 1\nclock  created, version 1\n");
    let told = err(&output);
    for part in [
        "get_weather: `endpoint.timeout` of 30 seconds became",
        "get_weather: the secret `WEATHER_TOKEN` is not bound yet: calls are refused until the operator confirms",
        "row 2 (`calc`): `parameters.properties.a`: `calculator` takes no such argument; it takes `expression`",
        "1 of 3 rows were not imported",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // By its id as well as by its name, and the call says what is missing.
    let unbound = refused(&data, &["call", "weather", r#"{"city": "Oslo"}"#], "");
    assert!(unbound.contains("The operator can confirm it: helve tools bind get_weather"), "{unbound}");
    let right = inside.replace("PARAMETERS", r#"{"expression": {"type": "string"}}"#);
    let right = right.replace(r#""required": null"#, r#""required": ["expression"]"#);
    assert!(done(&data, &["import", "-"], &right).contains("calc  created"));
    assert_eq!(done(&data, &["call", "calc", r#"{"expression": "25 * 4"}"#], ""), "100\n");
    let dry = done(&data, &["import", "-", "--replace", "--dry-run"], &row);
    assert_eq!(dry, "get_weather  can be imported\n");
}

/// Says `sunny` to everybody, and keeps what it was asked.
fn sunny_server() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let requests = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap_or(0);
            requests.lock().unwrap().push(String::from_utf8_lossy(&head[..read]).into_owned());
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\nconnection: close\r\n\r\nsunny";
            _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, heard)
}

#[test]
fn a_secret_is_bound_and_a_host_allowed_by_the_operator_alone_and_taken_back() {
    let data = scratch();
    let (url, requests) = sunny_server();
    let place = url.strip_prefix("http://").unwrap().to_owned();
    let row = ROW.replace("URL", &url);
    let refused_host = tools(&data, &["import", "-"], &row);
    assert!(err(&refused_host).contains("--allow-host"), "{}", err(&refused_host));
    assert!(done(&data, &["import", "-", "--allow-host"], &row).contains("created"));

    let served = Served::start(&data, &[("WEATHER_TOKEN", "token-0123456789")]);
    let call = || served.ask("POST", "/api/tools/weather/call", "", r#"{"arguments": {"city": "Oslo"}}"#);
    let called = call();
    assert!(called.contains("is not bound"), "{called}");
    let unconfirmed = refused(&data, &["bind", "weather"], "");
    assert!(unconfirmed.contains(&format!("--env WEATHER_TOKEN --host {place}")), "{unconfirmed}");
    let elsewhere = refused(&data, &["bind", "weather", "--host", "evil.example:443"], "");
    assert!(elsewhere.contains("nothing was bound"), "{elsewhere}");
    let own = refused(&data, &["bind", "weather", "--env", "HELVE_TOKEN", "--host", &place], "");
    assert!(own.contains("configures Helve itself"), "{own}");
    done(&data, &["bind", "weather", "--host", &place], "");

    // The server looks once a second; it gets a minute.
    let until = |word: &str| {
        for _ in 0..600 {
            let called = call();
            if called.contains(word) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("no call says `{word}`: {}", call());
    };
    until("\"outcome\":\"finished\"");
    let heard = requests.lock().unwrap().join("\n").to_lowercase();
    assert!(heard.contains("authorization: bearer token-0123456789"), "{heard}");
    let grants = done(&data, &["grants"], "");
    assert_eq!(grants.lines().count(), 2, "{grants}");
    assert!(served.ask("GET", "/api/tools/weather/grants", "", "").contains("\"env\":\"WEATHER_TOKEN\""));
    assert_eq!(done(&data, &["revoke", "weather"], "").lines().count(), 2);
    until("HTTP/1.1 404");
    assert!(served.stop());
}
