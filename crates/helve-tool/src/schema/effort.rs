//! How many steps it takes to check a value, counted by going where the check would go.
//!
//! The count never stops early where the check might, so it is an upper bound; a schema beyond the bound is refused
//! before anything was compared.

use serde_json::{Map, Value};

use super::Schema;
use super::budget::CHECK_DEPTH_MAX;
use super::keywords::{SchemaSubject, schemas_in_keyword, subject_of_keyword};
use super::refs::Refs;

/// Pattern units that count as one more for each character.
const UNITS_OF_A_STEP: u64 = 64;
/// Bytes of a text that are looked through in one step.
const BYTES_OF_A_STEP: usize = 16;
/// Small lists are compared item by item.
const PAIRS_OF: u64 = 16;

/// It would take more steps than there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManySteps;

/// What the check is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckPurpose {
    /// Whether it fits.
    Verdict,
    /// What does not fit: each member of a combination that does not holds a copy of the value for its error.
    Errors,
}

/// Counts the steps, up to `steps_max`.
pub(super) fn count_steps(
    schema: &Schema,
    value: &Value,
    steps_max: u64,
    goal: CheckPurpose,
) -> Result<u64, TooManySteps> {
    let refs = Refs::new(&schema.source);
    let mut walk = EffortCount { schema, refs, left: steps_max, goal };
    walk.count_schema(&schema.source, value, 0)?;
    Ok(steps_max - walk.left)
}

struct EffortCount<'s> {
    schema: &'s Schema,
    refs: Refs<'s>,
    left: u64,
    goal: CheckPurpose,
}

impl<'s> EffortCount<'s> {
    fn spend(&mut self, steps: usize) -> Result<(), TooManySteps> {
        self.left = self.left.checked_sub(steps as u64).ok_or(TooManySteps)?;
        Ok(())
    }

    fn count_schema(&mut self, schema: &'s Value, value: &Value, depth: usize) -> Result<(), TooManySteps> {
        if depth > CHECK_DEPTH_MAX {
            return Err(TooManySteps);
        }
        let Value::Object(members) = schema else { return self.spend(1) };
        self.spend(1 + members.len())?;
        // What is not evaluated yet is found out by evaluating everything beside it once more.
        let again =
            ["unevaluatedProperties", "unevaluatedItems"].iter().any(|name| members.contains_key(*name));
        for _ in 0..if again { 3 } else { 1 } {
            self.count_same_value(members, value, depth)?;
        }
        for (keyword, given) in members {
            match subject_of_keyword(keyword) {
                None => self.count_plain_keyword(keyword, given, value)?,
                Some(SchemaSubject::Inside) => {
                    self.count_children(schemas_in_keyword(keyword, given), value, depth)?
                }
                Some(SchemaSubject::Member) => self.count_members(given, value, depth)?,
                Some(SchemaSubject::Pattern) => self.count_patterns(given, value, depth)?,
                Some(SchemaSubject::Names) => self.count_names(given, value, depth)?,
                Some(SchemaSubject::Same | SchemaSubject::Nothing) => {}
            }
        }
        Ok(())
    }

    /// Schemas of the same value.
    fn count_same_value(
        &mut self,
        members: &'s Map<String, Value>,
        value: &Value,
        depth: usize,
    ) -> Result<(), TooManySteps> {
        for (keyword, given) in
            members.iter().filter(|(keyword, _)| subject_of_keyword(keyword) == Some(SchemaSubject::Same))
        {
            for inside in schemas_in_keyword(keyword, given) {
                if self.goal == CheckPurpose::Errors {
                    self.count_copy(value)?;
                }
                self.count_schema(inside, value, depth + 1)?;
            }
        }
        // They were all found when the schema was measured.
        for target in self.refs.targets(members).unwrap_or_default() {
            self.count_schema(target, value, depth + 1)?;
        }
        Ok(())
    }

