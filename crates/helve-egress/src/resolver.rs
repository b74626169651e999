//! From a name to the addresses that may be connected to.
//!
//! A name is looked up once for each connection, every address is judged, and the connector gets exactly those that were
//! judged: there is no second lookup for an answer to change in. Addresses that stand in a URL never come here; they were
//! judged before.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use crate::policy::{Policy, Target};

/// How names are looked up; the system's way unless a test brings its own.
pub type LookUpName = Arc<dyn Fn(String) -> NameFuture + Send + Sync>;
pub type NameFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

pub(crate) fn system_resolver() -> LookUpName {
    Arc::new(|name| {
        Box::pin(async move {
            // The port only completes the question.
            #[expect(clippy::disallowed_methods, reason = "every answer is judged below")]
            let found = tokio::net::lookup_host((name.as_str(), 443)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

tokio::task_local! {
    /// Where the request of this task goes: the client asks for a name alone, and what is allowed may depend on the port.
    pub(crate) static TARGET: Target;
}

pub(crate) struct GuardedResolver {
    pub(crate) policy: Arc<Policy>,
    pub(crate) look_up: LookUpName,
}

/// A name leads to a place that must not be reached.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to a place that is not public")]
pub(crate) struct ForbiddenAddress;

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let named = |target: &Target| target.host == Host::Domain(name.as_str().to_owned());
        // A connection that no request wants is not made.
        let target = TARGET.try_with(Target::clone).ok().filter(named);
        let (policy, look_up) = (self.policy.clone(), self.look_up.clone());
        Box::pin(async move {
            let target = target.ok_or(ForbiddenAddress)?;
            let found = look_up(name.as_str().to_owned()).await?;
            for ip in &found {
                if let Err(why) = policy.check_address(&target, *ip) {
                    tracing::warn!(target: "helve::egress", host = %target, %ip, why, "a name leads to a place that is not public");
                    return Err(ForbiddenAddress.into());
                }
            }
            if found.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            let port = target.port;
            Ok(Box::new(found.into_iter().map(move |ip| SocketAddr::new(ip, port))) as Addrs)
        })
    }
}
