//! Combinations, made as plain as they can be: models read one object better than three that belong together.

use serde_json::{Map, Value, json};

/// Keywords of an object that can simply be put together.
const PLAIN: &[&str] =
    &["type", "properties", "required", "description", "examples", "default", "deprecated"];

/// The parts as one object where they are plain objects that agree, else beside `whole`.
pub(super) fn merge_all_of(mut whole: Map<String, Value>, parts: Vec<Value>) -> Map<String, Value> {
    // A part that says nothing restricts nothing.
    let parts: Vec<Value> =
        parts.into_iter().filter(|part| *part != json!({}) && *part != json!(true)).collect();
    if let [Value::Object(only)] = &parts[..]
        && whole.keys().all(|name| name == "description" || name == "default")
    {
        let mut only = only.clone();
        only.extend(whole);
        return only;
    }
    if let Some(merged) = merge_schemas(&whole, &parts) {
        return merged;
    }
    if !parts.is_empty() {
        whole.insert("allOf".into(), parts.into());
    }
    whole
}

fn merge_schemas(whole: &Map<String, Value>, parts: &[Value]) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    let (mut fields, mut needed) = (Map::new(), std::collections::BTreeSet::new());
    // What the whole says of itself goes before what its parts say of themselves.
    let whole = Value::Object(whole.clone());
    for part in std::iter::once(&whole).chain(parts) {
        let part = part.as_object()?;
        if !part.keys().all(|name| PLAIN.contains(&name.as_str()))
            || part.get("type").is_some_and(|kind| kind != "object")
        {
            return None;
        }
        for (name, field) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if fields.get(name).is_some_and(|held| held != field) {
                return None;
            }
            fields.insert(name.clone(), field.clone());
        }
        let names = part.get("required").and_then(Value::as_array).into_iter().flatten();
        needed.extend(names.filter_map(Value::as_str).map(str::to_owned));
        for name in ["description", "default", "examples", "deprecated"] {
            if let (Some(said), false) = (part.get(name), out.contains_key(name)) {
                out.insert(name.to_owned(), said.clone());
            }
        }
    }
    out.insert("type".into(), "object".into());
    out.insert("properties".into(), fields.into());
    if !needed.is_empty() {
        out.insert("required".into(), json!(needed));
    }
    Some(out)
}

/// Branches; a single one is none.
pub(super) fn set_any_of(out: &mut Map<String, Value>, mut branches: Vec<Value>) {
    if branches.len() == 1
        && out.keys().all(|name| name == "description" || name == "default")
        && let Some(Value::Object(mut only)) = branches.pop()
    {
        only.extend(std::mem::take(out));
        *out = only;
    } else if !branches.is_empty() {
        out.insert("anyOf".into(), branches.into());
    }
}
