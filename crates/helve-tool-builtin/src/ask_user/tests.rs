//! What models may ask with `ask_user`, and what its schema says about it.

use helve_tool::{CallContext, OPTIONS_MAX, QUESTION_CHARS_MAX};
use helve_types::ReplyForm;
use serde_json::json;

use super::*;

fn ask(arguments: &Value) -> Result<UserQuestion, String> {
    let (tool, _) = tool();
    tool.question(Request { arguments }).expect("it asks nobody")
}

#[test]
fn each_way_of_asking_becomes_a_question() {
    let words = ask(&json!({"question": "Who are you?"})).unwrap();
    assert!(matches!(words.form, ReplyForm::Text { .. }));
    let one = ask(&json!({"question": "Which?", "options": ["a", "b"]})).unwrap();
    assert!(matches!(one.form, ReplyForm::Choice { .. }));
    let several = ask(&json!({"question": "Which?", "options": ["a", "b"], "several": true})).unwrap();
    assert!(matches!(several.form, ReplyForm::Choices { .. }));
    let form = json!({"type": "object", "properties": {"a": {"type": "number"}}});
    let form = ask(&json!({"question": "What?", "form": form})).unwrap();
    assert!(matches!(form.form, ReplyForm::Fields { .. }));
}

#[test]
fn the_examples_can_be_asked() {
    for example in examples() {
        assert_eq!(ask(&example.arguments).err(), None, "{}", example.arguments);
    }
}

/// The schema of the arguments and the check behind it have the same bounds.
#[test]
fn the_schema_says_the_bounds() {
    let (tool, _) = tool();
    let parameters = &tool.spec().parameters;
    assert_eq!(parameters["properties"]["question"]["maxLength"], QUESTION_CHARS_MAX);
    assert_eq!(parameters["properties"]["options"]["maxItems"], OPTIONS_MAX);
}

#[tokio::test]
async fn where_no_person_can_be_asked_it_says_so() {
    let (tool, _) = tool();
    let (arguments, cx) = (json!({"question": "Who?"}), CallContext::for_tests("mei"));
    let failed = tool.call(Request { arguments: &arguments }, &cx).await;
    assert!(matches!(failed, Err(ToolError::Declined(_))), "{failed:?}");
}
