//! For Gemini, which knows a part of OpenAPI 3.0: one type a field, no references, `anyOf` the only choice, enums of
//! text only, and each field of a type.

use serde_json::{Map, Value, json};

use super::flat::{Flat, merge, names};
use super::{Adapted, describe, kind_of, kinds, words};

/// What a field of a type may say besides its type.
struct Type {
    name: &'static str,
    keywords: &'static [&'static str],
    formats: &'static [&'static str],
}

const TYPES: &[Type] = &[
    Type {
        name: "string",
        keywords: &["enum", "pattern", "minLength", "maxLength"],
        formats: &["date-time", "enum"],
    },
    Type { name: "integer", keywords: &["minimum", "maximum"], formats: &["int32", "int64"] },
    Type { name: "number", keywords: &["minimum", "maximum"], formats: &["float", "double"] },
    Type { name: "boolean", keywords: &[], formats: &[] },
    Type { name: "array", keywords: &["items", "minItems", "maxItems"], formats: &[] },
    Type {
        name: "object",
        keywords: &["properties", "required", "minProperties", "maxProperties"],
        formats: &[],
    },
];

/// What may be said about a field of any type, and beside a choice.
const NOTES: &[&str] = &["description", "title", "nullable"];

pub(crate) fn for_gemini(schema: &Value) -> Adapted {
    let mut notes = vec![];
    let root = Flat::new(schema).object(&mut notes);
    let object = TYPES.iter().filter(|kind| kind.name == "object").collect::<Vec<_>>();
    // The tool's own description says what it is for.
    let about = root.get("description").and_then(Value::as_str);
    notes.extend(about.map(str::to_owned));
    notes.extend(words::untold(&root, &told(&object, &root)));
    let made = object.iter().flat_map(|kind| typed(&mut Flat::new(schema), kind, &root)).collect();
    Adapted { schema: Value::Object(made), notes }
}

fn field(walk: &mut Flat<'_>, schema: &Value) -> Value {
    walk.enter(schema, |walk, node| {
        let mut words = vec![];
        let mut made = match node {
            Some(node) => choice(walk, node, &mut words),
            None => {
                words.push("of a form that is too long to tell".to_owned());
                anything()
            }
        };
        describe(&mut made, &words);
        Value::Object(made)
    })
}

/// A field that may have one of several forms, or only one.
fn choice(walk: &mut Flat<'_>, mut node: Map<String, Value>, words: &mut Vec<String>) -> Map<String, Value> {
    let forms = ["anyOf", "oneOf"].iter().find_map(|keyword| node.remove(*keyword));
    let Some(Value::Array(mut forms)) = forms else { return single(walk, node, words) };
    let count = forms.len();
    forms.retain(|form| form.get("type").is_none_or(|kind| kind != "null"));
    if forms.len() < count {
        node.insert("nullable".to_owned(), Value::Bool(true));
    }
    match &forms[..] {
        [] => single(walk, node, words),
        [form] => {
            // Which may be a choice itself.
            walk.enter(form, |walk, form| choice(walk, merge(node, form.unwrap_or_default()), words))
        }
        forms => {
            let mut made = noted(&node);
            node.retain(|keyword, _| !NOTES.contains(&&**keyword));
            for keyword in ["default", "example", "examples"] {
                words.extend(node.remove(keyword).and_then(|value| words::said(keyword, &value)));
            }
            // What holds for all of them is said in each.
            let each = forms.iter().map(|form| field(walk, &json!({"allOf": [form, node]})));
            made.insert("anyOf".to_owned(), each.collect());
            made
        }
    }
}

/// A field of one type, or of several that differ in nothing else.
fn single(walk: &mut Flat<'_>, mut node: Map<String, Value>, words: &mut Vec<String>) -> Map<String, Value> {
    let (mut names, nullable) = kinds(&node);
    if nullable {
        node.insert("nullable".to_owned(), Value::Bool(true));
    }
    if node.get("type").is_some_and(|kind| kind == "null") {
        names.push("string".to_owned());
        words.push("always null".to_owned());
    }
    values(&mut node, &mut names, words);
    if names.is_empty() {
        names.extend(guess(&node).map(str::to_owned));
    }
    let types: Vec<&Type> = TYPES.iter().filter(|kind| names.iter().any(|name| name == kind.name)).collect();
    words.extend(words::untold(&node, &told(&types, &node)));
    let mut made = match types[..] {
        [] => anything(),
        [kind] => typed(walk, kind, &node),
        _ => {
            let each = types.iter().map(|kind| Value::Object(typed(walk, kind, &node)));
            Map::from_iter([("anyOf".to_owned(), each.collect())])
        }
    };
    made.extend(noted(&node));
    made
}

/// The keywords that need no words where these types are allowed.
fn told(types: &[&Type], node: &Map<String, Value>) -> Vec<&'static str> {
    let mut told: Vec<&str> = types.iter().flat_map(|kind| kind.keywords).copied().collect();
    if types.iter().any(|kind| format(kind, node).is_some()) {
        told.push("format");
    }
    told
}

