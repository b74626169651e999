//! Definitions of any kind: versions, offers, grants, switches, and the audit's lines.

use helve_types::{Timestamp, World};

use super::{Subject, ok};
use helve_store::{
    AuditEntry, DefinitionFile, OfferUse, RowChange, RowGrant, RowKind, RowOffer, RowRecord, StoreError,
};

const GREETING: RowKind = RowKind::new("greeting");
/// Another kind, whose rows may have the same names.
const RECIPE: RowKind = RowKind::new("recipe");

fn line(action: &str) -> AuditEntry {
    AuditEntry::new(Timestamp(1), "mei", action, "hello")
}

fn row(name: &str, text: &str) -> RowRecord {
    RowRecord {
        kind: GREETING,
        name: name.into(),
        id: World::real().row_id(),
        version: 0,
        hash: format!("hash of {text}"),
        enabled: true,
        body: format!(r#"{{"text": "{text}", "limit": 1.50, "语": "你好"}}"#),
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
    }
}

fn change(row: &RowRecord, expected: u32) -> RowChange {
    RowChange {
        row: row.clone(),
        expected,
        offer: OfferUse::Untouched,
        grants: vec![],
        audit: line("greeting.changed"),
    }
}

async fn saved(store: &Subject, name: &str) -> RowRecord {
    ok(store.save_row(change(&row(name, "hello"), 0)).await)
}

fn offer(text: &str, over: &RowRecord) -> RowOffer {
    let offered = row(&over.name, text);
    RowOffer {
        kind: over.kind,
        name: offered.name,
        origin: "openapi:greetings".into(),
        body: offered.body,
        over: over.hash.clone(),
        at: Timestamp(2),
    }
}

fn grant(name: &str, grant: &str) -> RowGrant {
    RowGrant { kind: GREETING, name: name.into(), grant: grant.into(), by: "mei".into(), at: Timestamp(1) }
}

fn numbers(rows: &[RowRecord]) -> Vec<u32> {
    rows.iter().map(|row| row.version).collect()
}

pub async fn a_row_gets_the_next_number_if_it_was_changed_at_the_version_that_was_seen(store: Subject) {
    let new = row("hello", "hello");
    assert_eq!(store.row(GREETING, "hello".into()).await, Err(StoreError::NotFound("greeting")));
    let first = ok(store.save_row(change(&new, 0)).await);
    assert_eq!(first, RowRecord { version: 1, ..new.clone() });
    assert_eq!(ok(store.row(GREETING, "hello".into()).await), first);
    assert_eq!(store.save_row(change(&new, 0)).await, Err(StoreError::Changed(1)));

    let next =
        RowRecord { id: first.id, enabled: false, updated_at: Timestamp(2), ..row("hello", "good day") };
    let second = ok(store.save_row(change(&next, 1)).await);
    assert_eq!(second, RowRecord { version: 2, ..next.clone() });
    assert_eq!(store.save_row(change(&next, 1)).await, Err(StoreError::Changed(2)));

    saved(&store, "bye").await;
    let all = ok(store.rows(GREETING).await);
    assert_eq!(all.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["bye", "hello"]);
    assert_eq!(all[1], second);
    assert_eq!(ok(store.row_versions(GREETING, "hello".into()).await), [first, second]);
}

pub async fn of_rows_that_are_saved_together_all_are_saved_or_none(store: Subject) {
    let hello = saved(&store, "hello").await;
    let bye = change(&row("bye", "bye"), 0);
    let count = ok(store.row_changes(GREETING).await);
    // One of them was changed meanwhile, and nothing is saved.
    let late = change(&row("hello", "good day"), 7);
    for refused in [vec![bye.clone(), late.clone()], vec![late, bye.clone()]] {
        assert_eq!(store.save_rows(refused).await, Err(StoreError::Changed(1)));
    }
    assert_eq!(store.save_rows(vec![bye.clone(), bye.clone()]).await, Err(StoreError::Changed(0)));
    assert_eq!(ok(store.rows(GREETING).await), std::slice::from_ref(&hello));
    assert_eq!(ok(store.row_changes(GREETING).await), count);

    let next = RowRecord { id: hello.id, ..row("hello", "good day") };
    let both = ok(store.save_rows(vec![bye, change(&next, 1)]).await);
    assert_eq!(numbers(&both), [1, 2]);
    assert_eq!(ok(store.rows(GREETING).await), both);
    assert!(ok(store.row_changes(GREETING).await) > count);
    assert_eq!(ok(store.save_rows(vec![]).await), []);
}

pub async fn a_deleted_row_keeps_its_versions_and_its_numbers(store: Subject) {
    let delete = |expected| store.delete_row(GREETING, "hello".into(), expected, line("greeting.deleted"));
    assert_eq!(delete(None).await, Err(StoreError::NotFound("greeting")));
    saved(&store, "hello").await;
    assert_eq!(delete(Some(7)).await, Err(StoreError::Changed(1)));
    ok(delete(Some(1)).await);
    assert_eq!(ok(store.rows(GREETING).await), []);
    assert_eq!(numbers(&ok(store.row_versions(GREETING, "hello".into()).await)), [1]);

    // A new row of that name is another row, and its number says so.
    assert_eq!(saved(&store, "hello").await.version, 2);
    assert_eq!(numbers(&ok(store.row_versions(GREETING, "hello".into()).await)), [1, 2]);
}

pub async fn rows_of_two_kinds_share_nothing_but_their_names(store: Subject) {
    let greeting = saved(&store, "hello").await;
    let recipe = RowRecord { kind: RECIPE, ..row("hello", "stir") };
    assert_eq!(ok(store.row_changes(RECIPE).await), 0);
    let recipe = ok(store.save_row(change(&recipe, 0)).await);
    ok(store.save_offer(offer("stir twice", &recipe), line("recipe.offered")).await);
    ok(store.save_grant(grant("hello", "{}"), line("greeting.granted")).await);
    ok(store.save_switch(RECIPE, "soup".into(), false, line("recipe.disabled")).await);
    assert_eq!(ok(store.rows(GREETING).await), [greeting]);
    assert_eq!(ok(store.row_versions(RECIPE, "hello".into()).await), std::slice::from_ref(&recipe));
    assert_eq!(ok(store.offers(GREETING).await), []);
    assert_eq!(ok(store.grants(RECIPE).await), []);
    assert_eq!(ok(store.switches(GREETING).await), []);

    ok(store.delete_row(GREETING, "hello".into(), None, line("greeting.deleted")).await);
    assert_eq!(ok(store.rows(RECIPE).await), [recipe]);
    assert_eq!(ok(store.offers(RECIPE).await).len(), 1);
}

pub async fn every_change_of_a_kind_is_counted_and_a_refused_one_is_not(store: Subject) {
    let mut count = ok(store.row_changes(GREETING).await);
    let mut grew = async || {
        let before = std::mem::replace(&mut count, ok(store.row_changes(GREETING).await));
        count > before
    };
    ok(store.save_switch(GREETING, "built_in".into(), false, line("greeting.disabled")).await);
    assert!(grew().await);
    assert_eq!(ok(store.switches(GREETING).await), [("built_in".to_owned(), false)]);
    ok(store.save_switch(GREETING, "built_in".into(), true, line("greeting.enabled")).await);
    assert!(grew().await);
    assert_eq!(ok(store.switches(GREETING).await), [("built_in".to_owned(), true)]);

    let row = saved(&store, "hello").await;
    assert!(grew().await);
    assert_eq!(store.save_row(change(&row, 0)).await, Err(StoreError::Changed(1)));
    assert!(!grew().await);
    ok(store.save_offer(offer("hi", &row), line("greeting.offered")).await);
    assert!(grew().await);
    ok(store.delete_offer(GREETING, "hello".into(), line("greeting.rejected")).await);
    assert!(grew().await);
    ok(store.save_grant(grant("hello", "{}"), line("greeting.granted")).await);
    assert!(grew().await);
    ok(store.delete_grant(GREETING, "hello".into(), "{}".into(), line("greeting.revoked")).await);
    assert!(grew().await);
    ok(store.delete_row(GREETING, "hello".into(), None, line("greeting.deleted")).await);
    assert!(grew().await);
}

pub async fn the_last_offer_about_a_row_is_kept_beside_it_until_it_is_deleted(store: Subject) {
    let row = saved(&store, "hello").await;
    assert_eq!(ok(store.offers(GREETING).await), []);
    ok(store.save_offer(offer("hi", &row), line("greeting.offered")).await);
    ok(store.save_offer(offer("good day", &row), line("greeting.offered")).await);
    assert_eq!(ok(store.offers(GREETING).await), [offer("good day", &row)]);
    assert_eq!(ok(store.row(GREETING, "hello".into()).await), row, "the row itself is what it was");

    let delete = || store.delete_offer(GREETING, "hello".into(), line("greeting.rejected"));
    ok(delete().await);
    assert_eq!(ok(store.offers(GREETING).await), []);
    assert_eq!(delete().await, Err(StoreError::NotFound("offer")));
}

pub async fn an_offer_is_accepted_together_with_the_new_version_or_not_at_all(store: Subject) {
    let first = saved(&store, "hello").await;
    let next = RowRecord { id: first.id, ..row("hello", "hi") };
    let accept =
        |expected| store.save_row(RowChange { offer: OfferUse::Accepted, ..change(&next, expected) });
    assert_eq!(accept(1).await, Err(StoreError::NotFound("offer")));
    ok(store.save_offer(offer("hi", &first), line("greeting.offered")).await);
    assert_eq!(accept(7).await, Err(StoreError::Changed(1)));
    assert_eq!(ok(store.offers(GREETING).await).len(), 1);
    assert_eq!(ok(accept(1).await).version, 2);
    assert_eq!(ok(store.row(GREETING, "hello".into()).await).body, next.body);
    assert_eq!(ok(store.offers(GREETING).await), []);
}

pub async fn the_offer_about_a_row_is_deleted_with_it(store: Subject) {
    let row = saved(&store, "hello").await;
    ok(store.save_offer(offer("hi", &row), line("greeting.offered")).await);
    ok(store.delete_row(GREETING, "hello".into(), None, line("greeting.deleted")).await);
    assert_eq!(ok(store.offers(GREETING).await), []);
}

pub async fn a_row_is_saved_together_with_its_grants_or_not_at_all(store: Subject) {
    let new = row("hello", "hello");
    let granted = |grants, expected| {
        store.save_row(RowChange {
            grants: vec![(grants, line("greeting.granted"))],
            ..change(&new, expected)
        })
    };
    ok(granted(grant("hello", r#"{"to": "li"}"#), 0).await);
    assert_eq!(ok(store.grants(GREETING).await), [grant("hello", r#"{"to": "li"}"#)]);
    let late = granted(grant("hello", r#"{"to": "eve"}"#), 7).await;
    assert_eq!(late.map(drop), Err(StoreError::Changed(1)));
    assert_eq!(ok(store.grants(GREETING).await), [grant("hello", r#"{"to": "li"}"#)]);
}

pub async fn a_grant_is_there_until_it_or_its_row_is_deleted(store: Subject) {
    saved(&store, "hello").await;
    for _ in 0..2 {
        ok(store.save_grant(grant("hello", r#"{"to": "li"}"#), line("greeting.granted")).await);
    }
    ok(store.save_grant(grant("bye", "{}"), line("greeting.granted")).await);
    assert_eq!(ok(store.grants(GREETING).await), [grant("bye", "{}"), grant("hello", r#"{"to": "li"}"#)]);

    let delete = || store.delete_grant(GREETING, "bye".into(), "{}".into(), line("greeting.revoked"));
    ok(delete().await);
    assert_eq!(delete().await, Err(StoreError::NotFound("grant")));
    ok(store.delete_row(GREETING, "hello".into(), None, line("greeting.deleted")).await);
    assert_eq!(ok(store.grants(GREETING).await), []);
}

pub async fn a_file_that_a_definition_names_is_kept_once_under_its_hash(store: Subject) {
    let missing = Err(StoreError::NotFound("file of a definition"));
    assert_eq!(store.definition_file("h1".into()).await, missing);
    let file = |hash: &str, bytes: &[u8]| DefinitionFile { hash: hash.into(), bytes: bytes.into() };
    ok(store.save_definition_files(vec![]).await);
    for _ in 0..2 {
        ok(store.save_definition_files(vec![file("h1", b"a\0\xff"), file("h2", b"")]).await);
    }
    assert_eq!(&*ok(store.definition_file("h1".into()).await), b"a\0\xff");
    assert_eq!(&*ok(store.definition_file("h2".into()).await), b"");
}
