//! What the mock says in one message, before any protocol gives it a form.

use std::borrow::Cow;

use super::fault::Fault;
use super::model_request::ModelRequest;
use super::script::{Finish, Ids, Script};

/// How many different words there are; a longer text begins again.
pub(super) const WORDS: usize = 1_024;

/// The `n`th word of every text. Every fourth is longer in bytes than in characters.
pub fn word_at(n: usize) -> String {
    let n = n % WORDS;
    if n % 4 == 3 { format!("词{n} ") } else { format!("w{n} ") }
}

/// The first words of every text.
pub fn first_words(count: usize) -> String {
    (0..count).map(word_at).collect()
}

#[derive(Debug)]
pub(super) struct ScriptedText {
    pub(super) think: usize,
    pub(super) text: Vec<Text>,
    pub(super) calls: Vec<Call>,
    pub(super) finish: Finish,
    pub(super) input_tokens: usize,
    pub(super) output_tokens: usize,
}

/// A piece of text.
#[derive(Debug)]
pub(super) enum Text {
    /// So many words have gone before; its frame is made beforehand.
    Word(usize),
    Other(String),
}

impl Text {
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Word(n) => word_at(*n).into(),
            Self::Other(text) => text.into(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    /// The arguments in pieces, for protocols that send them so.
    pub(super) pieces: Vec<String>,
}

impl Call {
    /// The arguments, for protocols that send them whole.
    pub(super) fn arguments(&self) -> serde_json::Value {
        let text = self.pieces.concat();
        serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text))
    }
}

impl ScriptedText {
    pub(super) fn new(script: &Script, asked: &ModelRequest) -> Self {
        let tools = called(script, asked);
        let words = if tools.is_empty() { script.text } else { script.lead };
        let mut text: Vec<Text> = (0..words).map(Text::Word).collect();
        let mut calls = vec![];
        for (index, tool) in tools.into_iter().enumerate() {
            if asked.wants_text {
                text.extend(call_as_text(&tool, &script.arguments).map(Text::Other));
            } else {
                calls.push(Call {
                    id: id(script.ids, asked.round, index),
                    tool,
                    pieces: cut_arguments(&script.arguments, script.split),
                });
            }
        }
        let finish = match script.finish {
            Finish::Stop if !calls.is_empty() => Finish::Calls,
            finish => finish,
        };
        let pieces: usize = calls.iter().map(|call| call.pieces.len() + 1).sum();
        let output_tokens = script.think + text.len() + pieces;
        let (input_tokens, output_tokens) = script.usage.unwrap_or((10, output_tokens));
        Self { think: script.think, text, calls, finish, input_tokens, output_tokens }
    }

    /// What goes wrong before there are any bytes.
    pub(super) fn bent(mut self, fault: Option<Fault>) -> Self {
        match fault {
            Some(Fault::Early) => {
                self.calls.last_mut().and_then(|call| call.pieces.pop());
            }
            Some(Fault::Fat(bytes)) => self.text.push(Text::Other("x".repeat(bytes))),
            _ => {}
        }
        self
    }

    /// Nothing but a text of so many bytes.
    pub(super) fn only(bytes: usize) -> Self {
        Self {
            think: 0,
            text: vec![Text::Other("x".repeat(bytes))],
            calls: vec![],
            finish: Finish::Stop,
            input_tokens: 0,
            output_tokens: 0,
        }
    }

    pub(super) fn reasoning(&self) -> String {
        first_words(self.think)
    }

    pub(super) fn whole_text(&self) -> String {
        self.text.iter().map(Text::text).collect()
    }
}

/// What is called in this message.
fn called(script: &Script, asked: &ModelRequest) -> Vec<String> {
    if !asked.has_tools() {
        return vec![];
    }
    match &script.rounds {
        None if asked.round == 0 => asked.first_tool.clone().into_iter().collect(),
        None => vec![],
        Some(rounds) => rounds.get(asked.round).cloned().unwrap_or_default(),
    }
}

fn id(ids: Ids, round: usize, index: usize) -> Option<String> {
    match ids {
        Ids::Own => Some(format!("call_{round}_{index}")),
        Ids::Same => Some(format!("call_{round}")),
        Ids::Reused => Some(format!("call_{index}")),
        Ids::None => None,
    }
}

/// Arguments in pieces of so many characters, or in three.
fn cut_arguments(arguments: &str, size: Option<usize>) -> Vec<String> {
    let characters: Vec<char> = arguments.chars().collect();
    let size = size.unwrap_or(characters.len().div_ceil(3)).max(1);
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// A call as text, in a few pieces.
fn call_as_text(tool: &str, arguments: &str) -> [String; 3] {
    [
        format!("<tool_call>\n{{\"name\": {}, \"argu", serde_json::json!(tool)),
        format!("ments\": {arguments}"),
        "}\n</tool_call>\n".into(),
    ]
}
