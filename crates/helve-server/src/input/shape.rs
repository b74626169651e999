//! Comparing what a request says with the schema of what the route takes, in the words of the API.
//!
//! The schema is the one that `/openapi.json` shows, so a field is known here exactly if it is documented there. What
//! does not fit is named by its path; a field that does not exist is told with those that do.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// So many unknown fields are named.
const UNKNOWN_MAX: usize = 20;
/// A name in a message is cut after this.
const NAME_CHARS_MAX: usize = 64;

/// The schema of a type, with all parts in place.
pub(super) fn schema_of<T: JsonSchema + 'static>() -> Arc<Value> {
    static KNOWN: RwLock<Option<HashMap<TypeId, Arc<Value>>>> = RwLock::new(None);
    let key = TypeId::of::<T>();
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(schema) = known.as_ref().and_then(|known| known.get(&key)) {
        return schema.clone();
    }
    drop(known);
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = Arc::new(settings.into_generator().into_root_schema_for::<T>().to_value());
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().insert(key, schema.clone());
    schema
}

/// What of a value is not as the schema says.
#[derive(Debug, Default)]
pub(super) struct ShapeErrors {
    /// The first thing that does not fit.
    pub(super) misfit: Option<SchemaMismatch>,
    /// Fields that do not exist.
    pub(super) unknown: Vec<UnknownField>,
    misfits: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct SchemaMismatch {
    pub(super) field: String,
    pub(super) detail: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownField {
    pub(super) field: String,
    /// The fields that there are in its place.
    pub(super) known: Vec<String>,
    /// The one that was meant, by the looks of it.
    pub(super) meant: Option<String>,
}

impl UnknownField {
    pub(super) fn new<'a>(place: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Self {
        let known: Vec<String> = known.cloned().collect();
        let meant = closest_name(name, &known).map(str::to_owned);
        Self { field: join_place(place, &truncate(name)), known, meant }
    }
}

/// Compares a value with a schema.
pub(super) fn compare(schema: &Value, value: &Value) -> ShapeErrors {
    let mut findings = ShapeErrors::default();
    findings.visit(schema, value, "");
    findings
}

impl ShapeErrors {
    /// How far off it is, to choose between schemas.
    fn error_score(&self) -> usize {
        self.misfits * 100 + self.unknown.len()
    }

    fn add(&mut self, other: Self) {
        self.misfits += other.misfits;
        self.misfit = self.misfit.take().or(other.misfit);
        self.unknown.extend(other.unknown);
        self.unknown.truncate(UNKNOWN_MAX);
    }

    fn refuse(&mut self, field: &str, detail: String) {
        self.misfits += 1;
        self.misfit.get_or_insert_with(|| SchemaMismatch { field: field.to_owned(), detail });
    }

