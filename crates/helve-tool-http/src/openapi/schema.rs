//! A schema of the document as JSON Schema 2020-12 that stands alone.
//!
//! Pointers are replaced by what they point to, so every model can read the result, whatever its vendor makes of
//! `$ref`. That can grow without end, so a walk has a budget: its caller says how much detail there is room for, and
//! a walk that has spent too much stops and may be tried again with less. What is left out is said in words where it
//! would be. What belongs to answers only is no part of a request.

mod combine;
mod keywords;
mod merge;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use helve_tool::{COMPILE_UNITS_MAX, CompileBudget};
use serde_json::{Map, Value, json};

use super::read::SchemaEdition;
use super::refs::{Refs, pointer};
use super::words;

/// How much a walk may say.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaDetail {
    /// How many fields deep.
    pub(super) depth: usize,
    /// Characters of a description.
    pub(super) words: usize,
    /// Fields of one object, those that are needed first.
    pub(super) fields: usize,
    /// Values of one enumeration.
    pub(super) values: usize,
}

/// Everything is tried first, then less and less.
pub(super) const DETAILS: &[SchemaDetail] = &[
    SchemaDetail { depth: 10, words: 400, fields: usize::MAX, values: usize::MAX },
    SchemaDetail { depth: 8, words: 160, fields: usize::MAX, values: 200 },
    SchemaDetail { depth: 6, words: 160, fields: usize::MAX, values: 100 },
    SchemaDetail { depth: 4, words: 120, fields: usize::MAX, values: 50 },
    SchemaDetail { depth: 3, words: 100, fields: usize::MAX, values: 40 },
    SchemaDetail { depth: 2, words: 80, fields: 200, values: 20 },
    SchemaDetail { depth: 1, words: 60, fields: 100, values: 10 },
];

/// What a walk may spend, in about the bytes of its result. Half of what a tool may have at most: a schema is sent with
/// every request to a model.
pub(super) const SCHEMA_BYTES_MAX: usize = 32 << 10;

/// Brackets in brackets: combinations count here, too, not only fields.
const LEVELS_MAX: usize = 24;

/// Trying a pattern takes time: documents with more were not written by people.
const PATTERNS_MAX: usize = 2000;
/// What the patterns of all tools of a document may take to be made ready, each as often as it is taken over.
const PATTERN_UNITS_MAX: u64 = 500_000;
/// What may be looked at for all tools of a document, in about bytes: pointers let few bytes be looked at very often.
const LOOKED_AT_MAX: u64 = 256 << 20;
/// To look at one value costs as much as so many bytes.
pub(super) const LOOK: u64 = 16;

/// Why there is no schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SchemaProblem {
    /// Not with so much detail.
    TooLarge,
    /// It never will be.
    Refused(String),
}

/// What all schemas of a document share.
#[derive(Debug)]
pub(super) struct Schemas<'a> {
    pub(super) refs: Refs<'a>,
    pub(super) edition: SchemaEdition,
    /// Patterns that were tried and what they cost, since the same few come again and again. None for those that are
    /// not understood.
    patterns: RefCell<HashMap<String, Option<u64>>>,
    /// What is left of the work for all operations together.
    pattern_units: RefCell<CompileBudget>,
    looks: RefCell<CompileBudget>,
    /// How many values there are in what was looked at as a whole, by its address.
    counted: RefCell<HashMap<usize, u64>>,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(refs: Refs<'a>, edition: SchemaEdition) -> Self {
        Self {
            refs,
            edition,
            patterns: RefCell::default(),
            pattern_units: CompileBudget::new(PATTERN_UNITS_MAX).into(),
            looks: CompileBudget::new(LOOKED_AT_MAX).into(),
            counted: RefCell::default(),
        }
    }

    /// A walk over one or more schemas that will stand together.
    pub(super) fn begin_translation(&self, detail: SchemaDetail) -> SchemaTranslation<'a, '_> {
        SchemaTranslation { schemas: self, detail, spent: 0, open: vec![], left_out: false }
    }

    /// Whether the registry's matcher, which takes linear time and therefore no lookaround, understands a pattern.
    fn is_supported_pattern(&self, pattern: &str) -> bool {
        let known = self.patterns.borrow().get(pattern).copied();
        let known = known.unwrap_or_else(|| self.find_pattern_cost(pattern));
        // What does not fit in any more is said in words.
        known.is_some_and(|units| {
            let mut left = self.pattern_units.borrow_mut();
            units <= left.remaining() && left.spend(units).is_ok()
        })
    }

    fn find_pattern_cost(&self, pattern: &str) -> Option<u64> {
        if self.patterns.borrow().len() > PATTERNS_MAX {
            return None;
        }
        let units = helve_tool::pattern_units(pattern).ok().filter(|units| *units <= COMPILE_UNITS_MAX);
        let mut left = self.pattern_units.borrow_mut();
        let affordable = units.filter(|units| *units <= left.remaining() && left.spend(*units).is_ok());
        let tried = json!({"type": "object", "properties": {"x": {"pattern": pattern}}});
        let known = affordable.filter(|_| helve_tool::check_schema(&tried).is_ok());
        self.patterns.borrow_mut().insert(pattern.to_owned(), known);
        known
    }

    /// Pays for what is looked at, in about bytes.
    pub(super) fn spend(&self, bytes: u64) -> Result<(), SchemaProblem> {
        self.looks.borrow_mut().spend(bytes).map_err(|_| {
            let reason = "to read the whole document takes too much work; import a part of it, by tag, path, method or \
                          operation";
            SchemaProblem::Refused(reason.into())
        })
    }

    /// Pays for everything that is in a value, which may be looked at from many places.
    pub(super) fn scan_value(&self, value: &'a Value) -> Result<(), SchemaProblem> {
        let address = std::ptr::from_ref(value).addr();
        let known = self.counted.borrow().get(&address).copied();
        let values = known.unwrap_or_else(|| {
            let values = count_values(value);
            self.counted.borrow_mut().insert(address, values);
            values
        });
        self.spend(values.saturating_mul(LOOK))
    }
}

