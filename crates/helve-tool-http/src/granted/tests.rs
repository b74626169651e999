//! Secrets that the operator has bound to a tool, and what a definition may do with them.

use std::sync::Arc;

use helve_egress::{Egress, EgressSettings};
use helve_tool::{Request, ToolError};
use helve_types::ToolGrant;
use serde_json::{Value, json};

use super::*;
use crate::testing::{TestHttpServer, context, definition, tools};

const TOKEN: &str = "bound-0123456789";

fn bound(env: &str, place: &str) -> ToolGrant {
    ToolGrant::Secret { secret: "CRM_TOKEN".into(), env: env.into(), place: place.into() }
}

fn granted(grants: Vec<ToolGrant>) -> Arc<ToolGrants> {
    Arc::new(ToolGrants::new(grants))
}

fn reading() -> HttpTools {
    tools().with_variables(Arc::new(|name| match name {
        "CRM_TOKEN" | "OTHER" => Some(TOKEN.into()),
        "SHORT" => Some("abc".into()),
        _ => None,
    }))
}

fn proposed(url: &str) -> ToolDefinition {
    let mut row = definition(
        json!({"endpoint": {"auth": {"type": "bearer", "secret": "CRM_TOKEN", "env": "CRM_TOKEN"}}}),
    );
    row.endpoint.url_template = format!("{url}/{{city}}");
    row
}

async fn call(
    tools: &HttpTools,
    row: &ToolDefinition,
    grants: &Arc<ToolGrants>,
) -> Result<String, ToolError> {
    let (tool, _) = tools.build_tool(row, grants).unwrap();
    let arguments = json!({"city": "Oslo"});
    tool.call(Request { arguments: &arguments }, &context()).await.map(|output| output.text)
}

#[tokio::test]
async fn a_proposed_variable_is_sent_only_after_it_was_bound_and_only_to_the_confirmed_host() {
    let server = TestHttpServer::json(json!("sunny")).await;
    let place = server.url.strip_prefix("http://").unwrap().to_owned();
    let row = proposed(&server.url);
    for (grants, expected) in [
        (
            vec![],
            format!(
                "confirm with `helve tools bind weather` that the variable CRM_TOKEN may be sent to `{place}`"
            ),
        ),
        (vec![bound("CRM_TOKEN", "127.0.0.1:1")], "is not bound".into()),
        (vec![bound("MISSING", &place)], "set the environment variable MISSING".into()),
        (vec![bound("SHORT", &place)], "cannot be kept out of answers".into()),
    ] {
        let told = call(&reading(), &row, &granted(grants)).await.unwrap_err();
        let (told, notice) = told.split_notice();
        assert!(matches!(&told, ToolError::Declined(told) if told.contains(&expected)), "{told:?}");
        // People are told by a code, and in their own words.
        assert!(notice.code.starts_with("secret_"), "{notice:?}");
    }
    assert_eq!(server.heard(), [] as [String; 0], "nothing was sent");

    let other = granted(vec![bound("OTHER", &place)]);
    assert_eq!(call(&reading(), &row, &other).await.unwrap(), "sunny");
    assert!(server.heard()[0].contains(&format!("authorization: Bearer {TOKEN}")), "{:?}", server.heard());
    assert_eq!(reading().find_secret_need(&row, &other), None);
    assert_eq!(reading().find_secret_need(&row, &granted(vec![])).unwrap().place, place);
}

#[tokio::test]
async fn a_bound_secret_is_taken_out_of_what_comes_back() {
    let server = TestHttpServer::json(json!({"token": TOKEN})).await;
    let place = server.url.strip_prefix("http://").unwrap();
    let said =
        call(&reading(), &proposed(&server.url), &granted(vec![bound("CRM_TOKEN", place)])).await.unwrap();
    assert!(!said.contains(TOKEN), "{said}");
}

/// Reaches nothing that is not public.
fn strict() -> HttpTools {
    _ = tools();
    HttpTools::new(Egress::new(EgressSettings::default()).unwrap())
}

fn open(url: &str) -> ToolDefinition {
    let mut row = definition(json!({}));
    row.endpoint.url_template = format!("{url}/{{city}}");
    row
}

#[tokio::test]
async fn a_tool_on_this_machine_works_with_the_consent_for_its_host_and_port() {
    let server = TestHttpServer::json(json!("sunny")).await;
    let place = server.url.strip_prefix("http://").unwrap().to_owned();
    let refused = strict().build_tool(&open(&server.url), &granted(vec![])).err().unwrap();
    assert_eq!(refused.consent.as_deref(), Some(place.as_str()));
    let told = refused.problem.english();
    assert!(told.contains("--allow-host") && told.contains("`\"allow_host\": true`"), "{told}");
    let here = |place: &str| granted(vec![ToolGrant::Host { place: place.into() }]);
    assert!(strict().build_tool(&open(&server.url), &here("127.0.0.1:1")).is_err());
    assert_eq!(call(&strict(), &open(&server.url), &here(&place)).await.unwrap(), "sunny");
}

#[test]
fn only_this_machine_and_not_this_server_can_be_consented_to() {
    let refused = |url: &str| -> Value {
        let tools = strict().with_own_port(8890);
        json!(tools.build_tool(&open(url), &granted(vec![])).err().map(|refused| refused.consent))
    };
    for (url, expected) in [
        ("http://localhost", json!("localhost:80")),
        ("http://127.0.0.1:9000", json!("127.0.0.1:9000")),
        ("https://[::1]:9000", json!("[::1]:9000")),
        ("http://x.localhost:9000", json!("x.localhost:9000")),
        ("http://localhost:8890", Value::Null),
        ("http://10.0.0.1:9000", Value::Null),
        ("http://169.254.169.254", Value::Null),
        ("http://printer.local", Value::Null),
    ] {
        assert_eq!(refused(url), expected, "{url}");
    }
}
