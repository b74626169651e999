//! Examples made from a schema, for tools that bring none: a question and the call it leads to. What would come of the
//! call is not known, so nothing is said about it.

use helve_types::ToolSpec;
use serde_json::{Map, Value, json};

use super::Language;
use super::views::first_sentence;

/// As many as there are values to choose from.
const VARIANTS: usize = 2;

const DEPTH_MAX: usize = 4;
const QUESTION_CHARS_MAX: usize = 160;

pub(super) struct GeneratedExample {
    pub(super) question: String,
    pub(super) arguments: Value,
}

/// All that differ; none where the tool's arguments cannot be guessed.
pub(super) fn generate_examples(tool: &ToolSpec, language: Language) -> Vec<GeneratedExample> {
    let mut made: Vec<GeneratedExample> =
        (0..VARIANTS).filter_map(|variant| generate_example(tool, variant, language)).collect();
    made.dedup_by(|one, other| one.arguments == other.arguments);
    made
}

fn generate_example(tool: &ToolSpec, variant: usize, language: Language) -> Option<GeneratedExample> {
    let maker = Maker { variant, language };
    let schema = tool.parameters.as_object()?;
    let mut arguments = Map::new();
    for (name, schema) in required_parameters(schema) {
        arguments.insert(name.to_owned(), maker.make_value(name, schema, 0)?);
    }
    let values: Vec<String> = arguments.values().map(value_in_words).collect();
    let colon = if language == Language::Chinese { "：" } else { ": " };
    let asked = request_text(tool);
    let question = if values.is_empty() { asked } else { format!("{asked}{colon}{}", values.join(", ")) };
    Some(GeneratedExample { question, arguments: Value::Object(arguments) })
}

/// What the tool does, as a request: the first sentence of its description.
fn request_text(tool: &ToolSpec) -> String {
    let sentence = first_sentence(tool.description.trim()).trim_end_matches(['.', ':', '。']);
    let sentence: String = sentence.chars().take(QUESTION_CHARS_MAX).collect();
    if sentence.is_empty() { tool.name.replace(['_', '-', '.'], " ") } else { sentence }
}

/// The members that must be there, or else the first that may.
fn required_parameters(schema: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return vec![] };
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_required = |name: &str| required.iter().any(|required| required == name);
    let all = || properties.iter().map(|(name, schema)| (name.as_str(), schema));
    let needed: Vec<_> = all().filter(|(name, _)| is_required(name)).collect();
    if needed.is_empty() { all().take(1).collect() } else { needed }
}

fn value_in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(value_in_words).collect::<Vec<_>>().join(", "),
        Value::Object(members) => members.values().map(value_in_words).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

struct Maker {
    variant: usize,
    language: Language,
}

