//! What the operator lets single tools have.

use helve_types::{Timestamp, ToolDefinition, ToolGrant, World};
use serde_json::json;

use super::{Subject, ok};
use crate::{AuditEntry, StoreError, ToolGrantRow, ToolRow};

fn definition(name: &str) -> ToolDefinition {
    let given = json!({
        "name": name, "description": "Says.", "endpoint": {"url_template": "http://127.0.0.1:9000/{q}"}
    });
    match serde_json::from_value(given) {
        Ok(definition) => definition,
        Err(error) => panic!("the definition does not fit: {error}"),
    }
}

fn line(action: &str) -> AuditEntry {
    AuditEntry { at: Timestamp(1), by: "mei".into(), action: action.into(), detail: "weather".into() }
}

fn host(tool: &str) -> ToolGrantRow {
    let grant = ToolGrant::Host { place: "127.0.0.1:9000".into() };
    ToolGrantRow { tool: tool.into(), grant, by: "mei".into(), at: Timestamp(1) }
}

fn secret(tool: &str) -> ToolGrantRow {
    let grant = ToolGrant::Secret {
        secret: "WEATHER_TOKEN".into(),
        env: "WEATHER_TOKEN".into(),
        place: "127.0.0.1:9000".into(),
    };
    ToolGrantRow { grant, ..host(tool) }
}

pub async fn a_tool_is_kept_with_what_it_is_allowed_or_not_at_all(store: Subject) {
    let new = || ToolRow::new(World::real().tool_id(), definition("weather"), Timestamp(1));
    let allowed = || vec![(host("weather"), line("tool.granted"))];
    ok(store.keep_granted_tool(new(), 0, line("tool.created"), allowed()).await);
    assert_eq!(ok(store.tool_grants().await), [host("weather")]);
    let other = vec![(secret("weather"), line("tool.granted"))];
    let late = store.keep_granted_tool(new(), 7, line("tool.changed"), other).await;
    assert_eq!(late.map(drop), Err(StoreError::Changed(1)));
    assert_eq!(ok(store.tool_grants().await), [host("weather")]);
}

pub async fn a_grant_holds_until_it_is_revoked_or_its_tool_is_deleted(store: Subject) {
    let new = ToolRow::new(World::real().tool_id(), definition("weather"), Timestamp(1));
    ok(store.keep_tool(new, 0, line("tool.created")).await);
    let before = ok(store.tool_changes().await);
    ok(store.grant_tool(secret("weather"), line("tool.granted")).await);
    ok(store.grant_tool(secret("weather"), line("tool.granted")).await);
    ok(store.grant_tool(host("other"), line("tool.granted")).await);
    assert!(ok(store.tool_changes().await) > before, "others learn of it");
    assert_eq!(ok(store.tool_grants().await), [host("other"), secret("weather")]);

    ok(store.revoke_tool_grant("other".into(), host("other").grant, line("tool.revoked")).await);
    let again = store.revoke_tool_grant("other".into(), host("other").grant, line("tool.revoked")).await;
    assert_eq!(again, Err(StoreError::NotFound("grant")));

    ok(store.delete_tool("weather".into(), None, line("tool.deleted")).await);
    assert_eq!(ok(store.tool_grants().await), []);
}
