//! The one way out: every request that a model, a tool or a foreign server causes leaves through here.
//!
//! An [`Outgoing`] is judged (scheme, address, what the operator allows), given its credential if its host may have
//! it, and sent; an [`Incoming`] is read in pieces within its bounds, and says no secret. Knows nothing of tools.
//! Errors tell whether anything can have left, since that decides whether it may be sent again.

mod address;
mod client;
mod credential;
mod error;
mod headers;
mod incoming;
mod places;
mod policy;
mod preview;
mod redact;
mod redirect;
mod request;
mod resolver;
mod retry_after;
mod secrets;
mod withheld;

pub use address::forbidden_reason;
pub use client::{Egress, EgressSettings};
pub use error::EgressError;
pub use headers::why_header_is_refused;
pub use incoming::Incoming;
pub use places::{Place, PlaceError};
pub use redact::{Redactor, SECRET_BYTES_MIN};
pub use request::{Bounds, Credential, Outgoing};
pub use reqwest::{Method, StatusCode, header};
pub use resolver::{LookUpName, NameFuture};
pub use retry_after::retry_after;
pub use secrets::{Secret, Secrets};
pub use url::{Host, Url};

/// Who an address belongs to: its host, and its port where that is not the usual one.
pub fn place_of(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// The host and port of an address on this machine, as the list of allowed places has them; nothing for any other.
pub fn place_on_this_machine(url: &Url) -> Option<String> {
    let is_here = match url.host()? {
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.to_canonical().is_loopback(),
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
    };
    is_here.then(|| place_with_port(url)).flatten()
}

/// The host of an address with its port, also where that is the usual one.
pub fn place_with_port(url: &Url) -> Option<String> {
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

pub use withheld::{OnWithheld, Withheld};
