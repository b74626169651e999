//! The key that signs the page's cookies: kept beside the database, not in it, and whole or not at all.
//!
//! A file that was written and not synced may have its length after a power cut and zeros for its content, and a key of
//! zeros is one that everybody knows.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::i18n::tr;
use anyhow::Context;
use helve_types::World;

type Key = [u8; 32];

/// The key of the last start, or a new one. Who was signed in under a key that is gone signs in again.
pub(super) fn session_key(data: &Path, world: &World) -> anyhow::Result<Key> {
    let path = data.join("session.key");
    if let Some(key) = std::fs::read(&path).ok().and_then(whole) {
        return Ok(key);
    }
    let key = world.random_secret();
    write_private(&path, &key).with_context(|| tr!("`{path}` cannot be written", path = path.display()))?;
    Ok(key)
}

fn whole(held: Vec<u8>) -> Option<Key> {
    Key::try_from(held).ok().filter(|key| key.iter().any(|byte| *byte != 0))
}

/// Under another name first: the name is given to what is on the disk.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let fresh = path.with_extension("new");
    // What a start that failed has left, or a link in its place: it is made anew, and never written through.
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    #[cfg(unix)]
    if let Some(dir) = path.parent() {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_kept_unless_it_is_not_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("session.key");
        let key = || session_key(dir.path(), &World::real()).unwrap();
        let first = key();
        assert_eq!(key(), first);
        assert!(!path.with_extension("new").exists());
        for left in [vec![], vec![0; 32], vec![7; 20], vec![7; 33]] {
            std::fs::write(&path, &left).unwrap();
            let fresh = key();
            assert!(fresh != [0; 32] && fresh.to_vec() != left, "{left:?}");
            assert_eq!(key(), fresh);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_key_is_for_nobody_else() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        session_key(dir.path(), &World::real()).unwrap();
        let mode = std::fs::metadata(dir.path().join("session.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}
