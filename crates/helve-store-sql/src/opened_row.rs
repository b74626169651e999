//! What a writer knows of a run that was opened; its history is read by the readers.

use helve_store::{Opened, StoreError};
use helve_types::{Message, RunId};

pub(crate) enum OpenedRow {
    New {
        epoch: u64,
        /// How many messages the conversation had before.
        before: u64,
    },
    Replayed {
        run: RunId,
    },
}

impl OpenedRow {
    /// What the caller of `open_run` gets. `read_history` reads the first messages of the conversation.
    pub(crate) async fn with_history<F>(
        self,
        read_history: impl FnOnce(u64) -> F,
    ) -> Result<Opened, StoreError>
    where
        F: Future<Output = Result<Vec<Message>, StoreError>>,
    {
        match self {
            Self::New { epoch, before } => Ok(Opened::New { epoch, history: read_history(before).await? }),
            Self::Replayed { run } => Ok(Opened::Replayed { run }),
        }
    }
}
