//! Rows that are imported, and the ids and consents that they come with.

use helve_types::{Notice, ToolGrant};

use super::*;

fn row() -> Value {
    json!({
        "id": "w-1", "name": "weather", "description": "The weather in a city.", "version": "1.0.0",
        "endpoint": {"url_template": "https://api.example.com/{city}", "headers": null, "timeout": 30},
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "rate_limit": null,
    })
}

fn named(id: &str, name: &str) -> Value {
    let mut row = row();
    (row["id"], row["name"]) = (json!(id), json!(name));
    row
}

async fn import(shop: &Shop, row: Value, options: ImportOptions) -> Result<ImportedRow, CatalogueError> {
    shop.catalogue.import_row(row, options, "mei").await
}

#[tokio::test]
async fn an_imported_row_is_created_once_and_changed_only_where_that_is_asked_for() {
    let shop = new_shop().await;
    let new = ImportOptions::default();
    let replace = ImportOptions { replace: true, ..new };
    let checked = import(&shop, row(), ImportOptions { dry_run: true, ..new }).await.unwrap();
    assert_eq!((checked.outcome, checked.listed.is_none()), (ImportOutcome::Checked, true));
    assert!(!shop.catalogue.is_taken("weather"));

    assert_eq!(import(&shop, row(), new).await.unwrap().outcome, ImportOutcome::Created);
    assert!(matches!(import(&shop, row(), new).await, Err(CatalogueError::Exists(_))));
    assert_eq!(import(&shop, row(), replace).await.unwrap().outcome, ImportOutcome::Unchanged);
    let mut other = row();
    other["endpoint"]["timeout"] = json!(5);
    other.as_object_mut().unwrap().remove("id");
    let changed = import(&shop, other, replace).await.unwrap();
    assert_eq!(changed.outcome, ImportOutcome::Changed);
    let kept = changed.listed.unwrap().row.unwrap();
    assert_eq!((kept.version, kept.definition.id.as_deref()), (2, Some("w-1")));
}

#[tokio::test]
async fn an_id_addresses_one_tool_and_stays_with_it() {
    let shop = new_shop().await;
    import(&shop, row(), ImportOptions::default()).await.unwrap();
    let catalogue = &shop.catalogue;
    let own = catalogue.get("weather").unwrap().row.unwrap().id.to_string();
    for address in ["weather", "w-1", own.as_str()] {
        assert_eq!(catalogue.resolve_name(address), "weather", "{address}");
    }
    assert_eq!(catalogue.resolve_name("nothing"), "nothing");

    for taken in [named("w-1", "forecast"), named("time", "forecast"), named(&own, "forecast")] {
        let refused = import(&shop, taken.clone(), ImportOptions::default()).await;
        assert!(matches!(refused, Err(CatalogueError::IdTaken { .. })), "{taken}");
    }
    let name_is_an_id = import(&shop, named("other", "w-1"), ImportOptions::default()).await;
    assert!(matches!(name_is_an_id, Err(CatalogueError::IdTaken { .. })));
    let moved = import(&shop, named("w-2", "weather"), ImportOptions { replace: true, ..Default::default() });
    let told = moved.await.err().unwrap().to_string();
    assert_eq!(told, "`id`: a tool keeps its id, which is `w-1`");
    for wrong in ["a/b", "a b", "execute", "", ".."] {
        let refused = import(&shop, named(wrong, "forecast"), ImportOptions::default()).await;
        // An empty id is one that was not given.
        assert_eq!(refused.is_err(), !wrong.is_empty(), "`{wrong}`");
    }
}

#[test]
fn one_row_a_list_and_lines_are_read_up_to_a_thousand() {
    let count = |text: &str| parse_rows(text).map(|rows| rows.len());
    assert_eq!(count(&row().to_string()), Ok(1));
    assert_eq!(count(&json!([row(), row()]).to_string()), Ok(2));
    assert_eq!(count(&json!({"tools": [row()]}).to_string()), Ok(1));
    let lines = parse_rows("{\"name\": \"a\"}\n\n{broken\n{\"name\": \"b\", \"name\": \"c\"}\n").unwrap();
    assert_eq!(lines.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false]);
    assert!(parse_rows(&serde_json::to_string_pretty(&row()).unwrap()).is_ok());

    let many = |count: usize| vec![json!({"name": "a"}); count];
    assert_eq!(count(&json!(many(IMPORT_ROWS_MAX)).to_string()), Ok(IMPORT_ROWS_MAX));
    let told = count(&json!(many(IMPORT_ROWS_MAX + 1)).to_string()).unwrap_err().to_string();
    assert!(told.contains("1001 rows"), "{told}");
    assert!(count(&"{\"name\": \"a\"}\n".repeat(IMPORT_ROWS_MAX + 1)).is_err());
    assert!(count(&"[".repeat(65)).unwrap_err().to_string().contains("nested deeper"));
    assert!(count(&json!({"tools": [], "more": 1}).to_string()).is_err());
}

