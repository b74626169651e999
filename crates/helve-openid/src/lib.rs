//! Sign-in at an OpenID provider.
//!
//! `Provider` speaks to one provider: it reads what the provider says of itself (`discovery`) and its keys (`keys`),
//! sends a browser there (`flow`), and takes the code that comes back to the token endpoint (`provider`). What it gets is
//! signed text, which `jwt` verifies and `claims` judges; both are pure. Nothing here knows users or sessions.

mod claims;
mod discovery;
mod error;
mod flow;
mod jwt;
mod keys;
mod provider;

pub use claims::LogoutToken;
pub use error::OpenIdError;
pub use flow::Flow;
pub use provider::{Callback, Provider, ProviderSettings, SignedIn};
