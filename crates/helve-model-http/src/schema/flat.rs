//! A schema without indirections: references followed, `allOf` made one.
//!
//! A schema may refer to itself, so that it has no end: a reference is followed twice on the way down and then
//! broken off, and neither depth nor size nor work grow without bound.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{describe, words};

/// How often a reference is followed on the way to a field.
const ROUNDS_MAX: usize = 2;
/// How deep a schema may be; vendors refuse less.
const DEPTH_MAX: usize = 24;
/// How many fields a schema may have.
const FIELDS_MAX: usize = 2_000;
/// How much may be copied and compared for one schema, in values and pieces of text. The largest schema that a tool may
/// have is a few thousand.
const WORK_MAX: usize = 200_000;
/// A text of so many bytes counts as a value.
const BYTES_OF_A_VALUE: usize = 64;

pub(super) struct Flat<'a> {
    root: &'a Value,
    /// The references between the root and here.
    open: Vec<String>,
    depth: usize,
    fields: usize,
    /// What may still be copied and compared.
    left: usize,
}

impl<'a> Flat<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, open: vec![], depth: 0, fields: 0, left: WORK_MAX }
    }

    /// Gives `visit` the schema without indirections, while what it refers to counts as open; none where it has
    /// become too deep or too large.
    pub(super) fn enter<T>(
        &mut self,
        schema: &Value,
        visit: impl FnOnce(&mut Self, Option<Map<String, Value>>) -> T,
    ) -> T {
        self.fields += 1;
        if self.depth >= DEPTH_MAX || self.fields > FIELDS_MAX {
            return visit(self, None);
        }
        let opened = self.open.len();
        let node = self.node(schema);
        if self.left == 0 {
            self.open.truncate(opened);
            return visit(self, None);
        }
        self.depth += 1;
        let made = visit(self, Some(node));
        self.depth -= 1;
        self.open.truncate(opened);
        made
    }

    fn node(&mut self, schema: &Value) -> Map<String, Value> {
        self.spend(weight(schema));
        if self.left == 0 {
            return Map::new();
        }
        let mut node = schema.as_object().cloned().unwrap_or_default();
        if let Some(reference) = node.remove("$ref") {
            let target = self.follow(reference.as_str().unwrap_or_default());
            node = self.merged(node, target);
        }
        if let Some(Value::Array(parts)) = node.remove("allOf") {
            for part in &parts {
                let part = self.node(part);
                node = self.merged(node, part);
            }
        }
        node
    }

    /// What does not fit takes all, so that nothing more is tried.
    fn spend(&mut self, work: usize) {
        self.left = self.left.saturating_sub(work);
    }

    /// Merging copies fields and compares each value of a list with each of the other.
    fn merged(&mut self, first: Map<String, Value>, second: Map<String, Value>) -> Map<String, Value> {
        for (keyword, value) in &second {
            let Some(known) = first.get(keyword) else { continue };
            self.spend(match (known, value) {
                (Value::Array(known), Value::Array(value)) => known.len().saturating_mul(value.len()) / 8,
                (known, _) => weight(known),
            });
        }
        let said = first.get("description").and_then(Value::as_str).map_or(0, str::len);
        self.spend(said / BYTES_OF_A_VALUE);
        if self.left == 0 { first } else { merge(first, second) }
    }

    fn follow(&mut self, reference: &str) -> Map<String, Value> {
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else {
            return described(format!("fits {reference}"));
        };
        if self.open.iter().filter(|open| *open == reference).count() < ROUNDS_MAX {
            self.open.push(reference.to_owned());
            return self.node(target);
        }
        let mut end = described("and so on, in the same form".to_owned());
        end.extend(target.get("type").map(|kind| ("type".to_owned(), kind.clone())));
        end
    }

    /// The root as a single object. A choice between several becomes an object with the fields of all; which of them
    /// belong together is told in words.
    pub(super) fn object(mut self, notes: &mut Vec<String>) -> Map<String, Value> {
        let mut node = self.node(self.root);
        node.insert("type".to_owned(), Value::from("object"));
        let choice = ["anyOf", "oneOf"].iter().find_map(|keyword| node.remove(*keyword));
        let Some(Value::Array(forms)) = choice else { return node };
        let forms: Vec<_> = forms.iter().map(|form| self.node(form)).collect();
        if self.left == 0 {
            notes.push("they take one of several forms that are too long to tell".to_owned());
            return node;
        }
        let told: Vec<String> = forms.iter().map(form_in_words).collect();
        notes.push(format!("they take one of these forms: {}", told.join("; or ")));
        merge(node, any_of(&forms))
    }
}

/// The values in it, and its text.
fn weight(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len() / BYTES_OF_A_VALUE,
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members.values().map(weight).sum(),
        _ => 0,
    }
}

/// What a form of the arguments needs, by name.
fn form_in_words(form: &Map<String, Value>) -> String {
    let properties = form.get("properties").and_then(Value::as_object);
    let mut needed: Vec<&str> = names(form.get("required")).collect();
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

/// An object that every one of the forms fits: the fields of all, and required what all of them require.
fn any_of(forms: &[Map<String, Value>]) -> Map<String, Value> {
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
    let mut required: Vec<&str> = forms.first().map_or(vec![], |form| names(form.get("required")).collect());
    required.retain(|name| forms.iter().all(|form| names(form.get("required")).any(|other| other == *name)));
    let mut object = Map::from_iter([("properties".to_owned(), Value::Object(fields.collect()))]);
    if !required.is_empty() {
        object.insert("required".to_owned(), Value::from(required));
    }
    object
}

/// One schema for what has to fit both. Where both describe, the first is heard; where they contradict each other,
/// the second is told in words.
pub(super) fn merge(mut first: Map<String, Value>, second: Map<String, Value>) -> Map<String, Value> {
    let mut untold = vec![];
    for (keyword, value) in second {
        let Some(known) = first.get_mut(&keyword) else {
            first.insert(keyword, value);
            continue;
        };
        if *known == value || matches!(&*keyword, "description" | "title" | "default" | "examples") {
            continue;
        }
        match both(&keyword, known, &value) {
            Some(merged) => *known = merged,
            None => untold.extend(words::said(&keyword, &value)),
        }
    }
    describe(&mut first, &untold);
    first
}

/// What says the same as two values of a keyword together.
fn both(keyword: &str, first: &Value, second: &Value) -> Option<Value> {
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

fn described(words: String) -> Map<String, Value> {
    Map::from_iter([("description".to_owned(), Value::String(words))])
}

pub(super) fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