/// A catalogue whose tools reach `localhost` only with consent.
fn careful(store: &Arc<MemoryStore>) -> Catalogue {
    let world = World::deterministic();
    let maker: ToolBuilder = Arc::new(|definition, grants| {
        if definition.endpoint.url_template.contains("localhost") && grants.hosts().next().is_none() {
            let refused = DefinitionError::new(
                "endpoint.url_template",
                Notice::definition_other("it is on this machine"),
            );
            return Err(DefinitionError { consent: Some("localhost:9000".into()), ..refused });
        }
        maker()(definition, grants)
    });
    Catalogue::new(Arc::new(Registry::new()), store.clone(), world, maker)
}

fn local() -> ToolDefinition {
    weather("http://localhost:9000/{city}")
}

#[tokio::test]
async fn a_tool_on_this_machine_is_made_with_the_consent_which_others_find_and_which_can_be_taken_back() {
    let store = Arc::new(MemoryStore::new());
    let (one, other) = (careful(&store), careful(&store));
    one.refresh().await.unwrap();
    other.refresh().await.unwrap();
    let refused = one.create(local(), "mei").await.err().unwrap();
    assert!(matches!(&refused, CatalogueError::Definition(wrong) if wrong.consent.is_some()));
    assert!(one.rows.table().grants().await.unwrap().is_empty());

    one.create_granted(local(), true, "mei").await.unwrap();
    let host = ToolGrant::Host { place: "localhost:9000".into() };
    assert!(matches!(&one.list_grants("weather")[..], [row] if row.grant == host));
    other.refresh().await.unwrap();
    assert!(other.get("weather").unwrap().problem.is_none());
    let actions: Vec<_> =
        store.audit_entries().into_iter().map(|entry| (entry.action, entry.detail)).collect();
    assert!(actions.contains(&("tool.granted".into(), "weather host localhost:9000".into())), "{actions:?}");

    let held = other.rows.grant_set("weather");
    assert_eq!(one.revoke_grants("weather", Some("localhost:1"), "mei").await.unwrap(), []);
    assert_eq!(one.revoke_grants("weather", None, "mei").await.unwrap(), [host]);
    other.refresh().await.unwrap();
    assert!(other.get("weather").unwrap().problem.is_some());
    assert!(held.is_revoked(), "what runs still hold is told");
    // The same definition again, with the consent, is no other version.
    let change = Change::Whole(Box::new(local()));
    let back = one.update_granted("weather", change, None, true, "mei").await.unwrap();
    assert_eq!((back.problem, back.row.unwrap().version), (None, 1));
}

#[tokio::test]
async fn a_new_tool_of_an_old_name_has_no_consent_of_the_old_one() {
    let store = Arc::new(MemoryStore::new());
    let catalogue = careful(&store);
    catalogue.refresh().await.unwrap();
    catalogue.create_granted(local(), true, "mei").await.unwrap();
    catalogue.remove("weather", None, "mei").await.unwrap();
    assert!(catalogue.create(local(), "mei").await.is_err());
}

#[test]
fn a_variable_that_configures_helve_is_no_tools_secret() {
    let check_env = |env: &str| {
        let mut definition = weather("https://api.example.com/{city}");
        definition.endpoint.auth = Auth::Bearer { secret: "s".into(), env: Some(env.into()) };
        check::check(&definition).map_err(|wrong| wrong.field)
    };
    assert_eq!(check_env("WEATHER_TOKEN"), Ok(()));
    for env in ["HELVE_TOKEN", "helve_token", "A B", "", "1A"] {
        assert_eq!(check_env(env), Err("endpoint.auth.env".into()), "{env}");
    }
}