fn count_values(value: &Value) -> u64 {
    1 + match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(members) => members.values().map(count_values).sum(),
        _ => 0,
    }
}

#[derive(Debug)]
pub(super) struct SchemaTranslation<'a, 's> {
    schemas: &'s Schemas<'a>,
    detail: SchemaDetail,
    spent: usize,
    /// The pointers that are being followed: one that comes again is a circle.
    open: Vec<&'a str>,
    /// Whether anything was left out for want of room.
    pub(super) left_out: bool,
}

/// Where a walk is.
#[derive(Debug, Clone, Copy)]
struct SchemaPosition<'h> {
    depth: usize,
    level: usize,
    /// Fields that another part of the same object calls read-only.
    hidden: &'h BTreeSet<String>,
}

impl<'a> SchemaTranslation<'a, '_> {
    pub(super) fn translate(&mut self, given: &'a Value) -> Result<Value, SchemaProblem> {
        let hidden = BTreeSet::new();
        self.translate_any(given, SchemaPosition { depth: 0, level: 0, hidden: &hidden })
    }

    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), SchemaProblem> {
        self.schemas.spend(bytes as u64)?;
        self.spent += bytes;
        if self.spent > SCHEMA_BYTES_MAX { Err(SchemaProblem::TooLarge) } else { Ok(()) }
    }

    /// A text of the document, cut to what there is room for.
    pub(super) fn take_text(&mut self, text: &str) -> Result<String, SchemaProblem> {
        let text = words::clean_text(text, self.detail.words);
        self.spend(text.len() + 16)?;
        Ok(text)
    }

    fn translate_any(&mut self, given: &'a Value, place: SchemaPosition<'_>) -> Result<Value, SchemaProblem> {
        self.spend(4)?;
        match given {
            Value::Bool(_) => Ok(given.clone()),
            Value::Object(members) => match pointer(given) {
                Some(pointer) => self.follow_reference(pointer, members, place),
                None => self.translate_object(members, place).map(Value::Object),
            },
            _ => Ok(json!({})),
        }
    }

    fn follow_reference(
        &mut self,
        pointer: &'a str,
        members: &'a Map<String, Value>,
        place: SchemaPosition<'_>,
    ) -> Result<Value, SchemaProblem> {
        let target = self.schemas.refs.find_target(pointer).map_err(SchemaProblem::Refused)?;
        if self.open.contains(&pointer) || place.level > LEVELS_MAX {
            let name = pointer.rsplit('/').next().unwrap_or_default();
            let same = format!("(`{}` again, as above.)", words::clean_line(name, 60));
            self.spend(same.len() + 32)?;
            let mut cut = Map::new();
            if let Some(kind) = target.get("type").filter(|kind| keywords::is_type(kind)) {
                cut.insert("type".into(), kind.clone());
            }
            cut.insert("description".into(), same.into());
            return Ok(cut.into());
        }
        self.open.push(pointer);
        let place = SchemaPosition { level: place.level + 1, ..place };
        let found = self.translate_any(target, place);
        self.open.pop();
        self.merge_siblings(found?, members, place)
    }

    /// What stands beside a pointer: 3.1 says that it counts as well; in 3.0 many write it all the same.
    fn merge_siblings(
        &mut self,
        found: Value,
        members: &'a Map<String, Value>,
        place: SchemaPosition<'_>,
    ) -> Result<Value, SchemaProblem> {
        let Value::Object(mut found) = found else { return Ok(found) };
        if let Some(text) = members.get("description").and_then(Value::as_str) {
            found.insert("description".into(), self.take_text(text)?.into());
        }
        if let Some(default) = members.get("default").filter(|value| keywords::is_small(value)) {
            found.insert("default".into(), default.clone());
        }
        if self.schemas.edition == SchemaEdition::V31
            && members.keys().any(|name| keywords::is_restricting(name))
        {
            let rest = self.translate_object(members, place)?;
            found = merge::merge_all_of(Map::new(), vec![found.into(), rest.into()]);
        }
        if members.get("nullable") == Some(&Value::Bool(true)) {
            keywords::allow_null(&mut found);
        }
        Ok(found.into())
    }

    fn translate_object(
        &mut self,
        members: &'a Map<String, Value>,
        place: SchemaPosition<'_>,
    ) -> Result<Map<String, Value>, SchemaProblem> {
        self.schemas.spend((1 + members.len() as u64) * LOOK)?;
        let mut out = Map::new();
        keywords::copy_plain_keywords(members, self.schemas.edition, &mut out);
        self.copy_text_keywords(members, &mut out);
        self.copy_value_keywords(members, &mut out)?;
        self.copy_pattern(members, &mut out);
        self.spend(out.iter().map(|(name, value)| name.len() + byte_size(value)).sum())?;
        if place.depth >= self.detail.depth && has_inside(members) || place.level > LEVELS_MAX {
            self.note_omission(&mut out, "(What is inside is not listed here.)");
        } else {
            self.translate_fields(members, place, &mut out)?;
            self.translate_inner_schemas(members, place, &mut out)?;
            self.translate_combinations(members, place, &mut out)?;
        }
        keywords::add_missing_keywords(&mut out);
        if members.get("nullable") == Some(&Value::Bool(true)) {
            keywords::allow_null(&mut out);
        }
        Ok(out)
    }

    fn copy_text_keywords(&self, members: &Map<String, Value>, out: &mut Map<String, Value>) {
        let text =
            |name: &str| members.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        if let Some(text) = text("description").or_else(|| text("title")) {
            out.insert("description".into(), words::clean_text(text, self.detail.words).into());
        }
    }

    /// Long enumerations become free with their first values named.
    fn copy_value_keywords(
        &mut self,
        members: &Map<String, Value>,
        out: &mut Map<String, Value>,
    ) -> Result<(), SchemaProblem> {
        let Some(values) = members.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty())
        else {
            return Ok(());
        };
        self.schemas.spend(values.len() as u64)?;
        // The first of them are looked at in any case.
        let mut bytes = 0;
        for value in values.iter().take(self.detail.values.min(SCHEMA_BYTES_MAX)) {
            bytes += byte_size(value);
            if bytes > SCHEMA_BYTES_MAX {
                return Err(SchemaProblem::TooLarge);
            }
        }
        if values.len() <= self.detail.values.min(SCHEMA_BYTES_MAX / 4) {
            let mut seen = HashSet::new();
            let distinct = values.iter().filter(|value| seen.insert(value.to_string()));
            out.insert("enum".into(), distinct.cloned().collect());
        } else {
            let first: Vec<_> =
                values.iter().take(self.detail.values.min(200)).map(Value::to_string).collect();
            let note = format!("(One of {} values: {}, …)", values.len(), first.join(", "));
            self.note_omission(out, &note);
        }
        Ok(())
    }

    fn copy_pattern(&mut self, members: &Map<String, Value>, out: &mut Map<String, Value>) {
        let Some(pattern) = members.get("pattern").and_then(Value::as_str) else { return };
        if self.schemas.is_supported_pattern(pattern) {
            out.insert("pattern".into(), pattern.into());
        } else {
            append_note(out, &format!("(Must match `{}`.)", words::clean_line(pattern, 200)));
        }
    }

    fn translate_fields(
        &mut self,
        members: &'a Map<String, Value>,
        place: SchemaPosition<'_>,
        out: &mut Map<String, Value>,
    ) -> Result<(), SchemaProblem> {
        let needed = members.get("required").and_then(Value::as_array);
        let mut needed: BTreeSet<&str> = needed.into_iter().flatten().filter_map(Value::as_str).collect();
        needed.retain(|name| !place.hidden.contains(*name));
        if let Some(fields) = members.get("properties").and_then(Value::as_object) {
            // To look through very many costs something, too, even if few are taken.
            self.schemas.spend(fields.len() as u64 * LOOK)?;
            self.spend(fields.len() / 16)?;
            let deeper =
                SchemaPosition { depth: place.depth + 1, level: place.level + 1, hidden: &BTreeSet::new() };
            let (first, rest): (Vec<_>, Vec<_>) =
                fields.iter().partition(|(name, _)| needed.contains(name.as_str()));
            let mut translated = Map::new();
            for (name, field) in first.into_iter().chain(rest) {
                if place.hidden.contains(name) || self.is_read_only(field) {
                    needed.remove(name.as_str());
                    continue;
                }
                if translated.len() == self.detail.fields {
                    self.note_omission(out, "(More fields are not listed here.)");
                    needed.retain(|wanted| translated.contains_key(*wanted) || !fields.contains_key(*wanted));
                    break;
                }
                self.spend(name.len() + 6)?;
                translated.insert(name.clone(), self.translate_any(field, deeper)?);
            }
            out.insert("properties".into(), translated.into());
        }
        self.spend(needed.iter().map(|name| name.len() + 4).sum())?;
        if !needed.is_empty() {
            out.insert("required".into(), json!(needed));
        }
        Ok(())
    }

    /// Items and everything else that has a schema inside.
    fn translate_inner_schemas(
        &mut self,
        members: &'a Map<String, Value>,
        place: SchemaPosition<'_>,
        out: &mut Map<String, Value>,
    ) -> Result<(), SchemaProblem> {
        let deeper =
            SchemaPosition { depth: place.depth + 1, level: place.level + 1, hidden: &BTreeSet::new() };
        for name in keywords::ONE_INSIDE {
            if let Some(inside) =
                members.get(*name).filter(|inside| inside.is_object() || inside.is_boolean())
            {
                let inside = self.translate_any(inside, deeper)?;
                out.insert((*name).into(), inside);
            }
        }
        if let Some(inside) = members.get("patternProperties").and_then(Value::as_object) {
            let mut translated = Map::new();
            for (pattern, inside) in
                inside.iter().filter(|(pattern, _)| self.schemas.is_supported_pattern(pattern))
            {
                self.spend(pattern.len() + 6)?;
                translated.insert(pattern.clone(), self.translate_any(inside, deeper)?);
            }
            out.insert("patternProperties".into(), translated.into());
        }
        if let Some(inside) =
            members.get("prefixItems").and_then(Value::as_array).filter(|all| !all.is_empty())
        {
            let inside: Result<Vec<_>, _> =
                inside.iter().map(|inside| self.translate_any(inside, deeper)).collect();
            out.insert("prefixItems".into(), inside?.into());
        }
        Ok(())
    }

    fn note_omission(&mut self, out: &mut Map<String, Value>, words: &str) {
        self.left_out = true;
        append_note(out, words);
    }
}

