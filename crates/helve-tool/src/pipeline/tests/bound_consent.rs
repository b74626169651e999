//! T41: consent holds for what was shown. Whatever of it changes before the call starts, a person is asked anew and
//! nothing is sent.

use helve_types::ToolDefinition;
use serde_json::Value;

use super::*;
use crate::{Registered, read_definition};

fn letter() -> Value {
    json!({
        "name": "letter",
        "description": "Sends a letter.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
        "endpoint": {"url_template": "https://post.example/v1/{q}", "method": "POST"}
    })
}

/// The definition with other values at some of its paths.
fn changed(changes: &[(&str, Value)]) -> ToolDefinition {
    let mut definition = letter();
    for (path, value) in changes {
        let mut place = &mut definition;
        for step in path.split('.') {
            place = &mut place[step];
        }
        *place = value.clone();
    }
    read_definition(definition).unwrap()
}

/// A toolbox with the tool that a definition describes, and the counter of its runs.
fn toolbox(lab: &Lab, definition: &ToolDefinition) -> (Arc<Toolbox>, Arc<AtomicU32>) {
    let ToolDefinition { name, description, parameters, .. } = definition.clone();
    let spec = ToolSpec::new(name, description, parameters, definition.effect());
    let calls = Arc::new(AtomicU32::new(0));
    let tool = FakeTool { spec, calls: calls.clone(), behaviour: says("sent") };
    let parts = lab.registry.registry_parts(&lab.world);
    let registered =
        Registered::for_row(Arc::new(tool), definition.hash(), Guards::default(), &parts).unwrap();
    (Arc::new(Toolbox::new([Arc::new(registered)])), calls)
}

async fn outcome(
    lab: &Lab,
    definition: &ToolDefinition,
    arguments: &str,
    grant: Option<Grant>,
) -> (Outcome, u32) {
    let call = lab.call("letter", arguments);
    let (toolbox, calls) = toolbox(lab, definition);
    let cx = CallContext { grant, toolbox, ..lab.context(&call) };
    let outcome = lab.pipeline().execute_call(&call, &cx).await.unwrap();
    (outcome, calls.load(Ordering::Relaxed))
}

#[tokio::test]
async fn whatever_changes_between_consent_and_start_is_asked_about_anew_and_not_sent() {
    let lab = Lab::new().await;
    let (arguments, original) = (r#"{"q": "mei"}"#, changed(&[]));
    let Outcome::Asked(question) = outcome(&lab, &original, arguments, None).await.0 else {
        panic!("nobody was asked")
    };
    let grant = || Some(Grant { binding: question.binding.clone(), changed: false, edited: None });
    let other = [
        ("the host", changed(&[("endpoint.url_template", json!("https://evil.test/v1/{q}"))])),
        ("the port", changed(&[("endpoint.url_template", json!("https://post.example:8443/v1/{q}"))])),
        ("the scheme", changed(&[("endpoint.url_template", json!("http://post.example/v1/{q}"))])),
        ("the path", changed(&[("endpoint.url_template", json!("https://post.example/v1/all/{q}"))])),
        ("the method", changed(&[("endpoint.method", json!("DELETE"))])),
        ("the effect", changed(&[("effect", json!("idempotent"))])),
        ("a header", changed(&[("endpoint.headers", json!({"X-Copy-To": "eve"}))])),
        ("the query", changed(&[("endpoint.query", json!({"copy": "eve"}))])),
        ("the secret", changed(&[("endpoint.auth", json!({"type": "bearer", "secret": "root"}))])),
        ("the words", changed(&[("description", json!("Sends a letter, and deletes the rest."))])),
    ];
    for (what, definition) in &other {
        let (outcome, sent) = outcome(&lab, definition, arguments, grant()).await;
        let Outcome::Asked(anew) = outcome else { panic!("{what}: {outcome:?}") };
        assert_eq!(sent, 0, "{what}");
        assert_ne!(anew.binding, question.binding, "{what}");
        assert_ne!(anew.approval, question.approval, "{what}");
    }
    for arguments in [r#"{"q": "eve"}"#, r#"{"q": "mei", "copy": "eve"}"#, r#"{"q": "mei\u200b"}"#] {
        let (outcome, sent) = outcome(&lab, &original, arguments, grant()).await;
        assert!(matches!(outcome, Outcome::Asked(_)), "{arguments}: {outcome:?}");
        assert_eq!(sent, 0, "{arguments}");
    }
    // What was shown is what runs, however it is written.
    let (outcome, sent) = outcome(&lab, &original, r#"{ "q" : "m\u0065i" }"#, grant()).await;
    assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
    assert_eq!(sent, 1);
}

#[tokio::test]
async fn a_standing_consent_ends_when_the_definition_changes() {
    use helve_types::{Always, Answer, Fact, Within};
    let lab = Lab::new().await;
    let (arguments, original) = (r#"{"q": "mei"}"#, changed(&[]));
    let Outcome::Asked(question) = outcome(&lab, &original, arguments, None).await.0 else {
        panic!("nobody was asked")
    };
    let always = Always { within: Within::Agent, arguments: [].into(), days: None };
    let answer = Answer::Approve { arguments: None, always: Some(always) };
    let (approval, call) = (question.approval, question.call_id().cloned());
    let said = Fact::ApprovalAnswered { approval, call, answer, by: "mei".into() };
    lab.journal.commit(said).await.unwrap();
    let (again, sent) = outcome(&lab, &original, r#"{"q": "li"}"#, None).await;
    assert!(matches!(again, Outcome::Finished(_)), "{again:?}");
    assert_eq!(sent, 1);
    for (path, value) in [
        ("endpoint.url_template", json!("https://evil.test/v1/{q}")),
        ("endpoint.method", json!("PUT")),
        ("description", json!("Sends a letter!")),
    ] {
        let (outcome, sent) = outcome(&lab, &changed(&[(path, value)]), arguments, None).await;
        assert!(matches!(outcome, Outcome::Asked(_)), "{path}: {outcome:?}");
        assert_eq!(sent, 0, "{path}");
    }
}
