//! A tool that writes, over HTTP, with the process, its database and the other side all real: what is shown is what is
//! sent, and a yes for always holds over a kill and ends with the tool's definition.

use std::path::Path;

use serde_json::{Value, json};

use crate::outside::{Outside, Reply};
use crate::scratch;
use crate::serving::Served;

const KEY: &str = "letters-4711-secret";

struct Post {
    service: Outside,
    model: Outside,
    served: Option<Served>,
}

impl Post {
    fn start(&mut self, data: &Path) {
        // The one before is killed first: nothing is written on the way down.
        self.served = None;
        let config = data.join("helve.toml");
        let text = format!(
            "default_model = \"scripted\"\n\n[[models]]\nname = \"scripted\"\nprotocol = \"openai_chat\"\n\
             base_url = \"http://{}/v1\"\nmodel = \"m\"\ntools = \"native\"\nprobe = false\n\n\
             [egress]\nallow = [\"{at}\"]\n\n[secrets.post]\nenv = \"POST_KEY\"\nhosts = [\"{at}\"]\n",
            self.model.address,
            at = self.service.address
        );
        std::fs::write(&config, text).unwrap();
        let environment = [("HELVE_CONFIG", config.to_str().unwrap()), ("POST_KEY", KEY)];
        self.served = Some(Served::start(data, &environment));
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.served.as_ref().unwrap().ask(method, path, "", &body);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
        serde_json::from_str(body).unwrap_or(Value::Null)
    }

    fn get(&self, path: &str) -> Value {
        self.send("GET", path, &Value::Null)
    }

    /// Starts a run that writes to somebody and says how it stands when it is over or waits.
    fn write_to(&self, whom: &str) -> (String, String) {
        let started = self.send("POST", "/api/runs", &json!({"message": format!("write to {whom}")}));
        let run = started["run"].as_str().unwrap().to_owned();
        let state = self.settled(&run);
        (run, state)
    }

    fn settled(&self, run: &str) -> String {
        loop {
            let state = self.get(&format!("/api/runs/{run}"))["state"].as_str().unwrap().to_owned();
            if state != "running" {
                return state;
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn what_is_shown_is_sent_and_a_yes_for_always_holds_over_a_kill_until_the_tool_changes() {
    let data = scratch();
    let service = Outside::new(|_| Reply::new(200, "application/json", r#"{"sent": true}"#));
    let mut post = Post { service, model: Outside::model("letter", "to"), served: None };
    post.start(&data);
    let url = format!("http://{}/v1/letters?copy=no", post.service.address);
    post.send(
        "POST",
        "/api/tools",
        &json!({
            "name": "letter",
            "description": "Sends a letter.",
            "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
            "endpoint": {"url_template": url, "method": "POST", "auth": {"type": "bearer", "secret": "post"}}
        }),
    );

    let (run, state) = post.write_to("mei@example.com");
    assert_eq!(state, "waiting_approval");
    assert_eq!(post.service.asked().len(), 0);
    let question = post.get("/api/approvals")["approvals"][0].clone();
    let shown = question["request"].as_str().unwrap();
    assert!(shown.starts_with(&format!("POST {url}\n")), "{shown}");
    assert!(shown.contains("\nauthorization: Bearer [secret post]\n") && !shown.contains(KEY), "{shown}");
    let path = format!("/api/approvals/{}", question["approval"].as_str().unwrap());
    let always = json!({"within": "agent", "arguments": {"to": "*@example.com"}});
    post.send("POST", &path, &json!({"decision": "approve", "always": always}));
    assert_eq!(post.settled(&run), "completed");
    let sent = post.service.asked().remove(0);
    assert_eq!(sent.path, "/v1/letters?copy=no");
    assert_eq!(shown.split_once("\n\n").unwrap().1.as_bytes(), sent.body, "to the last byte");

    assert_eq!(post.write_to("li@example.com").1, "completed");
    post.start(&data);
    assert_eq!(post.write_to("bo@example.com").1, "completed");
    assert_eq!(post.service.asked().len(), 3);
    let (other, state) = post.write_to("eve@evil.test");
    assert_eq!(state, "waiting_approval");
    post.send("POST", &format!("/api/runs/{other}/cancel"), &json!({}));

    // Nothing differs but where it goes.
    let elsewhere = url.replace("/v1/", "/v2/");
    post.send("PATCH", "/api/tools/letter", &json!({"endpoint": {"url_template": elsewhere}}));
    assert_eq!(post.write_to("mei@example.com").1, "waiting_approval");
    assert_eq!(post.get("/api/allowances")["allowances"][0]["state"], "outdated");
    assert_eq!(post.service.asked().len(), 3);
}
