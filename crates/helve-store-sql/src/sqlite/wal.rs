//! The write-ahead log as a file: it must be on the disk, and it must not grow for ever.
//!
//! If the disk refused a sync, the system may show a log that it has given up writing: it takes it for written and
//! will not try again. Whatever is appended to such a log is as lost as its beginning. So a log that was left behind
//! is written once more before it is used.
//!
//! SQLite empties it as it goes, unless a reader never pauses or the disk refuses. Then it grows with every
//! commit, reading becomes slow, and in the end the disk is full. The operator is told once, before that.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const ALARM_BYTES: u64 = 64 << 20;

/// How much of a log is held in memory while it is written again.
const PIECE_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Wal {
    path: PathBuf,
    alarm: Alarm,
}

impl Wal {
    /// The log of this database.
    pub(super) fn for_database(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        Self { path: path.into(), alarm: Alarm::default() }
    }

    /// Writes over it what it holds, and syncs. Called before it is opened.
    pub(super) fn rewrite(&self) -> std::io::Result<()> {
        let mut file = match OpenOptions::new().read(true).write(true).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut piece = vec![0; PIECE_BYTES];
        let mut at = 0;
        loop {
            file.seek(SeekFrom::Start(at))?;
            let bytes = file.read(&mut piece)?;
            if bytes == 0 {
                break;
            }
            file.seek(SeekFrom::Start(at))?;
            file.write_all(&piece[..bytes])?;
            at += bytes as u64;
        }
        if at > 0 { file.sync_all() } else { Ok(()) }
    }

    /// Looks how long it is, and says so if that is news.
    pub(super) fn check_length(&mut self) {
        let bytes = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        match self.alarm.observe(bytes) {
            Some(News::TooLong) => tracing::warn!(
                bytes,
                "the write-ahead log is not being emptied; something reads the database all the time, or the disk is \
                 failing"
            ),
            Some(News::FineAgain) => tracing::info!(bytes, "write-ahead log emptied"),
            None => {}
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum News {
    TooLong,
    FineAgain,
}

/// Remembers what was said, so that it is said once.
#[derive(Debug, Default)]
struct Alarm {
    raised: bool,
}

impl Alarm {
    fn observe(&mut self, bytes: u64) -> Option<News> {
        // SQLite keeps a file of the alarm's length for the next log, so only a shorter one is good news.
        let (raised, news) = match (self.raised, bytes) {
            (false, bytes) if bytes > ALARM_BYTES => (true, Some(News::TooLong)),
            (true, bytes) if bytes < ALARM_BYTES => (false, Some(News::FineAgain)),
            (raised, _) => (raised, None),
        };
        self.raised = raised;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_grows_beyond_its_bound_is_news_once_until_it_was_emptied() {
        let mut alarm = Alarm::default();
        let steps = [
            (0, None),
            (ALARM_BYTES, None),
            (ALARM_BYTES + 1, Some(News::TooLong)),
            (2 * ALARM_BYTES, None),
            (ALARM_BYTES, None),
            (0, Some(News::FineAgain)),
            (0, None),
            (3 * ALARM_BYTES, Some(News::TooLong)),
        ];
        for (bytes, news) in steps {
            assert_eq!(alarm.observe(bytes), news, "{bytes}");
        }
    }

    #[test]
    fn writing_a_log_again_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let log = Wal::for_database(&dir.path().join("helve.db"));
        log.rewrite().unwrap();
        assert!(!log.path.exists());
        let bytes: Vec<u8> = (0..PIECE_BYTES + 5_000).map(|n| (n % 251) as u8).collect();
        std::fs::write(&log.path, &bytes).unwrap();
        log.rewrite().unwrap();
        assert!(std::fs::read(&log.path).unwrap() == bytes);
    }

    #[test]
    fn the_log_is_the_file_that_sqlite_keeps_beside_the_database() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("helve.db");
        let connection = rusqlite::Connection::open(&database).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
        assert!(Wal::for_database(&database).path.metadata().unwrap().len() > 0);
    }
}
