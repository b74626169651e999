//! Collects one message of the model: shows it as it comes, and gives it as a whole when it is complete.
//!
//! Native calls arrive as such; calls and reasoning that the model writes into its text are found by the dialect
//! parser. Both end up as the same thing, so nothing later needs to know which it was.

use std::collections::VecDeque;
use std::task::Poll;

use futures_util::StreamExt;
use helve_dialect::{Dropped, End, Parser, Piece, Reading, Waiting, repair_arguments};
use helve_json::Repair;
use helve_model::{ModelError, ModelErrorKind, ModelEvent, ModelStream};
use helve_types::{Mode, PartId, PartKind, StopReason, Usage};
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::Instant;

use crate::feed::Feed;
use crate::run::{Flaw, ModelMessage, ModelMessageCall, ModelMessagePart, Tools};

/// Tools have names of up to 64 letters; a model may put a word before one.
const NAME_CHARS_MAX: usize = 128;
/// What is longer is refused for its length, whatever it says.
const REPAIRED_BYTES_MAX: usize = 1 << 20;

/// Why there is no complete message.
#[derive(Debug)]
pub(crate) struct BrokenAnswer {
    pub(crate) error: ModelError,
    /// Whether readers have seen anything of it.
    pub(crate) shown: bool,
}

/// A call that is complete in a message that may not be.
#[derive(Debug)]
pub(crate) struct WrittenCall {
    /// Its place among the calls of the message so far.
    pub(crate) index: u32,
    pub(crate) part: PartId,
    pub(crate) provider_id: Option<String>,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) repairs: Vec<String>,
}

pub(crate) struct StreamCollector<'a> {
    feed: &'a Feed,
    step: u32,
    attempt: u32,
    parser: Parser,
    /// What may be called, for the repair of arguments.
    tools: helve_dialect::Tools,
    /// How the text is read if the server tells the reasoning by itself, as long as nothing has come.
    without_reasoning: Option<Reading>,
    collected: CollectedParts,
    usage: Usage,
    /// When the first piece of the answer came.
    first_at: Option<Instant>,
    stopped: Option<StopReason>,
    dialect: Option<&'static str>,
    echo: Option<Value>,
    /// Complete calls that were not given out yet.
    written_calls: VecDeque<WrittenCall>,
}

/// What has been collected so far.
struct CollectedParts {
    parts: u32,
    /// The part that text or reasoning goes to, by its kind and number in the feed.
    current: Option<(PartKind, u64)>,
    /// The part that shows text of which it is not known yet whether it is any.
    previewed: Option<(PartKind, u64)>,
    calls: Vec<StreamedCall>,
    /// The calls that the last event completed.
    completed: Vec<CallSource>,
    /// What a result begins with that the model makes up, without blanks.
    results: Vec<String>,
    /// The end of the text behind a call in the text, without blanks; none before there is one.
    behind: Option<String>,
    /// The model has made up a result: nothing it writes from there on counts.
    made_up: bool,
}

struct StreamedCall {
    source: CallSource,
    part: PartId,
    number: u64,
    /// What was written to before it.
    before: Option<(PartKind, u64)>,
    provider_id: Option<String>,
    tool: String,
    arguments: String,
    repairs: Vec<Repair>,
    flaw: Option<Flaw>,
}

/// Where the call was found, with its number there.
#[derive(Clone, Copy, PartialEq)]
enum CallSource {
    Vendor(u32),
    Text(u32),
}

