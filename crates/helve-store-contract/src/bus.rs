//! Wake-ups.

use helve_store::{AuditEntry, RowKind, Wakeup, Wakeups};
use helve_types::Timestamp;

use super::{Subject, ok};

const GREETING: RowKind = RowKind::new("greeting");

/// Wake-ups may be doubled, and others may come first.
async fn receives(subscriber: &mut Wakeups, wakeup: Wakeup) {
    while subscriber.next_wakeup().await != wakeup {}
}

pub async fn every_subscriber_is_woken_by_a_change_of_rows_and_of_tokens(store: Subject) {
    let (mut one, mut other) = (store.subscribe(), store.subscribe());
    let line = AuditEntry::new(Timestamp(1), "mei", "greeting.disabled", "hello");
    ok(store.save_switch(GREETING, "hello".into(), false, line.clone()).await);
    ok(store.end_session("t1".into(), Timestamp(7), line).await);
    for subscriber in [&mut one, &mut other] {
        receives(subscriber, Wakeup::Rows(GREETING)).await;
        receives(subscriber, Wakeup::Access).await;
    }
}