    fn visit(&mut self, schema: &Value, value: &Value, place: &str) {
        let Value::Object(terms) = schema else { return };
        for word in ["oneOf", "anyOf"] {
            if let Some(Value::Array(several)) = terms.get(word) {
                self.visit_one_of(several, value, place);
            }
        }
        if let Some(wanted) = terms.get("const")
            && wanted != value
        {
            return self.refuse(place, format!("{} must be {wanted}", name_place(place)));
        }
        if let Some(Value::Array(words)) = terms.get("enum")
            && !words.contains(value)
        {
            return self.refuse(place, format!("{} must be {}", name_place(place), list_words(words)));
        }
        let kinds = list_kinds(terms);
        if !kinds.is_empty() && !kinds.iter().any(|kind| is_of_kind(kind, value)) {
            let given = kind_of(value);
            let wanted: Vec<&str> = kinds.iter().map(|kind| with_article(kind)).collect();
            let wanted = wanted.join(" or ");
            return self.refuse(
                place,
                format!("{} must be {wanted}, not {}", name_place(place), with_article(given)),
            );
        }
        match value {
            Value::Object(members) => self.visit_members(terms, members, place),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if let Some(schema) = terms.get("items") {
                        self.visit(schema, item, &format!("{place}[{index}]"));
                    }
                }
            }
            Value::Number(number) => self.visit_number(terms, number, place),
            _ => {}
        }
    }

    fn visit_members(&mut self, terms: &Map<String, Value>, members: &Map<String, Value>, place: &str) {
        let properties = terms.get("properties").and_then(Value::as_object);
        let others = terms.get("additionalProperties");
        // A schema that names no members says nothing about them.
        let is_open = match others {
            Some(others) => *others != Value::Bool(false),
            None => properties.is_none(),
        };
        for (name, value) in members {
            match (properties.and_then(|properties| find_member(properties, name)), others) {
                (Some(schema), _) => self.visit(schema, value, &join_place(place, name)),
                (None, Some(schema)) if is_open => {
                    self.visit(schema, value, &join_place(place, &truncate(name)))
                }
                (None, _) if is_open => {}
                (None, _) if self.unknown.len() < UNKNOWN_MAX => {
                    let known = properties.into_iter().flat_map(Map::keys);
                    self.unknown.push(UnknownField::new(place, name, known));
                }
                (None, _) => {}
            }
        }
        for name in terms.get("required").and_then(Value::as_array).into_iter().flatten() {
            let is_given = |name: &str| {
                let aliases =
                    properties.and_then(|all| all.get(name)).map_or(&Value::Null, |one| &one["x-aliases"]);
                let mut names = aliases.as_array().into_iter().flatten().filter_map(Value::as_str);
                members.contains_key(name) || names.any(|alias| members.contains_key(alias))
            };
            if let Some(name) = name.as_str().filter(|name| !is_given(name)) {
                self.refuse(&join_place(place, name), format!("`{}` is missing", join_place(place, name)));
            }
        }
    }

    fn visit_number(&mut self, terms: &Map<String, Value>, number: &serde_json::Number, place: &str) {
        let bound = |word: &str| terms.get(word).and_then(Value::as_f64);
        let given = number.as_f64().unwrap_or(f64::INFINITY);
        let format = terms.get("format").and_then(Value::as_str);
        let most = bound("maximum").or(match format {
            Some("uint8") => Some(f64::from(u8::MAX)),
            Some("uint16") => Some(f64::from(u16::MAX)),
            Some("uint32") => Some(f64::from(u32::MAX)),
            Some("int32") => Some(f64::from(i32::MAX)),
            _ => None,
        });
        if let Some(least) = bound("minimum").filter(|least| given < *least) {
            self.refuse(place, format!("{} must be {least} or more, not {number}", name_place(place)));
        } else if let Some(most) = most.filter(|most| given > *most) {
            self.refuse(place, format!("{} must be {most} or less, not {number}", name_place(place)));
        }
    }

    /// By the member that tells them apart, if there is one; otherwise by what fits best.
    fn visit_one_of(&mut self, several: &[Value], value: &Value, place: &str) {
        if let Value::Object(members) = value
            && let Some((tag, words)) = find_tag(several)
        {
            let at = join_place(place, tag);
            let Some(given) = members.get(tag) else {
                return self.refuse(&at, format!("`{at}` is missing: it must be {}", list_words(&words)));
            };
            let Some(chosen) = words.iter().position(|word| word == given) else {
                return self.refuse(&at, format!("`{at}` must be {}", list_words(&words)));
            };
            return self.visit(&several[chosen], value, place);
        }
        if let Some(words) = list_constants(several) {
            if !words.contains(value) {
                self.refuse(place, format!("{} must be {}", name_place(place), list_words(&words)));
            }
            return;
        }
        let of_kind: Vec<&Value> = several.iter().filter(|schema| is_possible(schema, value)).collect();
        if of_kind.is_empty() {
            let kinds: Vec<&str> = several.iter().filter_map(Value::as_object).flat_map(list_kinds).collect();
            let mut wanted: Vec<&str> = vec![];
            for kind in kinds.into_iter().map(with_article) {
                if !wanted.contains(&kind) {
                    wanted.push(kind);
                }
            }
            let (wanted, given) = (wanted.join(" or "), with_article(kind_of(value)));
            return self.refuse(place, format!("{} must be {wanted}, not {given}", name_place(place)));
        }
        let tried = of_kind.into_iter().map(|schema| {
            let mut findings = Self::default();
            findings.visit(schema, value, place);
            findings
        });
        if let Some(best) = tried.min_by_key(Self::error_score) {
            self.add(best);
        }
    }
}

