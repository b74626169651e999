//! How a value is written where only text can stand: in an address, a head, a form.

use serde_json::{Map, Value, json};

/// Fields of an object that are written one by one; real ones have fewer.
const FIELDS_MAX: usize = 60;

/// The document's word for how lists and objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Style {
    /// Every item under the same name, every field under its own.
    Repeated,
    /// All items in one text, with this between them.
    Joined(char),
    /// Fields as `name[field]`.
    Deep,
    Unknown,
}

impl Style {
    pub(in super::super) fn read(given: &Value, default: &str) -> Self {
        let style = given.get("style").and_then(Value::as_str).unwrap_or(default);
        let explode = given.get("explode").and_then(Value::as_bool).unwrap_or(style == "form");
        match (style, explode) {
            ("form", true) => Self::Repeated,
            ("form" | "simple", _) => Self::Joined(','),
            ("spaceDelimited", false) => Self::Joined(' '),
            ("pipeDelimited", false) => Self::Joined('|'),
            ("spaceDelimited" | "pipeDelimited", true) => Self::Repeated,
            ("deepObject", _) => Self::Deep,
            _ => Self::Unknown,
        }
    }
}

/// One text that is written somewhere.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Field {
    /// Its name on the wire.
    pub(in super::super) wire: String,
    pub(in super::super) schema: Value,
    pub(in super::super) needed: bool,
    /// Whether it is one of several that came of one object.
    pub(in super::super) of_object: bool,
}

impl Field {
    /// The only text that it can be.
    pub(in super::super) fn single_value(&self) -> Option<String> {
        let values = self.schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
        let only = match values {
            Some([only]) => only,
            _ => self.schema.get("const")?,
        };
        let text = match only {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => return None,
        };
        // Braces would be placeholders.
        let fits = |c: char| (c.is_ascii_graphic() || c == ' ') && c != '{' && c != '}';
        (text.len() <= 200 && text.chars().all(fits)).then_some(text)
    }

    pub(in super::super) fn describe(&mut self, text: &str) {
        if let Some(schema) = self.schema.as_object_mut() {
            let note = schema.get("description").and_then(Value::as_str).and_then(separator_note);
            let text = note.map_or(text.to_owned(), |note| format!("{text} {note}"));
            schema.insert("description".into(), text.into());
        }
    }
}

/// The texts that a value of this schema is written as; or why it cannot be.
pub(in super::super) fn split_into_fields(
    name: &str,
    style: Style,
    schema: &Value,
    needed: bool,
) -> Result<Vec<Field>, String> {
    if style == Style::Deep || style == Style::Repeated {
        let object = list_branches(schema).into_iter().find(|branch| schema_type(branch) == Some("object"));
        let plain = style == Style::Repeated && narrow_schema(schema, style).is_some();
        if let (Some(object), false) = (object, plain) {
            return spread_object(name, style, object, needed);
        }
    }
    let schema = narrow_schema(schema, style)
        .ok_or("only plain values and lists of them can be written there in the way the document says")?;
    Ok(vec![Field { wire: name.to_owned(), schema, needed, of_object: false }])
}

/// An object, field by field.
fn spread_object(name: &str, style: Style, object: &Value, needed: bool) -> Result<Vec<Field>, String> {
    let fields = object.get("properties").and_then(Value::as_object).filter(|fields| !fields.is_empty());
    let fields = fields.ok_or("an object of any fields cannot be written there")?;
    let wanted = object.get("required").and_then(Value::as_array);
    let mut out = vec![];
    for (field, schema) in fields.iter().take(FIELDS_MAX) {
        let needed = needed && wanted.is_some_and(|wanted| wanted.iter().any(|name| name == field));
        let Some(schema) =
            narrow_schema(schema, Style::Repeated).filter(|schema| schema_type(schema) != Some("array"))
        else {
            if needed {
                return Err(format!("its field `{field}` is no plain value"));
            }
            continue;
        };
        let wire = if style == Style::Deep { format!("{name}[{field}]") } else { field.clone() };
        out.push(Field { wire, schema, needed, of_object: true });
    }
    if out.is_empty() { Err("none of its fields is a plain value".into()) } else { Ok(out) }
}

/// The part of a schema that can be written: plain values, and lists of them in a style that has a way to write them.
fn narrow_schema(schema: &Value, style: Style) -> Option<Value> {
    let mut fitting: Vec<Value> =
        list_branches(schema).into_iter().filter_map(|branch| plain_schema(branch, style)).collect();
    let mut whole = match fitting.len() {
        0 => return None,
        1 => fitting.pop()?,
        _ => json!({"anyOf": fitting}),
    };
    if let (Some(text), Some(whole)) = (schema.get("description"), whole.as_object_mut()) {
        whole.entry("description").or_insert_with(|| text.clone());
    }
    Some(whole)
}

fn list_branches(schema: &Value) -> Vec<&Value> {
    match schema.get("anyOf").and_then(Value::as_array) {
        Some(branches) => branches.iter().filter(|branch| schema_type(branch) != Some("null")).collect(),
        None => vec![schema],
    }
}

fn plain_schema(schema: &Value, style: Style) -> Option<Value> {
    match schema_type(schema) {
        Some("object") | None if schema.get("properties").is_some() || schema.get("allOf").is_some() => None,
        Some("object" | "null") => None,
        Some("array") => narrow_list(schema, style),
        Some(kind) => {
            let mut out = schema.as_object()?.clone();
            // Nothing is what is not there.
            out.insert("type".into(), kind.into());
            if let Some(values) = out.get_mut("enum").and_then(Value::as_array_mut) {
                values.retain(|value| !value.is_null());
            }
            (out.get("enum") != Some(&json!([]))).then_some(out.into())
        }
        None => {
            let mut out = schema.as_object().cloned().unwrap_or_default();
            if !out.contains_key("enum") && !out.contains_key("const") {
                out.insert("type".into(), "string".into());
            }
            Some(out.into())
        }
    }
}

fn narrow_list(schema: &Value, style: Style) -> Option<Value> {
    let any = Value::Object(Map::new());
    let item = narrow_schema(schema.get("items").unwrap_or(&any), style)
        .filter(|item| schema_type(item) != Some("array"))?;
    match style {
        Style::Repeated => {
            let mut out = schema.as_object()?.clone();
            out.insert("type".into(), "array".into());
            out.insert("items".into(), item);
            Some(out.into())
        }
        Style::Joined(between) => {
            let mut words: Vec<String> = vec![];
            words.extend(schema.get("description").and_then(Value::as_str).map(str::to_owned));
            let values = item.get("enum").and_then(Value::as_array).map(|values| {
                values.iter().filter_map(Value::as_str).take(40).collect::<Vec<_>>().join(", ")
            });
            let of = values.map_or(String::new(), |values| format!(" of: {values}"));
            words.push(match between {
                ',' => format!("(One or more{of}; with commas between them.)"),
                ' ' => format!("(One or more{of}; with spaces between them.)"),
                _ => format!("(One or more{of}; with `{between}` between them.)"),
            });
            Some(json!({"type": "string", "description": words.join(" ")}))
        }
        Style::Deep | Style::Unknown => None,
    }
}

/// What the schema's one type is, besides null.
fn schema_type(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ => None,
    }
}

/// The sentence about what stands between items, which stays when the description is replaced.
fn separator_note(text: &str) -> Option<&str> {
    text.rfind("(One or more").map(|at| &text[at..]).filter(|note| note.ends_with("between them.)"))
}