impl<'a> StreamCollector<'a> {
    /// `after_seq` is the last event that may not be durable yet, `results` are the texts with which a model begins a result that it makes up.
    pub(crate) fn new(
        feed: &'a Feed,
        (step, attempt): (u32, u32),
        after_seq: u64,
        reading: Reading,
        results: Vec<String>,
    ) -> Self {
        feed.begin_step(step, attempt, after_seq);
        let without_blanks = |text: String| text.split_whitespace().collect();
        let results = results.into_iter().map(without_blanks).collect();
        Self {
            feed,
            step,
            attempt,
            parser: Parser::new(reading.clone()),
            tools: reading.tools().clone(),
            without_reasoning: Some(reading.reasoning_open(false)),
            collected: CollectedParts {
                parts: 0,
                current: None,
                previewed: None,
                calls: vec![],
                completed: vec![],
                results,
                behind: None,
                made_up: false,
            },
            usage: Usage::default(),
            first_at: None,
            stopped: None,
            dialect: None,
            echo: None,
            written_calls: VecDeque::new(),
        }
    }

    /// The dialect of the calls in the text, if there were any.
    pub(crate) fn dialect(&self) -> Option<&'static str> {
        let in_text = self.collected.calls.iter().any(|call| matches!(call.source, CallSource::Text(_)));
        self.dialect.filter(|_| in_text)
    }

    /// What the vendor has reported so far.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    pub(crate) fn first_event_at(&self) -> Option<Instant> {
        self.first_at
    }

    /// Reads the stream until it pauses after a call that is complete, and gives that call; none at its end. Dropping the
    /// future loses nothing: what was read stays here.
    pub(crate) async fn read_until_call_or_end(
        &mut self,
        stream: &mut ModelStream,
    ) -> Result<Option<WrittenCall>, BrokenAnswer> {
        std::future::poll_fn(|cx| {
            loop {
                let event = match stream.poll_next_unpin(cx) {
                    Poll::Ready(Some(Ok(event))) => event,
                    Poll::Ready(Some(Err(error))) => {
                        return Poll::Ready(self.broken_unless_finished(error).map(|()| None));
                    }
                    Poll::Ready(None) => {
                        let message = "the model's answer broke off before its end";
                        let error = ModelError::new(ModelErrorKind::Broken, message);
                        return Poll::Ready(self.broken_unless_finished(error).map(|()| None));
                    }
                    Poll::Pending => {
                        return match self.written_calls.pop_front() {
                            Some(call) => Poll::Ready(Ok(Some(call))),
                            None => Poll::Pending,
                        };
                    }
                };
                if self.first_at.is_none() {
                    self.first_at = Some(Instant::now());
                }
                self.handle_event(event);
            }
        })
        .await
    }

    /// Nothing more will come. A message that was complete stays so, whatever happened to its stream afterwards.
    pub(crate) fn broken_unless_finished(&self, error: ModelError) -> Result<(), BrokenAnswer> {
        if self.stopped.is_some() {
            return Ok(());
        }
        Err(BrokenAnswer { error, shown: self.collected.parts > 0 })
    }

    fn handle_event(&mut self, event: ModelEvent) {
        let Self { feed, step, attempt, parser, tools, without_reasoning, collected, .. } = self;
        let reading = without_reasoning.take();
        let place = Display { feed, step: *step, attempt: *attempt };
        match event {
            ModelEvent::Text(text) => parser.feed(&text, &mut |piece| collected.handle_piece(place, piece)),
            ModelEvent::Reasoning(text) => {
                // Then none of it is in the text, whatever the prompt has opened.
                if let Some(reading) = reading {
                    *parser = Parser::new(reading);
                }
                collected.write_text(place, PartKind::Reasoning, &text);
            }
            ModelEvent::CallStarted { index, id, tool } => {
                collected.begin_call(place, CallSource::Vendor(index), id, tool)
            }
            ModelEvent::CallArguments { index, text } => {
                collected.extend_arguments(place, CallSource::Vendor(index), &text)
            }
            ModelEvent::CallFinished { index } => collected.completed.push(CallSource::Vendor(index)),
            ModelEvent::Usage(usage) => self.usage = usage,
            ModelEvent::Echo(echo) => self.echo = Some(echo),
            ModelEvent::Finished(reason) => {
                self.stopped = Some(reason);
                let end = if reason == StopReason::Length { End::Cut } else { End::Normal };
                self.dialect = parser.finish(end, &mut |piece| collected.handle_piece(place, piece)).dialect;
                match end {
                    End::Cut => collected.mark_incomplete_native_calls(),
                    End::Normal => collected.repair_native_calls(tools),
                }
            }
        }
        collected.show_preview(place, parser.waiting());
        for source in std::mem::take(&mut collected.completed) {
            self.written_calls.extend(collected.completed_call(source, tools));
        }
    }

    /// The complete message.
    pub(crate) fn into_message(self, mode: Mode, tools: Tools) -> ModelMessage {
        let parts = self.message_parts();
        let calls = if tools == Tools::Offered { self.collected.calls } else { vec![] };
        let mut reason = self.stopped.unwrap_or(StopReason::Other);
        if reason == StopReason::Stop && !calls.is_empty() {
            reason = StopReason::ToolCalls;
        }
        ModelMessage {
            parts,
            calls: drop_repeated_call_ids(calls),
            reason,
            usage: self.usage,
            mode,
            cost_nanos: None,
            model: None,
            fingerprint: None,
            echo: self.echo,
            params: None,
        }
    }

    /// What was said before a person stopped it: words, but no calls.
    pub(crate) fn into_stopped_message(self, mode: Mode) -> ModelMessage {
        let parts = self.message_parts();
        ModelMessage {
            parts,
            calls: vec![],
            reason: StopReason::Cancelled,
            usage: self.usage,
            mode,
            cost_nanos: None,
            model: None,
            fingerprint: None,
            // Words that broke off are not what a signature was made for.
            echo: None,
            params: None,
        }
    }

    /// What readers saw of the text of a message that broke off.
    pub(crate) fn shown_text(&self) -> Vec<(PartId, String)> {
        let text_of = |part| match part {
            ModelMessagePart::Text { part, text } => Some((part, text)),
            ModelMessagePart::Reasoning { .. } => None,
        };
        self.message_parts().into_iter().filter_map(text_of).collect()
    }

    fn message_parts(&self) -> Vec<ModelMessagePart> {
        let written = self.feed.current_parts().into_iter().filter(|part| !part.text.trim().is_empty());
        written
            .filter_map(|part| match part.kind {
                PartKind::Text => Some(ModelMessagePart::Text { part: part.id, text: part.text }),
                PartKind::Reasoning => Some(ModelMessagePart::Reasoning { part: part.id, text: part.text }),
                PartKind::Input | PartKind::Progress => None,
            })
            .collect()
    }
}

