//! A new user's first tool: added with the request of the guide, asked about, and then broken in every way there is.
//!
//! After each break three things are looked at: what the model was told, what the person sees, and what the breaker,
//! the limiter and the counts say.

use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::outside::{Outside, ReceivedRequest, Reply};
use crate::scratch;
use crate::serving::Served;

const GUIDE: &str = include_str!("../../../../docs/guide/tools.md");
const KEY: &str = "sunny-side-up-4711";

type Mood = Box<dyn Fn(&ReceivedRequest) -> Reply + Send>;

/// A weather service, a model and Helve between them.
struct Journey {
    served: Served,
    model: Outside,
    service: Outside,
    mood: Arc<Mutex<Mood>>,
    /// Near, and on nobody's list.
    secret_place: Outside,
}

impl Journey {
    /// The tool is there, made with the guide's own request.
    fn begin() -> Self {
        let mood: Arc<Mutex<Mood>> = Arc::new(Mutex::new(Box::new(good)));
        let now = mood.clone();
        let service = Outside::new(move |asked| now.lock().unwrap()(asked));
        let model = Outside::model("weather", "city");
        let secret_place = Outside::new(|_| Reply::new(200, "application/json", r#"{"crown": "jewels"}"#));
        let data = scratch();
        let config = data.join("helve.toml");
        std::fs::write(
            &config,
            format!(
                "default_model = \"scripted\"\n\n[[models]]\nname = \"scripted\"\nprotocol = \"openai_chat\"\n\
                 base_url = \"http://{}/v1\"\nmodel = \"m\"\ntools = \"native\"\nprobe = false\n\n\
                 [egress]\nallow = [\"{at}\", \"127.0.0.1:9\"]\n\n\
                 [secrets.weather]\nenv = \"WEATHER_KEY\"\nhosts = [\"{at}\"]\n",
                model.address,
                at = service.address
            ),
        )
        .unwrap();
        let served =
            Served::start(&data, &[("HELVE_CONFIG", config.to_str().unwrap()), ("WEATHER_KEY", KEY)]);
        let journey = Self { served, model, service, mood, secret_place };
        let (_, body) = GUIDE.split_once("-d '").unwrap();
        let (body, _) = body.split_once("}'").unwrap();
        let body = format!("{body}}}").replace("https://wttr.in", &journey.place());
        let (status, made) = journey.send("POST", "/api/tools", &body);
        assert_eq!(
            (status, &made["name"], &made["enabled"]),
            (201, &json!("weather"), &json!(true)),
            "{made}"
        );
        journey
    }

    fn place(&self) -> String {
        format!("http://{}", self.service.address)
    }

    fn send(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let answer = self.served.ask(method, path, "", body);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn get(&self, path: &str) -> Value {
        let (status, answer) = self.send("GET", path, "");
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// The service answers like this from now on.
    fn service_says(&self, mood: impl Fn(&ReceivedRequest) -> Reply + Send + 'static) {
        *self.mood.lock().unwrap() = Box::new(mood);
    }

    fn change(&self, patch: Value) {
        let (status, answer) = self.send("PATCH", "/api/tools/weather", &patch.to_string());
        assert_eq!(status, 200, "{answer}");
    }

    /// Somebody asks about the weather; the outcome of the call as the run's events tell it.
    fn ask(&self) -> Value {
        let question = r#"{"message": "How is the weather in Berlin", "stream": false}"#;
        let (status, answer) = self.send("POST", "/api/agent", question);
        assert_eq!((status, &answer["state"]), (200, &json!("completed")), "{answer}");
        // The answer is built on what the tool said, and nothing else.
        assert_eq!(answer["content"], format!("I was told: {}", self.model.told()));
        let run = answer["run"].as_str().unwrap();
        let events = self.served.ask("GET", &format!("/api/runs/{run}/events"), "", "");
        assert!(!events.contains(KEY), "{events}");
        let facts: Vec<Value> = events
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
            .collect();
        let ends = ["tool.finished", "tool.failed", "tool.refused", "tool.unknown"];
        facts.into_iter().find(|fact| ends.contains(&fact["type"].as_str().unwrap())).unwrap()
    }

    /// Asks once, and says what everybody learns.
    fn check(&self, expected: &Expect) {
        let end = self.ask();
        let failure = &end["failure"];
        let seen = match failure.is_null() {
            false => format!("{} ({})", text(&failure["message"]), text(&failure["kind"])),
            true => format!("{} [{}]", text(&end["output"]["text"]), text(&end["output"]["title"])),
        };
        let stages: Vec<&str> =
            end["trail"].as_array().unwrap().iter().map(|stage| text(&stage["stage"])).collect();
        let report = format!(
            "model:    {}\nperson:   {}: {seen}\ntrail:    {}\n{}",
            self.model.told(),
            text(&end["type"]),
            stages.join(" "),
            self.watched(),
        );
        assert!(!report.contains(KEY), "{report}");
        let place = self.place();
        let report = report.replace(&place, "PLACE").replace(&place[7..], "HOST:PORT");
        expected.assert_eq(
            &(1..60).fold(report, |report, n| report.replace(&format!("said {n} second"), "said 0 second")),
        );
    }

    /// What whoever watches Helve sees.
    fn watched(&self) -> String {
        let status = &self.get("/api/tool-system/status")["tools"]["weather"];
        let metrics = self.served.ask("GET", "/metrics", "", "");
        let counts: Vec<&str> = metrics
            .lines()
            .filter(|line| line.contains("\"weather\"") && !line.ends_with(" 0"))
            .filter(|line| line.starts_with("helve_tool_calls_total") || line.contains("breaker_state"))
            .map(|line| line.trim_start_matches("helve_tool_"))
            .collect();
        let latest = &self.get("/api/executions?tool=weather&limit=1")["executions"][0];
        format!(
            "status:   breaker {}, {} failures in a row; calls {}\nmetrics:  {}\nrecorded: {} {}, {} attempt(s)\n",
            text(&status["breaker"]["state"]),
            status["breaker"]["failures_in_row"],
            status["metrics"]["calls"],
            counts.join(", "),
            text(&latest["state"]),
            latest["failure"],
            latest["attempts"],
        )
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What wttr.in says, in short.
fn good(_: &ReceivedRequest) -> Reply {
    Reply::new(
        200,
        "application/json",
        r#"{"current_condition": [{"temp_C": "7", "weatherDesc": [{"value": "Light rain"}], "windspeedKmph": "13",
            "humidity": "93"}], "weather": []}"#,
    )
}

#[test]
fn the_tool_of_the_guide_is_called_and_its_answer_is_told() {
    let journey = Journey::begin();
    journey.check(&expect![[r#"
        model:    {"sky":"Light rain","temperature":"7","wind_kmh":"13"}
        person:   tool.finished: {"sky":"Light rain","temperature":"7","wind_kmh":"13"} [GET 127.0.0.1/Berlin]
        trail:    resolve check judge breaker run
        status:   breaker closed, 0 failures in a row; calls 1
        metrics:  calls_total{tool="weather",outcome="succeeded"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: finished null, 1 attempt(s)
    "#]]);
    assert_eq!(journey.service.asked().last().unwrap().path, "/Berlin?format=j1");
}

#[test]
fn a_wrong_address_is_told_and_holds_nothing_against_the_service() {
    let journey = Journey::begin();
    journey
        .service_says(|_| Reply::new(404, "text/html", "<html><head><title>Not Found</title></head></html>"));
    journey.change(json!({"endpoint": {"url_template": format!("{}/wether/{{city}}", journey.place())}}));
    journey.check(&expect![[r#"
        model:    Error: the other side has nothing there (404): Not Found; check the arguments: what they name may not exist. Operator: if it does, check the tool's address
        person:   tool.failed: the other side has nothing there (404): Not Found; check the arguments: what they name may not exist. Operator: if it does, check the tool's address (failed)
        trail:    resolve check judge breaker run
        status:   breaker closed, 0 failures in a row; calls 1
        metrics:  calls_total{tool="weather",outcome="failed"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "failed", 1 attempt(s)
    "#]]);
}

#[test]
fn a_service_that_fails_is_asked_again_and_then_held_against_it() {
    let journey = Journey::begin();
    journey.service_says(|_| Reply::new(500, "application/json", r#"{"error": "the barometer fell down"}"#));
    journey.check(&expect![[r#"
        model:    Error: the other side failed (500): the barometer fell down. Answer without it and say so, or try again later
        person:   tool.failed: the other side failed (500): the barometer fell down. Answer without it and say so, or try again later (failed)
        trail:    resolve check judge breaker run breaker run
        status:   breaker closed, 2 failures in a row; calls 1
        metrics:  calls_total{tool="weather",outcome="failed"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "failed", 2 attempt(s)
    "#]]);
    assert_eq!(journey.service.asked().len(), 2);
}

#[test]
fn a_service_that_never_answers_is_waited_for_as_long_as_the_row_says() {
    let journey = Journey::begin();
    journey.service_says(|_| Reply::Silence);
    journey.change(json!({"endpoint": {"timeout_ms": 100}}));
    journey.check(&expect![[r#"
        model:    Error: the tool did not answer within 0.1 s. Answer without it and say so, or try again later
        person:   tool.failed: the tool did not answer within 0.1 s. Answer without it and say so, or try again later (timed_out)
        trail:    resolve check judge breaker run breaker run
        status:   breaker closed, 2 failures in a row; calls 1
        metrics:  calls_total{tool="weather",outcome="failed"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "timed_out", 2 attempt(s)
    "#]]);
}

#[test]
fn an_answer_of_a_hundred_megabytes_is_not_read() {
    const BYTES: usize = 100 << 20;
    let journey = Journey::begin();
    journey.service_says(|_| {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {BYTES}\r\n\r\n");
        Reply::Flood(head, BYTES)
    });
    journey.check(&expect![[r#"
        model:    Error: the answer is larger than 1 MiB and was not read; ask for less
        person:   tool.failed: the answer is larger than 1 MiB and was not read; ask for less (failed)
        trail:    resolve check judge breaker run
        status:   breaker closed, 0 failures in a row; calls 1
        metrics:  calls_total{tool="weather",outcome="failed"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "failed", 1 attempt(s)
    "#]]);
    // Nor if nobody says beforehand how much it will be.
    journey.service_says(|_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
        Reply::Flood(head.into(), BYTES)
    });
    journey.check(&expect![[r#"
        model:    Error: the answer is larger than 1 MiB and was not read; ask for less
        person:   tool.failed: the answer is larger than 1 MiB and was not read; ask for less (failed)
        trail:    resolve check judge breaker run
        status:   breaker closed, 0 failures in a row; calls 2
        metrics:  calls_total{tool="weather",outcome="failed"} 2, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "failed", 1 attempt(s)
    "#]]);
}

#[test]
fn a_web_page_in_the_place_of_json_is_told_as_one() {
    let journey = Journey::begin();
    journey.service_says(|_| {
        Reply::new(200, "text/html; charset=utf-8", "<!doctype html><title>Please sign in</title>")
    });
    journey.check(&expect![[r#"
        model:    Error: the answer is a web page, not JSON. Operator: look at what its address answers. Answer without it and say so, or try again later
        person:   tool.failed: the answer is a web page, not JSON. Operator: look at what its address answers. Answer without it and say so, or try again later (failed)
        trail:    resolve check judge breaker run
        status:   breaker closed, 1 failures in a row; calls 1
        metrics:  calls_total{tool="weather",outcome="failed"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "failed", 1 attempt(s)
    "#]]);
}

#[test]
fn broken_json_is_told_as_such() {
    let journey = Journey::begin();
    journey.service_says(|_| Reply::new(200, "application/json", r#"{"current_condition": [{"temp_C": "#));
    journey.check(&expect![[r#"
        model:    Error: the answer cannot be used: this is no valid JSON (EOF while parsing a value at line 1 column 34). Operator: look at what its address answers. Answer without it and say so, or try again later
        person:   tool.failed: the answer cannot be used: this is no valid JSON (EOF while parsing a value at line 1 column 34). Operator: look at what its address answers. Answer without it and say so, or try again later (failed)
        trail:    resolve check judge breaker run
        status:   breaker closed, 1 failures in a row; calls 1
        metrics:  calls_total{tool="weather",outcome="failed"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "failed", 1 attempt(s)
    "#]]);
    // And so is JSON that has become another.
    journey.service_says(|_| Reply::new(200, "application/json", r#"{"now": {"temperature": 7}}"#));
    journey.check(&expect![[r#"
        model:    {"sky":null,"temperature":null,"wind_kmh":null}
        Nothing but null was found: the answer may not have what this tool looks for.
        person:   tool.finished: {"sky":null,"temperature":null,"wind_kmh":null}
        Nothing but null was found: the answer may not have what this tool looks for. [GET 127.0.0.1/Berlin]
        trail:    resolve check judge breaker run
        status:   breaker closed, 0 failures in a row; calls 2
        metrics:  calls_total{tool="weather",outcome="succeeded"} 1, calls_total{tool="weather",outcome="failed"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: finished null, 1 attempt(s)
    "#]]);
}

#[test]
fn a_redirect_to_a_place_that_is_not_public_is_not_followed() {
    let journey = Journey::begin();
    let away = |to: String| move |_: &ReceivedRequest| Reply::with(302, &format!("Location: {to}\r\n"), "");
    journey.service_says(away("http://169.254.169.254/latest/meta-data/".into()));
    journey.check(&expect![[r#"
        model:    Error: the other side says that this has moved, which is not followed (302); answer without it. Operator: correct the tool's address, or let it follow `redirects`
        person:   tool.failed: the other side says that this has moved, which is not followed (302); answer without it. Operator: correct the tool's address, or let it follow `redirects` (failed)
        trail:    resolve check judge breaker run
        status:   breaker closed, 0 failures in a row; calls 1
        metrics:  calls_total{tool="weather",outcome="failed"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "failed", 1 attempt(s)
    "#]]);
    // Not even by a tool that follows redirects.
    journey.change(json!({"endpoint": {"redirects": 3}}));
    journey.check(&expect![[r#"
        model:    Error: the answer is a redirect, and `169.254.169.254` is not on the public internet, and only public places are reached; do not try other spellings of it. Operator: if it is meant to be reached, set `allow = ["169.254.169.254"]` in `[egress]`. Answer without this tool and say so
        person:   tool.failed: the answer is a redirect, and `169.254.169.254` is not on the public internet, and only public places are reached; do not try other spellings of it. Operator: if it is meant to be reached, set `allow = ["169.254.169.254"]` in `[egress]`. Answer without this tool and say so (failed)
        trail:    resolve check judge breaker run
        status:   breaker closed, 0 failures in a row; calls 2
        metrics:  calls_total{tool="weather",outcome="failed"} 2, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "failed", 1 attempt(s)
    "#]]);
    journey.service_says(away(format!("http://{}/", journey.secret_place.address)));
    let end = journey.ask();
    assert!(text(&end["failure"]["message"]).contains("[egress]"), "{end}");
    assert_eq!(journey.secret_place.asked().len(), 0);
}

#[test]
fn a_place_where_nobody_listens_is_told_and_nothing_was_sent() {
    let journey = Journey::begin();
    journey.change(json!({"endpoint": {"url_template": "http://127.0.0.1:9/{city}"}}));
    journey.check(&expect![[r#"
        model:    Error: `127.0.0.1:9` cannot be reached; nothing was sent. Answer without it and say so, or try again later
        person:   tool.failed: `127.0.0.1:9` cannot be reached; nothing was sent. Answer without it and say so, or try again later (failed)
        trail:    resolve check judge breaker run breaker run
        status:   breaker closed, 2 failures in a row; calls 1
        metrics:  calls_total{tool="weather",outcome="failed"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "failed", 2 attempt(s)
    "#]]);
}

#[test]
fn a_secret_that_the_service_repeats_is_seen_by_nobody() {
    let journey = Journey::begin();
    let echo = |status| {
        move |asked: &ReceivedRequest| {
            let sent =
                asked.headers.iter().find_map(|header| header.strip_prefix("authorization: ")).unwrap();
            let condition = json!([{"temp_C": sent, "weatherDesc": [{"value": KEY}], "windspeedKmph": "0"}]);
            let body = json!({"current_condition": condition, "error": format!("{sent} is not welcome")});
            Reply::new(status, "application/json", &body.to_string())
        }
    };
    journey.change(json!({"endpoint": {"auth": {"type": "bearer", "secret": "weather"}}}));
    journey.service_says(echo(200));
    journey.check(&expect![[r#"
        model:    {"sky":"[secret]","temperature":"Bearer [secret]","wind_kmh":"0"}
        person:   tool.finished: {"sky":"[secret]","temperature":"Bearer [secret]","wind_kmh":"0"} [GET 127.0.0.1/Berlin]
        trail:    resolve check judge breaker run
        status:   breaker closed, 0 failures in a row; calls 1
        metrics:  calls_total{tool="weather",outcome="succeeded"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: finished null, 1 attempt(s)
    "#]]);
    journey.service_says(echo(401));
    journey.check(&expect![[r#"
        model:    Error: the other side does not know who is asking (401): Bearer [secret] is not welcome; answer without it and say so. Operator: check the tool's `auth` and its secret
        person:   tool.failed: the other side does not know who is asking (401): Bearer [secret] is not welcome; answer without it and say so. Operator: check the tool's `auth` and its secret (failed)
        trail:    resolve check judge breaker run
        status:   breaker closed, 0 failures in a row; calls 2
        metrics:  calls_total{tool="weather",outcome="succeeded"} 1, calls_total{tool="weather",outcome="failed"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: failed "failed", 1 attempt(s)
    "#]]);
}

#[test]
fn a_service_that_keeps_failing_is_left_alone_until_somebody_resets_it() {
    let journey = Journey::begin();
    journey.change(json!({"attempts": 1, "breaker": {"failures": 3}}));
    journey.service_says(|_| Reply::new(500, "text/plain", "no"));
    for _ in 0..3 {
        assert_eq!(journey.ask()["type"], "tool.failed");
    }
    journey.check(&expect![[r#"
        model:    Error: `weather` is unavailable: calls failed lately and are held back; answer without it or try later
        person:   tool.refused: `weather` is unavailable: calls failed lately and are held back; answer without it or try later (unavailable)
        trail:    resolve check judge breaker
        status:   breaker open, 3 failures in a row; calls 4
        metrics:  calls_total{tool="weather",outcome="failed"} 3, calls_total{tool="weather",outcome="refused"} 1, breaker_state{tool="weather",state="open"} 1
        recorded: refused "unavailable", 0 attempt(s)
    "#]]);
    assert_eq!(journey.service.asked().len(), 3);
    journey.service_says(good);
    assert_eq!(
        journey.send("POST", "/api/tool-system/reset", r#"{"tool": "weather", "what": ["breaker"]}"#).0,
        204
    );
    assert_eq!(journey.ask()["type"], "tool.finished");
}

#[test]
fn while_it_is_down_the_last_good_answer_stands_in_and_says_so() {
    let journey = Journey::begin();
    journey.change(json!({"fallback": {"last_good_ms": 3_600_000}}));
    assert_eq!(journey.ask()["type"], "tool.finished");
    journey.service_says(|_| Reply::new(503, "text/plain", "down for maintenance"));
    journey.check(&expect![[r#"
        model:    [not a fresh answer: `weather` cannot be asked now (the other side is not available (503): down for maintenance); this is what it said 0 seconds ago]
        {"sky":"Light rain","temperature":"7","wind_kmh":"13"}
        person:   tool.finished: [not a fresh answer: `weather` cannot be asked now (the other side is not available (503): down for maintenance); this is what it said 0 seconds ago]
        {"sky":"Light rain","temperature":"7","wind_kmh":"13"} [GET 127.0.0.1/Berlin]
        trail:    resolve check judge breaker run breaker run fallback
        status:   breaker closed, 2 failures in a row; calls 2
        metrics:  calls_total{tool="weather",outcome="succeeded"} 1, calls_total{tool="weather",outcome="fallback"} 1, breaker_state{tool="weather",state="closed"} 1
        recorded: finished null, 2 attempt(s)
    "#]]);
}

#[test]
fn more_calls_than_the_row_allows_are_refused_with_the_time_to_wait() {
    let journey = Journey::begin();
    journey.change(json!({"rate_limit": {"per_minute": 1, "wait_ms": 0}}));
    assert_eq!(journey.ask()["type"], "tool.finished");
    let refused = journey.ask();
    assert_eq!((&refused["type"], &refused["failure"]["kind"]), (&json!("tool.refused"), &json!("limited")));
    assert!(refused["failure"]["retry_after_ms"].as_u64().unwrap() > 0, "{refused}");
    // A change of the row does not begin the minute anew.
    journey.change(json!({"description": "Asked about rain, call this."}));
    assert_eq!(journey.ask()["failure"]["kind"], "limited");
    assert_eq!(journey.service.asked().len(), 1);
    assert_eq!(
        journey.get("/api/executions?tool=weather&state=refused")["executions"][0]["failure"],
        "limited"
    );
}
