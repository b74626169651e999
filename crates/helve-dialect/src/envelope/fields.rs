//! The members that envelopes have.

use crate::dialect::Fit;

/// What a member of the object says.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Field {
    Name,
    Tool,
    Function,
    Arguments,
    Calls,
    Id,
    Other,
    /// Seen in envelopes, and without meaning there.
    Known,
}

/// Every member that envelopes are known to have, the most frequent first.
const FIELDS: &[(&str, Field)] = &[
    ("name", Field::Name),
    ("arguments", Field::Arguments),
    ("parameters", Field::Arguments),
    ("id", Field::Id),
    ("type", Field::Known),
    ("function", Field::Function),
    ("tool_calls", Field::Calls),
    ("tool", Field::Tool),
    ("tool_name", Field::Tool),
    ("toolName", Field::Tool),
    ("function_name", Field::Tool),
    ("action", Field::Tool),
    ("function_call", Field::Function),
    ("tool_call", Field::Function),
    ("args", Field::Arguments),
    ("params", Field::Arguments),
    ("input", Field::Arguments),
    ("tool_input", Field::Arguments),
    ("tool_arguments", Field::Arguments),
    ("tool_args", Field::Arguments),
    ("tool_parameters", Field::Arguments),
    ("action_input", Field::Arguments),
    ("function_calls", Field::Calls),
    ("toolCalls", Field::Calls),
    ("call_id", Field::Id),
    ("tool_call_id", Field::Id),
    ("toolCallId", Field::Id),
    ("index", Field::Known),
    ("role", Field::Known),
    ("content", Field::Known),
    ("thought", Field::Known),
    ("thoughts", Field::Known),
    ("reasoning", Field::Known),
    ("description", Field::Known),
];

impl Field {
    pub(super) fn from_key(key: &str) -> Self {
        let known = FIELDS.iter().find(|(name, _)| *name == key);
        known.map_or(Self::Other, |(_, field)| *field)
    }
}

/// Whether the value of this member is a call's arguments.
pub(crate) fn holds_arguments(key: &str) -> bool {
    Field::from_key(key) == Field::Arguments
}

/// Whether an envelope may begin with a member whose name begins so; another such quote ends the name.
pub(crate) fn may_begin_with(key: &str, quote: char) -> Fit {
    match key.split_once(quote) {
        Some((key, _)) if Field::from_key(key) == Field::Other => Fit::No,
        Some(_) => Fit::Yes,
        None if FIELDS.iter().any(|(name, _)| name.starts_with(key)) => Fit::Unsure,
        None => Fit::No,
    }
}