fn format<'a>(kind: &Type, node: &'a Map<String, Value>) -> Option<&'a Value> {
    node.get("format").filter(|format| kind.formats.iter().any(|known| *format == known))
}

fn noted(node: &Map<String, Value>) -> Map<String, Value> {
    let noted = NOTES.iter().filter_map(|keyword| Some((*keyword, node.get(*keyword)?)));
    let sound = |keyword: &str, value: &Value| {
        if keyword == "nullable" { value.is_boolean() } else { value.is_string() }
    };
    let noted = noted.filter(|(keyword, value)| sound(keyword, value));
    noted.map(|(keyword, value)| (keyword.to_owned(), value.clone())).collect()
}

/// A field of this type, with what it may say.
fn typed(walk: &mut Flat<'_>, kind: &Type, node: &Map<String, Value>) -> Map<String, Value> {
    let mut made = Map::from_iter([("type".to_owned(), Value::from(kind.name))]);
    made.extend(format(kind, node).map(|format| ("format".to_owned(), format.clone())));
    let fields = node.get("properties").and_then(Value::as_object);
    for keyword in kind.keywords {
        let value = match *keyword {
            "properties" => fields.map(|fields| {
                let fields = fields.iter().map(|(name, schema)| (name.clone(), field(walk, schema)));
                Value::Object(fields.collect())
            }),
            "required" => {
                let known = |name: &&str| fields.is_some_and(|fields| fields.contains_key(*name));
                Some(names(node.get("required")).filter(known).collect())
            }
            "items" => Some(field(walk, &items(node))),
            "enum" => node.get("enum").cloned(),
            "pattern" => node.get("pattern").filter(|pattern| pattern.is_string()).cloned(),
            // The bounds.
            _ => node.get(*keyword).filter(|bound| bound.is_number()).cloned(),
        };
        let empty = |value: &Value| {
            value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
        };
        made.extend(value.filter(|value| !empty(value)).map(|value| ((*keyword).to_owned(), value)));
    }
    made
}

/// What each item is; of a list with places, any of them.
fn items(node: &Map<String, Value>) -> Value {
    match (node.get("items"), node.get("prefixItems")) {
        (_, Some(places)) | (Some(places @ Value::Array(_)), None) => json!({"anyOf": places}),
        (Some(items), None) => items.clone(),
        (None, None) => Value::Bool(true),
    }
}

/// The values that are allowed: as an enum where they are text, in words where not.
fn values(node: &mut Map<String, Value>, kinds: &mut Vec<String>, words: &mut Vec<String>) {
    let listed = node.remove("enum").and_then(|listed| listed.as_array().cloned());
    let Some(allowed) = node.remove("const").map(|only| vec![only]).or(listed) else { return };
    let (nulls, allowed): (Vec<_>, Vec<_>) = allowed.into_iter().partition(Value::is_null);
    if !nulls.is_empty() {
        node.insert("nullable".to_owned(), Value::Bool(true));
    }
    let text = allowed.iter().all(Value::is_string) && !allowed.is_empty();
    if text && (kinds.is_empty() || kinds.iter().any(|kind| kind == "string")) {
        *kinds = vec!["string".to_owned()];
        // An enum may not hold an empty text, and without it would exclude it.
        if allowed.iter().any(|value| value == "") {
            words.extend(words::said("enum", &Value::Array(allowed)));
        } else {
            node.insert("enum".to_owned(), Value::Array(allowed));
        }
        return;
    }
    if kinds.is_empty() {
        kinds.extend(allowed.iter().map(|value| kind_of(value).to_owned()));
    }
    match &allowed[..] {
        [] => words.push("always null".to_owned()),
        [only] => words.extend(words::said("const", only)),
        _ => words.extend(words::said("enum", &Value::Array(allowed))),
    }
}

/// The type of a field that names none, by what it says.
fn guess(node: &Map<String, Value>) -> Option<&'static str> {
    const TELLING: &[(&str, &str)] = &[
        ("properties", "object"),
        ("required", "object"),
        ("additionalProperties", "object"),
        ("patternProperties", "object"),
        ("items", "array"),
        ("prefixItems", "array"),
        ("pattern", "string"),
        ("minLength", "string"),
        ("maxLength", "string"),
        ("minimum", "number"),
        ("maximum", "number"),
    ];
    TELLING.iter().find(|(keyword, _)| node.contains_key(*keyword)).map(|(_, kind)| *kind)
}

/// Any value at all: there is no field without a type.
fn anything() -> Map<String, Value> {
    let plain = ["string", "number", "boolean", "object"].map(|kind| json!({"type": kind}));
    let list = json!({"type": "array", "items": {"anyOf": plain}});
    Map::from_iter([("anyOf".to_owned(), plain.into_iter().chain([list]).collect())])
}

#[cfg(test)]
pub(super) use self::tests::assert_plain;

#[cfg(test)]
mod tests;
