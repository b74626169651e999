//! Calls come in pieces, and which piece belongs to which call is said in several ways, or not at all.

use std::borrow::Cow;
use std::collections::VecDeque;

use helve_model::ModelEvent;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::wire;

/// The calls met so far; our number for one is its place in the list.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

struct Call {
    wire_index: Option<i64>,
    id: Option<String>,
    /// Whether its name is known and its beginning was told.
    started: bool,
    /// All of them, also those that came before the name.
    arguments: String,
}

impl Calls {
    pub(super) fn any(&self) -> bool {
        self.calls.iter().any(|call| call.started)
    }

    /// Whether the last call ends in the middle of its arguments.
    pub(super) fn cut(&self) -> bool {
        let last = self.calls.iter().rfind(|call| call.started && !call.arguments.trim().is_empty());
        last.is_some_and(|call| {
            serde_json::from_str::<IgnoredAny>(&call.arguments).is_err_and(|error| error.is_eof())
        })
    }

    pub(super) fn take(&mut self, piece: &wire::CallDelta<'_>, events: &mut VecDeque<ModelEvent>) {
        let function = piece.function.as_ref();
        let id = piece.id.as_deref().filter(|id| !id.is_empty());
        let name = function.and_then(|function| function.name.as_deref()).filter(|name| !name.is_empty());
        let place = self.place(piece.index, id, name);
        let index = u32::try_from(place).unwrap_or(u32::MAX);
        let call = &mut self.calls[place];
        let arguments = match function.and_then(|function| function.arguments.as_ref()) {
            None | Some(Value::Null) => Cow::Borrowed(""),
            Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
            // Not what the protocol says, but clear enough.
            Some(value) => Cow::Owned(value.to_string()),
        };
        call.arguments.push_str(&arguments);
        if call.started {
            if !arguments.is_empty() {
                events.push_back(ModelEvent::CallArguments { index, text: arguments.into_owned() });
            }
        } else if let Some(name) = name {
            call.started = true;
            events.push_back(ModelEvent::CallStarted { index, id: call.id.clone(), tool: name.into() });
            if !call.arguments.is_empty() {
                events.push_back(ModelEvent::CallArguments { index, text: call.arguments.clone() });
            }
        }
    }

    /// Which call a piece belongs to: the one with its index, unless it names another id; without an index
    /// the last one, unless it begins a new one.
    fn place(&mut self, wire_index: Option<i64>, id: Option<&str>, name: Option<&str>) -> usize {
        let same_id = |call: &Call| id.is_none() || call.id.is_none() || call.id.as_deref() == id;
        let known = match wire_index {
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
            arguments: String::new(),
        });
        self.calls.len() - 1
    }
}
