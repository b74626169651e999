//! What operators make of two values.

use std::collections::btree_map::Entry;

use serde_json::Number;

use super::syntax::JqOperator;
use super::value::{FilterStop, JqValue, ObjectMembers, StepBudget};

const TEXT_BYTES_MAX: usize = 4 << 20;

pub(super) fn apply_operator(
    operator: JqOperator,
    a: &JqValue,
    b: &JqValue,
    meter: &StepBudget,
) -> Result<JqValue, FilterStop> {
    match operator {
        JqOperator::Add => add(a, b, meter),
        JqOperator::Subtract => subtract(a, b, meter),
        JqOperator::Multiply => multiply(a, b, meter),
        JqOperator::Divide => divide(a, b, meter),
        JqOperator::Remainder => remainder(a, b),
        JqOperator::Equal => Ok(JqValue::Bool(a.compare(b, meter)?.is_eq())),
        JqOperator::Unequal => Ok(JqValue::Bool(a.compare(b, meter)?.is_ne())),
        JqOperator::Less => Ok(JqValue::Bool(a.compare(b, meter)?.is_lt())),
        JqOperator::LessOrEqual => Ok(JqValue::Bool(a.compare(b, meter)?.is_le())),
        JqOperator::Greater => Ok(JqValue::Bool(a.compare(b, meter)?.is_gt())),
        JqOperator::GreaterOrEqual => Ok(JqValue::Bool(a.compare(b, meter)?.is_ge())),
    }
}

fn type_error(a: &JqValue, b: &JqValue, verb: &str) -> FilterStop {
    FilterStop::error(format!("{} and {} cannot be {verb}", a.short_form(), b.short_form()))
}

/// Whole numbers stay exact where they fit.
fn calculate(
    a: &Number,
    b: &Number,
    exact: fn(i64, i64) -> Option<i64>,
    rounded: fn(f64, f64) -> f64,
) -> JqValue {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
        && let Some(result) = exact(a, b)
    {
        return JqValue::Number(Number::from(result));
    }
    JqValue::number(rounded(a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0)))
}

pub(super) fn add(a: &JqValue, b: &JqValue, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    match (a, b) {
        (JqValue::Null, other) | (other, JqValue::Null) => Ok(other.clone()),
        (JqValue::Number(a), JqValue::Number(b)) => Ok(calculate(a, b, i64::checked_add, |a, b| a + b)),
        (JqValue::Text(a), JqValue::Text(b)) => concatenate(&[a, b], meter),
        (JqValue::List(a), JqValue::List(b)) => {
            meter.spend(a.len() + b.len())?;
            JqValue::list([&a[..], &b[..]].concat(), meter)
        }
        (JqValue::Object(a), JqValue::Object(b)) => {
            meter.spend(a.len() + b.len())?;
            let mut members: ObjectMembers = (***a).clone();
            members.extend(b.iter().map(|(name, value)| (name.clone(), value.clone())));
            JqValue::object(members, meter)
        }
        _ => Err(type_error(a, b, "added")),
    }
}

/// Texts one behind the other.
pub(super) fn concatenate(texts: &[&str], meter: &StepBudget) -> Result<JqValue, FilterStop> {
    let bytes = texts.iter().map(|text| text.len()).sum();
    if bytes > TEXT_BYTES_MAX {
        return Err(FilterStop::Exhausted(format!("a text in it is larger than {TEXT_BYTES_MAX} bytes")));
    }
    meter.spend_bytes(bytes)?;
    Ok(JqValue::text(&texts.concat()))
}

fn subtract(a: &JqValue, b: &JqValue, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    match (a, b) {
        (JqValue::Number(a), JqValue::Number(b)) => Ok(calculate(a, b, i64::checked_sub, |a, b| a - b)),
        (JqValue::List(a), JqValue::List(b)) => {
            let mut kept = vec![];
            'items: for item in a.iter() {
                for gone in b.iter() {
                    if item.equals(gone, meter)? {
                        continue 'items;
                    }
                }
                kept.push(item.clone());
            }
            JqValue::list(kept, meter)
        }
        _ => Err(type_error(a, b, "subtracted")),
    }
}

fn multiply(a: &JqValue, b: &JqValue, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    match (a, b) {
        (JqValue::Number(a), JqValue::Number(b)) => Ok(calculate(a, b, i64::checked_mul, |a, b| a * b)),
        (JqValue::Text(text), JqValue::Number(times)) | (JqValue::Number(times), JqValue::Text(text)) => {
            let times = times.as_f64().unwrap_or(0.0);
            if times <= 0.0 {
                return Ok(JqValue::Null);
            }
            if text.len() as f64 * times > TEXT_BYTES_MAX as f64 {
                return Err(FilterStop::Exhausted(format!(
                    "a text in it is larger than {TEXT_BYTES_MAX} bytes"
                )));
            }
            let repeated = text.repeat((times as usize).max(1));
            meter.spend_bytes(repeated.len())?;
            Ok(JqValue::text(&repeated))
        }
        (JqValue::Object(a), JqValue::Object(b)) => merge(a, b, meter),
        _ => Err(type_error(a, b, "multiplied")),
    }
}

/// Objects in objects are merged as well; their depth is bounded where they are made.
fn merge(a: &ObjectMembers, b: &ObjectMembers, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    meter.spend(a.len() + b.len())?;
    let mut members = a.clone();
    for (name, new) in b {
        match (members.entry(name.clone()), new) {
            (Entry::Occupied(mut held), JqValue::Object(new)) => {
                let merged = match held.get() {
                    JqValue::Object(old) => merge(old, new, meter)?,
                    _ => JqValue::Object(new.clone()),
                };
                held.insert(merged);
            }
            (Entry::Occupied(mut held), new) => _ = held.insert(new.clone()),
            (Entry::Vacant(place), new) => _ = place.insert(new.clone()),
        }
    }
    JqValue::object(members, meter)
}

fn divide(a: &JqValue, b: &JqValue, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    match (a, b) {
        (JqValue::Number(_), JqValue::Number(by)) if by.as_f64() == Some(0.0) => {
            Err(FilterStop::error(format!("{} cannot be divided by zero", a.short_form())))
        }
        (JqValue::Number(a), JqValue::Number(b)) => Ok(calculate(a, b, |_, _| None, |a, b| a / b)),
        (JqValue::Text(text), JqValue::Text(by)) => split(text, by, meter),
        _ => Err(type_error(a, b, "divided")),
    }
}

pub(super) fn split(text: &str, by: &str, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    meter.spend_bytes(text.len())?;
    let parts: Vec<JqValue> = match (text, by) {
        ("", _) => vec![],
        (text, "") => text.chars().map(|c| JqValue::text(c.encode_utf8(&mut [0; 4]))).collect(),
        (text, by) => text.split(by).map(JqValue::text).collect(),
    };
    JqValue::list(parts, meter)
}

/// Of the whole parts, with the sign of what is divided.
fn remainder(a: &JqValue, b: &JqValue) -> Result<JqValue, FilterStop> {
    let (JqValue::Number(of), JqValue::Number(by)) = (a, b) else { return Err(type_error(a, b, "divided")) };
    let whole = |number: &Number| number.as_i64().unwrap_or(number.as_f64().unwrap_or(0.0) as i64);
    match whole(by) {
        0 => Err(FilterStop::error(format!("{} cannot be divided by zero", a.short_form()))),
        by => Ok(JqValue::Number(Number::from(whole(of).wrapping_rem(by)))),
    }
}
