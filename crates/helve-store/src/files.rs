//! Files that calls make: kept beside the log, in the transaction that records what came of the call.

use std::fmt;
use std::sync::Arc;

use helve_types::CallId;

/// A file of a run. Its id is made from its bytes, so the same bytes are kept once.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptFile {
    pub id: String,
    /// The call that made it first.
    pub call: CallId,
    pub name: String,
    /// What its maker says it is; the server does not have to believe it.
    pub media_type: String,
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for KeptFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, call, name, media_type, bytes } = self;
        write!(f, "KeptFile({id}, {name:?}, {media_type}, {} bytes, of {call})", bytes.len())
    }
}
