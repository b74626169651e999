//! Picks and reshapes an answer.

pub(crate) mod jq;