    fn count_children(
        &mut self,
        schemas: Box<dyn Iterator<Item = &'s Value> + 's>,
        value: &Value,
        depth: usize,
    ) -> Result<(), TooManySteps> {
        for schema in schemas {
            match value {
                Value::Array(items) => {
                    items.iter().try_for_each(|item| self.count_schema(schema, item, depth + 1))?
                }
                Value::Object(members) => {
                    members.values().try_for_each(|member| self.count_schema(schema, member, depth + 1))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn count_members(&mut self, given: &'s Value, value: &Value, depth: usize) -> Result<(), TooManySteps> {
        let (Value::Object(given), Value::Object(members)) = (given, value) else { return Ok(()) };
        self.spend(given.len().min(members.len()))?;
        for (name, member) in members {
            if let Some(schema) = given.get(name) {
                self.count_schema(schema, member, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Any name may fit any pattern.
    fn count_patterns(&mut self, given: &'s Value, value: &Value, depth: usize) -> Result<(), TooManySteps> {
        let (Value::Object(given), Value::Object(members)) = (given, value) else { return Ok(()) };
        for (pattern, schema) in given {
            for (name, member) in members {
                // Once for the schema and once to find out which names are left over.
                self.count_match(pattern, name)?;
                self.count_match(pattern, name)?;
                self.count_schema(schema, member, depth + 1)?;
            }
        }
        Ok(())
    }

    fn count_names(&mut self, given: &'s Value, value: &Value, depth: usize) -> Result<(), TooManySteps> {
        let Value::Object(members) = value else { return Ok(()) };
        for name in members.keys() {
            self.count_schema(given, &Value::String(name.clone()), depth + 1)?;
        }
        Ok(())
    }

    fn count_match(&mut self, pattern: &str, text: &str) -> Result<(), TooManySteps> {
        let units = self.schema.measure.patterns.get(pattern).copied().unwrap_or(u64::MAX);
        let each = usize::try_from(1 + units / UNITS_OF_A_STEP).unwrap_or(usize::MAX);
        self.spend((1 + text.len() / BYTES_OF_A_STEP).saturating_mul(each))
    }

    /// Keywords without schemas.
    fn count_plain_keyword(
        &mut self,
        keyword: &str,
        given: &Value,
        value: &Value,
    ) -> Result<(), TooManySteps> {
        match (keyword, given, value) {
            ("pattern", Value::String(pattern), Value::String(text)) => self.count_match(pattern, text),
            ("enum", Value::Array(values), Value::Array(_) | Value::Object(_)) => {
                values.iter().try_for_each(|other| self.count_all(other, 1))
            }
            ("enum", Value::Array(values), _) => self.spend(values.len()),
            ("const", given, _) => self.count_all(given, 1),
            ("required", Value::Array(names), Value::Object(_)) => self.spend(names.len()),
            ("dependentRequired", Value::Object(all), Value::Object(_)) => {
                all.values().try_for_each(|names| self.count_all(names, 1))
            }
            ("uniqueItems", _, Value::Array(_)) => self.count_all(value, PAIRS_OF),
            (_, _, Value::String(text)) => self.spend(text.len() / BYTES_OF_A_STEP / 4),
            _ => Ok(()),
        }
    }

    /// Every value inside of it and all text.
    fn count_copy(&mut self, value: &Value) -> Result<(), TooManySteps> {
        self.spend(1)?;
        match value {
            Value::String(text) => self.spend(text.len() / BYTES_OF_A_STEP),
            Value::Array(items) => items.iter().try_for_each(|item| self.count_copy(item)),
            Value::Object(members) => members.iter().try_for_each(|(name, member)| {
                self.spend(1 + name.len() / BYTES_OF_A_STEP)?;
                self.count_copy(member)
            }),
            _ => Ok(()),
        }
    }

    /// Every value inside of it, `times` over.
    fn count_all(&mut self, value: &Value, times: u64) -> Result<(), TooManySteps> {
        self.left = self.left.checked_sub(times).ok_or(TooManySteps)?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.count_all(item, times)),
            Value::Object(members) => members.values().try_for_each(|member| self.count_all(member, times)),
            _ => Ok(()),
        }
    }
}
