//! What tools from outside have become.

use helve_types::{Timestamp, ToolDefinition, World};
use serde_json::json;

use super::{Subject, ok};
use crate::{AuditEntry, StoreError, ToolOffer, ToolRow};

fn definition(description: &str) -> ToolDefinition {
    let given = json!({
        "name": "weather", "description": description,
        "endpoint": {"url_template": "https://api.example.com/{q}"}
    });
    match serde_json::from_value(given) {
        Ok(definition) => definition,
        Err(error) => panic!("the definition does not fit: {error}"),
    }
}

fn line(action: &str) -> AuditEntry {
    AuditEntry { at: Timestamp(1), by: "mei".into(), action: action.into(), detail: "weather".into() }
}

fn offer(description: &str, over: &ToolRow) -> ToolOffer {
    ToolOffer {
        origin: "openapi:weather".into(),
        definition: definition(description),
        over: over.hash.clone(),
        at: Timestamp(2),
    }
}

async fn kept(store: &Subject) -> ToolRow {
    let new = ToolRow::new(World::real().tool_id(), definition("Says."), Timestamp(1));
    ok(store.keep_tool(new, 0, line("tool.created")).await)
}

pub async fn the_last_offer_about_a_tool_is_kept_beside_it_until_it_is_dropped(store: Subject) {
    let row = kept(&store).await;
    assert_eq!(ok(store.tool_offers().await), []);
    let before = ok(store.tool_changes().await);
    ok(store.offer_tool(offer("Says more.", &row), line("tool.offered")).await);
    ok(store.offer_tool(offer("Says it all.", &row), line("tool.offered")).await);
    assert_eq!(ok(store.tool_offers().await), [offer("Says it all.", &row)]);
    assert_eq!(ok(store.tool("weather".into()).await), row, "the tool itself is what it was");
    assert!(ok(store.tool_changes().await) > before, "others learn of it");

    ok(store.drop_offer("weather".into(), line("tool.rejected")).await);
    assert_eq!(ok(store.tool_offers().await), []);
    let again = store.drop_offer("weather".into(), line("tool.rejected")).await;
    assert_eq!(again, Err(StoreError::NotFound("offer")));
}

pub async fn an_offer_is_taken_together_with_the_new_version_or_not_at_all(store: Subject) {
    let row = kept(&store).await;
    let next = row.with(definition("Says more."), Timestamp(3));
    let missing = store.take_offer(next.clone(), 1, line("tool.agreed")).await;
    assert_eq!(missing, Err(StoreError::NotFound("offer")));
    ok(store.offer_tool(offer("Says more.", &row), line("tool.offered")).await);
    let late = store.take_offer(next.clone(), 7, line("tool.agreed")).await;
    assert_eq!(late, Err(StoreError::Changed(1)));
    assert_eq!(ok(store.tool_offers().await).len(), 1);
    assert_eq!(ok(store.take_offer(next, 1, line("tool.agreed")).await).version, 2);
    assert_eq!(ok(store.tool("weather".into()).await).definition.description, "Says more.");
    assert_eq!(ok(store.tool_offers().await), []);
}

pub async fn what_is_offered_about_a_tool_goes_with_it(store: Subject) {
    let row = kept(&store).await;
    ok(store.offer_tool(offer("Says more.", &row), line("tool.offered")).await);
    ok(store.delete_tool("weather".into(), None, line("tool.deleted")).await);
    assert_eq!(ok(store.tool_offers().await), []);
}
