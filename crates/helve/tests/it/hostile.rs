//! Hostile schemas, patterns and documents through every door of the real server: each is refused or served, others are
//! answered throughout, and the memory that the server holds stays below a bound.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::scratch;
use crate::serving::Served;

#[path = "../../../helve-tool/src/schema/hostile.rs"]
mod set;

/// A debug server alone has about 100 MiB, schemas that are held at the same time may have 256 MiB (`LIVE_BYTES_MAX`), the
/// requests and documents that are looked at meanwhile have the rest.
const RESIDENT_MIB_MAX: usize = 512;
/// What is kept of schemas that were used lately (32 MiB), and what the allocator does not give back.
const GROWTH_MIB_MAX: usize = 64;
/// As many as a busy client would have; there is more than one core.
const SENDERS: usize = 6;

/// A document with the schema as the body of an operation.
fn document(schema: &Value) -> Value {
    let whole = schema
        .to_string()
        .replace("#/$defs/", "#/components/schemas/")
        .replace("\"$ref\":\"#\"", "\"$ref\":\"#/components/schemas/Whole\"");
    let whole: Value = serde_json::from_str(&whole).unwrap();
    let mut schemas = whole.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    schemas.insert("Whole".into(), whole);
    let body = json!({"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Whole"}}}});
    let paths: Map<_, _> = [("/p".to_owned(), json!({"post": {"requestBody": body}}))].into_iter().collect();
    json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "servers": [{"url": "https://api.example.com"}],
        "paths": paths, "components": {"schemas": schemas}})
}

/// Arguments that are as bad as the schemas.
fn arguments() -> Vec<Value> {
    let mut deep = json!("no");
    for _ in 0..55 {
        deep = json!({"x": deep});
    }
    vec![
        json!({"x": "a".repeat(300_000)}),
        deep,
        json!({"x": (0..60_000).collect::<Vec<_>>()}),
        (0..20_000).map(|n| (format!("k{n}"), json!(n))).collect::<Map<_, _>>().into(),
    ]
}

/// What stands under this name in the status of a process, in MiB.
fn resident_mib(process: u32, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse::<usize>().unwrap() / 1024
}

/// Asks until it is told to stop; what was not answered well, and how often it was.
fn ask_on(served: &Served, over: &AtomicBool) -> (Vec<String>, usize) {
    let (mut failed, mut answered) = (vec![], 0);
    while !over.load(Ordering::Relaxed) {
        let answer = served.ask("GET", "/healthz", "", "");
        match answer.starts_with("HTTP/1.1 200 ") {
            true => answered += 1,
            false => failed.push(answer),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    (failed, answered)
}

/// Sends the case through one door; whether it was taken.
fn send(served: &Served, name: &str, path: &str, body: &Value) -> bool {
    let answer = served.ask("POST", path, "", &body.to_string());
    let status: u16 = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let shown: String = answer.chars().take(2000).collect();
    // 429 would mean that nobody has looked at it.
    assert!(matches!(status, 200..=299 | 400..=428 | 430..=499), "{name} at {path}: {shown}");
    assert!(
        status < 400 || answer.len() < 12_000,
        "{name} at {path}: an error of {} bytes: {shown}",
        answer.len()
    );
    status < 400
}

/// Sends a case through all doors; whether a row may have it.
fn send_everywhere(served: &Served, number: usize, (name, schema): &set::Case, arguments: &[Value]) -> bool {
    let tool = json!({"name": "theirs", "description": "A tool.", "parameters": schema});
    let messages = json!([{"role": "user", "content": "2^64"}]);
    send(served, name, "/api/chat", &json!({"messages": messages, "tools": [tool], "stream": false}));
    let import = json!({"document": document(schema), "preview": true});
    send(served, name, "/api/tools/import-openapi", &import);
    let endpoint = json!({"url_template": "http://127.0.0.1:1/", "method": "POST", "timeout_ms": 100});
    let row = json!({"name": format!("row{number}"), "description": "A row.", "parameters": schema, "endpoint": endpoint});
    let taken = send(served, name, "/api/tools", &row);
    if taken {
        let path = format!("/api/tools/row{number}");
        let arguments = &arguments[number % arguments.len()];
        send(served, name, &format!("{path}/call"), &json!({"arguments": arguments}));
        let gone = served.ask("DELETE", &path, "", "");
        assert!(gone.starts_with("HTTP/1.1 20"), "{gone}");
    }
    taken
}

/// Sends these cases, several at once; how many were taken.
fn send_all(served: &Served, cases: &[(usize, &set::Case)], arguments: &[Value]) -> usize {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut taken = 0;
        while let Some((number, case)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            taken += usize::from(send_everywhere(served, *number, case, arguments));
        }
        taken
    };
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS).map(|_| scope.spawn(work)).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).sum()
    })
}

#[test]
fn whatever_schema_a_stranger_hands_in_is_refused_or_served_and_others_are_answered() {
    let served = Served::start(&scratch(), &[("HELVE_EGRESS__ALLOW", r#"["127.0.0.1"]"#)]);
    let all = set::all();
    assert!(all.len() >= 200, "{} cases", all.len());
    // Every other one, so that both halves have the same kinds.
    let (first, second): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(|(number, _)| number % 2 == 0);
    let arguments = arguments();
    let over = AtomicBool::new(false);
    let (done, asked) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask_on(&served, &over));
        let sending = scope.spawn(|| {
            let taken = send_all(&served, &first, &arguments);
            let middle = resident_mib(served.process(), "VmRSS");
            (taken + send_all(&served, &second, &arguments), middle, resident_mib(served.process(), "VmRSS"))
        });
        let done = sending.join();
        over.store(true, Ordering::Relaxed);
        (done, asking.join().unwrap())
    });
    let (taken, middle, end) = done.unwrap();
    let (failed, answered) = asked;
    assert_eq!(failed, Vec::<String>::new());
    assert!(answered >= 20, "{answered}");
    assert!(taken >= 40 && taken <= all.len() - 60, "{taken} of {} were taken", all.len());
    let most = resident_mib(served.process(), "VmHWM");
    println!(
        "{} cases, {taken} taken, healthy {answered} times, {middle}, {end}, at most {most} MiB",
        all.len()
    );
    assert!(most <= RESIDENT_MIB_MAX, "{most} MiB");
    assert!(end <= middle + GROWTH_MIB_MAX, "{middle} MiB in the middle, {end} MiB at the end");
    assert!(served.stop(), "it ends well");
}
