//! Answers that come in pieces: server-sent events, JSON on lines, or plain text.
//!
//! Every piece is reported as it comes and kept for the whole. A transform is made for each event or line by itself;
//! those that it does not fit, such as signs of life, are passed over.

mod frames;
#[cfg(test)]
mod tests;

use helve_egress::{EgressError, Incoming};
use helve_tool::Progress;
use serde_json::Value;

use self::frames::FrameReader;
use crate::answer::{ContentKind, HttpAnswer, display_value};
use crate::json;
use crate::transform::Transform;

/// What is read of a stream in all.
const BYTES_MAX: usize = 1 << 20;
/// How the end of a stream is said by those who follow OpenAI.
const DONE: &str = "[DONE]";

#[derive(Debug)]
pub(crate) struct Streamed {
    pub(crate) answer: HttpAnswer,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
pub(crate) enum Failed {
    Egress(EgressError),
    /// It came, and it is not what was wanted.
    Unusable(String),
}

pub(crate) async fn read_stream(
    incoming: Incoming,
    kind: &ContentKind,
    transform: Option<&Transform>,
    progress: &Progress,
) -> Result<Streamed, Failed> {
    let mut frames = FrameReader::new(kind, incoming, BYTES_MAX);
    let mut whole =
        FullOutput::new(transform.is_some(), matches!(kind, ContentKind::Events | ContentKind::Lines));
    while let Some(frame) = frames.next_frame().await.map_err(Failed::Egress)? {
        if frame.trim() == DONE {
            continue;
        }
        let values = match (transform, json::parse(frame.as_bytes())) {
            (Some(transform), Ok(value)) => match transform.apply(value).await {
                Ok(values) => values,
                Err(problem) => {
                    whole.record_problem(problem);
                    continue;
                }
            },
            (Some(_), Err(problem)) => {
                whole.record_problem(problem);
                continue;
            }
            (None, Ok(value)) if whole.framed => vec![value],
            (None, _) => vec![Value::String(frame)],
        };
        for value in values {
            progress.report(&whole.format_piece(&value));
            whole.values.push(value);
        }
    }
    let bytes = frames.bytes();
    Ok(Streamed { answer: whole.into_answer().map_err(Failed::Unusable)?, bytes })
}

/// What has come so far.
struct FullOutput {
    values: Vec<Value>,
    transformed: bool,
    /// Whether the frames have borders of their own.
    framed: bool,
    /// Why the first frame that did not fit did not.
    problem: Option<String>,
}

impl FullOutput {
    fn new(transformed: bool, framed: bool) -> Self {
        Self { values: vec![], transformed, framed, problem: None }
    }

    fn record_problem(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    /// Text that a transform picks is put together as it comes; all else has lines of its own.
    fn format_piece(&self, value: &Value) -> String {
        match value {
            Value::String(text) if self.transformed || !self.framed => text.clone(),
            value => format!("{}\n", display_value(value)),
        }
    }

    fn into_answer(self) -> Result<HttpAnswer, String> {
        if self.values.is_empty() {
            return match self.problem {
                Some(problem) => Err(format!("nothing in the stream fits this tool: {problem}")),
                None => Ok(HttpAnswer::Empty),
            };
        }
        let texts: Option<Vec<&str>> = self.values.iter().map(Value::as_str).collect();
        Ok(match texts {
            Some(texts) if self.transformed => HttpAnswer::Value(texts.concat().into()),
            Some(texts) if self.framed => HttpAnswer::Text(texts.join("\n")),
            Some(texts) => HttpAnswer::Text(texts.concat()),
            None => HttpAnswer::Values(self.values),
        })
    }
}
