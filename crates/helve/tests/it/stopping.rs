//! Stop, as the outside world sees it: the connections that a run holds are closed, and the record says what was sent.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::outside::{Outside, Reply, Spoken};
use crate::scratch;
use crate::serving::Served;

/// What hangs here hangs for minutes; a stop takes a moment. What lies between is for machines that are busy.
const SOON: Duration = Duration::from_secs(10);

/// A model, a service that tools call, and Helve between them.
struct StopTest {
    served: Served,
    model: Outside,
    service: Outside,
}

impl StopTest {
    fn new(model: Outside, service: Outside) -> Self {
        let data = scratch();
        let config = data.join("helve.toml");
        let text = format!(
            "default_model = \"scripted\"\n\n[[models]]\nname = \"scripted\"\nprotocol = \"openai_chat\"\n\
             base_url = \"http://{}/v1\"\nmodel = \"m\"\ntools = \"native\"\nprobe = false\n\n\
             [egress]\nallow = [\"{}\"]\n\n[[permissions]]\naction = \"allow\"\n",
            model.address, service.address
        );
        std::fs::write(&config, text).unwrap();
        let served = Served::start(&data, &[("HELVE_CONFIG", config.to_str().unwrap())]);
        let test = Self { served, model, service };
        for (name, method) in [("look", "GET"), ("send", "POST")] {
            let tool = json!({
                "name": name, "description": "Hangs.", "effect": if name == "look" { "read" } else { "non_idempotent" },
                "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
                "endpoint": {"url_template": format!("http://{}/{name}/{{q}}", test.service.address), "method": method,
                    "timeout_ms": 120_000},
            });
            let made = test.served.ask("POST", "/api/tools", "", &tool.to_string());
            assert!(made.starts_with("HTTP/1.1 201"), "{made}");
        }
        test
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.served.ask("GET", path, "", "");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    fn begin(&self) -> String {
        let answer = self.served.ask("POST", "/api/runs", "", r#"{"message": "go"}"#);
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        body["run"].as_str().unwrap().to_owned()
    }

    /// Stops the run and waits until it is over and so many connections were closed; how long that took.
    fn stop(&self, run: &str, outside: &Outside, closed: usize) -> Duration {
        let began = Instant::now();
        let told = self.served.ask("POST", &format!("/api/runs/{run}/cancel"), "", "{}");
        assert!(told.starts_with("HTTP/1.1 202") && told.ends_with(r#"{"state":"running"}"#), "{told}");
        until("the run is over", || self.get(&format!("/api/runs/{run}"))["state"] == "cancelled");
        until("the connections are closed", || outside.left() == closed);
        let again = self.served.ask("POST", &format!("/api/runs/{run}/cancel"), "", "{}");
        assert!(again.starts_with("HTTP/1.1 202") && again.ends_with(r#"{"state":"cancelled"}"#), "{again}");
        began.elapsed()
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < SOON, "not within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn idle() -> Outside {
    Outside::new(|_| Reply::Silence)
}

#[test]
fn a_model_that_is_silent_or_drips_loses_its_connection_when_the_run_is_stopped() {
    let drips = || Outside::drawling((0..10_000).map(|n| format!("word{n} ")).collect());
    for (case, model) in [("silent", Outside::speaking(|_| Spoken::Nothing)), ("dripping", drips())] {
        let test = StopTest::new(model, idle());
        let run = test.begin();
        until("the model is asked", || test.model.asked().len() == 1);
        let took = test.stop(&run, &test.model, 1);
        println!("stop while a model is {case}: {took:?}");
        assert_eq!(test.model.asked().len(), 1, "{case}: it is not asked again");
    }
}

#[test]
fn tools_that_hang_lose_their_connections_and_what_was_sent_is_unknown_what_was_not_is_not() {
    // Four at a time: the last two are never sent.
    let calls = |_: &Value| {
        let call = |n: usize| ((if n < 2 { "look" } else { "send" }).to_owned(), json!({"q": n.to_string()}));
        Spoken::Calls((0..6).map(call).collect())
    };
    let test = StopTest::new(Outside::speaking(calls), idle());
    let run = test.begin();
    until("four calls are made", || test.service.asked().len() == 4);
    let took = test.stop(&run, &test.service, 4);
    println!("stop while four tools hang: {took:?}");
    assert_eq!(test.service.asked().len(), 4);
    let executions = test.get(&format!("/api/executions?run={run}"));
    let mut states: Vec<String> = executions["executions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["tool"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    states.sort_unstable();
    assert_eq!(
        states,
        ["look failed", "look failed", "send refused", "send refused", "send unknown", "send unknown"],
        "{executions}"
    );
    let log = test.served.ask("GET", &format!("/api/runs/{run}/events"), "", "");
    assert_eq!(log.matches("\"type\":\"tool.started\"").count(), 4, "{log}");
}

#[test]
fn a_run_that_is_over_says_so_when_it_is_stopped() {
    let test = StopTest::new(Outside::speaking(|_| Spoken::Words("Done.".into())), idle());
    let run = test.begin();
    until("the run is over", || test.get(&format!("/api/runs/{run}"))["state"] == "completed");
    let told = test.served.ask("POST", &format!("/api/runs/{run}/cancel"), "", "{}");
    assert!(told.starts_with("HTTP/1.1 202") && told.ends_with(r#"{"state":"completed"}"#), "{told}");
}
