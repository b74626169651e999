//! Who the caller is, sent and signed, against the receiver of the examples.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use helve_tool::Request;
use helve_types::UserId;
use serde_json::{Value, json};

use super::*;
use crate::testing::{SECRET, TestHttpServer, context, definition, make, tools};

const ALL: [&str; 5] = ["user", "conversation", "message", "run", "call"];

#[tokio::test]
async fn a_tool_tells_the_ids_that_its_definition_asks_for_and_no_others() {
    let server = TestHttpServer::json(json!("ok")).await;
    let cx = CallContext { user: UserId("梅 <mei>".into()), ..context() };
    let own = json!({"X-Helve-Call": "forged"});
    let changes = json!({"endpoint": {"caller": {"send": ["user", "run"]}, "headers": own}});
    server.call_in(&cx, "/{city}", changes, json!({"city": "Oslo"})).await.unwrap();
    server.call("/{city}", json!({}), json!({"city": "Oslo"})).await.unwrap();
    let heard = server.heard();
    assert!(heard[0].contains("x-helve-user: %E6%A2%85%20%3Cmei%3E\r\n"), "{}", heard[0]);
    assert!(heard[0].contains(&format!("x-helve-run: {}\r\n", cx.run)), "{}", heard[0]);
    assert!(!heard[0].contains("x-helve-call") && !heard[0].contains("signature"), "{}", heard[0]);
    assert!(!heard[1].contains("x-helve"), "{}", heard[1]);
}

#[tokio::test]
async fn a_tool_tells_the_id_of_the_http_request_where_its_definition_asks_for_it() {
    let server = TestHttpServer::json(json!("ok")).await;
    let cx = CallContext { request_id: Some("Root=1-67".into()), ..context() };
    let own = json!({"X-Request-Id": "of-the-row"});
    for send in [json!(["request"]), json!(["run"])] {
        let changes = json!({"endpoint": {"caller": {"send": send}, "headers": own}});
        server.call_in(&cx, "/{city}", changes, json!({"city": "Oslo"})).await.unwrap();
    }
    let heard = server.heard();
    assert!(heard[0].contains("x-request-id: Root=1-67\r\n"), "{}", heard[0]);
    assert!(!heard[0].contains("of-the-row"), "{}", heard[0]);
    assert!(heard[1].contains("x-request-id: of-the-row\r\n"), "{}", heard[1]);
}

#[test]
fn what_cannot_be_signed_is_refused_when_it_is_made() {
    let refused = |endpoint: Value| make(json!({"endpoint": endpoint})).err().map(|error| error.field);
    let sign = |secret: &str| json!({"send": ALL, "sign": secret});
    assert_eq!(refused(json!({"caller": sign("weather")})), None);
    let field = Some("endpoint.caller.sign".to_owned());
    assert_eq!(refused(json!({"caller": sign("gone")})), field);
    assert_eq!(refused(json!({"caller": sign("weather"), "redirects": 1})), field);
    let elsewhere = json!({"caller": sign("weather"), "url_template": "https://other.example.com/{city}"});
    assert_eq!(refused(elsewhere), field);
    let shared =
        json!({"endpoint": {"caller": {"send": ["user"]}}, "cache": {"ttl_ms": 5, "scope": "params"}});
    assert_eq!(make(shared).err().map(|error| error.field), Some("cache.scope".into()));
}

/// The receiver of the examples, as a process.
struct Receiver(Child, u16);

impl Drop for Receiver {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

impl Receiver {
    fn start() -> Option<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/signed-tool/receiver.py");
        let mut command = Command::new("python3");
        command.args([script, "0"]).env("TOOL_SIGNING_KEY", SECRET).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some(Self(child, line.trim().strip_prefix("listening on ").unwrap().parse().unwrap()))
    }

    fn status(&self, request: &str) -> String {
        #[expect(
            clippy::disallowed_methods,
            reason = "the test asks the receiver that it has started itself"
        )]
        let mut stream = TcpStream::connect(("127.0.0.1", self.1)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

#[tokio::test]
async fn the_receiver_of_the_examples_takes_what_is_signed_and_refuses_what_was_changed() {
    let Some(receiver) = Receiver::start() else {
        return helve_test_support::skip_test("signed-tool", "python3 is not installed");
    };
    let mut row = definition(json!({"endpoint": {
        "method": "POST", "query": {"u": "{units}"}, "caller": {"send": ALL, "sign": "weather"}
    }}));
    row.endpoint.url_template = format!("http://127.0.0.1:{}/w/{{city}}", receiver.1);
    let (tool, _) = tools().build_tool(&row, &Arc::default()).unwrap();
    // The receiver looks at its own clock.
    let cx = CallContext { user: UserId("梅".into()), world: helve_types::World::real(), ..context() };
    let arguments = json!({"city": "São Paulo", "units": "°C"});
    let said = tool.call(Request { arguments: &arguments }, &cx).await.unwrap().text;
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["user"], "梅", "{said}");

    // What was sent once, heard by somebody and sent again with changes.
    let server = TestHttpServer::json(json!("ok")).await;
    row.endpoint.url_template = format!("{}/w/{{city}}", server.url);
    let (tool, _) = tools().build_tool(&row, &Arc::default()).unwrap();
    tool.call(Request { arguments: &arguments }, &cx).await.unwrap();
    let heard = server.heard()[0].replacen("\r\n", "\r\nconnection: close\r\n", 1);
    assert_eq!(receiver.status(&heard), "200");
    let time = heard.split("x-helve-timestamp: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let late = (time.parse::<i64>().unwrap() - 301).to_string();
    for (part, other) in [
        ("x-helve-user: %E6%A2%85", "x-helve-user: mei"),
        ("x-helve-call: ", "x-helve-was: "),
        ("POST /w/", "POST /v/"),
        ("?u=", "?v="),
        (time, &late),
        ("signature: v1=", "signature: v1=0"),
        ("x-helve-signature", "x-helve-unsigned"),
    ] {
        assert!(heard.contains(part), "{part}: {heard}");
        assert_eq!(receiver.status(&heard.replace(part, other)), "401", "{part}");
    }
}
