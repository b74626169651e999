//! Which dialect is found where none is given: the decision table, and that every dialect that can be found is.

use super::forms::{all_forms, is_weather, readings};
use super::*;

fn found(text: &str) -> Option<&'static str> {
    let outcome = run(&[text], Reading::any(tools()), End::Normal);
    assert!(!outcome.calls.is_empty(), "no call in {text}: {outcome:?}");
    outcome.finding.and_then(|finding| finding.dialect)
}

/// Marks that several dialects share, and what follows them.
#[test]
fn what_follows_a_shared_mark_decides() {
    for (text, name) in [
        (r#"<tool_call>{"name": "search"}</tool_call>"#, "hermes"),
        (r#"<tool_call> [{"name": "search"}]</tool_call>"#, "hermes"),
        ("<tool_call>\n<function=search>\n</function>\n</tool_call>", "qwen3_coder"),
        ("<tool_call>search<arg_key>query</arg_key><arg_value>x</arg_value></tool_call>", "glm47"),
        ("<tool_call>search</tool_call>", "glm47"),
        (r#"<tool_calls>[{"name": "search"}]</tool_calls>"#, "jamba"),
        (
            "<tool_calls><tool_call>search<tool_sep><arg_key>query</arg_key><arg_value>x</arg_value></tool_call></tool_calls>",
            "hy_v3",
        ),
        (r#"<function=search>{"query": "x"}</function>"#, "llama31_function_tag"),
        ("<function=search><parameter=query>x</parameter></function>", "qwen3_coder"),
        (
            "<function_calls><invoke name=\"search\"><parameter name=\"query\">x</parameter></invoke></function_calls>",
            "claude_xml",
        ),
        ("<function_calls>\nsearch(query=\"x\")\n</function_calls>", "olmo3"),
        ("[search(query=\"x\")]", "pythonic"),
        (r#"{"name": "search", "arguments": {}}"#, "json_bare"),
        (r#"[{"name": "search", "arguments": {}}]"#, "json_bare"),
        ("```json\n{\"name\": \"search\", \"arguments\": {}}\n```", "json_fenced"),
        ("```tool_code\nprint(search(query=\"x\"))\n```", "tool_code"),
        (r#"<|python_tag|>{"name": "search", "parameters": {}}"#, "llama3_json"),
        (r#"[TOOL_CALLS][{"name": "search", "arguments": {}}]"#, "mistral"),
        (r#"[TOOL_CALLS]search[ARGS]{}"#, "mistral"),
    ] {
        assert_eq!(found(text), Some(name), "{text}");
    }
}

/// Dialects that one reader reads, or whose calls are another's to the letter, so that whichever comes first is found.
const FOUND_AS: &[(&str, &str)] = &[
    ("glm45", "glm47"),
    ("poolside_v1", "glm47"),
    ("hy_v4", "hy_v3"),
    ("deepseek_v3", "deepseek_v31"),
    ("deepseek_v4", "deepseek_v32"),
    ("deepseek_v41", "deepseek_v32"),
    ("muse_spark", "muse_glimmer"),
    ("beam", "muse_glimmer"),
    ("llama4_pythonic", "pythonic"),
    ("xlam", "mistral"),
];

#[test]
fn every_sample_is_what_its_dialect_says() {
    for dialect in crate::dialects() {
        let name = dialect.name;
        assert!(!dialect.models.is_empty() && dialect.sample.contains('¤'), "{name}");
        let text = dialect.sample.replace('¤', "Rome");
        let outcome = run(&[&text], Reading::for_dialect(dialect, tools()), End::Normal);
        if dialect.has_calls() {
            assert!(outcome.calls.len() == 1 && is_weather(&outcome.calls[0], "Rome"), "{text}: {outcome:?}");
            assert_eq!(outcome.content().trim(), "", "{text}");
        } else if dialect.sample == "¤" {
            assert_eq!((outcome.content().as_str(), outcome.calls.len()), ("Rome", 0), "{name}");
        } else {
            assert_eq!((outcome.reasoning().trim(), outcome.content().trim()), ("Rome", ""), "{text}");
        }
    }
}

#[test]
fn every_dialect_with_a_mark_is_found_by_its_sample() {
    assert!(all_forms().count() > 45);
    for (name, form) in all_forms() {
        let text = form.replace('¤', "Rome");
        let found_as = FOUND_AS.iter().find(|(one, _)| *one == name).map_or(name, |(_, other)| *other);
        assert_eq!(found(&text), Some(found_as), "{text}");
        let given = run(&[&text], readings(name)[0].clone(), End::Normal);
        assert_eq!(given.finding.and_then(|finding| finding.dialect), Some(name));
    }
}
