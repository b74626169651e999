//! A model server as people have it on their machine: lists its models and speaks Ollama's and OpenAI's protocol.
//!
//! The model is a few rules: it calls the declared tool that a message is about, and answers with what it was told.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::outside::{Outside, ReceivedRequest, Reply};

pub(crate) struct ModelServer {
    outside: Outside,
    models: Arc<Mutex<Vec<String>>>,
}

impl ModelServer {
    pub(crate) fn start(models: &[&str]) -> Self {
        let models: Vec<String> = models.iter().map(|&name| name.to_owned()).collect();
        let models = Arc::new(Mutex::new(models));
        let list = models.clone();
        let outside = Outside::new(move |asked| answer(asked, &list.lock().unwrap()));
        Self { outside, models }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.outside.address)
    }

    /// What `ollama pull` and `ollama rm` do.
    pub(crate) fn set_models(&self, models: &[&str]) {
        *self.models.lock().unwrap() = models.iter().map(|&name| name.to_owned()).collect();
    }

    /// What came as a key with each request.
    pub(crate) fn keys(&self) -> Vec<String> {
        let key = |asked: ReceivedRequest| {
            let header = |line: &String| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("authorization").then(|| value.to_owned())
            };
            asked.headers.iter().find_map(header).unwrap_or_default()
        };
        self.outside.asked().into_iter().map(key).collect()
    }

    /// The models that were asked something, in order.
    pub(crate) fn asked_models(&self) -> Vec<String> {
        let bodies = self
            .outside
            .asked()
            .into_iter()
            .filter(|asked| asked.path.ends_with("/chat") || asked.path.ends_with("/completions"));
        let body = |asked: ReceivedRequest| serde_json::from_slice::<Value>(&asked.body).unwrap();
        bodies.map(|asked| body(asked)["model"].as_str().unwrap().to_owned()).collect()
    }
}

fn answer(asked: &ReceivedRequest, models: &[String]) -> Reply {
    let names = |member: &str| models.iter().map(|name| json!({member: name})).collect::<Vec<_>>();
    match asked.path.as_str() {
        "/api/tags" => Reply::new(200, "application/json", &json!({"models": names("name")}).to_string()),
        "/v1/models" => Reply::new(200, "application/json", &json!({"data": names("id")}).to_string()),
        "/api/chat" => chat(asked, models, in_ollama),
        "/v1/chat/completions" => chat(asked, models, in_openai),
        _ => Reply::new(404, "text/plain", "404 page not found"),
    }
}

fn chat(asked: &ReceivedRequest, models: &[String], put: fn(&ModelTurn, bool) -> Reply) -> Reply {
    let question: Value = serde_json::from_slice(&asked.body).unwrap();
    let model = question["model"].as_str().unwrap();
    if !models.iter().any(|name| name == model) {
        let error = json!({"error": format!("model '{model}' not found")});
        return Reply::new(404, "application/json", &error.to_string());
    }
    // Ollama streams unless it is told not to.
    let in_pieces = question["stream"] != false;
    put(&say(&question), in_pieces)
}

/// What the model says: words, or the name and the arguments of a call.
enum ModelTurn {
    Words(String),
    Call(String, Value),
}

fn say(question: &Value) -> ModelTurn {
    let last = question["messages"].as_array().unwrap().last().unwrap();
    let text = last["content"].as_str().unwrap_or_default();
    if last["role"] == "tool" {
        return ModelTurn::Words(format!("The tool says: {text}"));
    }
    let tools = question["tools"].as_array().into_iter().flatten().map(|tool| &tool["function"]);
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let is_meant = match name {
            "calculator" => text.contains('%') || text.contains('*'),
            name => name.split('_').all(|word| text.to_lowercase().contains(word)),
        };
        if is_meant {
            return ModelTurn::Call(name.to_owned(), arguments(name, &tool["parameters"], text));
        }
    }
    ModelTurn::Words("Hello. I am a model of a test.".into())
}

fn arguments(name: &str, parameters: &Value, text: &str) -> Value {
    let last = text.trim_end_matches(['?', '.', '!']).rsplit(' ').next().unwrap_or_default();
    match name {
        "calculator" => {
            let chinese = text
                .split_once(" 的 ")
                .map(|(of, what)| format!("{} of {of}", what.split(' ').next().unwrap_or_default()));
            let sum = text.split_once("is ").map_or(text, |(_, sum)| sum);
            let sum = chinese.as_deref().unwrap_or(sum);
            json!({"expression": sum.trim_end_matches(['?', '.'])})
        }
        "time" => json!({"zone": "Asia/Tokyo"}),
        _ => {
            let required = parameters["required"].as_array().into_iter().flatten();
            required
                .map(|key| (key.as_str().unwrap().to_owned(), json!(last)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
    }
}

fn in_ollama(turn: &ModelTurn, _in_pieces: bool) -> Reply {
    let message = match turn {
        ModelTurn::Words(words) => json!({"role": "assistant", "content": words}),
        ModelTurn::Call(name, arguments) => {
            let call = json!({"function": {"name": name, "arguments": arguments}});
            json!({"role": "assistant", "content": "", "tool_calls": [call]})
        }
    };
    let whole = json!({"model": "m", "message": message, "done": true, "done_reason": "stop",
        "prompt_eval_count": 9, "eval_count": 9});
    Reply::new(200, "application/x-ndjson", &format!("{whole}\n"))
}

fn in_openai(turn: &ModelTurn, in_pieces: bool) -> Reply {
    let (message, finish) = match turn {
        ModelTurn::Words(words) => (json!({"role": "assistant", "content": words}), "stop"),
        ModelTurn::Call(name, arguments) => {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            (json!({"role": "assistant", "tool_calls": [call]}), "tool_calls")
        }
    };
    crate::outside::spoken(&message, finish, in_pieces)
}
