//! Which dialect is found where none is given: the decision table, and that every dialect that can be found is.

use super::forms::{CHANNELS, FORMS, readings};
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

/// Dialects whose calls are another's to the letter, so that the other one is found; and those without a form in the
/// tables, with where they are tried instead.
const NOT_BY_FORM: &[&str] = &[
    // Reasoning, with the marks of Hunyuan 3.
    "think_hy",
    // As GLM 4.5 and Muse Glimmer write them.
    "poolside_v1",
    "muse_spark",
    // Without markup: above, and in `story`.
    "json_bare",
    "json_fenced",
    "xlam",
    "pythonic",
    "llama4_pythonic",
];

/// Dialects that one reader reads, so that whichever comes first is found.
const FOUND_AS: &[(&str, &str)] = &[
    ("glm45", "glm47"),
    ("hy_v4", "hy_v3"),
    ("deepseek_v3", "deepseek_v31"),
    ("deepseek_v4", "deepseek_v32"),
    ("deepseek_v41", "deepseek_v32"),
    ("beam", "muse_glimmer"),
];

#[test]
fn every_dialect_that_can_be_found_has_a_form_and_is_found_by_it() {
    let forms = || FORMS.iter().chain(CHANNELS);
    for dialect in
        crate::dialects().iter().filter(|dialect| dialect.is_found() && !dialect.openers.is_empty())
    {
        let known = forms().any(|(name, _)| *name == dialect.name) || NOT_BY_FORM.contains(&dialect.name);
        assert!(known, "`{}` has no form", dialect.name);
    }
    for (name, form) in forms() {
        let text = form.replace('¤', "Rome");
        let found_as = FOUND_AS.iter().find(|(one, _)| one == name).map_or(*name, |(_, other)| *other);
        assert_eq!(found(&text), Some(found_as), "{text}");
        let given = run(&[&text], readings(name)[0].clone(), End::Normal);
        assert_eq!(given.finding.and_then(|finding| finding.dialect), Some(*name));
    }
}