/// Adds a sentence to a description.
pub(super) fn append_note(out: &mut Map<String, Value>, words: &str) {
    let said = out.get("description").and_then(Value::as_str).unwrap_or_default();
    let said = if said.is_empty() { words.to_owned() } else { format!("{said} {words}") };
    out.insert("description".into(), said.into());
}

fn has_inside(members: &Map<String, Value>) -> bool {
    let named = ["properties", "items", "allOf", "anyOf", "oneOf", "prefixItems", "patternProperties"];
    let some = |value: &Value| value.as_object().is_none_or(|inside| !inside.is_empty());
    named.iter().any(|name| members.get(*name).is_some_and(some))
        || members.get("additionalProperties").is_some_and(Value::is_object)
}

/// About how many bytes a value takes; of what is far too large only that it is so.
fn byte_size(value: &Value) -> usize {
    fn add(value: &Value, sum: &mut usize) {
        if *sum > SCHEMA_BYTES_MAX {
            return;
        }
        match value {
            Value::String(text) => *sum += text.len() + 3,
            Value::Array(items) => {
                *sum += 2;
                for item in items {
                    add(item, sum);
                    if *sum > SCHEMA_BYTES_MAX {
                        return;
                    }
                }
            }
            Value::Object(members) => {
                *sum += 2;
                for (name, member) in members {
                    *sum += name.len() + 4;
                    add(member, sum);
                    if *sum > SCHEMA_BYTES_MAX {
                        return;
                    }
                }
            }
            _ => *sum += 8,
        }
    }
    let mut sum = 0;
    add(value, &mut sum);
    sum
}

#[cfg(test)]
mod tests;
