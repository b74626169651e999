//! Functions of text.

use std::rc::Rc;

use regex::{Regex, RegexBuilder};

use super::expect_list;
use crate::json;
use crate::transform::jq::eval::Engine;
use crate::transform::jq::operator::{concatenate, split};
use crate::transform::jq::syntax::Function;
use crate::transform::jq::value::{FilterStop, JqValue, StepBudget};

/// What a pattern may take once it is compiled.
const PATTERN_BYTES_MAX: usize = 256 << 10;
/// Compiling a pattern costs as much as many steps.
const PATTERN_STEPS: usize = 5_000;
/// Units of a pattern that count as one more for each character that is looked at.
const UNITS_OF_A_STEP: u64 = 64;

pub(super) fn apply_text_function(
    function: Function,
    input: &JqValue,
    given: &[JqValue],
    engine: &Engine,
) -> Result<JqValue, FilterStop> {
    use Function as F;
    let meter = &engine.meter;
    match (function, given) {
        (F::ToText, _) if input.as_text().is_some() => Ok(input.clone()),
        (F::ToText | F::ToJson, _) => Ok(JqValue::text(&input.to_json(meter)?.to_string())),
        (F::FromJson, _) => {
            let written = expect_text(input)?;
            meter.spend_bytes(written.len() * 8)?;
            json::parse(written.as_bytes()).map(|value| JqValue::from_json(&value)).map_err(FilterStop::error)
        }
        (F::ToNumber, _) => to_number(input, meter),
        (F::AsciiDowncase, _) => Ok(JqValue::text(&expect_text_at_cost(input, meter)?.to_ascii_lowercase())),
        (F::AsciiUpcase, _) => Ok(JqValue::text(&expect_text_at_cost(input, meter)?.to_ascii_uppercase())),
        (F::Utf8Length, _) => Ok(JqValue::count(expect_text(input)?.len())),
        (F::Trim, _) => Ok(JqValue::text(expect_text_at_cost(input, meter)?.trim())),
        (F::LTrim, _) => Ok(JqValue::text(expect_text_at_cost(input, meter)?.trim_start())),
        (F::RTrim, _) => Ok(JqValue::text(expect_text_at_cost(input, meter)?.trim_end())),
        (F::StartsWith, [part]) => {
            Ok(JqValue::Bool(expect_text(input)?.starts_with(expect_text_at_cost(part, meter)?)))
        }
        (F::EndsWith, [part]) => {
            Ok(JqValue::Bool(expect_text(input)?.ends_with(expect_text_at_cost(part, meter)?)))
        }
        (F::LTrimStr, [part]) => trim_affix(input, part, meter, |text, part| text.strip_prefix(part)),
        (F::RTrimStr, [part]) => trim_affix(input, part, meter, |text, part| text.strip_suffix(part)),
        (F::Split, [by]) => split(expect_text(input)?, expect_text(by)?, meter),
        (F::Join, [by]) => join(input, expect_text(by)?, meter),
        (F::Index, [part]) => {
            Ok(find_positions(input, part, meter)?.first().cloned().unwrap_or(JqValue::Null))
        }
        (F::RIndex, [part]) => Ok(find_positions(input, part, meter)?.pop().unwrap_or(JqValue::Null)),
        (F::Indices, [part]) => JqValue::list(find_positions(input, part, meter)?, meter),
        (F::Test, [pattern]) => matches_pattern(input, pattern, "", engine),
        (F::TestWith, [pattern, JqValue::Null]) => matches_pattern(input, pattern, "", engine),
        (F::TestWith, [pattern, flags]) => matches_pattern(input, pattern, expect_text(flags)?, engine),
        (function, _) => Err(FilterStop::error(format!("{function:?} cannot be called like this"))),
    }
}

fn expect_text(value: &JqValue) -> Result<&str, FilterStop> {
    value
        .as_text()
        .map(|text| &**text)
        .ok_or_else(|| FilterStop::error(format!("{} is no string", value.short_form())))
}

/// The text, where every byte of it is looked at or copied.
fn expect_text_at_cost<'v>(value: &'v JqValue, meter: &StepBudget) -> Result<&'v str, FilterStop> {
    let text = expect_text(value)?;
    meter.spend_bytes(text.len())?;
    Ok(text)
}

fn to_number(input: &JqValue, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    match input {
        JqValue::Number(_) => Ok(input.clone()),
        input => serde_json::from_str(expect_text_at_cost(input, meter)?)
            .map(JqValue::Number)
            .map_err(|_| FilterStop::error(format!("{} is no number", input.short_form()))),
    }
}

