//! Notices to a webhook behind real HTTP. That whole questions arrive, also after a restart, is shown by the process's
//! own tests (`tests/it/notices.rs`).

use helve_store::MemoryStore;
use helve_types::Seal;

use super::*;
use crate::testing::webhook_at;

fn notices(url: &str) -> Arc<Notices> {
    let links = ApprovalLinks::new(Seal::new([1; 32]), "https://helve.example", 1);
    Notices::new(webhook_at(url), links)
}

#[tokio::test]
async fn a_full_queue_drops_and_counts_and_never_waits() {
    let notices = notices("http://127.0.0.1:9/");
    let (tell, world) = (notices.on_asked(), World::deterministic());
    for _ in 0..QUEUE_MAX + 3 {
        tell(world.approval_id());
    }
    assert_eq!(notices.lost().load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_question_that_cannot_be_read_is_counted_and_the_next_one_is_looked_at() {
    let notices = notices("http://127.0.0.1:9/");
    let world = World::deterministic();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let tell = notices.on_asked();
    tell(world.approval_id());
    tell(world.approval_id());
    let sending = notices.keep_sending(&store, &world);
    let counted = async {
        while notices.lost().load(Ordering::Relaxed) < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = sending => panic!("it goes on for as long as the process does"),
        () = counted => {}
    }
}