impl Maker {
    fn make_value(&self, name: &str, schema: &Value, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        if let Some(said) = self.value_from_schema(schema) {
            return Some(said);
        }
        match first_type(schema)? {
            "string" => Some(self.make_text(name, schema).into()),
            "integer" | "number" => Some(self.make_number(schema)),
            "boolean" => Some((self.variant == 0).into()),
            "null" => Some(Value::Null),
            "array" => {
                let Some(items) = schema.get("items") else { return Some(json!([])) };
                Some(Value::Array(vec![self.make_value(name, items, depth + 1)?]))
            }
            "object" => {
                let members = required_parameters(schema.as_object()?).into_iter();
                let made =
                    members.map(|(name, of)| Some((name.to_owned(), self.make_value(name, of, depth + 1)?)));
                Some(Value::Object(made.collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    /// A value that the schema gives itself.
    fn value_from_schema(&self, schema: &Value) -> Option<Value> {
        let list = |key: &str| {
            let values = schema.get(key)?.as_array()?;
            values.get(self.variant).or_else(|| values.first()).cloned()
        };
        let default = || schema.get("default").filter(|value| !value.is_null()).cloned();
        schema.get("const").cloned().or_else(|| list("enum")).or_else(|| list("examples")).or_else(default)
    }

    fn make_number(&self, schema: &Value) -> Value {
        let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
        let wanted = [3, 7][self.variant];
        Value::from(wanted.max(bound("minimum").unwrap_or(wanted)).min(bound("maximum").unwrap_or(i64::MAX)))
    }

    fn make_text(&self, name: &str, schema: &Value) -> String {
        let described = schema.get("description").and_then(Value::as_str).and_then(example_in_description);
        if let Some(described) = described {
            return described.to_owned();
        }
        let name = name.to_lowercase();
        let known = WORDS.iter().find(|words| words.names.iter().any(|known| name.contains(known)));
        let values = match (known, self.language) {
            (Some(words), Language::English) => words.english,
            (Some(words), Language::Chinese) => words.chinese,
            (None, Language::English) => ["blue bird", "red car"],
            (None, Language::Chinese) => ["蓝色的鸟", "红色的车"],
        };
        values[self.variant].to_owned()
    }
}

/// The type to make a value of: the first that is not null.
fn first_type(schema: &Value) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ if schema.get("properties").is_some() => Some("object"),
        _ => None,
    }
}

/// The example that a description gives in its words.
fn example_in_description(description: &str) -> Option<&str> {
    let marks = ["such as ", "e.g. ", "for example ", "例如", "比如"];
    let behind = marks.iter().find_map(|mark| Some(description.split_once(mark)?.1))?;
    let end = behind.find([',', ';', ')', '\n', '。', '，', '、']).unwrap_or(behind.len());
    let word = behind[..end].split(" or ").next().unwrap_or_default();
    let word = word.trim_end_matches('.').trim_matches(['`', '"', '\'', ' ', '：', ':']);
    (!word.is_empty() && word.chars().count() <= 40).then_some(word)
}

/// Values that fit what a member is called.
struct Words {
    names: &'static [&'static str],
    english: [&'static str; 2],
    chinese: [&'static str; 2],
}

const fn word_entry(
    names: &'static [&'static str],
    english: [&'static str; 2],
    chinese: [&'static str; 2],
) -> Words {
    Words { names, english, chinese }
}

/// The first that fits counts.
const WORDS: &[Words] = &[
    word_entry(&["expr", "formula"], ["8 + 5", "30 / 6"], ["8 + 5", "30 / 6"]),
    word_entry(&["zone"], ["Europe/Madrid", "Europe/Rome"], ["Asia/Shanghai", "Europe/Rome"]),
    word_entry(&["city", "location", "place", "town", "address"], ["Madrid", "Rome"], ["北京", "上海"]),
    word_entry(&["country"], ["Spain", "Italy"], ["西班牙", "意大利"]),
    word_entry(
        &["query", "search", "keyword", "question"],
        ["bread recipe", "trains to Rome"],
        ["面包的做法", "去上海的火车"],
    ),
    word_entry(
        &["url", "uri", "link"],
        ["https://example.com/a", "https://example.com/b"],
        ["https://example.com/a", "https://example.com/b"],
    ),
    word_entry(&["path", "file"], ["notes.txt", "todo.md"], ["notes.txt", "todo.md"]),
    word_entry(&["mail"], ["anna@example.com", "ben@example.com"], ["anna@example.com", "ben@example.com"]),
    word_entry(&["date", "day"], ["2026-03-29", "2026-10-04"], ["2026-03-29", "2026-10-04"]),
    word_entry(&["time"], ["09:30", "18:00"], ["09:30", "18:00"]),
    word_entry(&["lang"], ["French", "Spanish"], ["英语", "法语"]),
    word_entry(&["currency"], ["EUR", "USD"], ["EUR", "CNY"]),
    word_entry(&["unit"], ["km", "kg"], ["公里", "公斤"]),
    word_entry(
        &["text", "message", "content", "note", "title", "body", "task"],
        ["buy milk", "call Ben"],
        ["买牛奶", "给小明打电话"],
    ),
    word_entry(&["name", "user", "person"], ["Anna", "Ben"], ["小红", "小明"]),
    word_entry(&["code"], ["1 + 1", "2 * 3"], ["1 + 1", "2 * 3"]),
    word_entry(&["id"], ["42", "43"], ["42", "43"]),
];
