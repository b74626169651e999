//! A schema that is ready to check arguments, made and used within bounds.
//!
//! Every schema from outside passes here: it is measured, paid for from a budget, and only then made
//! ready. What is checked with it is measured against it, too. The same schema is made once as long as a tool has it
//! or it was used lately; what all schemas together hold has a bound.

mod budget;
mod cache;
mod effort;
mod keywords;
mod measure;
mod pattern;
mod refs;

use std::sync::Arc;

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use self::budget::CHECK_STEPS_MAX;
pub use self::budget::{
    COMPILE_UNITS_MAX, CompileBudget, PATTERN_BYTES_MAX, PATTERNS_MAX, SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX,
};
use self::cache::MemoryShare;
use self::effort::CheckPurpose;
use self::measure::SchemaMeasure;

/// More than this is not done between two other things, but beside them.
pub(crate) const STEPS_INLINE_MAX: u64 = 20_000;
/// Errors are told in full as long as finding all of them is little work.
const STEPS_TOLD_MAX: u64 = 50_000;
/// What a pattern takes in memory beyond what was foreseen makes it one that is not taken.
const BYTES_OF_A_UNIT: u64 = 200;
const PATTERN_MEMORY_MIN: usize = 256 << 10;
const PATTERN_MEMORY_MAX: usize = 12 << 20;
const LAZY_BYTES_MAX: usize = 256 << 10;

#[derive(Debug)]
pub(crate) struct Schema {
    source: Value,
    validator: Validator,
    measure: SchemaMeasure,
    /// What it holds is counted as long as it is there.
    weight: MemoryShare,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckResult {
    Fits,
    Misfit,
    /// It would have taken more work than one check may.
    TooMuchWork,
}

impl Schema {
    /// Makes a tool's `parameters` ready, or says what is wrong with them; the field's name is the caller's to say.
    pub(crate) fn compile(schema: &Value, budget: &mut CompileBudget) -> Result<Arc<Self>, String> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err("must be a JSON Schema with `\"type\": \"object\"`".into());
        }
        let text = schema.to_string();
        let measure = measure::measure_schema(schema, &text)
            .map_err(|problem| format!("cannot be taken: {problem}"))?;
        // Also for what is kept: whether it is refused must not depend on what others have handed in.
        budget.spend(measure.units).map_err(|_| too_much_work(&measure))?;
        cache::find_or_compile(&text, || Self::compile_measured(schema, measure))
    }

    fn compile_measured(schema: &Value, measure: SchemaMeasure) -> Result<Self, String> {
        let weight = MemoryShare::reserve(schema, &measure)?;
        let dearest = measure.patterns.values().copied().max().unwrap_or(0);
        let memory = usize::try_from(dearest.saturating_mul(BYTES_OF_A_UNIT)).unwrap_or(usize::MAX);
        let patterns = PatternOptions::regex()
            .size_limit(memory.clamp(PATTERN_MEMORY_MIN, PATTERN_MEMORY_MAX))
            .dfa_size_limit(LAZY_BYTES_MAX);
        let validator = jsonschema::options()
            .with_pattern_options(patterns)
            // Whether an argument is a pattern would be found out by making it ready.
            .with_format("regex", |_: &str| true)
            .offline()
            .build(schema)
            .map_err(|error| format!("is not a valid JSON Schema: {}", format_shortened(&error)))?;
        Ok(Self { source: schema.clone(), validator, measure, weight })
    }

    /// The steps that it takes to check a value, if those are few enough.
    pub(crate) fn count_steps(&self, value: &Value, steps_max: u64) -> Option<u64> {
        effort::count_steps(self, value, steps_max.min(CHECK_STEPS_MAX), CheckPurpose::Verdict).ok()
    }

    /// Whether a value fits.
    pub(crate) fn check_value(&self, value: &Value) -> CheckResult {
        match self.count_steps(value, CHECK_STEPS_MAX) {
            None => CheckResult::TooMuchWork,
            Some(_) if self.validator.is_valid(value) => CheckResult::Fits,
            Some(_) => CheckResult::Misfit,
        }
    }

    /// What does not fit, as far as it can be found out with little work.
    pub(crate) fn list_errors<'v>(&'v self, value: &'v Value) -> Vec<ValidationError<'v>> {
        match effort::count_steps(self, value, STEPS_TOLD_MAX, CheckPurpose::Errors) {
            Ok(_) => self.validator.iter_errors(value).take(ERRORS_MAX).collect(),
            Err(_) => vec![],
        }
    }
}

/// A longer list of problems is not read, and more nulls than that are no omitted values.
const ERRORS_MAX: usize = 256;

/// Whether a tool may have these `parameters`, for those who make definitions before there is a tool.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    check_schema_within(schema, &mut CompileBudget::default())
}

/// The same for one of many that are looked at together.
pub fn check_schema_within(schema: &Value, budget: &mut CompileBudget) -> Result<(), String> {
    Schema::compile(schema, budget).map(drop).map_err(|problem| format!("`parameters` {problem}"))
}

/// What a pattern costs to be made ready, or why it is not tried.
pub fn pattern_units(pattern: &str) -> Result<u64, String> {
    pattern::pattern_units(pattern)
}

fn too_much_work(measure: &SchemaMeasure) -> String {
    let dearest = measure.patterns.iter().max_by_key(|(_, units)| **units);
    let which = match dearest {
        Some((pattern, units)) if *units > measure.units / 4 => {
            let shown: String = pattern.chars().take(80).collect();
            format!("; the pattern `{shown}` is the dearest: repeat less in it")
        }
        _ => "; send fewer or smaller schemas at once".into(),
    };
    format!(
        "would take too much work to make ready ({} units, or {COMPILE_UNITS_MAX} for all schemas of a \
         request){which}",
        measure.units
    )
}

/// An error in at most `PROBLEM_BYTES_MAX` bytes, however large the value is that it quotes.
pub(crate) fn format_shortened(error: &dyn std::fmt::Display) -> String {
    crate::bound::display_within(error, PROBLEM_BYTES_MAX)
}

const PROBLEM_BYTES_MAX: usize = 500;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
