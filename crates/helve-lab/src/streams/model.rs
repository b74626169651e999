//! A model that talks and calls without end: what makes a run's log grow while it is read.
//!
//! Each answer is some words, in letters of one to four bytes, and then many cheap calls, none of them twice. After so
//! many answers it says its last words. How far a conversation is, it reads from the question, so a server that was
//! killed can ask again.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::web::{ConnectionDropped, ServerTask};

/// Answers with calls in each run.
const ANSWERS: usize = 6;
/// Calls in each of them.
const CALLS: usize = 12;
/// Pieces of text in each of them, and how long it takes for each.
const PIECES: usize = 24;
const GAP: Duration = Duration::from_millis(2);
const WORDS: &[&str] = &["流", "stream ", "événement ", "🌊", "журнал ", "数据不丢", "once ", "🧵 "];

/// The events of a run that is never interrupted: its start, its end, and for each answer the words, the end of the
/// step, and three for each call.
pub(super) const EVENTS: usize = 2 + ANSWERS * (2 + 3 * CALLS) + 2;

pub(super) async fn start() -> anyhow::Result<ServerTask> {
    Ok(ServerTask::start(TcpListener::bind("127.0.0.1:0").await?, answer)?)
}

type Body = StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, ConnectionDropped>>>;

async fn answer(question: Request<Incoming>) -> Result<Response<Body>, ConnectionDropped> {
    let body = question.into_body().collect().await.map_err(|_| ConnectionDropped)?.to_bytes();
    let question: Value = serde_json::from_slice(&body).map_err(|_| ConnectionDropped)?;
    let answers = count_answers(&question);
    Ok(Response::new(StreamBody::new(paced(pieces(answers)).boxed())))
}

/// How many answers it has given since the user spoke.
fn count_answers(question: &Value) -> usize {
    let messages = question["messages"].as_array().map_or(&[][..], Vec::as_slice);
    messages
        .iter()
        .rev()
        .take_while(|one| one["role"] != "user")
        .filter(|one| one["role"] == "assistant")
        .count()
}

/// The chunks of one answer, each with whether it is text.
fn pieces(answers: usize) -> Vec<(Bytes, bool)> {
    let mut pieces = vec![];
    let mut piece = |delta: Value, finish: Option<&str>, is_text: bool| {
        let chunk = json!({
            "id": "chatcmpl-storm", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "storm",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        });
        pieces.push((Bytes::from(format!("data: {chunk}\n\n")), is_text));
    };
    for n in 0..PIECES {
        piece(
            json!({"content": format!("{}{} ", WORDS[(answers + n) % WORDS.len()], answers * 100 + n)}),
            None,
            true,
        );
    }
    let calls = if answers < ANSWERS { CALLS } else { 0 };
    for n in 0..calls {
        let arguments = json!({"expression": format!("{} * 7", answers * CALLS + n + 1)}).to_string();
        let call = json!({"index": n, "id": format!("c{answers}-{n}"), "type": "function",
            "function": {"name": "calculator", "arguments": arguments}});
        piece(json!({"tool_calls": [call]}), None, false);
    }
    piece(json!({}), Some(if calls == 0 { "stop" } else { "tool_calls" }), false);
    pieces.push((Bytes::from_static(b"data: [DONE]\n\n"), false));
    pieces
}

fn paced(pieces: Vec<(Bytes, bool)>) -> impl Stream<Item = Result<Frame<Bytes>, ConnectionDropped>> + Send {
    stream::iter(pieces).then(|(bytes, is_text)| async move {
        if is_text {
            tokio::time::sleep(GAP).await;
        }
        Ok(Frame::data(bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_comes_twice_and_the_last_answer_has_none() {
        let mut seen = std::collections::BTreeSet::new();
        for answers in 0..=ANSWERS {
            let text: String = pieces(answers)
                .iter()
                .map(|(bytes, _)| String::from_utf8_lossy(bytes).into_owned())
                .collect();
            let calls: Vec<_> = text.matches(" * 7").collect();
            assert_eq!(calls.len(), if answers < ANSWERS { CALLS } else { 0 });
            for line in text.lines().filter(|line| line.contains(" * 7")) {
                let (before, _) = line.split_once(" * 7").unwrap();
                assert!(seen.insert(before.rsplit('"').next().unwrap().to_owned()), "{line}");
            }
        }
        assert_eq!(seen.len(), ANSWERS * CALLS);
    }

    #[test]
    fn how_far_it_is_is_read_from_the_question() {
        let message = |role: &str| json!({"role": role});
        let messages =
            [message("user"), message("assistant"), message("user"), message("assistant"), message("tool")];
        assert_eq!(count_answers(&json!({"messages": messages})), 1);
        assert_eq!(count_answers(&json!({})), 0);
    }
}
