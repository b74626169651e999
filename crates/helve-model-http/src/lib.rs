//! The `Model` port over the vendors' HTTP protocols.
//!
//! A wire protocol is a folder with four files: `mod.rs` (the `PROTOCOL` and its peculiarities), `wire.rs` (types for
//! serde), `encode.rs` (request to body) and `decode.rs` (frames to events). A vendor is a row of `vendors`. `transport`
//! is the only user of the HTTP client. Decoders accept what servers really send, encoders follow the documentation, and
//! nothing here retries.

mod anthropic_messages;
mod bounds;
mod defaults;
mod gemini;
mod model;
mod ollama;
mod openai_chat;
mod protocol;
#[cfg(test)]
mod scenario;
mod schema;
mod server_error;
mod timeouts;
mod transport;
mod vendors;

pub use bounds::AnswerBounds;
pub use defaults::{small_params, vendor_params};
pub use model::{HttpModel, HttpModelSettings, SettingsError};
pub use protocol::Protocol;
pub use timeouts::Timeouts;
pub use transport::{Listing, build_client, build_client_with};
pub use vendors::{VENDORS, Vendor, find_protocol, find_vendor, form_support};
