//! The server that runs on this machine: by its data directory, by the note it leaves for its user, or at its address.
//!
//! A server says in its data directory where it answers. One that keeps its data elsewhere than by default also leaves
//! a note with its directory in the user's own state directory, so that commands find it without `--data`. The note is
//! a hint: what counts is the lock of the directory that it names.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use helve_store_sql::{DataDir, DataDirError};
use serde_json::Value;

use crate::config::{Config, Environment};

/// A server on this machine answers at once; what does not is none.
const PATIENCE: Duration = Duration::from_secs(1);
/// As many bytes of a note as are read: no path is longer.
const NOTE_BYTES_MAX: u64 = 8192;

/// No more than this is read of what answers at the address.
const ANSWER_BYTES_MAX: usize = 4096;

/// Who uses a data directory.
pub(crate) enum Holder {
    Free,
    /// A server that answers at this address.
    Server(String),
    /// Another process holds the directory and has not said where it answers.
    Silent,
}

pub(crate) fn holder(data: &Path) -> anyhow::Result<Holder> {
    // To look for a server is no reason to make a directory.
    if !data.exists() {
        return Ok(Holder::Free);
    }
    match DataDir::lock(data) {
        Ok(_) => Ok(Holder::Free),
        Err(error @ DataDirError::InUse { .. }) => {
            Ok(error.address().map_or(Holder::Silent, |address| Holder::Server(address.to_owned())))
        }
        Err(error) => Err(error.into()),
    }
}

/// Where a server writes down which data directory it uses, for commands that are told of none.
fn note_path(environment: &Environment) -> Option<PathBuf> {
    let base = environment.path("XDG_STATE_HOME");
    let base = base.or_else(|| Some(environment.path("HOME")?.join(".local/state")))?;
    Some(base.join("helve/server"))
}

/// Leaves the note of a server whose data is not where commands look first.
pub(crate) fn leave_note(config: &Config, environment: &Environment) {
    if !config.data_is_named {
        return;
    }
    let written = note_path(environment).map(|path| write_note(&path, &config.data));
    if let Some(Err(error)) = written {
        tracing::debug!(%error, "note for commands not written; they need --data");
    }
}

fn write_note(path: &Path, data: &Path) -> std::io::Result<()> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    let data = std::path::absolute(data)?;
    // Written beside and renamed, so that no reader finds half of it.
    let new = path.with_extension(std::process::id().to_string());
    fs::write(&new, data.as_os_str().as_encoded_bytes())?;
    fs::rename(&new, path)
}

/// The data directory that the note names, if a server uses it now.
pub(crate) fn noted_data(environment: &Environment) -> Option<PathBuf> {
    let path = note_path(environment)?;
    if fs::metadata(&path).ok()?.len() > NOTE_BYTES_MAX {
        return None;
    }
    let data = PathBuf::from(fs::read_to_string(path).ok()?);
    // A directory that is gone must not be made again.
    let is_used = data.is_dir() && matches!(holder(&data), Ok(Holder::Server(_) | Holder::Silent));
    is_used.then_some(data)
}

/// The address at which the configuration has a server, if a Helve answers there.
pub(crate) async fn answering(config: &Config) -> Option<String> {
    crate::assemble::install_tls();
    let address = config.local_address();
    #[expect(clippy::disallowed_methods, reason = "it asks whether the operator's own server answers")]
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .ok()?;
    let mut answer = client.get(format!("{address}/readyz")).send().await.ok()?;
    let mut bytes = vec![];
    while let Some(chunk) = answer.chunk().await.ok()? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > ANSWER_BYTES_MAX {
            return None;
        }
    }
    let answer: Value = serde_json::from_slice(&bytes).ok()?;
    (answer["service"] == "helve").then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_only_while_a_server_uses_its_directory() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("XDG_STATE_HOME", home.path().to_str().unwrap())]);
        assert_eq!(noted_data(&environment), None);
        let data = home.path().join("data");
        let note = note_path(&environment).unwrap();
        write_note(&note, &data).unwrap();
        assert_eq!(noted_data(&environment), None, "there is no such directory");
        assert!(!data.exists(), "and looking for it does not make it");
        let held = DataDir::lock(&data).unwrap();
        assert_eq!(noted_data(&environment), Some(data));
        drop(held);
        assert_eq!(noted_data(&environment), None, "its server has ended");
        fs::write(&note, "x".repeat(9000)).unwrap();
        assert_eq!(noted_data(&environment), None, "a file that is no note");
    }
}
