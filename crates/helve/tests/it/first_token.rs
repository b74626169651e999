//! No token waits: a model that says its next token only after the last one has reached the client is heard to its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::scratch;
use crate::serving::Served;

/// Only how long a failing test takes: nothing here waits for time to pass.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the model has been told to say.
enum ScriptedChunk {
    Token(String),
    End,
}

/// A model server that says a token whenever it is told to.
struct TokenServer {
    address: SocketAddr,
    chunks: Sender<ScriptedChunk>,
}

impl TokenServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (chunks, received) = channel();
        let received = Arc::new(Mutex::new(received));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let received = received.clone();
                std::thread::spawn(move || answer(stream, &received));
            }
        });
        Self { address, chunks }
    }

    fn say(&self, token: &str) {
        self.chunks.send(ScriptedChunk::Token(token.to_owned())).unwrap();
    }

    fn end(&self) {
        self.chunks.send(ScriptedChunk::End).unwrap();
    }
}

/// One chat completion as server-sent events.
fn answer(mut stream: TcpStream, chunks: &Mutex<Receiver<ScriptedChunk>>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    read_request(&stream)?;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).ok()?;
    let chunks = chunks.lock().ok()?;
    let mut send = |delta: Value, finish: Option<&str>| {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        stream.write_all(format!("data: {chunk}\n\n").as_bytes()).ok()
    };
    loop {
        match chunks.recv_timeout(PATIENCE).ok()? {
            ScriptedChunk::Token(token) => send(json!({"content": token}), None)?,
            ScriptedChunk::End => {
                send(json!({}), Some("stop"))?;
                return stream.write_all(b"data: [DONE]\n\n").ok();
            }
        }
    }
}

fn read_request(stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        // A connection without a request only asks whether somebody listens.
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()
}

/// The server, with the model under two names: one is called natively, the other in prompt mode.
struct Relay {
    model: TokenServer,
    served: Served,
}

impl Relay {
    fn start() -> Self {
        let model = TokenServer::start();
        let data = scratch();
        let config = data.join("helve.toml");
        let entry = |name: &str| {
            format!(
                "[[models]]\nname = \"{name}\"\nprotocol = \"openai_chat\"\nbase_url = \"http://{}/v1\"\n\
                 model = \"m\"\ntools = \"{name}\"\nprobe = false\n\n",
                model.address
            )
        };
        std::fs::write(&config, entry("native") + &entry("prompt")).unwrap();
        let served = Served::start(&data, &[("HELVE_CONFIG", config.to_str().unwrap())]);
        Self { model, served }
    }

    /// Asks for a chat turn, and says how long the client's text is each time it grows.
    fn ask(&self, model: &str) -> Reader {
        let stream = TcpStream::connect(self.served.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = json!({"message": "hello", "modelType": model}).to_string();
        write!(
            &stream,
            "POST /api/chat HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.served.address(),
            body.len()
        )
        .unwrap();
        Reader { lines: BufReader::new(stream), content: String::new() }
    }
}

struct Reader {
    lines: BufReader<TcpStream>,
    content: String,
}

impl Reader {
    /// Reads on until the client has seen this text; none if it ends or takes too long before that.
    fn read_until(&mut self, text: &str) -> Option<()> {
        while self.content != text {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let event = line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok());
            if let Some(content) = event.as_ref().and_then(|event| event["content"].as_str()) {
                self.content = content.to_owned();
            }
        }
        Some(())
    }

    fn read_to_end(mut self) -> String {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        rest
    }
}

/// Tokens as models' tokenizers make them: a Chinese character each, and English words in one or two pieces.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = vec![];
    for c in text.chars() {
        match tokens.last_mut() {
            Some(last) if c.is_ascii_alphanumeric() && last.chars().count() < 5 && last.is_ascii() => {
                last.push(c);
            }
            _ => tokens.push(c.to_string()),
        }
    }
    tokens
}

const CHINESE_BEGINNINGS: [&str; 10] = [
    "今天",
    "根据搜索结果",
    "好的，",
    "“北京”",
    "1. ",
    "**结论**：",
    "你好！",
    "（注意）",
    "2026年",
    "我认为",
];

const ENGLISH_BEGINNINGS: [&str; 10] = [
    "Berlin ",
    "According to the results, ",
    "Yes, ",
    "Hello! ",
    "1. ",
    "**Answer**: ",
    "I ",
    "42 ",
    "\u{201c}Rain\u{201d} ",
    "Here is ",
];

const CHINESE_ENDINGS: [&str; 5] =
    ["的天气很好。", "一共有35个。", "——没有问题", "是这样，\n- 一\n- 二", "需要看情况。"];

const ENGLISH_ENDINGS: [&str; 5] =
    ["is sunny today.", "12345678901234", "it depends,\n- one\n- two", "costs $5 (or so).", "naïve, I think"];

fn answers() -> impl Iterator<Item = String> {
    let pairs = |beginnings: [&'static str; 10], endings: [&'static str; 5]| {
        beginnings.into_iter().flat_map(move |beginning| endings.map(|ending| format!("{beginning}{ending}")))
    };
    pairs(CHINESE_BEGINNINGS, CHINESE_ENDINGS).chain(pairs(ENGLISH_BEGINNINGS, ENGLISH_ENDINGS))
}

/// Every token of the answer is with the client before the model says the next one.
fn check_that_no_token_waits(relay: &Relay, model: &str, answer: &str) {
    let mut reader = relay.ask(model);
    let mut said = String::new();
    for token in tokens(answer) {
        relay.model.say(&token);
        said += &token;
        // Blanks alone are not shown.
        if !said.trim().is_empty() {
            reader.read_until(&said).unwrap_or_else(|| panic!("{model}: {token:?} waits in {answer:?}"));
        }
    }
    relay.model.end();
    assert!(reader.read_to_end().contains("[DONE]"), "{answer}");
}

#[test]
fn no_token_of_two_hundred_answers_waits_for_the_next_one() {
    let relay = Relay::start();
    let mut checked = 0;
    for model in ["native", "prompt"] {
        for answer in answers() {
            check_that_no_token_waits(&relay, model, &answer);
            checked += 1;
        }
    }
    assert_eq!(checked, 200);
}

#[test]
fn in_native_mode_what_could_begin_a_mark_does_not_wait_either() {
    let relay = Relay::start();
    for answer in [
        "<div>今天</div>",
        "<",
        "[1] 北京",
        "`ls` ``x`` and\n```sh\nls <here>\n```",
        "{\"tool\": \"search_web\"}",
        "~~~\n<thin air",
        "search_web(1) <tool_call>",
        "\n\n[TH",
    ] {
        check_that_no_token_waits(&relay, "native", answer);
    }
}

#[test]
fn reasoning_in_the_text_of_a_native_model_is_still_found_and_its_mark_is_taken_back() {
    let relay = Relay::start();
    let mut reader = relay.ask("native");
    relay.model.say("<th");
    reader.read_until("<th").expect("it may be text");
    for token in ["ink>", "Rain?", "</think>", "Sunny."] {
        relay.model.say(token);
    }
    relay.model.end();
    reader.read_until("Sunny.").expect("the mark is gone");
    assert!(!reader.read_to_end().contains("<th"));
}