/// Where parts are shown.
#[derive(Clone, Copy)]
struct Display<'a> {
    feed: &'a Feed,
    step: u32,
    attempt: u32,
}

impl CollectedParts {
    fn handle_piece(&mut self, place: Display<'_>, piece: Piece<'_>) {
        match piece {
            // A quotation comes out as text; nothing was meant to run.
            Piece::CallDropped { index, why: Dropped::Quoted, .. } => {
                self.discard_call(place, CallSource::Text(index))
            }
            _ if self.made_up => {
                if let Piece::CallFinished { index, .. } | Piece::CallDropped { index, .. } = piece {
                    self.discard_call(place, CallSource::Text(index));
                }
            }
            Piece::Text(text) if self.behind.is_some() => self.drop_text_after_calls(text),
            Piece::Text(text) => self.write_text(place, PartKind::Text, text),
            Piece::Reasoning(text) => self.write_text(place, PartKind::Reasoning, text),
            Piece::CallStarted { index, name } => {
                self.begin_call(place, CallSource::Text(index), None, name.into())
            }
            Piece::CallArguments { index, text } => {
                self.extend_arguments(place, CallSource::Text(index), text)
            }
            Piece::CallFinished { index, call } => {
                if !self.calls.iter().any(|known| known.source == CallSource::Text(index)) {
                    self.begin_call(place, CallSource::Text(index), None, call.name.clone());
                }
                if let Some(known) =
                    self.calls.iter_mut().find(|known| known.source == CallSource::Text(index))
                {
                    known.provider_id = call.id;
                    known.tool = cut_tool_name(call.name);
                    known.arguments = call.arguments;
                    known.repairs = call.repairs;
                }
                self.completed.push(CallSource::Text(index));
                self.behind = Some(String::new());
            }
            // What was meant as a call and cannot be read is kept as one that never runs, so that the model is told.
            Piece::CallDropped { index, name, text, why } => {
                if !self.calls.iter().any(|known| known.source == CallSource::Text(index)) {
                    self.begin_call(place, CallSource::Text(index), None, name.unwrap_or_default().into());
                }
                if let Some(known) =
                    self.calls.iter_mut().find(|known| known.source == CallSource::Text(index))
                {
                    known.arguments = text.to_owned();
                    known.flaw = Some(if why == Dropped::Cut { Flaw::Cut } else { Flaw::Broken });
                }
                self.behind = Some(String::new());
            }
        }
    }

