//! The one way out: every request that a model, a tool or a foreign server causes leaves through here.
//!
//! An [`Outgoing`] is judged (scheme, address, what the operator allows), given its credential if its host may have
//! it, and sent; an [`Incoming`] is read in pieces within its bounds, and says no secret. Knows nothing of tools.
//! Errors tell whether anything can have left, since that decides whether it may be sent again.

mod client;
mod error;
mod request;
mod secrets;

pub use client::{Egress, EgressSettings, Incoming};
pub use error::EgressError;
pub use request::{Bounds, Credential, Outgoing};
pub use reqwest::{Method, StatusCode, header};
pub use secrets::{Secret, Secrets};
pub use url::Url;
