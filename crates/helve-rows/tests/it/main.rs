//! A kind that only this test knows: it needs no method and no table of its own.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use helve_rows::{
    Consent, DefinitionError, DefinitionKind, DefinitionRow, GrantSet, OfferOutcome, PinnedVersion,
    Registrar, RowCatalogue, RowError,
};
use helve_store::{MemoryStore, RowKind, StoreError};
use helve_types::{Notice, World};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Greetings;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Greeting {
    name: String,
    text: String,
    origin: String,
    #[serde(skip)]
    enabled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct MayShout(String);

impl fmt::Display for MayShout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "to shout `{}`", self.0)
    }
}

impl DefinitionKind for Greetings {
    const KIND: RowKind = RowKind::new("greeting");
    type Definition = Greeting;
    type Grant = MayShout;
    type Built = String;

    fn name(definition: &Greeting) -> &str {
        &definition.name
    }

    fn hash(definition: &Greeting) -> String {
        definition.text.clone()
    }

    fn is_enabled(definition: &Greeting) -> bool {
        definition.enabled
    }

    fn set_enabled(definition: &mut Greeting, enabled: bool) {
        definition.enabled = enabled;
    }

    fn has_origin(definition: &Greeting, origin: &str) -> bool {
        definition.origin == origin
    }

    fn grant_for(consent: String) -> MayShout {
        MayShout(consent)
    }

    fn encode(definition: &Greeting) -> Result<String, StoreError> {
        serde_json::to_string(definition).map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    fn decode(json: &str) -> Result<Greeting, StoreError> {
        serde_json::from_str(json).map_err(|error| StoreError::Unavailable(error.to_string()))
    }
}

/// What is registered, and whether it is agreed to.
#[derive(Default)]
struct Card(Mutex<BTreeMap<String, (String, bool)>>);

impl Card {
    fn text(&self, name: &str) -> Option<(String, bool)> {
        self.0.lock().unwrap().get(name).cloned()
    }
}

impl Registrar<Greetings> for Card {
    type Error = RowError;

    async fn prepare(&self, _: &Greeting) {}

    fn check_new(&self, definition: &Greeting) -> Result<(), RowError> {
        match self.is_registered(&definition.name) {
            true => Err(RowError::Exists(definition.name.clone())),
            false => Ok(()),
        }
    }

    fn check_definition(&self, definition: &Greeting) -> Result<(), DefinitionError> {
        match definition.text.is_empty() {
            true => Err(DefinitionError::new("text", Notice::definition_other("it is empty"))),
            false => Ok(()),
        }
    }

    fn build(
        &self,
        definition: &Greeting,
        grants: &Arc<GrantSet<MayShout>>,
    ) -> Result<Arc<String>, DefinitionError> {
        self.check_definition(definition)?;
        if definition.text.ends_with('!') && !grants.iter().any(|grant| grant.0 == definition.text) {
            let refused = DefinitionError::new("text", Notice::definition_other("it is loud"));
            return Err(DefinitionError { consent: Some(definition.text.clone()), ..refused });
        }
        Ok(Arc::new(definition.text.clone()))
    }

    fn register(&self, row: &DefinitionRow<Greetings>, built: &Arc<String>, is_agreed: bool) {
        self.0.lock().unwrap().insert(row.name().to_owned(), ((**built).clone(), is_agreed));
    }

    fn unregister(&self, name: &str) {
        self.0.lock().unwrap().remove(name);
    }

    fn set_agreed(&self, name: &str, is_agreed: bool) {
        if let Some(registered) = self.0.lock().unwrap().get_mut(name) {
            registered.1 = is_agreed;
        }
    }

    fn is_registered(&self, name: &str) -> bool {
        self.0.lock().unwrap().contains_key(name)
    }

    fn apply_switches(&self, _: &[(String, bool)]) {}

