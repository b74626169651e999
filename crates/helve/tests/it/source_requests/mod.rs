//! The requests of the systems that users come from, byte for byte, against the real binary.
//!
//! One file for each system. Models and services are servers of the test; what is checked is what the clients of those
//! systems read.

mod agent_by_id;
mod chat_with_search;
mod full_loop;
mod full_loop_events;
mod tool_rows;
mod tool_system;
mod user_loop;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

use crate::outside::{Outside, ReceivedRequest, Reply};
use crate::scratch;
use crate::serving::Served;

/// What a model says to one request.
#[derive(Clone)]
enum Say {
    Text(String),
    /// Reasoning, then text.
    Thought(String, String),
    /// A native call: the tool and its arguments.
    Call(&'static str, Value),
}

fn text(text: &str) -> Say {
    Say::Text(text.into())
}

/// A model server that says one thing after the other, and the last one again. It speaks as OpenAI's chat completions,
/// and as Ollama where it is asked at Ollama's address.
fn model(script: Vec<Say>) -> Outside {
    let next = AtomicUsize::new(0);
    let script = Arc::new(script);
    Outside::new(move |asked| {
        if !asked.path.ends_with("/chat/completions") && !asked.path.ends_with("/api/chat") {
            return Reply::new(200, "application/json", r#"{"models": [{"name": "qwen2.5:7b"}]}"#);
        }
        let at = next.fetch_add(1, Ordering::SeqCst).min(script.len() - 1);
        let question: Value = serde_json::from_slice(&asked.body).unwrap();
        match (asked.path.ends_with("/api/chat"), question["stream"] == true) {
            (true, _) => as_ollama(&script[at]),
            (false, true) => as_openai(&script[at]),
            (false, false) => as_openai_whole(&script[at]),
        }
    })
}

/// What the model says as a message, and why it ends there.
fn openai_message(say: &Say) -> (Value, &'static str) {
    let message = match say {
        Say::Text(text) => json!({"content": text}),
        Say::Thought(thought, text) => json!({"reasoning_content": thought, "content": text}),
        Say::Call(tool, arguments) => {
            let function = json!({"name": tool, "arguments": arguments.to_string()});
            json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
        }
    };
    (message, if matches!(say, Say::Call(..)) { "tool_calls" } else { "stop" })
}

fn as_openai_whole(say: &Say) -> Reply {
    let (message, finish) = openai_message(say);
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    Reply::new(200, "application/json", &json!({"choices": [choice]}).to_string())
}

fn as_openai(say: &Say) -> Reply {
    let (delta, finish) = openai_message(say);
    let chunk = |delta: &Value, finish: Option<&str>| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let body = chunk(&delta, None) + &chunk(&json!({}), Some(finish)) + "data: [DONE]\n\n";
    Reply::new(200, "text/event-stream", &body)
}

fn as_ollama(say: &Say) -> Reply {
    let message = match say {
        Say::Text(text) => json!({"role": "assistant", "content": text}),
        Say::Thought(thought, text) => json!({"role": "assistant", "thinking": thought, "content": text}),
        Say::Call(tool, arguments) => {
            let function = json!({"name": tool, "arguments": arguments});
            json!({"role": "assistant", "content": "", "tool_calls": [{"function": function}]})
        }
    };
    let last = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"});
    let body = format!("{}\n{last}\n", json!({"message": message, "done": false}));
    Reply::new(200, "application/x-ndjson", &body)
}

/// The bodies that a model was asked with.
fn questions(model: &Outside) -> Vec<Value> {
    let is_question = |asked: &&ReceivedRequest| {
        asked.path.ends_with("/chat/completions") || asked.path.ends_with("/api/chat")
    };
    model
        .asked()
        .iter()
        .filter(is_question)
        .map(|asked| serde_json::from_slice(&asked.body).unwrap())
        .collect()
}

/// A server with this configuration and environment.
fn serve(config: &str, environment: &[(&str, &str)]) -> Served {
    let data = scratch();
    let file = data.join("helve.toml");
    std::fs::write(&file, config).unwrap();
    Served::start(&data, &[&[("HELVE_CONFIG", file.to_str().unwrap())], environment].concat())
}

/// One model that is reached as OpenAI's, with more about it.
fn one_model(name: &str, model: &Outside, more: &str) -> String {
    format!(
        "[[models]]\nname = \"{name}\"\nprotocol = \"openai_chat\"\nbase_url = \"http://{}/v1\"\nmodel = \"m\"\nprobe = false\n{more}\n",
        model.address
    )
}

/// The status, the head and the body of an answer.
fn send(served: &Served, method: &str, path: &str, headers: &str, body: &str) -> (u16, String, String) {
    let answer = served.ask(method, path, headers, body);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        joined(body)
    } else {
        body.into()
    };
    (status, head.to_owned(), body)
}

/// A body that was sent in chunks.
fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        body.push_str(&rest[..length]);
        chunks = rest[length..].trim_start_matches("\r\n");
    }
    body
}

fn get(served: &Served, path: &str) -> Value {
    let (status, _, body) = send(served, "GET", path, "", "");
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// The events of a stream, read as the clients of those systems do: every line that begins with `data: `, up to
/// `[DONE]`, which must be there.
fn events(served: &Served, path: &str, headers: &str, body: &str) -> Vec<Value> {
    let (status, head, body) = send(served, "POST", path, headers, body);
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    let data: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (last, events) = data.split_last().unwrap();
    assert_eq!(*last, "[DONE]", "{body}");
    events.iter().map(|event| serde_json::from_str(event).unwrap()).collect()
}

/// The last answer and reasoning of a stream that replaces what came before.
fn so_far(events: &[Value]) -> (&str, &str) {
    let last = events.iter().rfind(|event| event.get("content").is_some()).unwrap();
    (last["content"].as_str().unwrap(), last["thinking"].as_str().unwrap())
}

/// Holds answers back until it is opened.
#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn pass(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |open| !*open).unwrap());
    }

    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

/// Sends a request and reads the answer's head; the answer goes on.
fn begin(served: &Served, method: &str, path: &str, headers: &str, body: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(served.address()).unwrap();
    let address = served.address();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut head = vec![];
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    (String::from_utf8(head).unwrap(), stream)
}