    /// What the model writes behind its calls is a guess: it is neither shown nor kept. Where it makes up a result,
    /// its message is over, since what follows is based on that.
    fn drop_text_after_calls(&mut self, text: &str) {
        let Some(behind) = &mut self.behind else { return };
        behind.extend(text.chars().filter(|c| !c.is_whitespace()));
        self.made_up = self.results.iter().any(|result| behind.contains(&**result));
        // A beginning may be all that has come.
        let kept = self.results.iter().map(String::len).max().unwrap_or_default();
        let gone = behind.floor_char_boundary(behind.len().saturating_sub(kept));
        behind.drain(..gone);
    }

    /// A call that is none. The text goes on where it was.
    fn discard_call(&mut self, place: Display<'_>, source: CallSource) {
        let Some(at) = self.calls.iter().position(|known| known.source == source) else { return };
        let call = self.calls.remove(at);
        place.feed.discard_part(call.number);
        self.current = self.current.or(call.before);
    }

    /// The message reached its limit: a native call is whole only if its arguments are.
    fn mark_incomplete_native_calls(&mut self) {
        for call in self.calls.iter_mut().filter(|call| matches!(call.source, CallSource::Vendor(_))) {
            if serde_json::from_str::<IgnoredAny>(&call.arguments).is_err() {
                call.flaw = Some(Flaw::Cut);
            }
        }
    }

    /// The call as it will be in the complete message, if nothing else becomes of it.
    fn completed_call(&self, source: CallSource, tools: &helve_dialect::Tools) -> Option<WrittenCall> {
        let (index, call) = (0..).zip(&self.calls).find(|(_, call)| call.source == source)?;
        // Where nothing has come, more may.
        let is_blank = call.arguments.trim().is_empty();
        if call.flaw.is_some() || is_blank || call.arguments.len() > REPAIRED_BYTES_MAX {
            return None;
        }
        let repaired = match source {
            CallSource::Vendor(_) => repair_arguments(&call.arguments, &call.tool, tools),
            CallSource::Text(_) => None,
        };
        let (arguments, repairs) = match &repaired {
            Some(repaired) => (&repaired.text, &repaired.changes),
            None => (&call.arguments, &call.repairs),
        };
        Some(WrittenCall {
            index,
            part: call.part.clone(),
            provider_id: call.provider_id.clone(),
            tool: call.tool.clone(),
            arguments: arguments.clone(),
            repairs: repairs.iter().map(Repair::to_string).collect(),
        })
    }

    /// Native arguments that are not JSON are read as those in text are.
    fn repair_native_calls(&mut self, tools: &helve_dialect::Tools) {
        for call in self.calls.iter_mut().filter(|call| matches!(call.source, CallSource::Vendor(_))) {
            if call.arguments.len() > REPAIRED_BYTES_MAX {
                continue;
            }
            if let Some(repaired) = repair_arguments(&call.arguments, &call.tool, tools) {
                call.arguments = repaired.text;
                call.repairs = repaired.changes;
            }
        }
    }

