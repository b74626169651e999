//! A catalogue over a store in memory, with a maker that makes small tools of definitions.

mod guards;
mod import;
mod inside;
mod offered;

use helve_rows::SaveOptions;
use helve_store::MemoryStore;
use helve_types::{Auth, Effect, Notice, ToolOutput, ToolSpec};
use serde_json::json;

use super::*;
use crate::{CallContext, Registered, Request, ToolFuture};

/// Says where its calls would go.
struct Echo(ToolSpec, String);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async { Ok(ToolOutput::text(self.1.clone())) })
    }
}

/// Makes everything but what needs the secret `gone`.
fn maker() -> ToolBuilder {
    Arc::new(|definition: &ToolDefinition, _: &Arc<ToolGrants>| {
        if matches!(&definition.endpoint.auth, Auth::Bearer { secret, .. } if secret == "gone") {
            return Err(DefinitionError::new(
                "endpoint.auth.secret",
                Notice::definition_other("there is no secret `gone`"),
            ));
        }
        let ToolDefinition { name, description, parameters, .. } = definition.clone();
        let spec = ToolSpec::new(name, description, parameters, definition.effect());
        Ok((
            Arc::new(Echo(spec, definition.endpoint.url_template.clone())) as Arc<dyn Tool>,
            Guards::default(),
        ))
    })
}

fn built_in(name: &str, effect: Effect) -> Arc<dyn Tool> {
    let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    Arc::new(Echo(ToolSpec::new(name, "Comes with Helve.", parameters, effect), "inside".into()))
}

struct Shop {
    store: Arc<MemoryStore>,
    catalogue: Catalogue,
}

/// A server's catalogue over what is kept.
fn shop(store: &Arc<MemoryStore>) -> Shop {
    let world = World::deterministic();
    let registry = Arc::new(Registry::new());
    for (name, effect) in [("time", Effect::Read), ("save_note", Effect::Idempotent)] {
        registry.register(built_in(name, effect), Guards::default(), &world).unwrap();
    }
    let catalogue = Catalogue::new(registry, store.clone(), world, maker());
    Shop { store: store.clone(), catalogue }
}

async fn opened(store: &Arc<MemoryStore>) -> Catalogue {
    let catalogue = shop(store).catalogue;
    catalogue.refresh().await.unwrap();
    catalogue
}

async fn new_shop() -> Shop {
    let shop = shop(&Arc::default());
    shop.catalogue.refresh().await.unwrap();
    shop
}

fn weather(url: &str) -> ToolDefinition {
    read_definition(json!({
        "name": "weather", "description": "The weather in a city.", "endpoint": {"url_template": url},
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    }))
    .unwrap()
}

fn needing_what_is_gone() -> ToolDefinition {
    let mut definition = weather("https://a.example/{city}");
    definition.endpoint.auth = Auth::Bearer { secret: "gone".into(), env: None };
    definition
}

fn whole(definition: ToolDefinition) -> Change {
    Change::Whole(Box::new(definition))
}

fn names(catalogue: &Catalogue) -> Vec<String> {
    catalogue.list().iter().map(|listed| listed.name().to_owned()).collect()
}

#[tokio::test]
async fn a_tool_that_is_made_is_kept_registered_and_there_after_a_restart() {
    let Shop { store, catalogue } = new_shop().await;
    let listed = catalogue.create(weather("https://a.example/{city}"), "mei").await.unwrap();
    let row = listed.row.unwrap();
    assert_eq!((row.version, row.hash.as_str()), (1, listed.registered.unwrap().version()));
    assert_eq!(names(&catalogue), ["save_note", "time", "weather"]);
    assert!(catalogue.registry().get("weather").is_some());

    let again = opened(&store).await;
    assert_eq!(again.get("weather").unwrap().row.unwrap(), row);
    assert!(again.registry().get("weather").is_some());
}

