//! What survives the end of the process, and what is said about what did not.

use std::sync::Arc;

use helve_store::{Scope, StoreError, Urgency};
use helve_store_contract::Actor;
use helve_store_sql::{DataDir, OpenError, SqliteStore};
use helve_types::{Fact, PartId, Timestamp};

use super::{open, scratch};

fn text(text: &str) -> Fact {
    Fact::TextFinished { step: 1, part: PartId::new(1, 1, 0), text: text.into() }
}

#[tokio::test]
async fn what_was_kept_is_there_after_a_stop_without_goodbye() {
    let dir = scratch();
    let mei = Actor::new(open(&dir), "mei");
    let mut run = mei.start(mei.new_conversation(), "hello").await;
    mei.append(&mut run, vec![text("so far")]).await.unwrap();
    drop(mei);

    let again = open(&dir);
    let log = again.events(run.run, 0, 9).await.unwrap();
    assert_eq!(
        log.iter().map(|event| event.event.fact.kind()).collect::<Vec<_>>(),
        ["run.started", "text.finished"]
    );
    assert_eq!(again.running_runs().await.unwrap().len(), 1);
}

#[tokio::test]
async fn noted_events_are_on_disk_after_a_proper_close() {
    let dir = scratch();
    let mei = Actor::new(open(&dir), "mei");
    let mut run = mei.start(mei.new_conversation(), "hello").await;
    let noted = mei.batch(&mut run, vec![text("noted")]);
    drop(mei.store.append(noted, Urgency::Soon));
    mei.store.close().await.unwrap();
    assert!(matches!(mei.store.check().await, Err(StoreError::Unavailable(_))));
    drop(mei);

    assert_eq!(open(&dir).run(Scope::Everyone, run.run).await.unwrap().last_seq, 2);
}

#[tokio::test]
async fn a_batch_sent_again_because_its_answer_was_lost_is_kept_once() {
    let mei = Actor::new(open(&scratch()), "mei");
    let mut run = mei.start(mei.new_conversation(), "hello").await;
    let first = mei.batch(&mut run, vec![text("once")]);
    run.next_seq = 2;
    let mut again = mei.batch(&mut run, vec![text("once")]);
    again.events.clone_from(&first.events);
    run.next_seq = 2;
    let other = mei.batch(&mut run, vec![text("another")]);

    mei.store.append(first, Urgency::Now).await.unwrap();
    mei.store.append(again, Urgency::Now).await.unwrap();
    assert_eq!(mei.store.append(other, Urgency::Now).await, Err(StoreError::Fenced(run.run)));
    assert_eq!(mei.store.events(run.run, 0, 9).await.unwrap().len(), 2);
}

#[tokio::test]
async fn many_writers_at_once_all_get_their_own_answer() {
    let mei = Arc::new(Actor::new(open(&scratch()), "mei"));
    let tasks: Vec<_> = (0..50)
        .map(|n: u32| {
            let mei = mei.clone();
            tokio::spawn(async move {
                let mut run = mei.start(mei.new_conversation(), "go").await;
                if n.is_multiple_of(5) {
                    // A gap: this one must fail, and nobody else.
                    run.next_seq += 1;
                }
                mei.append(&mut run, vec![text("x")]).await.is_ok()
            })
        })
        .collect();
    let mut kept = 0;
    for task in tasks {
        kept += u32::from(task.await.unwrap());
    }
    assert_eq!(kept, 40);
}

#[test]
fn a_damaged_database_is_refused_with_what_to_do() {
    let dir = scratch();
    drop(SqliteStore::open(DataDir::lock(&dir).unwrap(), Timestamp(1)).unwrap());
    let file = dir.join("helve.db");
    _ = std::fs::remove_file(dir.join("helve.db-wal"));
    let mut bytes = std::fs::read(&file).unwrap();
    for byte in bytes.iter_mut().skip(100).take(8_000) {
        *byte = 0xa5;
    }
    std::fs::write(&file, bytes).unwrap();
    let refused = SqliteStore::open(DataDir::lock(&dir).unwrap(), Timestamp(2)).err().unwrap();
    assert!(
        matches!(refused, OpenError::Damaged { .. } | OpenError::Database { .. } | OpenError::Migrate(_)),
        "{refused}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn no_file_of_the_database_is_for_others_even_in_an_open_directory() {
    use std::os::unix::fs::PermissionsExt;
    let dir = scratch();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mei = Actor::new(open(&dir), "mei");
    mei.start(mei.new_conversation(), "hello").await;
    let files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(Result::unwrap).collect();
    let names: Vec<_> = files.iter().map(|file| file.file_name().into_string().unwrap()).collect();
    assert!(names.contains(&"helve.db-wal".to_owned()), "{names:?}");
    for file in files.iter().filter(|file| file.file_name().to_string_lossy().starts_with("helve.db")) {
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?} has mode {mode:o}", file.file_name());
    }
}

#[test]
fn what_is_no_whole_database_is_refused_with_its_file_and_what_to_do_and_is_not_touched() {
    let made = || {
        let dir = scratch();
        drop(SqliteStore::open(DataDir::lock(&dir).unwrap(), Timestamp(1)).unwrap());
        _ = std::fs::remove_file(dir.join("helve.db-wal"));
        dir
    };
    let whole = std::fs::read(made().join("helve.db")).unwrap();
    let mut scribbled = whole.clone();
    scribbled[100..8_100].fill(0xa5);
    let cases: [(&str, &[u8], &[u8]); 4] = [
        ("cut off", &whole[..whole.len() / 2 - 100], b""),
        ("scribbled over", &scribbled, b""),
        ("something else", b"this is a letter to my aunt, and no database at all\n", b""),
        ("emptied", b"", &[7; 4_096]),
    ];
    for (how, bytes, log) in cases {
        let dir = made();
        let file = dir.join("helve.db");
        std::fs::write(&file, bytes).unwrap();
        if !log.is_empty() {
            std::fs::write(dir.join("helve.db-wal"), log).unwrap();
        }
        let refused =
            SqliteStore::open(DataDir::lock(&dir).unwrap(), Timestamp(2)).err().unwrap().to_string();
        assert!(
            refused.contains(&file.display().to_string()) && refused.contains("backup"),
            "{how}: {refused}"
        );
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "{how}: nothing was changed");
    }
}
