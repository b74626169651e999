//! Calls come in pieces, and which piece belongs to which call is said in several ways, or not at all.

use std::borrow::Cow;
use std::collections::VecDeque;

use helve_model::ModelEvent;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::wire;

/// The calls met so far; our number for one is its place in the list.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Nothing comes in pieces: every call is one of its own, even if two have the same id.
    whole: bool,
}

struct Call {
    wire_index: Option<i64>,
    id: Option<String>,
    /// Whether its name is known and its beginning was told.
    started: bool,
    /// Whether a name was sent, if only an empty one.
    named: bool,
    /// All of them, also those that came before the name.
    arguments: String,
}

impl Call {
    fn start(&mut self, index: u32, name: &str, events: &mut VecDeque<ModelEvent>) {
        self.started = true;
        events.push_back(ModelEvent::CallStarted { index, id: self.id.clone(), tool: name.into() });
        if !self.arguments.is_empty() {
            events.push_back(ModelEvent::CallArguments { index, text: self.arguments.clone() });
        }
    }
}

/// The text of arguments: what the string says, or the value itself, which is not what the protocol says, but clear
/// enough.
fn written(value: &RawValue) -> Cow<'_, str> {
    match value.get() {
        "null" => Cow::Borrowed(""),
        raw if raw.starts_with('"') => serde_json::from_str::<String>(raw).unwrap_or_default().into(),
        raw => Cow::Borrowed(raw),
    }
}

fn is_cut(arguments: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(arguments).is_err_and(|error| error.is_eof())
}

impl Calls {
    /// Those of an answer in one piece.
    pub(super) fn whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    pub(super) fn any(&self) -> bool {
        self.calls.iter().any(|call| call.started)
    }

    /// Whether the last call ends in the middle of its arguments.
    pub(super) fn cut(&self) -> bool {
        let last = self.calls.iter().rfind(|call| call.started && !call.arguments.trim().is_empty());
        last.is_some_and(|call| is_cut(&call.arguments))
    }

    /// Whether any call has no arguments or ends in the middle of them. Where no reason says that the answer is
    /// whole, arguments that did not come are not the same as a call without arguments.
    pub(super) fn unfinished(&self) -> bool {
        self.calls.iter().any(|call| call.started && is_cut(&call.arguments))
    }

    /// Tells the calls whose name never came, with an empty one: a call that says something must not vanish.
    pub(super) fn tell_nameless(&mut self, events: &mut VecDeque<ModelEvent>) {
        for (index, call) in (0..).zip(&mut self.calls) {
            if !call.started && (call.id.is_some() || !call.arguments.is_empty() || call.named) {
                call.start(index, "", events);
            }
        }
    }

    pub(super) fn take(&mut self, piece: &wire::CallDelta<'_>, events: &mut VecDeque<ModelEvent>) {
        let function = piece.function.as_ref();
        let id = piece.id.as_deref().filter(|id| !id.is_empty());
        let given = function.and_then(|function| function.name.as_deref());
        let name = given.filter(|name| !name.is_empty());
        let known = self.calls.len();
        let place = self.place(piece.index, id, name);
        if place == known && !self.whole {
            self.complete_last_before(place, events);
        }
        let index = u32::try_from(place).unwrap_or(u32::MAX);
        let call = &mut self.calls[place];
        let arguments = function.and_then(|function| function.arguments).map(written).unwrap_or_default();
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

    /// One call is written after the other: where the next begins, the one before it is complete.
    fn complete_last_before(&self, place: usize, events: &mut VecDeque<ModelEvent>) {
        let Some(last) = place.checked_sub(1).filter(|last| self.calls[*last].started) else { return };
        events.push_back(ModelEvent::CallFinished { index: u32::try_from(last).unwrap_or(u32::MAX) });
    }

    /// Which call a piece belongs to: the one with its index, unless it names another id; without an index
    /// the last one, unless it begins a new one.
    fn place(&mut self, wire_index: Option<i64>, id: Option<&str>, name: Option<&str>) -> usize {
        let same_id = |call: &Call| id.is_none() || call.id.is_none() || call.id.as_deref() == id;
        let known = match wire_index {
            _ if self.whole => None,
            Some(_) => self.calls.iter().rposition(|call| call.wire_index == wire_index && same_id(call)),
            None => {
                let last = self.calls.len().checked_sub(1);
                last.filter(|last| same_id(&self.calls[*last]) && (id.is_some() || name.is_none()))
            }
        };
        if let Some(place) = known {
            if let Some(id) = id {
                self.calls[place].id.get_or_insert_with(|| id.into());
            }
            return place;
        }
        self.calls.push(Call {
            wire_index,
            id: id.map(Into::into),
            started: false,
            named: false,
            arguments: String::new(),
        });
        self.calls.len() - 1
    }
}
