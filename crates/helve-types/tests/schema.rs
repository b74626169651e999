//! The schema of everything that readers get is a golden file, which the page's types are made from.

use expect_test::expect_file;
use helve_types::{EventBody, Live, Message};
use schemars::JsonSchema;
use serde_json::{Value, json};

/// All that can stand in a frame or in a list of messages.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Wire {
    event: EventBody,
    live: Live,
    message: Message,
}

#[test]
fn the_schema_of_events_and_messages_changes_only_on_purpose() {
    let mut schema: Value = schemars::schema_for!(Wire).to_value();
    schema["title"] = json!("Helve's events and messages");
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    expect_file!["../../../fixtures/schema/events.schema.json"].assert_eq(&text);
}
