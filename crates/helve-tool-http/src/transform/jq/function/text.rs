//! Functions of text.

use std::rc::Rc;

use regex::{Regex, RegexBuilder};

use super::list;
use crate::json;
use crate::transform::jq::eval::Engine;
use crate::transform::jq::operator::{joined, split};
use crate::transform::jq::syntax::Function;
use crate::transform::jq::value::{Meter, Stop, Val};

/// What a pattern may take once it is compiled.
const PATTERN_BYTES_MAX: usize = 256 << 10;
/// Compiling a pattern costs as much as many steps.
const PATTERN_STEPS: usize = 5_000;
/// Units of a pattern that count as one more for each character that is looked at.
const UNITS_OF_A_STEP: u64 = 64;

pub(super) fn apply(function: Function, input: &Val, given: &[Val], engine: &Engine) -> Result<Val, Stop> {
    use Function as F;
    let meter = &engine.meter;
    match (function, given) {
        (F::ToText, _) if input.as_text().is_some() => Ok(input.clone()),
        (F::ToText | F::ToJson, _) => Ok(Val::text(&input.to_json(meter)?.to_string())),
        (F::FromJson, _) => {
            let written = text(input)?;
            meter.spend_bytes(written.len() * 8)?;
            json::parse(written.as_bytes()).map(|value| Val::from_json(&value)).map_err(Stop::error)
        }
        (F::ToNumber, _) => to_number(input, meter),
        (F::AsciiDowncase, _) => Ok(Val::text(&paid(input, meter)?.to_ascii_lowercase())),
        (F::AsciiUpcase, _) => Ok(Val::text(&paid(input, meter)?.to_ascii_uppercase())),
        (F::Utf8Length, _) => Ok(Val::count(text(input)?.len())),
        (F::Trim, _) => Ok(Val::text(paid(input, meter)?.trim())),
        (F::LTrim, _) => Ok(Val::text(paid(input, meter)?.trim_start())),
        (F::RTrim, _) => Ok(Val::text(paid(input, meter)?.trim_end())),
        (F::StartsWith, [part]) => Ok(Val::Bool(text(input)?.starts_with(paid(part, meter)?))),
        (F::EndsWith, [part]) => Ok(Val::Bool(text(input)?.ends_with(paid(part, meter)?))),
        (F::LTrimStr, [part]) => trimmed(input, part, meter, |text, part| text.strip_prefix(part)),
        (F::RTrimStr, [part]) => trimmed(input, part, meter, |text, part| text.strip_suffix(part)),
        (F::Split, [by]) => split(text(input)?, text(by)?, meter),
        (F::Join, [by]) => join(input, text(by)?, meter),
        (F::Index, [part]) => Ok(places(input, part, meter)?.first().cloned().unwrap_or(Val::Null)),
        (F::RIndex, [part]) => Ok(places(input, part, meter)?.pop().unwrap_or(Val::Null)),
        (F::Indices, [part]) => Val::list(places(input, part, meter)?, meter),
        (F::Test, [pattern]) => test(input, pattern, "", engine),
        (F::TestWith, [pattern, Val::Null]) => test(input, pattern, "", engine),
        (F::TestWith, [pattern, flags]) => test(input, pattern, text(flags)?, engine),
        (function, _) => Err(Stop::error(format!("{function:?} cannot be called like this"))),
    }
}

fn text(value: &Val) -> Result<&str, Stop> {
    value.as_text().map(|text| &**text).ok_or_else(|| Stop::error(format!("{} is no string", value.sketch())))
}

/// The text, where every byte of it is looked at or copied.
fn paid<'v>(value: &'v Val, meter: &Meter) -> Result<&'v str, Stop> {
    let text = text(value)?;
    meter.spend_bytes(text.len())?;
    Ok(text)
}

