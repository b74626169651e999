//! Notices that a secret was withheld from a host that must not have it.

use std::fmt;
use std::sync::Arc;

/// A request that asked for a secret which its host must not have. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// The secret's name.
    pub secret: String,
    pub host: String,
}

/// Who is told. Called in the middle of a request, so it must neither wait nor fail.
#[derive(Clone)]
pub struct OnWithheld(Arc<dyn Fn(Withheld) + Send + Sync>);

impl OnWithheld {
    pub fn new(listener: impl Fn(Withheld) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    pub(crate) fn notify(&self, withheld: Withheld) {
        (self.0)(withheld);
    }
}

impl fmt::Debug for OnWithheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnWithheld")
    }
}