    fn write_text(&mut self, place: Display<'_>, kind: PartKind, text: &str) {
        if text.is_empty() {
            return;
        }
        let number = self.part_number_for(place, kind);
        place.feed.push_text(number, text);
    }

    /// The part that text of this kind goes to: the one that is being written, or else a new one.
    fn part_number_for(&mut self, place: Display<'_>, kind: PartKind) -> u64 {
        match self.current {
            Some((current, number)) if current == kind => number,
            _ => {
                let number = place.feed.open_part(self.next_part_id(place), kind, None);
                self.current = Some((kind, number));
                number
            }
        }
    }

    /// Shows what the parser holds back, until it knows whether that is text: readers need not wait for it.
    fn show_preview(&mut self, place: Display<'_>, waiting: Option<Waiting<'_>>) {
        let kind = |waiting: Waiting<'_>| match waiting.in_reasoning {
            true => PartKind::Reasoning,
            false => PartKind::Text,
        };
        let part = waiting.map(|waiting| match self.previewed {
            // The model's server may tell reasoning apart in between.
            Some(part) if part.0 == kind(waiting) && self.current.is_none_or(|(kind, _)| kind != part.0) => {
                part
            }
            _ => (kind(waiting), self.part_number_for(place, kind(waiting))),
        });
        if let Some((_, number)) = self.previewed.take_if(|previewed| Some(*previewed) != part) {
            place.feed.set_preview(number, "");
        }
        let (Some((kind, number)), Some(waiting)) = (part, waiting) else { return };
        self.previewed = Some((kind, number));
        place.feed.set_preview(number, &format!("{}{}", waiting.blanks, waiting.beginning));
    }

    fn begin_call(
        &mut self,
        place: Display<'_>,
        source: CallSource,
        provider_id: Option<String>,
        tool: String,
    ) {
        let tool = cut_tool_name(tool);
        let part = self.next_part_id(place);
        let number = place.feed.open_part(part.clone(), PartKind::Input, Some(tool.clone()));
        let before = self.current.take();
        self.calls.push(StreamedCall {
            source,
            part,
            number,
            before,
            provider_id,
            tool,
            arguments: String::new(),
            repairs: vec![],
            flaw: None,
        });
    }

    fn extend_arguments(&mut self, place: Display<'_>, source: CallSource, text: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.source == source) {
            call.arguments.push_str(text);
            place.feed.push_text(call.number, text);
        }
    }

    fn next_part_id(&mut self, place: Display<'_>) -> PartId {
        let part = PartId::new(place.step, place.attempt, self.parts);
        self.parts += 1;
        part
    }
}

/// The name of a tool, cut where it is longer than any can be: then no tool has it, and the rest is not needed.
fn cut_tool_name(mut tool: String) -> String {
    if let Some((at, _)) = tool.char_indices().nth(NAME_CHARS_MAX) {
        tool.truncate(at);
        tool.push('…');
    }
    tool
}

/// Calls whose names are unique in the message: a name used twice could not be answered.
fn drop_repeated_call_ids(calls: Vec<StreamedCall>) -> Vec<ModelMessageCall> {
    let mut unique_calls: Vec<ModelMessageCall> = Vec::with_capacity(calls.len());
    for call in calls {
        let unique = |id: &String| {
            !id.is_empty() && unique_calls.iter().all(|other| other.provider_id.as_ref() != Some(id))
        };
        unique_calls.push(ModelMessageCall {
            part: Some(call.part),
            provider_id: call.provider_id.filter(unique),
            tool: call.tool,
            arguments: call.arguments,
            repairs: call.repairs.iter().map(Repair::to_string).collect(),
            flaw: call.flaw,
        });
    }
    unique_calls
}
