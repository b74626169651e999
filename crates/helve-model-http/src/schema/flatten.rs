//! Flattens a schema: follows references and merges `allOf`.
//!
//! A schema may refer to itself, so a reference is followed at most twice on the way to a field. Depth, size and work are
//! bounded.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{add_to_description, words};

/// How often the same reference is followed on the way to a field.
const ROUNDS_MAX: usize = 2;
/// The deepest schema; vendors refuse even shallower ones.
const DEPTH_MAX: usize = 24;
/// The most fields of a schema.
const FIELDS_MAX: usize = 2_000;
/// The work for one schema: values and pieces of text that are copied and compared. The largest schema of a tool needs a
/// few thousand.
const WORK_MAX: usize = 200_000;
/// A text of this size counts as one value.
const BYTES_OF_A_VALUE: usize = 64;

pub(super) struct SchemaFlattener<'a> {
    root: &'a Value,
    /// The references between the root and the current node.
    open: Vec<String>,
    depth: usize,
    fields: usize,
    /// The work that is left of `WORK_MAX`.
    work_left: usize,
}

impl<'a> SchemaFlattener<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, open: vec![], depth: 0, fields: 0, work_left: WORK_MAX }
    }

    /// Calls `visit` with the flattened schema, or with none if the schema is too deep or too large. The references that
    /// lead to it stay open during the call.
    pub(super) fn visit<T>(
        &mut self,
        schema: &Value,
        visit: impl FnOnce(&mut Self, Option<Map<String, Value>>) -> T,
    ) -> T {
        self.fields += 1;
        if self.depth >= DEPTH_MAX || self.fields > FIELDS_MAX {
            return visit(self, None);
        }
        let opened = self.open.len();
        let node = self.flatten_node(schema);
        if self.work_left == 0 {
            self.open.truncate(opened);
            return visit(self, None);
        }
        self.depth += 1;
        let made = visit(self, Some(node));
        self.depth -= 1;
        self.open.truncate(opened);
        made
    }

    fn flatten_node(&mut self, schema: &Value) -> Map<String, Value> {
        self.spend(node_count(schema));
        if self.work_left == 0 {
            return Map::new();
        }
        let mut node = schema.as_object().cloned().unwrap_or_default();
        if let Some(reference) = node.remove("$ref") {
            let target = self.resolve_reference(reference.as_str().unwrap_or_default());
            node = self.merge_counted(node, target);
        }
        if let Some(Value::Array(parts)) = node.remove("allOf") {
            for part in &parts {
                let part = self.flatten_node(part);
                node = self.merge_counted(node, part);
            }
        }
        node
    }

    /// Work that does not fit uses up the rest, so that nothing more is tried.
    fn spend(&mut self, work: usize) {
        self.work_left = self.work_left.saturating_sub(work);
    }

    /// Merges and counts the work: merging copies fields and compares each item of one list with each of the other.
    fn merge_counted(&mut self, first: Map<String, Value>, second: Map<String, Value>) -> Map<String, Value> {
        for (keyword, value) in &second {
            let Some(known) = first.get(keyword) else { continue };
            self.spend(match (known, value) {
                (Value::Array(known), Value::Array(value)) => known.len().saturating_mul(value.len()) / 8,
                (known, _) => node_count(known),
            });
        }
        let description_bytes = first.get("description").and_then(Value::as_str).map_or(0, str::len);
        self.spend(description_bytes / BYTES_OF_A_VALUE);
        if self.work_left == 0 { first } else { merge(first, second) }
    }

    fn resolve_reference(&mut self, reference: &str) -> Map<String, Value> {
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else {
            return with_description(format!("fits {reference}"));
        };
        if self.open.iter().filter(|open| *open == reference).count() < ROUNDS_MAX {
            self.open.push(reference.to_owned());
            return self.flatten_node(target);
        }
        let mut end = with_description("and so on, in the same form".to_owned());
        end.extend(target.get("type").map(|kind| ("type".to_owned(), kind.clone())));
        end
    }

    /// Flattens the root into a single object. A choice becomes an object with the fields of all alternatives; a note says
    /// which belong together.
    pub(super) fn flatten_root(mut self, notes: &mut Vec<String>) -> Map<String, Value> {
        let mut node = self.flatten_node(self.root);
        node.insert("type".to_owned(), Value::from("object"));
        let choice = ["anyOf", "oneOf"].iter().find_map(|keyword| node.remove(*keyword));
        let Some(Value::Array(forms)) = choice else { return node };
        let forms: Vec<_> = forms.iter().map(|form| self.flatten_node(form)).collect();
        if self.work_left == 0 {
            notes.push("they take one of several forms that are too long to tell".to_owned());
            return node;
        }
        let described: Vec<String> = forms.iter().map(describe_form).collect();
        notes.push(format!("they take one of these forms: {}", described.join("; or ")));
        merge(node, union_of(&forms))
    }
}