/// What is no text, or does not begin or end like that, stays as it is.
fn trim_affix(
    input: &JqValue,
    part: &JqValue,
    meter: &StepBudget,
    strip: for<'a> fn(&'a str, &str) -> Option<&'a str>,
) -> Result<JqValue, FilterStop> {
    let both = input.as_text().zip(part.as_text());
    let Some(rest) = both.and_then(|(text, part)| strip(text, part)) else { return Ok(input.clone()) };
    meter.spend_bytes(input.as_text().map_or(0, |text| text.len()))?;
    Ok(JqValue::text(rest))
}

fn join(input: &JqValue, by: &str, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    let mut parts: Vec<Rc<str>> = vec![];
    for item in expect_list(input)? {
        parts.push(match item {
            JqValue::Null => "".into(),
            JqValue::Text(text) => text.clone(),
            JqValue::Number(number) => number.to_string().into(),
            JqValue::Bool(bool) => bool.to_string().into(),
            other => return Err(FilterStop::error(format!("{} cannot be joined", other.short_form()))),
        });
    }
    let mut all: Vec<&str> = vec![];
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            all.push(by);
        }
        all.push(part);
    }
    meter.spend(all.len())?;
    concatenate(&all, meter)
}

/// Where a part begins: in a text counted in characters, in an array by item or by run of items.
fn find_positions(input: &JqValue, part: &JqValue, meter: &StepBudget) -> Result<Vec<JqValue>, FilterStop> {
    let mut found = vec![];
    match (input, part) {
        (JqValue::Null, _) => {}
        (JqValue::Text(text), JqValue::Text(part)) => {
            meter.spend_bytes(text.len())?;
            if part.is_empty() {
                return Ok(found);
            }
            for (character, (at, _)) in text.char_indices().enumerate() {
                let begins = text.as_bytes()[at] == part.as_bytes()[0];
                if begins {
                    meter.spend_bytes(part.len())?;
                }
                if begins && text[at..].starts_with(&**part) {
                    found.push(JqValue::count(character));
                }
            }
        }
        (JqValue::List(items), JqValue::List(part)) => {
            if part.is_empty() {
                return Ok(found);
            }
            'places: for (index, window) in items.windows(part.len()).enumerate() {
                for (item, part) in window.iter().zip(part.iter()) {
                    if !item.equals(part, meter)? {
                        continue 'places;
                    }
                }
                found.push(JqValue::count(index));
            }
        }
        (JqValue::List(items), part) => {
            for (index, item) in items.iter().enumerate() {
                if item.equals(part, meter)? {
                    found.push(JqValue::count(index));
                }
            }
        }
        (input, part) => {
            return Err(FilterStop::error(format!(
                "{} cannot be looked for in {}",
                part.short_form(),
                input.short_form()
            )));
        }
    }
    Ok(found)
}

fn matches_pattern(
    input: &JqValue,
    pattern: &JqValue,
    flags: &str,
    engine: &Engine,
) -> Result<JqValue, FilterStop> {
    let subject = expect_text(input)?;
    let pattern = engine.compile_pattern(expect_text(pattern)?, flags)?;
    // Matching takes linear time, but a large pattern may look at each byte once for each of its parts.
    let each = usize::try_from(1 + pattern.units / UNITS_OF_A_STEP).unwrap_or(usize::MAX);
    engine.meter.spend((1 + subject.len() / 8).saturating_mul(each))?;
    Ok(JqValue::Bool(pattern.regex.is_match(subject)))
}

/// A pattern that is ready, and what it costs to look at a character with it.
pub(in super::super) struct Compiled {
    regex: Regex,
    units: u64,
}

/// A pattern in the syntax of the `regex` crate: without look-around and back-references, and so without surprises.
pub(in super::super) fn compile_pattern(
    pattern: &str,
    flags: &str,
    meter: &StepBudget,
) -> Result<Compiled, FilterStop> {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
    let mut written = String::new();
    for flag in flags.chars() {
        match flag {
            'i' => {
                builder.case_insensitive(true);
                written = "(?i)".into();
            }
            's' => _ = builder.dot_matches_new_line(true),
            // About which match is meant, which makes no difference to whether there is one.
            'g' | 'n' | 'l' | 'p' => {}
            // With `x` a blank is none, so what a pattern costs could not be told from its text.
            other => return Err(FilterStop::error(format!("`{other}` is no flag of a pattern"))),
        }
    }
    written.push_str(pattern);
    let units = helve_tool::pattern_units(&written).map_err(FilterStop::error)?;
    meter.spend(PATTERN_STEPS.saturating_add(usize::try_from(units).unwrap_or(usize::MAX)))?;
    let regex = builder.build();
    let regex =
        regex.map_err(|error| FilterStop::error(format!("the pattern `{pattern}` is wrong: {error}")))?;
    Ok(Compiled { regex, units })
}
