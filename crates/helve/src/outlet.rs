//! The way out to an address that the operator has written down, such as a hook, a webhook or a service that a tool of
//! ours asks.

use helve_egress::{Egress, EgressError, EgressSettings, Url};

/// A client that may reach this one address, wherever it is, and otherwise what the settings allow. An operator's hook
/// often runs on the same machine, where tools must not reach.
pub(crate) fn outlet(settings: &EgressSettings, url: &Url) -> Result<Egress, EgressError> {
    let mut settings = settings.clone();
    settings.allow.extend(place(url));
    Egress::new(settings)
}

/// The host and port, as the list of allowed places has them.
fn place(url: &Url) -> Option<String> {
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}
