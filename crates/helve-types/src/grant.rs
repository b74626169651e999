//! What the operator lets one tool have beyond what its definition gets by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A consent of the operator's, bound to one tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolGrant {
    /// The tool may reach this host and port although it is not on the public internet.
    Host { place: String },
    /// The tool may send the secret, which this environment variable holds, to this host and port.
    Secret { secret: String, env: String, place: String },
}

impl ToolGrant {
    /// The host and port that the consent is about.
    pub fn place(&self) -> &str {
        match self {
            Self::Host { place } | Self::Secret { place, .. } => place,
        }
    }
}

impl std::fmt::Display for ToolGrant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host { place } => write!(f, "host {place}"),
            Self::Secret { secret, env, place } => write!(f, "secret {secret} from {env} for {place}"),
        }
    }
}
