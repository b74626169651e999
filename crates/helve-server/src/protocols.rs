//! The protocols in which clients ask for an answer: one module for each, and what they share.

pub(crate) mod accumulated_text;
pub(crate) mod agent;
pub(crate) mod call_words;
pub(crate) mod chat;
pub(crate) mod client_tools;
pub(crate) mod request_params;
pub(crate) mod tool_failure;
pub(crate) mod tool_progress;
