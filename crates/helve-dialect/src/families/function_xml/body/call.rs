//! What is known of the call that is open.

use super::keys::Keys;
use crate::families::function_xml::body::words_in_call::WordsInCall;

#[derive(Default)]
pub(super) struct TagCall {
    /// How many arguments were told.
    pub(super) arguments: usize,
    /// The one argument that may wrap all others, its value known and not yet told.
    pub(super) wrapped: Option<Box<WrappedCall>>,
    /// The parameters that have begun.
    pub(super) keys: Keys,
    /// Behind a key, whose value must follow.
    pub(super) has_key: bool,
    /// Inside the element that holds all parameters.
    pub(super) in_group: bool,
    /// Inside the element that holds all arguments as JSON.
    pub(super) in_json: bool,
    /// The element around its parameters or its body in JSON that no grammar asks for, while it is open; else empty.
    pub(super) enclosed: &'static str,
    /// Text inside the call that is no value.
    pub(super) words: WordsInCall,
    /// Something stands where it should not, so what follows it is no body in JSON.
    pub(super) stray: bool,
    /// Words quote a call inside this one.
    pub(super) quotes: bool,
    /// It cannot be one.
    pub(super) bad: bool,
}

/// What models put around parameters, or around a body in JSON, although the prompt does not ask for it.
const ENCLOSERS: &[&str] = &["parameters", "arguments", "params", "args", "input"];

/// The element of that name which may stand around all arguments.
pub(super) fn enclosing_element(element: &str) -> Option<&'static str> {
    ENCLOSERS.iter().find(|name| **name == element).copied()
}

/// An object that is all arguments if nothing follows it, and else the value of one.
pub(super) struct WrappedCall {
    pub(super) all: String,
    /// As that value, where it is not the same.
    pub(super) one: Option<String>,
}

impl TagCall {
    /// Another begins, with the buffers of the last one.
    pub(super) fn begin(&mut self) {
        self.arguments = 0;
        self.wrapped = None;
        self.keys.clear();
        self.has_key = false;
        self.in_group = false;
        self.in_json = false;
        self.enclosed = "";
        self.words.clear();
        self.stray = false;
        self.quotes = false;
        self.bad = false;
    }
}