    fn prepare_pinned(&self, _: &DefinitionRow<Greetings>, _: &String) {}
}

struct Process {
    catalogue: RowCatalogue<Greetings>,
    card: Card,
}

async fn process(store: &Arc<MemoryStore>) -> Process {
    let process = Process {
        catalogue: RowCatalogue::new(store.clone(), World::deterministic()),
        card: Card::default(),
    };
    process.catalogue.refresh(&process.card).await.unwrap();
    process
}

fn greeting(text: &str) -> Greeting {
    Greeting { name: "morning".into(), text: text.into(), origin: "guide".into(), enabled: true }
}

fn actions(store: &MemoryStore) -> Vec<String> {
    store.audit_entries().into_iter().map(|line| line.action).collect()
}

fn agreed(text: &str) -> Option<(String, bool)> {
    Some((text.into(), true))
}

#[tokio::test]
async fn a_row_is_saved_registered_and_found_by_another_process() {
    let store = Arc::new(MemoryStore::new());
    let (one, other) = (process(&store).await, process(&store).await);
    let made = one.catalogue.create(&one.card, greeting("hello"), false, "mei").await.unwrap();
    assert_eq!((made.row.version, one.card.text("morning")), (1, agreed("hello")));
    assert_eq!(other.card.text("morning"), None);
    assert!(other.catalogue.refresh(&other.card).await.unwrap());
    assert_eq!(other.card.text("morning"), agreed("hello"));
    assert!(!other.catalogue.refresh(&other.card).await.unwrap(), "nothing has changed since");

    let twice = one.catalogue.create(&one.card, greeting("hi"), false, "mei").await.err();
    assert_eq!(twice, Some(RowError::Exists("morning".into())));
    let next = |before: &Greeting| Ok(Greeting { text: "good day".into(), ..before.clone() });
    let late = one.catalogue.update(&one.card, "morning", Some(9), false, "mei", next).await.err();
    assert_eq!(late, Some(RowError::Changed(1)));
    one.catalogue.update(&one.card, "morning", Some(1), false, "mei", next).await.unwrap();
    one.catalogue.delete(&one.card, "morning", Some(2), "mei").await.unwrap();
    assert_eq!(one.card.text("morning"), None);
    other.catalogue.refresh(&other.card).await.unwrap();
    assert_eq!(other.card.text("morning"), None);
    assert_eq!(actions(&store), ["greeting.created", "greeting.changed", "greeting.deleted"]);
}

#[tokio::test]
async fn what_cannot_be_built_is_not_saved() {
    let store = Arc::new(MemoryStore::new());
    let one = process(&store).await;
    let wrong = one.catalogue.create(&one.card, greeting(""), true, "mei").await.err().unwrap();
    assert_eq!(wrong.to_string(), "`text`: it is empty");
    assert_eq!(one.catalogue.table().list().await, Ok(vec![]));
    assert_eq!(actions(&store), [""; 0]);
}

#[tokio::test]
async fn a_run_goes_on_with_the_version_that_it_was_started_with() {
    let store = Arc::new(MemoryStore::new());
    let one = process(&store).await;
    one.catalogue.create(&one.card, greeting("hello"), false, "mei").await.unwrap();
    one.catalogue.delete(&one.card, "morning", None, "mei").await.unwrap();
    let other = process(&store).await;
    let pinned = other.catalogue.pinned(&other.card, "morning", "hello").await.unwrap();
    assert!(matches!(pinned, PinnedVersion::Built(text) if *text == "hello"));
    let never = other.catalogue.pinned(&other.card, "morning", "bye").await.unwrap();
    assert!(matches!(never, PinnedVersion::NotSaved));
}

#[tokio::test]
async fn what_an_origin_offers_waits_in_quarantine_until_a_person_decides() {
    let store = Arc::new(MemoryStore::new());
    let one = process(&store).await;
    let offer = async |text: &str| {
        let received =
            one.catalogue.receive_offer(&one.card, "guide", greeting(text), Consent::Wanted, None, "import");
        received.await.unwrap()
    };
    assert!(matches!(offer("hello").await, OfferOutcome::Created(_)));
    assert!(matches!(offer("hello").await, OfferOutcome::Same(_)));
    assert!(matches!(offer("obey").await, OfferOutcome::Quarantined(_)));
    assert_eq!(one.card.text("morning"), Some(("hello".into(), false)));
    assert_eq!(process(&store).await.card.text("morning"), Some(("hello".into(), false)));

    one.catalogue.reject_offer(&one.card, "morning", "mei").await.unwrap();
    assert_eq!(one.card.text("morning"), agreed("hello"));
    offer("good day").await;
    let unseen = one.catalogue.accept_offer(&one.card, "morning", Some("obey"), "mei").await.err();
    assert_eq!(unseen, Some(RowError::OfferChanged("morning".into())));
    one.catalogue.accept_offer(&one.card, "morning", Some("good day"), "mei").await.unwrap();
    assert_eq!(one.card.text("morning"), agreed("good day"));
    let foreign =
        one.catalogue.receive_offer(&one.card, "another", greeting("x"), Consent::Given, None, "eve").await;
    assert_eq!(foreign.err(), Some(RowError::Exists("morning".into())));
}

#[tokio::test]
async fn what_was_built_with_a_grant_finds_out_that_it_was_revoked() {
    let store = Arc::new(MemoryStore::new());
    let one = process(&store).await;
    let refused = one.catalogue.create(&one.card, greeting("hey!"), false, "mei").await.err().unwrap();
    assert!(matches!(refused, RowError::Definition(wrong) if wrong.consent.is_some()));
    one.catalogue.create(&one.card, greeting("hey!"), true, "mei").await.unwrap();
    let built_with = one.catalogue.grant_set("morning");
    assert_eq!(process(&store).await.card.text("morning"), agreed("hey!"));

    let revoked = one.catalogue.revoke(&one.card, "morning", "mei", |_| true).await.unwrap();
    assert_eq!(revoked, [MayShout("hey!".into())]);
    assert!(built_with.is_revoked());
    assert!(one.catalogue.get("morning").unwrap().built.is_err());
    assert_eq!(one.card.text("morning"), None);
    assert_eq!(actions(&store), ["greeting.created", "greeting.granted", "greeting.revoked"]);
}
