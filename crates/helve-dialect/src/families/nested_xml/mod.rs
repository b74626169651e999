//! Calls whose arguments are nested elements, each tag behind a token that nothing else in the text has.

mod body;
pub(crate) mod minimax_m3;

pub(crate) use body::NestedBody;

/// How the tags are told from text.
pub(crate) struct NestedGrammar {
    /// The token before every tag.
    pub(crate) namespace: &'static str,
}
