//! A call that a client runs, through SIGKILL: who has it still has it, and its result counts once.

use crate::scratch;
use crate::serving::Served;

/// The part of an answer behind `"name":"`.
fn member<'a>(answer: &'a str, name: &str) -> &'a str {
    let (_, rest) =
        answer.split_once(&format!("\"{name}\":\"")).unwrap_or_else(|| panic!("{name}: {answer}"));
    rest.split('"').next().unwrap()
}

fn wait_for(served: &Served, run: &str, state: &str) {
    loop {
        let seen = served.ask("GET", &format!("/api/runs/{run}"), "", "");
        if member(&seen, "state") == state {
            return;
        }
        assert_eq!(member(&seen, "state"), "running", "{seen}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_claim_and_its_token_outlive_the_process_however_it_ends() {
    let data = scratch();
    let served = Served::start(&data, &[]);
    let tool = r#"{"name": "browser_js_eval", "parameters": {"type": "object", "properties": {"code": {"type": "string"}}}}"#;
    let body = format!(r#"{{"message": "run `6 * 7` in my browser", "model": "demo", "tools": [{tool}]}}"#);
    let started = served.ask("POST", "/api/runs", "", &body);
    let run = member(&started, "run").to_owned();
    wait_for(&served, &run, "waiting_client");
    let call = format!("/api/runs/{run}/calls/{run}:1:0");
    let claim = |served: &Served, client: &str| {
        served.ask("POST", &format!("{call}/claim"), "", &format!(r#"{{"client": "{client}"}}"#))
    };
    let claimed = claim(&served, "tab");
    let token = member(&claimed, "result_token").to_owned();
    let bring = |served: &Served, token: &str, result: u32| {
        let body = format!(r#"{{"result_token": "{token}", "result": {result}}}"#);
        served.ask("POST", &format!("{call}/result"), "", &body)
    };

    // To drop it is to kill it.
    drop(served);
    let served = Served::start(&data, &[]);
    assert!(claim(&served, "other").contains("claimed_elsewhere"));
    assert_eq!(member(&claim(&served, "tab"), "result_token"), token);
    drop(served);
    let served = Served::start(&data, &[]);
    assert!(bring(&served, &token[1..], 42).contains("result_token_wrong"));
    assert!(bring(&served, &token, 42).starts_with("HTTP/1.1 202"));
    drop(served);
    let served = Served::start(&data, &[]);
    wait_for(&served, &run, "completed");
    assert!(bring(&served, &token, 42).starts_with("HTTP/1.1 202"));
    assert!(bring(&served, &token, 43).contains("already_brought"));
    let events = served.ask("GET", &format!("/api/runs/{run}/events"), "", "");
    for once in ["tool.claimed", "tool.finished", "run.finished"] {
        assert_eq!(events.matches(&format!("\"type\":\"{once}\"")).count(), 1, "{events}");
    }
}
