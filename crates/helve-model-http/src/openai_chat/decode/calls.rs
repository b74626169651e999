//! Assigns the pieces of calls to calls. Servers identify the call by index, by id, or not at all.

use std::borrow::Cow;
use std::collections::VecDeque;

use helve_model::ModelEvent;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::wire;

/// The calls so far; the index in events is the position in the list.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The answer is not streamed: every piece is a call of its own, even if two have the same id.
    is_complete_answer: bool,
}

struct Call {
    wire_index: Option<i64>,
    id: Option<String>,
    /// Whether the name is known and `CallStarted` was emitted.
    started: bool,
    /// Whether a name was sent, even an empty one.
    named: bool,
    /// All arguments, also those before the name.
    arguments: String,
    /// Whether `CallFinished` was emitted.
    finished: bool,
}

impl Call {
    /// Emits once that the call is complete, unless its arguments are cut.
    fn finish(&mut self, position: usize, events: &mut VecDeque<ModelEvent>) {
        let is_cut = !self.arguments.trim().is_empty() && arguments_are_cut(&self.arguments);
        if self.started && !self.finished && !is_cut {
            self.finished = true;
            events.push_back(ModelEvent::CallFinished { index: u32::try_from(position).unwrap_or(u32::MAX) });
        }
    }

    fn start(&mut self, index: u32, name: &str, events: &mut VecDeque<ModelEvent>) {
        self.started = true;
        events.push_back(ModelEvent::CallStarted { index, id: self.id.clone(), tool: name.into() });
        if !self.arguments.is_empty() {
            events.push_back(ModelEvent::CallArguments { index, text: self.arguments.clone() });
        }
    }
}

/// The arguments as text: the string's contents, or the JSON value of servers that do not send a string.
fn arguments_text(value: &RawValue) -> Cow<'_, str> {
    match value.get() {
        "null" => Cow::Borrowed(""),
        raw if raw.starts_with('"') => serde_json::from_str::<String>(raw).unwrap_or_default().into(),
        raw => Cow::Borrowed(raw),
    }
}

fn arguments_are_cut(arguments: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(arguments).is_err_and(|error| error.is_eof())
}

impl Calls {
    /// For an answer that is not streamed.
    pub(super) fn for_complete_answer() -> Self {
        Self { is_complete_answer: true, ..Self::default() }
    }

    pub(super) fn has_calls(&self) -> bool {
        self.calls.iter().any(|call| call.started)
    }

    /// Whether the last call ends inside its arguments.
    pub(super) fn is_cut(&self) -> bool {
        let last = self.calls.iter().rfind(|call| call.started && !call.arguments.trim().is_empty());
        last.is_some_and(|call| arguments_are_cut(&call.arguments))
    }

    /// Whether any call has no arguments or incomplete ones. Without a finish reason, missing arguments may have been cut
    /// off, so they do not count as a call without arguments.
    pub(super) fn has_incomplete(&self) -> bool {
        self.calls.iter().any(|call| call.started && arguments_are_cut(&call.arguments))
    }

    /// Emits the calls without a name, with an empty name, so that no call is lost.
    pub(super) fn emit_nameless(&mut self, events: &mut VecDeque<ModelEvent>) {
        for (index, call) in (0..).zip(&mut self.calls) {
            if !call.started && (call.id.is_some() || !call.arguments.is_empty() || call.named) {
                call.start(index, "", events);
            }
        }
    }

    pub(super) fn apply(&mut self, piece: &wire::CallDelta<'_>, events: &mut VecDeque<ModelEvent>) {
        let function = piece.function.as_ref();
        let id = piece.id.as_deref().filter(|id| !id.is_empty());
        let given = function.and_then(|function| function.name.as_deref());
        let name = given.filter(|name| !name.is_empty());
        let known = self.calls.len();
        let position = self.find_or_add(piece.index, id, name);
        if position == known && !self.is_complete_answer {
            self.finish_previous(position, events);
        }
        let index = u32::try_from(position).unwrap_or(u32::MAX);
        let call = &mut self.calls[position];
        let arguments =
            function.and_then(|function| function.arguments).map(arguments_text).unwrap_or_default();
        call.arguments.push_str(&arguments);
        call.named |= given.is_some();
        if call.started {
            if !arguments.is_empty() {
                let text = arguments.into_owned();
                events.push_back(ModelEvent::CallArguments { index, text });
            }
        } else if let Some(name) = name {
            call.start(index, name, events);
        }
    }

    /// Calls are written one after the other: where the next begins, the previous one is complete. A server that writes
    /// several at once leaves its arguments open.
    fn finish_previous(&mut self, position: usize, events: &mut VecDeque<ModelEvent>) {
        if let Some(previous) = position.checked_sub(1) {
            self.calls[previous].finish(previous, events);
        }
    }

    /// The finish reason comes after the last piece, so every call is complete, although usage may still follow.
    pub(super) fn finish_all(&mut self, events: &mut VecDeque<ModelEvent>) {
        if !self.is_complete_answer {
            for (position, call) in self.calls.iter_mut().enumerate() {
                call.finish(position, events);
            }
        }
    }

    /// The position of the piece's call: the call with its index, unless the piece has another id; without an index the
    /// last call, unless the piece begins a new one.
    fn find_or_add(&mut self, wire_index: Option<i64>, id: Option<&str>, name: Option<&str>) -> usize {
        let same_id = |call: &Call| id.is_none() || call.id.is_none() || call.id.as_deref() == id;
        let known = match wire_index {
            _ if self.is_complete_answer => None,
            Some(_) => self.calls.iter().rposition(|call| call.wire_index == wire_index && same_id(call)),
            None => {
                let last = self.calls.len().checked_sub(1);
                last.filter(|last| same_id(&self.calls[*last]) && (id.is_some() || name.is_none()))
            }
        };
        if let Some(position) = known {
            if let Some(id) = id {
                self.calls[position].id.get_or_insert_with(|| id.into());
            }
            return position;
        }
        self.calls.push(Call {
            wire_index,
            id: id.map(Into::into),
            started: false,
            named: false,
            arguments: String::new(),
            finished: false,
        });
        self.calls.len() - 1
    }
}
