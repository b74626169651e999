//! A model that replays the answers of a test.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use helve_types::{Mode, ModelParams, StopReason, ToolChoice, Usage};
use tokio::sync::Notify;

use crate::{FormSupport, Model, ModelError, ModelEvent, ModelRequest, ModelStream, ToolMode};

/// One answer of the script.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    events: Vec<Result<ModelEvent, ModelError>>,
    /// Before which of the events the model waits until a test goes on.
    waits: Vec<(usize, Arc<Notify>)>,
    hangs: bool,
    delay: Duration,
}

impl Reply {
    pub fn new() -> Self {
        Self::default()
    }

    /// Text, word by word.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        let words = text.split_inclusive(' ').map(|word| Ok(ModelEvent::Text(word.into())));
        self.events.extend(words);
        self
    }

    #[must_use]
    pub fn reasoning(mut self, text: &str) -> Self {
        let words = text.split_inclusive(' ').map(|word| Ok(ModelEvent::Reasoning(word.into())));
        self.events.extend(words);
        self
    }

    /// A call, its arguments in two pieces.
    #[must_use]
    pub fn call(mut self, tool: &str, arguments: &str) -> Self {
        let started =
            |event: &&Result<ModelEvent, ModelError>| matches!(event, Ok(ModelEvent::CallStarted { .. }));
        let index = u32::try_from(self.events.iter().filter(started).count()).unwrap_or(u32::MAX);
        let id = Some(format!("call_{}", index + 1));
        self.events.push(Ok(ModelEvent::CallStarted { index, id, tool: tool.into() }));
        let middle =
            arguments.char_indices().map(|(at, _)| at).nth(arguments.chars().count() / 2).unwrap_or(0);
        for piece in [&arguments[..middle], &arguments[middle..]] {
            self.events.push(Ok(ModelEvent::CallArguments { index, text: piece.into() }));
        }
        self
    }

    /// The server marks the last call as complete.
    #[must_use]
    pub fn call_finished(mut self) -> Self {
        let index = self.events.iter().rev().find_map(|event| match event {
            Ok(ModelEvent::CallStarted { index, .. }) => Some(*index),
            _ => None,
        });
        self.events.extend(index.map(|index| Ok(ModelEvent::CallFinished { index })));
        self
    }

    /// Sends what follows when a test says so.
    #[must_use]
    pub fn waits(mut self, until: &Arc<Notify>) -> Self {
        self.waits.push((self.events.len(), until.clone()));
        self
    }

    /// A usage report in the middle of the answer.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.events.push(Ok(ModelEvent::Usage(usage)));
        self
    }

    #[must_use]
    pub fn fails(mut self, error: ModelError) -> Self {
        self.events.push(Err(error));
        self
    }

    /// Sends the whole answer after this delay.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Sends nothing after the events so far and never ends, until the stream is dropped.
    #[must_use]
    pub fn hangs(mut self) -> Self {
        self.hangs = true;
        self
    }

    /// Completes the answer; without this the stream breaks off.
    #[must_use]
    pub fn done(mut self) -> Self {
        let called = self.events.iter().any(|event| matches!(event, Ok(ModelEvent::CallStarted { .. })));
        let reason = if called { StopReason::ToolCalls } else { StopReason::Stop };
        self.events.push(Ok(ModelEvent::Finished(reason)));
        let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
        self.events.push(Ok(ModelEvent::Usage(usage)));
        self
    }

    #[must_use]
    pub fn cut_by_length(mut self) -> Self {
        self.events.push(Ok(ModelEvent::Finished(StopReason::Length)));
        self
    }
}

/// Answers each request with the next reply and records the requests.
pub struct ScriptedModel {
    name: String,
    mode: ToolMode,
    params: ModelParams,
    only_auto: bool,
    form_support: FormSupport,
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<RecordedRequest>>,
}

/// A request, as far as tests look at it.
struct RecordedRequest {
    text: String,
    params: ModelParams,
    stable_system: String,
}

