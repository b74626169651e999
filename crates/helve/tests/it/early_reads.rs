//! A call that only reads is with its tool before the model's server has ended its message.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::outside::{Outside, Reply};
use crate::scratch;
use crate::serving::Served;

/// How long the model's server waits before it ends its message anyway, and the test fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// A model's server that ends its first message only when the tool's server has been asked.
struct WaitingModel {
    address: SocketAddr,
    /// Whether the tool was asked before the message ended.
    in_time: Arc<Mutex<Option<bool>>>,
}

impl WaitingModel {
    /// `frames` are the message up to its last call, `end` is what is left of it.
    fn start(frames: Vec<Value>, end: Vec<Value>, tool_asked: Receiver<()>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let in_time = Arc::new(Mutex::new(None));
        let noted = in_time.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                _ = answer(stream, &frames, &end, &tool_asked, &noted);
            }
        });
        Self { address, in_time }
    }
}

fn answer(
    mut stream: TcpStream,
    frames: &[Value],
    end: &[Value],
    tool_asked: &Receiver<()>,
    in_time: &Mutex<Option<bool>>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    if !is_question(&stream)? {
        return stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            .ok();
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).ok()?;
    let mut send = |frame: &Value| stream.write_all(format!("data: {frame}\n\n").as_bytes()).ok();
    let is_first = in_time.lock().ok()?.is_none();
    if is_first {
        frames.iter().try_for_each(&mut send)?;
        *in_time.lock().ok()? = Some(tool_asked.recv_timeout(PATIENCE).is_ok());
        end.iter().try_for_each(&mut send)?;
    } else {
        send(&chunk(&json!({"content": "It is sunny."}), None))?;
        send(&chunk(&json!({}), Some("stop")))?;
    }
    stream.write_all(b"data: [DONE]\n\n").ok()
}

/// Reads a request, and says whether it asks the model.
fn is_question(stream: &TcpStream) -> Option<bool> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
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
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(first.starts_with("POST "))
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn native_call(index: u32, tool: &str, arguments: &Value) -> Value {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    let call =
        json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function});
    chunk(&json!({"tool_calls": [call]}), None)
}

/// Asks a server whose model writes this message; gives the events of the run.
fn run(tools: &str, frames: Vec<Value>, end: Vec<Value>) -> Vec<Value> {
    let (asked, tool_asked) = channel();
    let asked = Mutex::new(asked);
    let service = Outside::new(move |_| {
        _ = asked.lock().unwrap().send(());
        Reply::new(200, "application/json", r#"{"weather": "sunny"}"#)
    });
    let model = WaitingModel::start(frames, end, tool_asked);
    let data = scratch();
    let config = data.join("helve.toml");
    let text = format!(
        "default_model = \"scripted\"\n\n[[models]]\nname = \"scripted\"\nprotocol = \"openai_chat\"\n\
         base_url = \"http://{}/v1\"\nmodel = \"m\"\ntools = \"{tools}\"\nprobe = false\n\n\
         [egress]\nallow = [\"{}\"]\n",
        model.address, service.address
    );
    std::fs::write(&config, text).unwrap();
    let served = Served::start(&data, &[("HELVE_CONFIG", config.to_str().unwrap())]);
    let tool = json!({
        "name": "weather", "display_name": "Weather", "description": "Tells the weather.",
        "endpoint": {"url_template": format!("http://{}/{{city}}", service.address), "method": "GET"},
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    });
    let made = served.ask("POST", "/api/tools", "", &tool.to_string());
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let answer = served.ask("POST", "/api/agent", "", r#"{"message": "How is it in Berlin"}"#);
    assert_eq!(*model.in_time.lock().unwrap(), Some(true), "the tool was asked before the message ended");
    let run = answer.lines().find_map(|line| line.strip_prefix("x-helve-run: ")).unwrap();
    let events = served.ask("GET", &format!("/api/runs/{run}/events"), "", "");
    let events = events.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
    let events: Vec<Value> = events.collect();
    assert!(kinds(&events).contains(&"run.finished"), "{events:?}");
    events
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

#[test]
fn a_native_call_that_only_reads_is_sent_before_its_message_ends() {
    let frames = vec![
        native_call(0, "weather", &json!({"city": "Berlin"})),
        // Where the next call begins, this one is complete.
        native_call(1, "calculator", &json!({"expression": "1 + 1"})),
    ];
    let events = run("native", frames, vec![chunk(&json!({}), Some("tool_calls"))]);
    let kinds = kinds(&events);
    assert_eq!(kinds.iter().filter(|kind| **kind == "tool.finished").count(), 2, "{kinds:?}");
    let requested = kinds.iter().position(|kind| *kind == "tool.requested");
    assert!(requested < kinds.iter().position(|kind| *kind == "tool.started"), "{kinds:?}");
}

#[test]
fn a_call_in_the_text_that_only_reads_is_sent_before_its_message_ends() {
    let call = r#"<tool_call>{"name": "weather", "arguments": {"city": "Berlin"}}</tool_call>"#;
    let frames = vec![chunk(&json!({"content": call}), None)];
    let events = run("prompt", frames, vec![chunk(&json!({}), Some("stop"))]);
    assert!(kinds(&events).contains(&"tool.finished"), "{events:?}");
}
