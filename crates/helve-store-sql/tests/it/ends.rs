//! How a store ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use helve_store::{Append, Log, OnCommit, RunWriter, Urgency};
use helve_store_sql::{DataDir, SqliteStore};
use helve_types::{RunId, Timestamp};

use crate::scratch;

/// The last owner of a store, which lets go of it when it is told to.
struct Last {
    store: Option<Arc<SqliteStore>>,
    let_go: Receiver<()>,
    ended: Sender<bool>,
}

impl Drop for Last {
    fn drop(&mut self) {
        self.let_go.recv().unwrap();
        let store = self.store.take();
        let quietly = catch_unwind(AssertUnwindSafe(|| drop(store))).is_ok();
        self.ended.send(quietly).unwrap();
    }
}

#[test]
fn a_store_whose_last_owner_is_its_own_writer_ends_quietly() {
    let dir = scratch();
    let store = Arc::new(SqliteStore::open(DataDir::lock(&dir).unwrap(), Timestamp(1)).unwrap());
    let ((now, let_go), (ended, quietly)) = (channel(), channel());
    let last = Last { store: Some(store.clone()), let_go, ended };
    // There is no such run, so nothing is written; what would have been told of it is dropped by the writer.
    let on_commit: OnCommit = Box::new(move |_| drop(last));
    let writer = RunWriter { run: RunId(Default::default()), epoch: 1, on_commit: Some(on_commit) };
    drop(store.append(Append::default().for_writer(writer), Urgency::Now));
    drop(store);
    now.send(()).unwrap();
    assert!(quietly.recv().unwrap());
}
