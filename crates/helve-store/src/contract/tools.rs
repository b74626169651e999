//! Tools that are rows.

use helve_types::{Timestamp, ToolDefinition, World};
use serde_json::json;

use super::{Subject, ok};
use crate::{AuditEntry, StoreError, ToolRow};

fn definition(name: &str, description: &str) -> ToolDefinition {
    let given = json!({
        "name": name, "description": description, "endpoint": {"url_template": "https://api.example.com/{q}"}
    });
    match serde_json::from_value(given) {
        Ok(definition) => definition,
        Err(error) => panic!("the definition does not fit: {error}"),
    }
}

fn line(action: &str) -> AuditEntry {
    AuditEntry { at: Timestamp(1), by: "mei".into(), action: action.into(), detail: "weather".into() }
}

fn numbers(rows: &[ToolRow]) -> Vec<u32> {
    rows.iter().map(|row| row.version).collect()
}

pub async fn a_tool_is_kept_with_its_next_number_over_the_version_that_was_seen(store: Subject) {
    let new = ToolRow::new(World::real().tool_id(), definition("weather", "Says."), Timestamp(1));
    assert_eq!(store.tool("weather".into()).await, Err(StoreError::NotFound("tool")));
    let first = ok(store.keep_tool(new.clone(), 0, line("tool.created")).await);
    assert_eq!(first, ToolRow { version: 1, ..new.clone() });
    assert_eq!(ok(store.tool("weather".into()).await), first);
    assert_eq!(store.keep_tool(new, 0, line("tool.created")).await, Err(StoreError::Changed(1)));

    let changed = first.with(definition("weather", "Says more."), Timestamp(2));
    let second = ok(store.keep_tool(changed.clone(), 1, line("tool.changed")).await);
    assert_eq!((second.version, second.created_at, second.updated_at), (2, Timestamp(1), Timestamp(2)));
    assert_ne!(second.hash, first.hash);
    assert_eq!(store.keep_tool(changed, 1, line("tool.changed")).await, Err(StoreError::Changed(2)));

    let other = ToolRow::new(World::real().tool_id(), definition("atlas", "Shows."), Timestamp(3));
    ok(store.keep_tool(other, 0, line("tool.created")).await);
    let all = ok(store.tools().await);
    assert_eq!(all.iter().map(ToolRow::name).collect::<Vec<_>>(), ["atlas", "weather"]);
    assert_eq!(ok(store.tool_versions("weather".into()).await), [first, second]);
}

pub async fn a_deleted_tool_is_gone_but_its_versions_are_not(store: Subject) {
    let new = ToolRow::new(World::real().tool_id(), definition("weather", "Says."), Timestamp(1));
    let gone = |expected| store.delete_tool("weather".into(), expected, line("tool.deleted"));
    assert_eq!(gone(None).await, Err(StoreError::NotFound("tool")));
    ok(store.keep_tool(new.clone(), 0, line("tool.created")).await);
    assert_eq!(gone(Some(7)).await, Err(StoreError::Changed(1)));
    ok(gone(Some(1)).await);
    assert_eq!(ok(store.tools().await), []);
    assert_eq!(numbers(&ok(store.tool_versions("weather".into()).await)), [1]);

    // Another tool of that name is another tool, and nobody takes it for the first.
    let again = ToolRow { id: World::real().tool_id(), ..new };
    assert_eq!(ok(store.keep_tool(again, 0, line("tool.created")).await).version, 2);
    assert_eq!(numbers(&ok(store.tool_versions("weather".into()).await)), [1, 2]);
}

pub async fn switches_and_changes_of_tools_are_counted(store: Subject) {
    let mut seen = ok(store.tool_changes().await);
    let mut grew = async || {
        let before = std::mem::replace(&mut seen, ok(store.tool_changes().await));
        seen > before
    };
    ok(store.switch_tool("time".into(), false, line("tool.disabled")).await);
    assert!(grew().await);
    assert_eq!(ok(store.tool_switches().await), [("time".to_owned(), false)]);
    ok(store.switch_tool("time".into(), true, line("tool.enabled")).await);
    assert!(grew().await);
    assert_eq!(ok(store.tool_switches().await), [("time".to_owned(), true)]);

    let new = ToolRow::new(World::real().tool_id(), definition("weather", "Says."), Timestamp(1));
    ok(store.keep_tool(new.clone(), 0, line("tool.created")).await);
    assert!(grew().await);
    assert_eq!(store.keep_tool(new, 0, line("tool.created")).await, Err(StoreError::Changed(1)));
    assert!(!grew().await);
    ok(store.delete_tool("weather".into(), None, line("tool.deleted")).await);
    assert!(grew().await);
}
