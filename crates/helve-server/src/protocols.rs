//! The protocols in which clients ask for an answer. Each has the same parts: its handler, `request` (what it takes) and
//! `render` (how a run looks on its stream); the modules beside them are what protocols share.

pub(crate) mod accumulated_text;
pub(crate) mod agent;
pub(crate) mod chat;
pub(crate) mod client_tools;
pub(crate) mod request_params;
pub(crate) mod tool_failure;
pub(crate) mod tool_progress;
