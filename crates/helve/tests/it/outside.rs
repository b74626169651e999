//! The world around Helve, in threads of the test: HTTP servers that answer as they are told and keep what they were asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
}

pub(crate) enum Reply {
    /// The bytes of a whole answer.
    Whole(Vec<u8>),
    /// A head, and then so many bytes of a body, for as long as anybody takes them.
    Flood(String, usize),
    /// A stream whose frames come one after the other.
    Slowly(Vec<String>),
    /// Never a byte, until whoever waits has gone.
    Silence,
}

impl Reply {
    pub(crate) fn new(status: u16, media_type: &str, body: &str) -> Self {
        Self::with(status, &format!("Content-Type: {media_type}\r\n"), body)
    }

    pub(crate) fn with(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status} Such\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        Self::Whole(text.into_bytes())
    }
}

/// What a model says.
pub(crate) enum Spoken {
    /// Not a word, for as long as anybody waits.
    Nothing,
    Words(String),
    Calls(Vec<(String, Value)>),
}

pub(crate) struct Outside {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
    left: Arc<AtomicUsize>,
}

impl Outside {
    pub(crate) fn new(reply: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(vec![]));
        let left = Arc::new(AtomicUsize::new(0));
        let (kept, reply, gone) = (asked.clone(), Arc::new(reply), left.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, reply, gone) = (kept.clone(), reply.clone(), gone.clone());
                std::thread::spawn(move || {
                    if serve(stream, &kept, &*reply) == Stayed::No {
                        gone.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        Self { address, asked, left }
    }

    /// A model that calls `tool` about the last word of what it is asked, and then repeats what it was told.
    pub(crate) fn model(tool: &'static str, argument: &'static str) -> Self {
        Self::new(move |asked| {
            let question: Value = serde_json::from_slice(&asked.body).unwrap();
            let last = question["messages"].as_array().unwrap().last().unwrap();
            let said = last["content"].as_str().unwrap();
            let (said, finish) = match last["role"] == "tool" {
                true => (json!({"role": "assistant", "content": format!("I was told: {said}")}), "stop"),
                false => {
                    let arguments = json!({argument: said.split(' ').next_back()}).to_string();
                    let function = json!({"name": tool, "arguments": arguments});
                    let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
                    (json!({"role": "assistant", "tool_calls": [call]}), "tool_calls")
                }
            };
            spoken(&said, finish, question["stream"] == true)
        })
    }

    /// A model that says these words, slowly.
    pub(crate) fn drawling(words: Vec<String>) -> Self {
        Self::new(move |_| {
            let chunk = |delta: Value, finish: Option<&str>| {
                let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
                format!("data: {}\n\n", json!({"choices": [choice]}))
            };
            let said = words.iter().map(|word| chunk(json!({"content": word}), None));
            let end = [chunk(json!({}), Some("stop")), "data: [DONE]\n\n".into()];
            Reply::Slowly(said.chain(end).collect())
        })
    }

    /// A model that says what the function makes of what it is told last: words, or the name and the arguments of a call.
    pub(crate) fn speaking(say: impl Fn(&Value) -> Spoken + Send + Sync + 'static) -> Self {
        Self::new(move |asked| {
            let question: Value = serde_json::from_slice(&asked.body).unwrap();
            let (said, finish) = match say(question["messages"].as_array().unwrap().last().unwrap()) {
                Spoken::Nothing => return Reply::Silence,
                Spoken::Words(words) => (json!({"role": "assistant", "content": words}), "stop"),
                Spoken::Calls(calls) => {
                    let calls: Vec<Value> = (0..)
                        .zip(calls)
                        .map(|(index, (name, arguments)): (u32, _)| {
                            let function = json!({"name": name, "arguments": arguments.to_string()});
                            json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function})
                        })
                        .collect();
                    (json!({"role": "assistant", "tool_calls": calls}), "tool_calls")
                }
            };
            spoken(&said, finish, question["stream"] == true)
        })
    }

    /// How many have left before their answer was complete.
    pub(crate) fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }

    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().clone()
    }

    /// What a model was told last about its call.
    pub(crate) fn told(&self) -> String {
        let asked = self.asked();
        let question: Value = serde_json::from_slice(&asked.last().unwrap().body).unwrap();
        let last = question["messages"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["role"], "tool", "{last}");
        last["content"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn spoken(said: &Value, finish: &str, in_pieces: bool) -> Reply {
    if !in_pieces {
        let choice = json!({"index": 0, "message": said, "finish_reason": finish});
        return Reply::new(200, "application/json", &json!({"choices": [choice]}).to_string());
    }
    let chunk = |delta: &Value, finish: Option<&str>| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let body = chunk(said, None) + &chunk(&json!({}), Some(finish)) + "data: [DONE]\n\n";
    Reply::new(200, "text/event-stream", &body)
}

/// Whether whoever asked stayed for the whole answer.
#[derive(PartialEq)]
enum Stayed {
    Yes,
    No,
}

/// One request, one answer. Who leaves early is no fault.
fn serve(
    stream: TcpStream,
    kept: &Mutex<Vec<ReceivedRequest>>,
    reply: &dyn Fn(&ReceivedRequest) -> Reply,
) -> Stayed {
    let Some(asked) = read(&stream) else { return Stayed::Yes };
    kept.lock().unwrap().push(asked.clone());
    let mut stream = stream;
    match reply(&asked) {
        Reply::Whole(bytes) => _ = stream.write_all(&bytes),
        Reply::Flood(head, bytes) => {
            _ = stream.write_all(head.as_bytes());
            for _ in 0..bytes / 65_536 {
                if stream.write_all(&[b'7'; 65_536]).is_err() {
                    return Stayed::No;
                }
            }
        }
        Reply::Slowly(frames) => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
            _ = stream.write_all(head.as_bytes());
            for frame in frames {
                std::thread::sleep(std::time::Duration::from_millis(30));
                if stream.write_all(frame.as_bytes()).is_err() {
                    return Stayed::No;
                }
            }
        }
        Reply::Silence => {
            _ = stream.read(&mut [0]);
            return Stayed::No;
        }
    }
    Stayed::Yes
}

fn read(stream: &TcpStream) -> Option<ReceivedRequest> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let mut headers = vec![];
    loop {
        match line()? {
            header if header.is_empty() => break,
            header => headers.push(header),
        }
    }
    let length = headers.iter().find_map(|header| {
        let (name, value) = header.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedRequest { path, headers, body })
}
