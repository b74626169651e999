//! Arguments that are no JSON: one value, and the schema says whose. Code is such a value, and an interpreter its tool.

use serde_json::{Map, Value};

use crate::Tools;
use helve_json::work::count_bytes;

/// The arguments of the tool, if what is written can only be the value of one parameter, or no value at all.
pub(super) fn arguments_from_text(written: &str, tool: &str, tools: &Tools) -> Option<String> {
    count_bytes(written.len());
    let written = strip_fence(written.trim());
    let unquoted = serde_json::from_str::<String>(written).ok();
    let value = unquoted.as_deref().unwrap_or(written);
    if serde_json::from_str::<Map<String, Value>>(value).is_ok() {
        return Some(value.to_owned());
    }
    match tools.only_positional_name(tool) {
        Some(_) if value.is_empty() => None,
        Some(parameter) => {
            Some(format!("{{{}: {}}}", Value::from(parameter), tools.type_value(tool, parameter, value)))
        }
        None if tools.positional_names(tool).next().is_some() => None,
        None if matches!(value, "" | "None" | "none" | "null" | "()") => {
            tools.resolve(tool).map(|_| "{}".to_owned())
        }
        _ => None,
    }
}

/// Whether the end of the message may be the end of the text: nothing is missing, and no quote and no fence is open.
pub(super) fn is_text_whole(written: &str, tool: &str, tools: &Tools) -> bool {
    count_bytes(written.len());
    let text = written.trim();
    if text.is_empty() {
        let parameters = tools.schema(tool).and_then(|schema| schema.get("properties")?.as_object());
        return parameters.is_none_or(Map::is_empty);
    }
    let open_fence = text.starts_with("```") && strip_fence(text) == text;
    let quotes = text.matches('"').count() - text.matches("\\\"").count();
    let open_quote = text.starts_with('"') && quotes % 2 == 1;
    !open_fence && !open_quote
}

/// The arguments of an interpreter: its code, as it is written.
pub(super) fn arguments_from_code(written: &str, tool: &str, tools: &Tools) -> Option<String> {
    count_bytes(written.len());
    let code = written.trim_matches(['\n', '\r']);
    let declared = tools.schema(tool).and_then(|schema| schema.get("properties"));
    let parameter = match tools.only_positional_name(tool) {
        Some(parameter) => parameter,
        _ if declared.is_none_or(|parameters| parameters.get("code").is_some()) => "code",
        _ => return None,
    };
    let blank = code.trim().is_empty();
    (!blank).then(|| format!("{{{}: {}}}", Value::from(parameter), Value::from(code)))
}

/// The declared tool that runs code.
pub(crate) fn find_interpreter(tools: &Tools) -> Option<&str> {
    let names =
        ["python", "code_interpreter", "python_interpreter", "ipython", "ipython_interpreter", "interpreter"];
    names.iter().find_map(|name| tools.resolve(name))
}

/// What a code fence encloses, if it is all there is.
fn strip_fence(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inside.and_then(|inside| inside.split_once('\n')).map_or(text, |(_, inside)| inside.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_goes_to_the_only_parameter_that_must_be_there() {
        let one =
            json!({"properties": {"q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["q"]});
        let two = json!({"properties": {"a": {}, "b": {}}, "required": ["a", "b"]});
        let count = json!({"properties": {"n": {"type": "integer"}}});
        let none = json!({});
        let tools = [("one", one), ("two", two), ("count", count), ("none", none)];
        let tools = Tools::new(tools.map(|(name, schema)| (name.to_owned(), schema)));
        let check = |tool, written, expected: Option<&str>| {
            assert_eq!(arguments_from_text(written, tool, &tools).as_deref(), expected, "{tool}: {written}");
        };
        check("one", " rain in Rome\n", Some(r#"{"q": "rain in Rome"}"#));
        check("one", "\"rain\"", Some(r#"{"q": "rain"}"#));
        check("one", "7", Some(r#"{"q": "7"}"#));
        check("one", "\"{\\\"q\\\": \\\"x\\\"}\"", Some(r#"{"q": "x"}"#));
        check("one", "```json\n{\"q\": \"x\"}\n```", Some(r#"{"q": "x"}"#));
        check("one", "", None);
        check("two", "rain", None);
        check("count", "7", Some(r#"{"n": 7}"#));
        check("none", "None", Some("{}"));
        check("none", "", Some("{}"));
        check("none", "now", None);
        check("nonesuch", "now", None);
    }

    #[test]
    fn text_that_the_end_of_the_message_cut_off_is_not_whole() {
        let some = json!({"properties": {"a": {}, "b": {}}});
        let tools = Tools::new([("some".to_owned(), some), ("none".to_owned(), json!({}))]);
        let cut = ["```", "```json\n{\"q\": \"Par", "\"Par", "\"say \\\"hi\\\"", "", "\n"];
        cut.iter().for_each(|written| assert!(!is_text_whole(written, "some", &tools), "{written}"));
        let whole = ["```json\n{}\n```", "\"Par\"", "\"a\" or \"b\"", "5\" wide", "x"];
        whole.iter().for_each(|written| assert!(is_text_whole(written, "some", &tools), "{written}"));
        assert!(is_text_whole("", "none", &tools));
    }

    #[test]
    fn code_goes_to_whatever_the_interpreter_calls_it() {
        let schema = json!({"properties": {"command": {"type": "string"}}});
        let tools = Tools::new([("IPythonInterpreter".to_owned(), schema)]);
        assert_eq!(find_interpreter(&tools), Some("IPythonInterpreter"));
        let read = |tool, tools| arguments_from_code("\n  1 + \"a\"\n", tool, tools);
        assert_eq!(read("ipython_interpreter", &tools).as_deref(), Some(r#"{"command": "  1 + \"a\""}"#));
        assert_eq!(read("python", &Tools::unknown()).as_deref(), Some(r#"{"code": "  1 + \"a\""}"#));
        assert_eq!(arguments_from_code(" \n", "python", &tools), None);
    }
}
