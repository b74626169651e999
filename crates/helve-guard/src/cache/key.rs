//! What makes two calls the same call.
//!
//! The key is a BLAKE3 hash over every field, each preceded by its length, so that no two different lists of
//! fields can read alike: `("ab", "c")` and `("a", "bc")` are different calls.

use std::fmt;

/// Changes whenever the fields or their order do, so that an old key cannot be taken for a new one.
const FORMAT: u8 = 1;

/// Whose answers these are, and of which tool. Also what is dropped together after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope<'a> {
    pub tenant: &'a str,
    pub tool: &'a str,
    /// Who shares the answers: a user's id, or one fixed word for all.
    pub id: &'a str,
}

/// All that an answer depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyParts<'a> {
    pub scope: Scope<'a>,
    /// A hash of the tool's definition: a changed tool finds none of its old answers.
    pub tool_version: &'a [u8; 32],
    /// A hash of what the tool is told besides: who calls, and for which request.
    pub identity: &'a [u8; 32],
    /// The arguments in their canonical text; equal arguments must have equal bytes.
    pub arguments: &'a str,
}

impl KeyParts<'_> {
    pub fn to_key(&self) -> CacheKey {
        let fields: [&[u8]; 7] = [
            &[FORMAT],
            self.scope.tenant.as_bytes(),
            self.scope.id.as_bytes(),
            self.scope.tool.as_bytes(),
            self.tool_version,
            self.identity,
            self.arguments.as_bytes(),
        ];
        let mut hasher = blake3::Hasher::new();
        for field in fields {
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field);
        }
        CacheKey(*hasher.finalize().as_bytes())
    }
}

/// The name of one answer, the same in every process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CacheKey({})", blake3::Hash::from_bytes(self.0).to_hex())
    }
}