fn to_number(input: &Val, meter: &Meter) -> Result<Val, Stop> {
    match input {
        Val::Number(_) => Ok(input.clone()),
        input => serde_json::from_str(paid(input, meter)?)
            .map(Val::Number)
            .map_err(|_| Stop::error(format!("{} is no number", input.sketch()))),
    }
}

/// What is no text, or does not begin or end like that, stays as it is.
fn trimmed(
    input: &Val,
    part: &Val,
    meter: &Meter,
    strip: for<'a> fn(&'a str, &str) -> Option<&'a str>,
) -> Result<Val, Stop> {
    let both = input.as_text().zip(part.as_text());
    let Some(rest) = both.and_then(|(text, part)| strip(text, part)) else { return Ok(input.clone()) };
    meter.spend_bytes(input.as_text().map_or(0, |text| text.len()))?;
    Ok(Val::text(rest))
}

fn join(input: &Val, by: &str, meter: &Meter) -> Result<Val, Stop> {
    let mut parts: Vec<Rc<str>> = vec![];
    for item in list(input)? {
        parts.push(match item {
            Val::Null => "".into(),
            Val::Text(text) => text.clone(),
            Val::Number(number) => number.to_string().into(),
            Val::Bool(bool) => bool.to_string().into(),
            other => return Err(Stop::error(format!("{} cannot be joined", other.sketch()))),
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
    joined(&all, meter)
}

/// Where a part begins: in a text counted in characters, in an array by item or by run of items.
fn places(input: &Val, part: &Val, meter: &Meter) -> Result<Vec<Val>, Stop> {
    let mut found = vec![];
    match (input, part) {
        (Val::Null, _) => {}
        (Val::Text(text), Val::Text(part)) => {
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
                    found.push(Val::count(character));
                }
            }
        }
        (Val::List(items), Val::List(part)) => {
            if part.is_empty() {
                return Ok(found);
            }
            'places: for (index, window) in items.windows(part.len()).enumerate() {
                for (item, part) in window.iter().zip(part.iter()) {
                    if !item.equals(part, meter)? {
                        continue 'places;
                    }
                }
                found.push(Val::count(index));
            }
        }
        (Val::List(items), part) => {
            for (index, item) in items.iter().enumerate() {
                if item.equals(part, meter)? {
                    found.push(Val::count(index));
                }
            }
        }
        (input, part) => {
            return Err(Stop::error(format!("{} cannot be looked for in {}", part.sketch(), input.sketch())));
        }
    }
    Ok(found)
}

fn test(input: &Val, pattern: &Val, flags: &str, engine: &Engine) -> Result<Val, Stop> {
    let subject = text(input)?;
    let pattern = engine.pattern(text(pattern)?, flags)?;
    // Matching takes linear time, but a large pattern may look at each byte once for each of its parts.
    let each = usize::try_from(1 + pattern.units / UNITS_OF_A_STEP).unwrap_or(usize::MAX);
    engine.meter.spend((1 + subject.len() / 8).saturating_mul(each))?;
    Ok(Val::Bool(pattern.regex.is_match(subject)))
}

/// A pattern that is ready, and what it costs to look at a character with it.
pub(in super::super) struct Compiled {
    regex: Regex,
    units: u64,
}

/// A pattern in the syntax of the `regex` crate: without look-around and back-references, and so without surprises.
pub(in super::super) fn compile(pattern: &str, flags: &str, meter: &Meter) -> Result<Compiled, Stop> {
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
            other => return Err(Stop::error(format!("`{other}` is no flag of a pattern"))),
        }
    }
    written.push_str(pattern);
    let units = helve_tool::pattern_units(&written).map_err(Stop::error)?;
    meter.spend(PATTERN_STEPS.saturating_add(usize::try_from(units).unwrap_or(usize::MAX)))?;
    let regex = builder.build();
    let regex = regex.map_err(|error| Stop::error(format!("the pattern `{pattern}` is wrong: {error}")))?;
    Ok(Compiled { regex, units })
}