impl ScriptedModel {
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self {
            name: "scripted".into(),
            mode: ToolMode::Fixed(Mode::Native),
            params: ModelParams::default(),
            only_auto: false,
            form_support: FormSupport::None,
            replies: Mutex::new(replies.into_iter().collect()),
            asked: Mutex::default(),
        }
    }

    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    #[must_use]
    pub fn in_mode(mut self, mode: ToolMode) -> Self {
        self.mode = mode;
        self
    }

    /// Supports no tool choice but `auto`.
    #[must_use]
    pub fn only_auto(mut self) -> Self {
        self.only_auto = true;
        self
    }

    /// Claims that the server can enforce such forms.
    #[must_use]
    pub fn with_form_support(mut self, form_support: FormSupport) -> Self {
        self.form_support = form_support;
        self
    }

    /// Adds to the end of the script.
    pub fn then(&self, reply: Reply) {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).push_back(reply);
    }

    /// The requests so far, each as readable text.
    pub fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().map(|asked| asked.text.clone()).collect()
    }

    /// The parameters of each request.
    pub fn asked_with(&self) -> Vec<ModelParams> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().map(|asked| asked.params.clone()).collect()
    }

    /// The stable prefix of each request's system prompt.
    pub fn asked_after(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().map(|asked| asked.stable_system.clone()).collect()
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn tool_mode(&self) -> ToolMode {
        self.mode.clone()
    }

    fn params(&self) -> &ModelParams {
        &self.params
    }

    fn supports_choice(&self, choice: &ToolChoice, _params: &ModelParams) -> bool {
        !self.only_auto || *choice == ToolChoice::Auto
    }

    fn form_support(&self) -> FormSupport {
        self.form_support
    }

    fn ask(&self, request: &ModelRequest<'_>) -> ModelStream {
        let stable_system = request.system.get(..request.stable).unwrap_or_default().to_owned();
        let recorded =
            RecordedRequest { text: readable(request), params: request.params.clone(), stable_system };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
        let next = self.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let reply = next.unwrap_or_else(|| Reply::new().text("(the script is over)").done());
        let waits = reply.waits;
        let events = stream::iter((0..).zip(reply.events)).then(move |(at, event)| {
            let until = waits.iter().find(|(before, _)| *before == at).map(|(_, until)| until.clone());
            async move {
                if let Some(until) = until {
                    until.notified().await;
                }
                event
            }
        });
        let events = async move {
            if !reply.delay.is_zero() {
                tokio::time::sleep(reply.delay).await;
            }
            events
        }
        .flatten_stream();
        if reply.hangs { Box::pin(events.chain(stream::pending())) } else { Box::pin(events) }
    }
}

/// The request as readable text.
fn readable(request: &ModelRequest<'_>) -> String {
    use std::fmt::Write;

    use crate::Turn;

    let mut text = String::new();
    if !request.system.is_empty() {
        _ = writeln!(text, "system: {}", request.system);
    }
    for turn in &request.turns {
        _ = match turn {
            Turn::User(message) => writeln!(text, "user: {message}"),
            Turn::Assistant { text: message, reasoning, calls, .. } => {
                if !reasoning.is_empty() {
                    _ = writeln!(text, "thinks: {reasoning}");
                }
                if !message.is_empty() {
                    _ = writeln!(text, "assistant: {message}");
                }
                calls.iter().try_for_each(|call| {
                    writeln!(text, "calls: {} {} {}", call.id, call.tool, call.arguments)
                })
            }
            Turn::Result { id, text: result, is_error, .. } => {
                writeln!(text, "{}: {id} {result}", if *is_error { "error" } else { "result" })
            }
        };
    }
    if !request.tools.is_empty() {
        let names: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        _ = writeln!(text, "tools: {}", names.join(" "));
        _ = match request.tool_choice {
            ToolChoice::Auto => Ok(()),
            ToolChoice::None => writeln!(text, "choice: none"),
            ToolChoice::Required => writeln!(text, "choice: required"),
            ToolChoice::Named(name) => writeln!(text, "choice: {name}"),
        };
    }
    if let Some(form) = &request.form {
        let root = form.grammar.lines().next().unwrap_or_default();
        _ = writeln!(text, "form: {root}{}", if form.schema.is_some() { ", or a schema" } else { "" });
    }
    text
}
