//! How many steps it takes to check a value, counted by going where the check would go.
//!
//! The count never stops early where the check might, so it is an upper bound; whoever is beyond the bound is refused
//! before anything was compared.

use serde_json::{Map, Value};

use super::Schema;
use super::budget::CHECK_DEPTH_MAX;
use super::keywords::{About, about, schemas};
use super::refs::Refs;

/// Pattern units that count as one more for each character.
const UNITS_OF_A_STEP: u64 = 64;
/// Bytes of a text that are looked through in one step.
const BYTES_OF_A_STEP: usize = 16;
/// Small lists are compared item by item.
const PAIRS_OF: u64 = 16;

/// It would take more steps than there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

/// What the check is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// Whether it fits.
    Verdict,
    /// What does not fit: each member of a combination that does not holds a copy of the value for its error.
    Errors,
}

/// Counts the steps, up to `steps_max`.
pub(super) fn count(schema: &Schema, value: &Value, steps_max: u64, goal: For) -> Result<u64, TooMuch> {
    let refs = Refs::new(&schema.source);
    let mut walk = Walk { schema, refs, left: steps_max, goal };
    walk.visit(&schema.source, value, 0)?;
    Ok(steps_max - walk.left)
}

struct Walk<'s> {
    schema: &'s Schema,
    refs: Refs<'s>,
    left: u64,
    goal: For,
}

impl<'s> Walk<'s> {
    fn spend(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.left = self.left.checked_sub(steps as u64).ok_or(TooMuch)?;
        Ok(())
    }

    fn visit(&mut self, schema: &'s Value, value: &Value, depth: usize) -> Result<(), TooMuch> {
        if depth > CHECK_DEPTH_MAX {
            return Err(TooMuch);
        }
        let Value::Object(members) = schema else { return self.spend(1) };
        self.spend(1 + members.len())?;
        // What is not evaluated yet is found out by evaluating everything beside it once more.
        let again =
            ["unevaluatedProperties", "unevaluatedItems"].iter().any(|name| members.contains_key(*name));
        for _ in 0..if again { 3 } else { 1 } {
            self.beside(members, value, depth)?;
        }
        for (keyword, given) in members {
            match about(keyword) {
                None => self.plain(keyword, given, value)?,
                Some(About::Inside) => self.inside(schemas(keyword, given), value, depth)?,
                Some(About::Member) => self.members(given, value, depth)?,
                Some(About::Pattern) => self.patterned(given, value, depth)?,
                Some(About::Names) => self.names(given, value, depth)?,
                Some(About::Same | About::Nothing) => {}
            }
        }
        Ok(())
    }

    /// Schemas of the same value.
    fn beside(
        &mut self,
        members: &'s Map<String, Value>,
        value: &Value,
        depth: usize,
    ) -> Result<(), TooMuch> {
        for (keyword, given) in members.iter().filter(|(keyword, _)| about(keyword) == Some(About::Same)) {
            for inside in schemas(keyword, given) {
                if self.goal == For::Errors {
                    self.copied(value)?;
                }
                self.visit(inside, value, depth + 1)?;
            }
        }
        // They were all found when the schema was measured.
        for target in self.refs.targets(members).unwrap_or_default() {
            self.visit(target, value, depth + 1)?;
        }
        Ok(())
    }

    fn inside(
        &mut self,
        schemas: Box<dyn Iterator<Item = &'s Value> + 's>,
        value: &Value,
        depth: usize,
    ) -> Result<(), TooMuch> {
        for schema in schemas {
            match value {
                Value::Array(items) => {
                    items.iter().try_for_each(|item| self.visit(schema, item, depth + 1))?
                }
                Value::Object(members) => {
                    members.values().try_for_each(|member| self.visit(schema, member, depth + 1))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn members(&mut self, given: &'s Value, value: &Value, depth: usize) -> Result<(), TooMuch> {
        let (Value::Object(given), Value::Object(members)) = (given, value) else { return Ok(()) };
        self.spend(given.len().min(members.len()))?;
        for (name, member) in members {
            if let Some(schema) = given.get(name) {
                self.visit(schema, member, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Any name may fit any pattern.
    fn patterned(&mut self, given: &'s Value, value: &Value, depth: usize) -> Result<(), TooMuch> {
        let (Value::Object(given), Value::Object(members)) = (given, value) else { return Ok(()) };
        for (pattern, schema) in given {
            for (name, member) in members {
                // Once for the schema and once to find out which names are left over.
                self.matched(pattern, name)?;
                self.matched(pattern, name)?;
                self.visit(schema, member, depth + 1)?;
            }
        }
        Ok(())
    }

    fn names(&mut self, given: &'s Value, value: &Value, depth: usize) -> Result<(), TooMuch> {
        let Value::Object(members) = value else { return Ok(()) };
        for name in members.keys() {
            self.visit(given, &Value::String(name.clone()), depth + 1)?;
        }
        Ok(())
    }

    fn matched(&mut self, pattern: &str, text: &str) -> Result<(), TooMuch> {
        let units = self.schema.measure.patterns.get(pattern).copied().unwrap_or(u64::MAX);
        let each = usize::try_from(1 + units / UNITS_OF_A_STEP).unwrap_or(usize::MAX);
        self.spend((1 + text.len() / BYTES_OF_A_STEP).saturating_mul(each))
    }

    /// Keywords without schemas.
    fn plain(&mut self, keyword: &str, given: &Value, value: &Value) -> Result<(), TooMuch> {
        match (keyword, given, value) {
            ("pattern", Value::String(pattern), Value::String(text)) => self.matched(pattern, text),
            ("enum", Value::Array(values), Value::Array(_) | Value::Object(_)) => {
                values.iter().try_for_each(|other| self.whole(other, 1))
            }
            ("enum", Value::Array(values), _) => self.spend(values.len()),
            ("const", given, _) => self.whole(given, 1),
            ("required", Value::Array(names), Value::Object(_)) => self.spend(names.len()),
            ("dependentRequired", Value::Object(all), Value::Object(_)) => {
                all.values().try_for_each(|names| self.whole(names, 1))
            }
            ("uniqueItems", _, Value::Array(_)) => self.whole(value, PAIRS_OF),
            (_, _, Value::String(text)) => self.spend(text.len() / BYTES_OF_A_STEP / 4),
            _ => Ok(()),
        }
    }

    /// Every value inside of it and all text.
    fn copied(&mut self, value: &Value) -> Result<(), TooMuch> {
        self.spend(1)?;
        match value {
            Value::String(text) => self.spend(text.len() / BYTES_OF_A_STEP),
            Value::Array(items) => items.iter().try_for_each(|item| self.copied(item)),
            Value::Object(members) => members.iter().try_for_each(|(name, member)| {
                self.spend(1 + name.len() / BYTES_OF_A_STEP)?;
                self.copied(member)
            }),
            _ => Ok(()),
        }
    }

    /// Every value inside of it, `times` over.
    fn whole(&mut self, value: &Value, times: u64) -> Result<(), TooMuch> {
        self.left = self.left.checked_sub(times).ok_or(TooMuch)?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.whole(item, times)),
            Value::Object(members) => members.values().try_for_each(|member| self.whole(member, times)),
            _ => Ok(()),
        }
    }
}