/// The number of values in a schema; long texts count as several.
fn node_count(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len() / BYTES_OF_A_VALUE,
        Value::Array(items) => items.iter().map(node_count).sum(),
        Value::Object(members) => members.values().map(node_count).sum(),
        _ => 0,
    }
}

/// Describes an alternative by the names of its required fields.
fn describe_form(form: &Map<String, Value>) -> String {
    let properties = form.get("properties").and_then(Value::as_object);
    let mut needed: Vec<&str> = list_strings(form.get("required")).collect();
    if needed.is_empty() {
        needed = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    }
    let shown = needed.into_iter().map(|name| {
        match properties.and_then(|properties| properties.get(name)?.get("const")) {
            Some(constant) => format!("`{name}` = {constant}"),
            None => format!("`{name}`"),
        }
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    match form.get("title").or(form.get("description")).and_then(Value::as_str) {
        Some(title) => format!("{title} ({shown})"),
        None => shown,
    }
}

/// An object that fits every alternative: the fields of all, requiring what all of them require.
fn union_of(forms: &[Map<String, Value>]) -> Map<String, Value> {
    let mut fields: BTreeMap<&String, Vec<&Value>> = BTreeMap::new();
    for (name, field) in forms.iter().filter_map(|form| form.get("properties")?.as_object()).flatten() {
        let known = fields.entry(name).or_default();
        if !known.contains(&field) {
            known.push(field);
        }
    }
    let fields = fields.into_iter().map(|(name, field)| match field[..] {
        [only] => (name.clone(), only.clone()),
        _ => (name.clone(), json!({"anyOf": field})),
    });
    let mut required: Vec<&str> =
        forms.first().map_or(vec![], |form| list_strings(form.get("required")).collect());
    required.retain(|name| {
        forms.iter().all(|form| list_strings(form.get("required")).any(|other| other == *name))
    });
    let mut object = Map::from_iter([("properties".to_owned(), Value::Object(fields.collect()))]);
    if !required.is_empty() {
        object.insert("required".to_owned(), Value::from(required));
    }
    object
}

/// The schema of values that fit both. The first description wins; a contradiction of the second becomes words.
pub(super) fn merge(mut first: Map<String, Value>, second: Map<String, Value>) -> Map<String, Value> {
    let mut unmerged = vec![];
    for (keyword, value) in second {
        let Some(known) = first.get_mut(&keyword) else {
            first.insert(keyword, value);
            continue;
        };
        if *known == value || matches!(&*keyword, "description" | "title" | "default" | "examples") {
            continue;
        }
        match merge_keyword(&keyword, known, &value) {
            Some(merged) => *known = merged,
            None => unmerged.extend(words::describe_keyword(&keyword, &value)),
        }
    }
    add_to_description(&mut first, &unmerged);
    first
}

/// The value of a keyword that means the same as two values together.
fn merge_keyword(keyword: &str, first: &Value, second: &Value) -> Option<Value> {
    let in_both = |first: &[Value], second: &[Value]| -> Option<Vec<Value>> {
        let common: Vec<Value> = first.iter().filter(|value| second.contains(value)).cloned().collect();
        (!common.is_empty()).then_some(common)
    };
    match (keyword, first, second) {
        ("properties" | "$defs" | "definitions", Value::Object(first), Value::Object(second)) => {
            let mut fields = first.clone();
            for (name, field) in second {
                let merged = match first.get(name) {
                    Some(known) if known != field => json!({"allOf": [known, field]}),
                    _ => field.clone(),
                };
                fields.insert(name.clone(), merged);
            }
            Some(Value::Object(fields))
        }
        ("required", Value::Array(first), Value::Array(second)) => {
            let more = second.iter().filter(|name| !first.contains(name));
            Some(first.iter().chain(more).cloned().collect())
        }
        ("enum", Value::Array(first), Value::Array(second)) => in_both(first, second).map(Value::Array),
        ("type", first, second) => {
            let list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            // Every integer is a number.
            let wide = |value: &Value| {
                let mut kinds = list(value);
                if kinds.contains(&json!("number")) {
                    kinds.push(json!("integer"));
                }
                kinds
            };
            let mut common = in_both(&wide(first), &wide(second))?;
            if common.contains(&json!("number")) {
                common.retain(|kind| kind != "integer");
            }
            Some(if common.len() == 1 { common.remove(0) } else { Value::Array(common) })
        }
        ("minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties", ..) => {
            Some(if first.as_f64()? >= second.as_f64()? { first.clone() } else { second.clone() })
        }
        ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties", ..) => {
            Some(if first.as_f64()? <= second.as_f64()? { first.clone() } else { second.clone() })
        }
        ("additionalProperties", Value::Bool(false), _) | ("additionalProperties", _, Value::Bool(false)) => {
            Some(Value::Bool(false))
        }
        ("items", first, second) => Some(json!({"allOf": [first, second]})),
        _ => None,
    }
}

fn with_description(words: String) -> Map<String, Value> {
    Map::from_iter([("description".to_owned(), Value::String(words))])
}

pub(super) fn list_strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
