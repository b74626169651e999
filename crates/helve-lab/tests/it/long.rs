//! A conversation of fifty turns with a model that can read only a few of them, over HTTP, with the real server.
//!
//! The mock refuses a question that is longer than its window, in the words of the vendor whose protocol it speaks.

use std::process::Stdio;

use helve_lab::mock::{Mock, PROTOCOLS, Protocol, Script};
use helve_types::FailPoints;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

const TURNS: usize = 50;
const WINDOW: usize = 9_000;

struct LongServer {
    mock: Mock,
    address: String,
    client: Client,
    /// Ends when this is dropped.
    _server: Child,
    _dir: tempfile::TempDir,
}

impl LongServer {
    /// `known` is what the operator says about the model's window.
    async fn open(protocol: &Protocol, known: &str) -> Self {
        helve::assemble::install_tls();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mock = Mock::start(listener, Script::default(), FailPoints::default()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("helve.toml");
        let text = format!(
            "default_model = \"m\"\n[server]\nlisten = \"127.0.0.1:0\"\ndata = {data:?}\n[[models]]\nname = \"m\"\n\
             protocol = \"{name}\"\nbase_url = \"{base}\"\nprobe = false\n{known}\n\
             model = \"mock:tools=calculator,text=40,window={WINDOW},args={{\\\"expression\\\":\\\"1+1\\\"}}\"\n",
            data = dir.path().join("data"),
            name = protocol.name,
            base = mock.base_url_of(protocol),
        );
        std::fs::write(&file, text).unwrap();
        let mut server = Command::new(env!("CARGO_BIN_EXE_faultlab"))
            .args(["server", "--ledger", "http://127.0.0.1:9", "--config"])
            .arg(&file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().unwrap_or_default();
        let address =
            line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { mock, address, client: Client::new(), _server: server, _dir: dir }
    }

    async fn say(&self, conversation: &Option<String>, message: &str) -> Value {
        let body = json!({"message": message, "conversationId": conversation, "stream": false});
        let asked = self.client.post(format!("{}/api/agent", self.address)).json(&body).send().await.unwrap();
        let status = asked.status();
        let told: Value = asked.json().await.unwrap();
        assert!(status.is_success(), "{status} {told}");
        told
    }

    async fn get(&self, path: &str) -> Value {
        self.client.get(format!("{}{path}", self.address)).send().await.unwrap().json().await.unwrap()
    }
}

/// What the person says in one turn: a twentieth of what the model can read.
fn message(turn: usize) -> String {
    format!("turn {turn}: {}", "some more words ".repeat(120))
}

async fn talk(protocol: &Protocol, known: &str) -> LongServer {
    let house = LongServer::open(protocol, known).await;
    let mut conversation = None;
    for turn in 0..TURNS {
        let told = house.say(&conversation, &message(turn)).await;
        assert_eq!(told["state"], "completed", "{} turn {turn}: {told}", protocol.name);
        conversation = told["conversation"].as_str().map(str::to_owned);
    }
    // Everything that was said is still there, word for word.
    let kept = house.get(&format!("/api/conversations/{}/messages", conversation.unwrap())).await;
    let kept = kept.as_array().or(kept["messages"].as_array()).unwrap_or_else(|| panic!("{kept}"));
    assert_eq!(kept.len(), 2 * TURNS);
    let mut compacted = 0;
    for (turn, pair) in kept.chunks(2).enumerate() {
        assert_eq!(pair[0]["parts"][0]["text"], message(turn).as_str());
        let parts = pair[1]["parts"].as_array().unwrap();
        assert!(
            parts.iter().any(|part| part["type"] == "tool" && part["output"]["text"] == "2"),
            "{parts:?}"
        );
        compacted += parts.iter().filter(|part| part["type"] == "compacted").count();
    }
    assert!((3..TURNS / 2).contains(&compacted), "{} {known}: {compacted} compactions", protocol.name);
    house
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_where_it_is_known_what_the_model_can_read() {
    for protocol in PROTOCOLS {
        let house = talk(protocol, &format!("context_tokens = {WINDOW}")).await;
        assert_eq!(house.mock.refused(), 0, "{}: no question was too long", protocol.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_where_only_the_vendors_refusal_tells() {
    for protocol in PROTOCOLS {
        let house = talk(protocol, "").await;
        let refused = house.mock.refused();
        assert!(refused > 0 && refused < 5, "{}: {refused} questions were too long", protocol.name);
    }
}
