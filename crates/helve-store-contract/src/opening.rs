//! Opening runs: in conversations, and under keys.

use helve_types::{Message, RunId, RunState, Timestamp};

use super::{Actor, Subject, ok, setup};
use helve_store::{IdempotencyKey, NewRun, Opened, Page, Place, StoreError};

pub async fn a_run_and_the_users_message_are_kept_together(store: Subject) {
    let mei = Actor::new(store, "mei");
    let run = mei.start(mei.new_conversation(), "hello").await;
    let Some(conversation) = run.conversation else { panic!("no conversation") };

    let messages = ok(mei.store.messages(mei.scope(), conversation).await);
    assert_eq!(messages.iter().map(Message::text).collect::<Vec<_>>(), ["hello"]);
    let row = ok(mei.store.conversation(mei.scope(), conversation).await);
    assert_eq!((row.messages, row.active_run, &*row.title), (1, Some(run.run), "a talk"));
    let record = ok(mei.store.run(mei.scope(), run.run).await);
    assert_eq!((record.state, record.last_seq, record.setup), (RunState::Running, 1, setup()));
    let log = ok(mei.store.events(run.run, 0, 10).await);
    assert_eq!(log[0].event.fact.kind(), "run.started");
}

pub async fn a_busy_conversation_refuses_a_second_run_and_names_the_first(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut first = mei.start(mei.new_conversation(), "one").await;
    let place = || Place::Conversation(first.conversation.unwrap_or_else(|| panic!("no conversation")));

    let refused = mei.open(mei.new_run(place(), "two")).await.err();
    assert_eq!(refused, Some(StoreError::Busy(first.run)));
    let place = place();
    mei.finish(&mut first, "done").await;
    let second = mei.start(place, "two").await;
    assert_eq!(second.history.iter().map(Message::text).collect::<Vec<_>>(), ["one", "done"]);
}

pub async fn a_foreign_conversation_is_not_there(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "secret").await;
    mei.finish(&mut run, "done").await;
    let eve = Actor::new(store, "eve");
    let Some(conversation) = run.conversation else { panic!("no conversation") };
    let refused = eve.open(eve.new_run(Place::Conversation(conversation), "and?")).await.err();
    assert_eq!(refused, Some(StoreError::NotFound("conversation")));
}

fn key(fingerprint: &str) -> Option<IdempotencyKey> {
    Some(IdempotencyKey {
        route: "POST /api/chat".into(),
        key: "k".into(),
        fingerprint: fingerprint.into(),
        expires_at: Timestamp(i64::MAX),
    })
}

/// What is known of the key, asked when a key without a time of its own is over.
async fn known(actor: &Actor, fingerprint: &str) -> Result<Option<RunId>, StoreError> {
    let Some(key) = key(fingerprint) else { return Ok(None) };
    actor.store.find_run_of_key(actor.user.clone(), key, Timestamp(1)).await
}

pub async fn a_repeated_key_finds_the_first_run(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let first = NewRun { key: key("body"), ..mei.new_run(mei.new_conversation(), "pay") };
    let again = NewRun { key: key("body"), ..mei.new_run(mei.new_conversation(), "pay") };
    let run = ok(mei.open(first).await);
    assert_eq!(mei.store.open_run(again).await, Ok(Opened::Replayed { run: run.run }));
    assert_eq!(known(&mei, "body").await, Ok(Some(run.run)));
    assert_eq!(ok(mei.store.conversations(mei.scope(), Page::first(9)).await).len(), 1);

    // Another user's key is another key.
    let eve = Actor::new(store, "eve");
    assert_eq!(known(&eve, "body").await, Ok(None));
    let hers = NewRun { key: key("body"), ..eve.new_run(eve.new_conversation(), "pay") };
    assert!(eve.open(hers).await.is_ok());
}

pub async fn a_key_with_another_body_is_refused(store: Subject) {
    let mei = Actor::new(store, "mei");
    let first = NewRun { key: key("body"), ..mei.new_run(mei.new_conversation(), "pay 1") };
    let other = NewRun { key: key("other"), ..mei.new_run(mei.new_conversation(), "pay 2") };
    ok(mei.open(first).await);
    assert_eq!(mei.store.open_run(other).await, Err(StoreError::KeyReused));
    assert_eq!(known(&mei, "other").await, Err(StoreError::KeyReused));
}

pub async fn a_key_is_good_until_its_time_is_up_and_its_run_is_over(store: Subject) {
    let mei = Actor::new(store, "mei");
    let expired = || key("body").map(|key| IdempotencyKey { expires_at: Timestamp(0), ..key });
    let again = async || mei.open(NewRun { key: expired(), ..mei.new_run(Place::Nowhere, "pay") }).await;
    let mut first = ok(again().await);
    let repeated = NewRun { key: expired(), ..mei.new_run(Place::Nowhere, "pay") };
    assert_eq!(mei.store.open_run(repeated).await, Ok(Opened::Replayed { run: first.run }));
    assert_eq!(known(&mei, "body").await, Ok(Some(first.run)));
    mei.finish(&mut first, "paid").await;
    assert_eq!(known(&mei, "body").await, Ok(None));
    assert_ne!(ok(again().await).run, first.run);
}
