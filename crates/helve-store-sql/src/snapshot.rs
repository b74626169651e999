//! A copy of a database of SQLite at one moment, while a server may be writing to it.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::OpenError;
use crate::sqlite::{read_layout, write_snapshot};

/// How often the progress is told.
const TOLD: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("there is no database in `{0}`")]
    NoDatabase(String),

    #[error("the database cannot be copied to `{path}`: {problem}")]
    Copy { path: String, problem: String },

    #[error(transparent)]
    Open(#[from] OpenError),
}

/// How much of a snapshot is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotProgress {
    pub bytes: u64,
    /// As many as it will have, about.
    pub of_bytes: u64,
}

/// Copies the database of a data directory to a file that does not exist or is empty: what one moment had, also while a
/// server writes. The number of its layout.
pub fn snapshot_sqlite(
    data: &Path,
    to: &Path,
    mut tell: impl FnMut(SnapshotProgress),
) -> Result<u32, SnapshotError> {
    let database = data.join(crate::data_dir::DATABASE);
    if !database.exists() {
        return Err(SnapshotError::NoDatabase(data.display().to_string()));
    }
    let layout = read_layout(data)?;
    let number = layout.number.ok_or_else(|| SnapshotError::NoDatabase(data.display().to_string()))?;
    let failed = |problem| SnapshotError::Copy { path: to.display().to_string(), problem };
    let (done, ended) = channel();
    let written_to = to.to_owned();
    let thread = std::thread::Builder::new().name("snapshot".into());
    let thread = thread.spawn(move || done.send(write_snapshot(&database, &written_to)));
    let thread = thread.map_err(|error| failed(error.to_string()))?;
    let of_bytes = std::fs::metadata(data.join(crate::data_dir::DATABASE)).map_or(0, |file| file.len());
    let written = loop {
        match ended.recv_timeout(TOLD) {
            Ok(written) => break written,
            Err(RecvTimeoutError::Timeout) => {
                let bytes = std::fs::metadata(to).map_or(0, |file| file.len());
                tell(SnapshotProgress { bytes, of_bytes: of_bytes.max(bytes) });
            }
            Err(RecvTimeoutError::Disconnected) => break Err("the copy ended before its time".into()),
        }
    };
    _ = thread.join();
    written.map_err(failed)?;
    Ok(number)
}
