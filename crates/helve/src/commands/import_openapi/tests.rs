//! What people are shown.

use expect_test::expect;
use helve_server::{ChangedField, ImportSecret, SkippedOperation};
use helve_types::ToolDefinition;

use super::*;

fn tool(name: &str, operation: &str, change: ImportChange) -> ImportedTool {
    let definition: ToolDefinition = serde_json::from_value(json!({
        "name": name, "description": "Does.", "endpoint": {"url_template": "https://api.example.com/x"}
    }))
    .unwrap();
    ImportedTool {
        name: name.into(),
        operation: operation.into(),
        effect: definition.effect(),
        change,
        fields: vec![],
        notes: vec![],
        warnings: vec![],
        quarantined: false,
        problem: None,
        definition,
    }
}

fn report() -> ImportReport {
    let mut changed = tool("list_goods", "GET /goods", ImportChange::Changed);
    changed.fields = vec![ChangedField {
        field: "parameters.properties.limit.maximum".into(),
        was: Some(json!(10)),
        now: None,
    }];
    let mut new = tool("add", "POST /goods", ImportChange::Added);
    new.notes = vec!["deprecated".into()];
    let mut taken = tool("time", "GET /time", ImportChange::Taken);
    taken.problem = Some("another tool has this name; give the import a prefix".into());
    ImportReport {
        title: "Corner Shop".into(),
        version: "1.4".into(),
        openapi: "3.0.3".into(),
        document_hash: "0123abcd".into(),
        tag: "openapi:corner_shop".into(),
        servers: vec!["https://api.example.com".into()],
        operations: 4,
        made: true,
        held_back: None,
        tools: vec![changed, new, taken],
        skipped: vec![SkippedOperation {
            operation: "POST /pictures".into(),
            reason: "its body is `multipart/form-data`; only JSON and forms are sent".into(),
        }],
        gone: vec!["old".into()],
        notes: vec!["the server https://api.example.com is assumed: region = eu".into()],
        secrets: vec![ImportSecret {
            name: "corner_shop_token".into(),
            what: "a bearer token".into(),
            hosts: vec!["api.example.com".into()],
            toml: "[secrets.corner_shop_token]  # a bearer token\nenv = \"CORNER_SHOP_TOKEN\"\nhosts = [\"api.example.com\"]\n".into(),
        }],
    }
}

#[test]
fn a_report_shows_what_was_made_what_not_and_what_is_left_to_do() {
    expect![[r#"
        Corner Shop 1.4 (OpenAPI 3.0.3), 4 operations, at https://api.example.com

        changed    list_goods  read            GET /goods
                     parameters.properties.limit.maximum: 10 → nothing
        new        add         read            POST /goods
                     deprecated
        taken      time        read            GET /time
                     another tool has this name; give the import a prefix
        gone       old

        Not made:
          POST /pictures: its body is `multipart/form-data`; only JSON and forms are sent

        Notes:
          the server https://api.example.com is assumed: region = eu

        The tools need secrets. Add to helve.toml what is not there yet:

        [secrets.corner_shop_token]  # a bearer token
        env = "CORNER_SHOP_TOKEN"
        hosts = ["api.example.com"]

        Made: 1 new, 1 changed, 0 unchanged; 1 cannot be made.
    "#]]
    .assert_eq(&shown(&report()));
}

#[test]
fn what_was_held_back_is_said_last() {
    let held = ImportReport { made: false, held_back: Some("there are 201 tools".into()), ..report() };
    assert!(shown(&held).ends_with("\nNothing was made: there are 201 tools (`--all`).\n"));
    let preview = ImportReport { made: false, secrets: vec![], ..report() };
    assert!(shown(&preview).ends_with(
        "\n\nNothing was made. The document makes: 1 new, 1 changed, 0 unchanged; 1 cannot be made. \
         `--expect 0123abcd` makes sure that it is still this one.\n"
    ));
}

#[test]
fn what_many_tools_have_in_common_is_said_once() {
    let mut many = report();
    many.tools = (0..5).map(|number| tool(&format!("t{number}"), "GET /x", ImportChange::Added)).collect();
    many.tools.iter_mut().for_each(|tool| tool.problem = Some("there is no secret".into()));
    let shown = shown(&many);
    assert_eq!(shown.matches("there is no secret").count(), 1);
    assert!(shown.contains("\n  5 tools: there is no secret\n"), "{shown}");
}