#[tokio::test]
async fn what_cannot_be_made_is_not_kept() {
    let Shop { catalogue, .. } = new_shop().await;
    let wrong = catalogue.create(needing_what_is_gone(), "mei").await.err().unwrap();
    assert_eq!(wrong.to_string(), "`endpoint.auth.secret`: there is no secret `gone`");
    assert_eq!(catalogue.rows.table().list().await, Ok(vec![]));

    catalogue.create(weather("https://a.example/{city}"), "mei").await.unwrap();
    let wrong = catalogue.update("weather", whole(needing_what_is_gone()), None, "mei").await;
    assert!(matches!(wrong, Err(CatalogueError::Definition(_))));
    assert_eq!(catalogue.rows.table().get("weather").await.unwrap().version, 1);
    assert!(catalogue.registry().get("weather").is_some());
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_registered() {
    let Shop { catalogue, .. } = new_shop().await;
    // Another process was faster.
    let theirs = ToolRow::new(
        World::deterministic().row_id(),
        weather("https://b.example"),
        World::deterministic().now(),
    );
    let line = catalogue.rows.audit_line("created", "weather", "other");
    catalogue.rows.table().save(theirs, 0, line, SaveOptions::default()).await.unwrap();
    let taken = catalogue.create(weather("https://a.example"), "mei").await.err();
    assert_eq!(taken, Some(CatalogueError::Exists("weather".into())));
    assert!(catalogue.registry().get("weather").is_none());
    assert_eq!(catalogue.refresh().await, Ok(true));
    assert_eq!(catalogue.refresh().await, Ok(false));
    assert!(catalogue.registry().get("weather").is_some());
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let Shop { catalogue, .. } = new_shop().await;
    catalogue.create(weather("https://a.example"), "mei").await.unwrap();
    for name in ["weather", "time"] {
        let definition = ToolDefinition { name: name.into(), ..weather("https://b.example") };
        let taken = catalogue.create(definition, "mei").await.err();
        assert_eq!(taken, Some(CatalogueError::Exists(name.into())));
    }
    let moved = ToolDefinition { name: "climate".into(), ..weather("https://a.example") };
    let refused = catalogue.update("weather", whole(moved), None, "mei").await.err().unwrap();
    assert!(refused.to_string().starts_with("`name`: a tool keeps its name"), "{refused}");
}

#[tokio::test]
async fn a_tool_of_ours_cannot_be_changed_or_deleted() {
    let Shop { catalogue, .. } = new_shop().await;
    let ours = Some(CatalogueError::BuiltIn("time".into()));
    let definition = ToolDefinition { name: "time".into(), ..weather("https://a.example") };
    assert_eq!(catalogue.update("time", whole(definition), None, "mei").await.err(), ours);
    assert_eq!(catalogue.remove("time", None, "mei").await.err(), ours);
    let missing = Some(CatalogueError::Missing("nothing".into()));
    assert_eq!(catalogue.remove("nothing", None, "mei").await.err(), missing);
    assert_eq!(catalogue.list_versions("nothing").await.err(), missing);
}

#[tokio::test]
async fn a_change_needs_the_version_that_was_seen() {
    let Shop { catalogue, .. } = new_shop().await;
    catalogue.create(weather("https://a.example"), "mei").await.unwrap();
    let change = whole(weather("https://b.example"));
    let changed = catalogue.update("weather", change.clone(), Some(1), "mei").await.unwrap();
    assert_eq!(changed.row.unwrap().version, 2);
    let late = whole(weather("https://c.example"));
    assert_eq!(
        catalogue.update("weather", late, Some(1), "li").await.err(),
        Some(CatalogueError::Changed(2))
    );
    assert_eq!(catalogue.remove("weather", Some(1), "li").await.err(), Some(CatalogueError::Changed(2)));
    // The same again changes nothing.
    let same = catalogue.update("weather", change, Some(2), "mei").await.unwrap();
    assert_eq!(same.row.unwrap().version, 2);
    let versions = catalogue.list_versions("weather").await.unwrap();
    assert_eq!(versions.iter().map(|row| row.version).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_null_takes_it_back() {
    let Shop { catalogue, .. } = new_shop().await;
    catalogue.create(weather("https://a.example"), "mei").await.unwrap();
    let patch = |patch: Value| catalogue.update("weather", Change::Patch(patch), None, "mei");
    let after = patch(json!({"category": "sky", "endpoint": {"timeout_ms": 500}})).await.unwrap();
    let definition = after.row.unwrap().definition.clone();
    assert_eq!(definition.category.as_deref(), Some("sky"));
    assert_eq!(definition.endpoint.url_template, "https://a.example");
    let after = patch(json!({"category": null, "endpoint": {"timeout_ms": null}})).await.unwrap();
    assert_eq!(after.row.unwrap().definition, weather("https://a.example"));
    let wrong = patch(json!({"endpoint": {"timeout_ms": "soon"}})).await.err().unwrap();
    assert!(wrong.to_string().starts_with("`endpoint.timeout_ms`: it must be a whole number"), "{wrong}");
}

#[tokio::test]
async fn a_patch_to_another_kind_leaves_nothing_of_the_one_before() {
    let Shop { catalogue, .. } = new_shop().await;
    let mut definition = weather("https://a.example");
    let key = json!({"type": "api_key", "secret": "sun", "name": "appid", "in": "query"});
    definition.endpoint.auth = serde_json::from_value(key).unwrap();
    definition.response_transform =
        Some(serde_json::from_value(json!({"path": "now", "bytes_max": 9})).unwrap());
    catalogue.create(definition, "mei").await.unwrap();
    let patch = |patch: Value| catalogue.update("weather", Change::Patch(patch), None, "mei");
    let bearer = json!({"type": "bearer", "secret": "sun"});
    let patched = json!({"endpoint": {"auth": bearer}, "response_transform": {"jq": ".now"}});
    let after = json!(patch(patched).await.unwrap().row.unwrap().definition);
    assert_eq!(after["endpoint"]["auth"], bearer);
    assert_eq!(after["response_transform"], json!({"jq": ".now", "bytes_max": 9}));
    // Of the same kind, only what is named changes.
    let after = patch(json!({"endpoint": {"auth": {"type": "bearer"}}})).await.unwrap();
    assert_eq!(json!(after.row.unwrap().definition)["endpoint"]["auth"], bearer);
}

#[tokio::test]
async fn a_change_of_a_tool_forgets_neither_its_counts_nor_who_has_used_up_its_limit() {
    let limited = |_: &str, guards: Guards| {
        let limit = helve_guard::LimitSettings { per_window: Some(1), ..Default::default() };
        Guards { limits: crate::Limits { tool: Some(limit), user: Some(limit) }, ..guards }
    };
    let catalogue = shop(&Arc::default()).catalogue.with_guard_overrides(Arc::new(limited));
    catalogue.create(weather("https://a.example"), "mei").await.unwrap();
    let held = catalogue.registry().get("weather").unwrap();
    catalogue.update("weather", whole(weather("https://b.example")), None, "mei").await.unwrap();
    let now = catalogue.registry().get("weather").unwrap();
    assert!(!Arc::ptr_eq(&held, &now) && Arc::ptr_eq(&held.counters, &now.counters));
    let turn = held.guarding.limiter.as_ref().unwrap().enter().await.unwrap();
    drop(turn);
    assert!(now.guarding.limiter.as_ref().unwrap().enter().await.is_err());
    let turn = held.guarding.user_limiter.as_ref().unwrap().enter("mei").await.unwrap();
    drop(turn);
    assert!(now.guarding.user_limiter.as_ref().unwrap().enter("mei").await.is_err());
}

#[tokio::test]
async fn runs_keep_the_tool_they_hold_and_a_switch_reaches_all_its_versions() {
    let Shop { catalogue, .. } = new_shop().await;
    catalogue.create(weather("https://a.example"), "mei").await.unwrap();
    let held = catalogue.registry().get("weather").unwrap();
    catalogue.update("weather", whole(weather("https://b.example")), None, "mei").await.unwrap();
    let now = catalogue.registry().get("weather").unwrap();
    assert_ne!(held.version(), now.version());
    catalogue.set_enabled("weather", false, "mei").await.unwrap();
    assert!(!held.is_enabled() && !now.is_enabled());
    assert!(Arc::ptr_eq(&now, &catalogue.registry().get("weather").unwrap()));
}

#[tokio::test]
async fn what_is_switched_off_stays_off_over_a_restart() {
    let Shop { store, catalogue } = new_shop().await;
    catalogue.create(weather("https://a.example"), "mei").await.unwrap();
    for name in ["weather", "time"] {
        let listed = catalogue.set_enabled(name, false, "mei").await.unwrap();
        assert!(!listed.is_enabled());
    }
    let again = opened(&store).await;
    let on: Vec<_> = again.registry().list().iter().map(|tool| tool.is_enabled()).collect();
    assert_eq!((names(&again).join(" ").as_str(), on), ("save_note time weather", vec![true, false, false]));
    again.set_enabled("time", true, "mei").await.unwrap();
    assert!(again.registry().get("time").unwrap().is_enabled());
}

#[tokio::test]
async fn what_the_configuration_switches_off_is_not_switched_on_elsewhere() {
    let shop = new_shop().await;
    shop.catalogue.create(weather("https://a.example"), "mei").await.unwrap();
    let held = ["time", "weather"].map(str::to_owned);
    let catalogue = super::tests::shop(&shop.store).catalogue.with_disabled_tools(held);
    catalogue.refresh().await.unwrap();
    for name in ["time", "weather"] {
        assert!(!catalogue.get(name).unwrap().is_enabled(), "{name}");
    }
    for name in ["time", "weather"] {
        let refused = catalogue.set_enabled(name, true, "mei").await.err();
        assert_eq!(refused, Some(CatalogueError::HeldOff(name.into())));
    }
}

#[tokio::test]
async fn a_row_that_can_no_longer_be_made_is_listed_with_its_problem_and_can_be_put_right() {
    let Shop { store, catalogue } = new_shop().await;
    let row =
        ToolRow::new(World::deterministic().row_id(), needing_what_is_gone(), World::deterministic().now());
    let line = catalogue.rows.audit_line("created", "weather", "mei");
    catalogue.rows.table().save(row, 0, line, SaveOptions::default()).await.unwrap();
    let catalogue = opened(&store).await;
    let listed = catalogue.get("weather").unwrap();
    assert_eq!(listed.problem.unwrap().problem.english(), "there is no secret `gone`");
    assert!(catalogue.registry().get("weather").is_none());
    assert_eq!(names(&catalogue), ["save_note", "time", "weather"]);
    let exists = Some(CatalogueError::Exists("weather".into()));
    assert_eq!(catalogue.create(weather("https://a.example"), "mei").await.err(), exists);

    catalogue.update("weather", whole(weather("https://a.example")), Some(1), "mei").await.unwrap();
    assert!(catalogue.get("weather").unwrap().problem.is_none());
    assert!(catalogue.registry().get("weather").is_some());
}

#[tokio::test]
async fn a_row_whose_name_a_tool_of_ours_took_stays_out_of_its_way() {
    let Shop { store, catalogue } = new_shop().await;
    let definition = ToolDefinition { name: "time".into(), ..weather("https://a.example") };
    let row = ToolRow::new(World::deterministic().row_id(), definition, World::deterministic().now());
    let line = catalogue.rows.audit_line("created", "time", "mei");
    catalogue.rows.table().save(row, 0, line, SaveOptions::default()).await.unwrap();
    let catalogue = opened(&store).await;
    let ours = catalogue.registry().get("time").unwrap();
    assert_eq!(ours.spec().description, "Comes with Helve.");
    let problems: Vec<_> = catalogue.list().into_iter().filter_map(|listed| listed.problem).collect();
    assert_eq!(problems[0].field, "name");
    let patch = Change::Patch(json!({"description": "Mine."}));
    assert!(matches!(catalogue.update("time", patch, None, "mei").await, Err(CatalogueError::Definition(_))));
    catalogue.remove("time", None, "mei").await.unwrap();
    assert!(Arc::ptr_eq(&ours, &catalogue.registry().get("time").unwrap()));
}

#[tokio::test]
async fn another_process_changes_and_deletes_and_the_catalogue_follows() {
    let Shop { store, catalogue } = new_shop().await;
    let other = opened(&store).await;
    other.create(weather("https://a.example"), "cli").await.unwrap();
    assert!(catalogue.registry().get("weather").is_none());
    catalogue.refresh().await.unwrap();
    let first = catalogue.registry().get("weather").unwrap();
    other.update("weather", whole(weather("https://b.example")), None, "cli").await.unwrap();
    other.set_enabled("time", false, "cli").await.unwrap();
    catalogue.refresh().await.unwrap();
    assert_ne!(catalogue.registry().get("weather").unwrap().version(), first.version());
    assert!(!catalogue.registry().get("time").unwrap().is_enabled());
    other.remove("weather", None, "cli").await.unwrap();
    catalogue.refresh().await.unwrap();
    assert!(catalogue.registry().get("weather").is_none());
}

#[tokio::test]
async fn a_run_finds_the_version_it_was_started_with_however_long_ago() {
    let Shop { store, catalogue } = new_shop().await;
    catalogue.create(weather("https://a.example"), "mei").await.unwrap();
    let pinned = catalogue.registry().get("weather").unwrap().version().to_owned();
    catalogue.update("weather", whole(weather("https://b.example")), None, "mei").await.unwrap();
    let again = opened(&store).await;
    let made = again.find_version("weather", &pinned).await.unwrap().unwrap();
    assert_eq!(made.version(), pinned);
    // All who go on with it share its guards, and its switch is the tool's.
    assert!(Arc::ptr_eq(&made, &again.find_version("weather", &pinned).await.unwrap().unwrap()));
    again.set_enabled("weather", false, "mei").await.unwrap();
    assert!(!made.is_enabled());
    drop(made);

    again.remove("weather", None, "mei").await.unwrap();
    let after = again.find_version("weather", &pinned).await.unwrap().unwrap();
    assert!(after.is_enabled(), "it was on when the run was started, and nobody can switch it now");
    assert!(again.find_version("weather", "never").await.unwrap().is_none());
    // A tool of ours is what it is now.
    let time = again.find_version("time", "older").await.unwrap().unwrap();
    assert!(Arc::ptr_eq(&time, &again.registry().get("time").unwrap()));
}

#[test]
fn an_error_in_a_definition_names_its_field() {
    let good = json!(weather("https://a.example"));
    let with = |pointer: &str, value: Value| {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let mut given = good.clone();
        given.pointer_mut(parent).unwrap()[name] = value;
        given
    };
    let mut nameless = good.clone();
    nameless.as_object_mut().unwrap().remove("name");
    let table = [
        (json!([]), "definition"),
        (nameless, "name"),
        (with("/endpoint", json!({})), "endpoint.url_template"),
        (with("/endpoint/methods", json!("GET")), "endpoint.methods"),
        (with("/endpoint/method", json!("FETCH")), "endpoint.method"),
        (with("/endpoint/auth", json!({"type": "magic"})), "endpoint.auth.type"),
        (with("/endpoint/auth", json!({"type": "bearer"})), "endpoint.auth.secret"),
        (with("/cache", json!({"ttl_ms": 0})), "cache.ttl_ms"),
        (with("/rate_limit", json!({"per_minute": -1})), "rate_limit.per_minute"),
        (with("/tags", json!(["a", 7])), "tags.1"),
        (with("/name", json!("has space")), "name"),
        (with("/name", json!("export")), "name"),
        (with("/description", json!(" ")), "description"),
        (with("/description", json!("x".repeat(20_000))), "description"),
        (with("/parameters", json!({"type": "array"})), "parameters"),
        (with("/tags", json!(["a", ""])), "tags.1"),
        (with("/category", json!("a\nb")), "category"),
        (with("/check_tool", json!("weather")), "check_tool"),
    ];
    for (given, field) in table {
        let wrong =
            read_definition(given.clone()).and_then(|definition| check::check(&definition)).unwrap_err();
        assert_eq!(wrong.field, field, "{given}: {wrong}");
        assert!(!wrong.problem.english().is_empty());
    }
}

#[tokio::test]
async fn what_is_odd_is_told_but_no_reason_to_refuse() {
    let Shop { catalogue, .. } = new_shop().await;
    let definition = read_definition(json!({
        "name": "weather", "description": "The weather\u{202e}.", "endpoint": {"url_template": "https://a.example"},
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "a\u{200b}b"}}},
        "fallback": {"tool": "atlas"}, "check_tool": "save_note",
        "examples": [{"question": "?", "arguments": {"city": 7}, "result": "", "answer": ""}]
    }))
    .unwrap();
    let warnings = catalogue.check(&definition).unwrap();
    let said = |word: &str| warnings.iter().any(|warning| warning.english().contains(word));
    for word in [
        "`description`",
        "U+202E",
        "`parameters.properties.city.description`",
        "U+200B",
        "`atlas`",
        "`save_note` does more",
        "`examples.0.arguments`",
    ] {
        assert!(said(word), "{word}: {warnings:#?}");
    }
    assert_eq!(warnings.len(), 5, "{warnings:#?}");
    assert_eq!(catalogue.check(&weather("https://a.example")), Ok(vec![]));
    assert!(!catalogue.is_taken("weather"), "a look keeps nothing");
}

#[test]
fn what_has_fields_is_never_read_by_position() {
    for (field, list) in [
        ("rate_limit", json!([3, 7])),
        ("cache", json!([1000])),
        ("breaker", json!([2, 9000])),
        ("fallback", json!([5])),
        ("labels", json!([true, false])),
        ("response_transform", json!(["a.b"])),
        ("endpoint", json!(["https://x.example/"])),
    ] {
        let mut given =
            json!({"name": "x", "description": "x", "endpoint": {"url_template": "https://x.example/"}});
        given[field] = list;
        let error = super::read_definition(given).unwrap_err();
        assert_eq!((error.field.as_str(), error.problem), (field, Notice::definition_object_needed()));
    }
}
