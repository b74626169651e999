//! Asking models over vendors' HTTP.
//!
//! A wire protocol is a folder with four files: `mod.rs` (the `PROTOCOL` and what is odd about it), `wire.rs`
//! (shapes for serde), `encode.rs` (request → body) and `decode.rs` (frame in, events out). A vendor is a row
//! of `vendors`. `transport` is the only user of the HTTP client. Reads liberally, writes strictly; retries
//! nothing.

mod anthropic_messages;
mod bounds;
mod complaint;
mod defaults;
mod gemini;
mod model;
mod ollama;
mod openai_chat;
mod patience;
mod protocol;
#[cfg(test)]
mod scenario;
mod schema;
mod transport;
mod vendors;

pub use bounds::AnswerBounds;
pub use defaults::{small_params, vendor_params};
pub use model::{HttpModel, HttpModelSettings, SettingsError};
pub use patience::Patience;
pub use protocol::Protocol;
pub use transport::{Listing, client, client_with};
pub use vendors::{VENDORS, Vendor, holds, protocol, vendor};