/// The schema of a member, by its name or by another one that means the same.
fn find_member<'a>(properties: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let has_alias =
        |schema: &Value| schema["x-aliases"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    properties.get(name).or_else(|| properties.values().find(|schema| has_alias(schema)))
}

/// The member that has another constant in each of the schemas, and these constants.
fn find_tag(several: &[Value]) -> Option<(&str, Vec<Value>)> {
    let constants = |schema: &'_ Value| -> Option<Map<String, Value>> {
        let properties = schema.get("properties")?.as_object()?;
        let fixed =
            properties.iter().filter_map(|(name, schema)| Some((name.clone(), schema.get("const")?.clone())));
        Some(fixed.collect())
    };
    if several.len() < 2 {
        return None;
    }
    let all: Vec<Map<String, Value>> = several.iter().map(constants).collect::<Option<_>>()?;
    let properties = several.first()?.get("properties")?.as_object()?;
    let (name, _) = properties.iter().find(|(name, _)| all.iter().all(|fixed| fixed.contains_key(*name)))?;
    Some((name, all.into_iter().filter_map(|mut fixed| fixed.remove(name)).collect()))
}

/// The words that are allowed, where each schema is one or several of them.
fn list_constants(several: &[Value]) -> Option<Vec<Value>> {
    let mut words = vec![];
    for schema in several {
        match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
            (Some(word), _) => words.push(word.clone()),
            (None, Some(more)) => words.extend(more.iter().cloned()),
            (None, None) => return None,
        }
    }
    Some(words)
}

fn list_kinds(terms: &Map<String, Value>) -> Vec<&str> {
    match terms.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    }
}

fn is_possible(schema: &Value, value: &Value) -> bool {
    let kinds = schema.as_object().map(list_kinds).unwrap_or_default();
    kinds.is_empty() || kinds.iter().any(|kind| is_of_kind(kind, value))
}

fn is_of_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        kind => kind == kind_of(value),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn with_article(kind: &str) -> &'static str {
    match kind {
        "null" => "null",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a string",
        "array" => "an array",
        _ => "an object",
    }
}

fn name_place(place: &str) -> String {
    if place.is_empty() { "the body".into() } else { format!("`{place}`") }
}

fn list_words(words: &[Value]) -> String {
    let words = words.iter().filter(|word| !word.is_null());
    let mut words: Vec<String> = words
        .map(|word| word.as_str().map_or_else(|| word.to_string(), |word| format!("`{word}`")))
        .collect();
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} or {last}", words.join(", ")) }
}

fn join_place(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn truncate(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// The name that differs least, where that is little.
fn closest_name<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let plain = |text: &str| -> Vec<char> {
        let letters = text.chars().filter(|c| *c != '_' && *c != '-').take(NAME_CHARS_MAX);
        letters.flat_map(char::to_lowercase).collect()
    };
    let given = plain(name);
    let distances = known.iter().map(|known| (edit_distance(&given, &plain(known)), known));
    let (least, known) = distances.min_by_key(|(distance, _)| *distance)?;
    (least <= 1 + given.len() / 4).then_some(known)
}

/// How many letters have to be put in, taken out or replaced.
fn edit_distance(from: &[char], to: &[char]) -> usize {
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != other);
            current.push(replaced.min(above[column + 1] + 1).min(current[column] + 1));
        }
        above = current;
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
