//! A short mark of a text that readers of a log need not know, good for comparing and nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub fn from_text(text: &str) -> Self {
        Self(blake3::hash(text.as_bytes()).to_hex()[..16].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_in_every_version_since_logs_outlive_programs() {
        assert_eq!(Fingerprint::from_text("m at https://here/v1").0, "c81b7a638b0bbb38");
    }
}
