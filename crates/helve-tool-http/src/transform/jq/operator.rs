//! What operators make of two values.

use std::collections::btree_map::Entry;

use serde_json::Number;

use super::syntax::Operator;
use super::value::{Members, Meter, Stop, Val};

const TEXT_BYTES_MAX: usize = 4 << 20;

pub(super) fn operate(operator: Operator, a: &Val, b: &Val, meter: &Meter) -> Result<Val, Stop> {
    match operator {
        Operator::Add => add(a, b, meter),
        Operator::Subtract => subtract(a, b, meter),
        Operator::Multiply => multiply(a, b, meter),
        Operator::Divide => divide(a, b, meter),
        Operator::Remainder => remainder(a, b),
        Operator::Equal => Ok(Val::Bool(a.compare(b, meter)?.is_eq())),
        Operator::Unequal => Ok(Val::Bool(a.compare(b, meter)?.is_ne())),
        Operator::Less => Ok(Val::Bool(a.compare(b, meter)?.is_lt())),
        Operator::LessOrEqual => Ok(Val::Bool(a.compare(b, meter)?.is_le())),
        Operator::Greater => Ok(Val::Bool(a.compare(b, meter)?.is_gt())),
        Operator::GreaterOrEqual => Ok(Val::Bool(a.compare(b, meter)?.is_ge())),
    }
}

fn unfit(a: &Val, b: &Val, verb: &str) -> Stop {
    Stop::error(format!("{} and {} cannot be {verb}", a.sketch(), b.sketch()))
}

/// Whole numbers stay exact where they fit.
fn calculate(
    a: &Number,
    b: &Number,
    exact: fn(i64, i64) -> Option<i64>,
    rounded: fn(f64, f64) -> f64,
) -> Val {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
        && let Some(result) = exact(a, b)
    {
        return Val::Number(Number::from(result));
    }
    Val::number(rounded(a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0)))
}

pub(super) fn add(a: &Val, b: &Val, meter: &Meter) -> Result<Val, Stop> {
    match (a, b) {
        (Val::Null, other) | (other, Val::Null) => Ok(other.clone()),
        (Val::Number(a), Val::Number(b)) => Ok(calculate(a, b, i64::checked_add, |a, b| a + b)),
        (Val::Text(a), Val::Text(b)) => joined(&[a, b], meter),
        (Val::List(a), Val::List(b)) => {
            meter.spend(a.len() + b.len())?;
            Val::list([&a[..], &b[..]].concat(), meter)
        }
        (Val::Object(a), Val::Object(b)) => {
            meter.spend(a.len() + b.len())?;
            let mut members: Members = (***a).clone();
            members.extend(b.iter().map(|(name, value)| (name.clone(), value.clone())));
            Val::object(members, meter)
        }
        _ => Err(unfit(a, b, "added")),
    }
}

/// Texts one behind the other.
pub(super) fn joined(texts: &[&str], meter: &Meter) -> Result<Val, Stop> {
    let bytes = texts.iter().map(|text| text.len()).sum();
    if bytes > TEXT_BYTES_MAX {
        return Err(Stop::Exhausted(format!("a text in it is larger than {TEXT_BYTES_MAX} bytes")));
    }
    meter.spend_bytes(bytes)?;
    Ok(Val::text(&texts.concat()))
}

fn subtract(a: &Val, b: &Val, meter: &Meter) -> Result<Val, Stop> {
    match (a, b) {
        (Val::Number(a), Val::Number(b)) => Ok(calculate(a, b, i64::checked_sub, |a, b| a - b)),
        (Val::List(a), Val::List(b)) => {
            let mut kept = vec![];
            'items: for item in a.iter() {
                for gone in b.iter() {
                    if item.equals(gone, meter)? {
                        continue 'items;
                    }
                }
                kept.push(item.clone());
            }
            Val::list(kept, meter)
        }
        _ => Err(unfit(a, b, "subtracted")),
    }
}

fn multiply(a: &Val, b: &Val, meter: &Meter) -> Result<Val, Stop> {
    match (a, b) {
        (Val::Number(a), Val::Number(b)) => Ok(calculate(a, b, i64::checked_mul, |a, b| a * b)),
        (Val::Text(text), Val::Number(times)) | (Val::Number(times), Val::Text(text)) => {
            let times = times.as_f64().unwrap_or(0.0);
            if times <= 0.0 {
                return Ok(Val::Null);
            }
            if text.len() as f64 * times > TEXT_BYTES_MAX as f64 {
                return Err(Stop::Exhausted(format!("a text in it is larger than {TEXT_BYTES_MAX} bytes")));
            }
            let repeated = text.repeat((times as usize).max(1));
            meter.spend_bytes(repeated.len())?;
            Ok(Val::text(&repeated))
        }
        (Val::Object(a), Val::Object(b)) => merge(a, b, meter),
        _ => Err(unfit(a, b, "multiplied")),
    }
}

/// Objects in objects are merged as well; their depth is bounded where they are made.
fn merge(a: &Members, b: &Members, meter: &Meter) -> Result<Val, Stop> {
    meter.spend(a.len() + b.len())?;
    let mut members = a.clone();
    for (name, new) in b {
        match (members.entry(name.clone()), new) {
            (Entry::Occupied(mut held), Val::Object(new)) => {
                let merged = match held.get() {
                    Val::Object(old) => merge(old, new, meter)?,
                    _ => Val::Object(new.clone()),
                };
                held.insert(merged);
            }
            (Entry::Occupied(mut held), new) => _ = held.insert(new.clone()),
            (Entry::Vacant(place), new) => _ = place.insert(new.clone()),
        }
    }
    Val::object(members, meter)
}

fn divide(a: &Val, b: &Val, meter: &Meter) -> Result<Val, Stop> {
    match (a, b) {
        (Val::Number(_), Val::Number(by)) if by.as_f64() == Some(0.0) => {
            Err(Stop::error(format!("{} cannot be divided by zero", a.sketch())))
        }
        (Val::Number(a), Val::Number(b)) => Ok(calculate(a, b, |_, _| None, |a, b| a / b)),
        (Val::Text(text), Val::Text(by)) => split(text, by, meter),
        _ => Err(unfit(a, b, "divided")),
    }
}

pub(super) fn split(text: &str, by: &str, meter: &Meter) -> Result<Val, Stop> {
    meter.spend_bytes(text.len())?;
    let parts: Vec<Val> = match (text, by) {
        ("", _) => vec![],
        (text, "") => text.chars().map(|c| Val::text(c.encode_utf8(&mut [0; 4]))).collect(),
        (text, by) => text.split(by).map(Val::text).collect(),
    };
    Val::list(parts, meter)
}

/// Of the whole parts, with the sign of what is divided.
fn remainder(a: &Val, b: &Val) -> Result<Val, Stop> {
    let (Val::Number(of), Val::Number(by)) = (a, b) else { return Err(unfit(a, b, "divided")) };
    let whole = |number: &Number| number.as_i64().unwrap_or(number.as_f64().unwrap_or(0.0) as i64);
    match whole(by) {
        0 => Err(Stop::error(format!("{} cannot be divided by zero", a.sketch()))),
        by => Ok(Val::Number(Number::from(whole(of).wrapping_rem(by)))),
    }
}
