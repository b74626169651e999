//! The tools that a model is shown when it is probed. None of them is ever run.

use helve_types::{Effect, Example, ToolSpec};
use serde_json::{Map, Value, json};

pub(super) fn clock_tool() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {"zone": {"type": "string", "description": "A time zone, such as Europe/Paris."}},
        "required": ["zone"],
    });
    let example = Example {
        question: "How late is it in Paris?".into(),
        arguments: json!({"zone": "Europe/Paris"}),
        result: "18:20".into(),
        answer: "It is 18:20 in Paris.".into(),
    };
    let spec = ToolSpec::new("time", "Tells the time in a time zone.", parameters, Effect::Read);
    ToolSpec { examples: vec![example], ..spec }
}

/// A word of JSON Schema, and a property that uses it.
pub(super) struct Keyword {
    pub(super) name: &'static str,
    property: fn() -> Value,
}

pub(super) const KEYWORDS: &[Keyword] = &[
    Keyword { name: "pattern", property: || json!({"type": "string", "pattern": "^[a-z]+$"}) },
    Keyword { name: "format", property: || json!({"type": "string", "format": "date-time"}) },
    Keyword { name: "minLength", property: || json!({"type": "string", "minLength": 1, "maxLength": 9}) },
    Keyword { name: "minimum", property: || json!({"type": "integer", "minimum": 1, "maximum": 9}) },
    Keyword { name: "default", property: || json!({"type": "integer", "default": 3}) },
    Keyword { name: "enum", property: || json!({"type": "string", "enum": ["a", "b"]}) },
    Keyword { name: "const", property: || json!({"const": "a"}) },
    Keyword { name: "type list", property: || json!({"type": ["string", "null"]}) },
    Keyword { name: "anyOf", property: || json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}) },
    Keyword { name: "oneOf", property: || json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}) },
    Keyword {
        name: "minItems",
        property: || json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 9}),
    },
    Keyword {
        name: "additionalProperties",
        property: || json!({"type": "object", "additionalProperties": {"type": "string"}}),
    },
    Keyword { name: "$ref", property: || json!({"$ref": "#/$defs/word"}) },
];

pub(super) fn tool_with_all_keywords() -> ToolSpec {
    remember_tool(KEYWORDS)
}

pub(super) fn tool_with_keyword(keyword: &Keyword) -> ToolSpec {
    remember_tool(std::slice::from_ref(keyword))
}

fn remember_tool(keywords: &[Keyword]) -> ToolSpec {
    let named = |(at, keyword): (usize, &Keyword)| (format!("value_{at}"), (keyword.property)());
    let properties: Map<String, Value> = keywords.iter().enumerate().map(named).collect();
    let mut parameters = json!({"type": "object", "properties": properties});
    if keywords.iter().any(|keyword| keyword.name == "$ref") {
        parameters["$defs"] = json!({"word": {"type": "string"}});
    }
    ToolSpec::new("remember", "Keeps values for later.", parameters, Effect::Read)
}
