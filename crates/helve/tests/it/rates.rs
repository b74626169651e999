//! Rate limits as the other side sees them: by its own clock, through SIGKILL.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::outside::{Outside, Reply};
use crate::scratch;
use crate::serving::Served;

/// A tool of Helve's and the service behind it, which notes when it is asked.
struct Limited {
    data: std::path::PathBuf,
    config: std::path::PathBuf,
    service: Outside,
    arrivals: Arc<Mutex<Vec<Instant>>>,
}

impl Limited {
    fn new(rate_limit: Value, more: &str) -> (Self, Served) {
        let arrivals: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let noted = arrivals.clone();
        let service = Outside::new(move |_| {
            noted.lock().unwrap().push(Instant::now());
            Reply::new(200, "application/json", "{}")
        });
        let data = scratch();
        let config = data.join("helve.toml");
        let text = format!("[egress]\nallow = [\"{}\"]\n\n{more}", service.address);
        std::fs::write(&config, text).unwrap();
        let limited = Self { data, config, service, arrivals };
        let served = limited.serve();
        let tool = json!({
            "name": "rain", "description": "Whether it rains.", "rate_limit": rate_limit,
            "endpoint": {"url_template": format!("http://{}/rain", limited.service.address)}
        });
        let made = served.ask("POST", "/api/tools", "", &tool.to_string());
        assert!(made.starts_with("HTTP/1.1 201"), "{made}");
        (limited, served)
    }

    fn serve(&self) -> Served {
        Served::start(&self.data, &[("HELVE_CONFIG", self.config.to_str().unwrap())])
    }

    fn arrived(&self) -> usize {
        self.arrivals.lock().unwrap().len()
    }
}

/// One call after the other; how each ended, in short.
fn call(served: &Served, times: usize) -> Vec<String> {
    let once = |_| {
        let answer = served.ask("POST", "/api/tools/rain/call", "", r#"{"arguments": {}}"#);
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        match body["failure"]["kind"].as_str() {
            Some(kind) => kind.to_owned(),
            None => body["outcome"].as_str().unwrap_or(&answer).to_owned(),
        }
    };
    (0..times).map(once).collect()
}

fn kill(served: Served) {
    // Dropping it is SIGKILL.
    drop(served);
}

#[test]
fn a_killed_server_has_not_forgotten_what_it_sent() {
    // An hour, so that no machine is slow enough to see the window pass.
    let hour = json!({"per_window": 5, "window_ms": 3_600_000, "wait_ms": 0});
    let (limited, served) = Limited::new(hour, "");
    assert_eq!(call(&served, 3), ["finished"; 3]);
    kill(served);
    let served = limited.serve();
    assert_eq!(call(&served, 4), ["finished", "finished", "limited", "limited"]);
    assert_eq!(limited.arrived(), 5);
    kill(served);
    let served = limited.serve();
    assert_eq!(call(&served, 2), ["limited"; 2]);
    assert_eq!(limited.arrived(), 5);
}

#[test]
fn a_window_of_the_operators_and_of_each_user_holds_across_a_kill() {
    let table = "[tools.rain]\nper_window_and_user = 2\nwindow_ms = 86400000\nwait_ms = 0\n";
    let (limited, served) = Limited::new(json!({"per_minute": 100}), table);
    assert_eq!(call(&served, 3), ["finished", "finished", "limited"]);
    kill(served);
    let served = limited.serve();
    assert_eq!(call(&served, 1), ["limited"]);
    assert_eq!(limited.arrived(), 2);
}

#[test]
fn a_limit_that_is_set_later_counts_what_was_sent_before_it() {
    let (limited, served) = Limited::new(json!({"wait_ms": 0}), "");
    assert_eq!(call(&served, 3), ["finished"; 3]);
    let change = json!({"rate_limit": {"per_window": 4, "window_ms": 3_600_000, "wait_ms": 0}});
    let changed = served.ask("PATCH", "/api/tools/rain", "", &change.to_string());
    assert!(changed.starts_with("HTTP/1.1 200"), "{changed}");
    assert_eq!(call(&served, 3), ["finished", "limited", "limited"]);
    assert_eq!(limited.arrived(), 4);
}

#[test]
fn a_crowd_arrives_no_faster_than_the_window_allows_by_the_clock_of_the_other_side() {
    let window = Duration::from_millis(300);
    let (limited, served) = Limited::new(json!({"per_window": 3, "window_ms": 300, "wait_ms": 60_000}), "");
    std::thread::scope(|crowd| {
        for _ in 0..6 {
            crowd.spawn(|| call(&served, 2));
        }
    });
    let mut arrivals = limited.arrivals.lock().unwrap().clone();
    arrivals.sort_unstable();
    assert_eq!(arrivals.len(), 12);
    for (first, last) in arrivals.iter().zip(arrivals.iter().skip(3)) {
        assert!(*last - *first >= window, "{:?}", *last - *first);
    }
}
