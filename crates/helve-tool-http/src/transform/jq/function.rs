//! Plain functions: a value and the values of the arguments in, a value out.

mod order;
mod text;

use super::eval::Engine;
use super::operator::{add, concatenate};
use super::syntax::Function;
use super::value::{FilterStop, JqValue, ObjectMembers, StepBudget};

pub(super) use self::order::{order_items, sort_stable};
pub(super) use self::text::{Compiled, compile_pattern};

pub(super) fn apply_function(
    function: Function,
    input: &JqValue,
    given: &[JqValue],
    engine: &Engine,
) -> Result<JqValue, FilterStop> {
    use Function as F;
    let meter = &engine.meter;
    match (function, given) {
        (F::Not, _) => Ok(JqValue::Bool(!input.is_true())),
        (F::Type, _) => Ok(JqValue::text(input.kind())),
        (F::Length, _) => length(input, meter),
        (F::Keys | F::KeysUnsorted, _) => keys(input, meter),
        (F::Has, [key]) => has_key(input, key),
        (F::In, [object]) => has_key(object, input),
        (F::Contains, [part]) => Ok(JqValue::Bool(contains(input, part, meter)?)),
        (F::Inside, [whole]) => Ok(JqValue::Bool(contains(whole, input, meter)?)),
        (F::Add, _) => add_all(&engine.list_items(input)?, meter),
        (F::Flatten, _) => flatten(input, f64::INFINITY, meter),
        (F::FlattenTo, [depth]) => match depth.as_f64() {
            Some(depth) if depth >= 0.0 => flatten(input, depth, meter),
            _ => Err(FilterStop::error("the depth of `flatten` is a number from 0")),
        },
        (F::Reverse, _) => reverse(input, meter),
        (F::Transpose, _) => transpose(input, engine),
        (F::ToEntries, _) => to_entries(input, meter),
        (F::FromEntries, _) => from_entries(input, engine),
        (F::Abs | F::Abs2, _) => round_number(input, f64::abs),
        (F::Ceil, _) => round_number(input, f64::ceil),
        (F::Floor, _) => round_number(input, f64::floor),
        (F::Round, _) => round_number(input, f64::round),
        (F::Sqrt, _) => round_number(input, f64::sqrt),
        (F::Sort | F::Unique | F::Min | F::Max, _) => {
            let items = expect_list(input)?.iter();
            order_items(function, items.map(|item| (item.clone(), item.clone())).collect(), meter)
        }
        (function, given) => text::apply_text_function(function, input, given, engine),
    }
}

fn expect_list(value: &JqValue) -> Result<&[JqValue], FilterStop> {
    match value {
        JqValue::List(items) => Ok(items),
        other => Err(FilterStop::error(format!("{} is no array", other.short_form()))),
    }
}

fn round_number(input: &JqValue, round: fn(f64) -> f64) -> Result<JqValue, FilterStop> {
    let number =
        input.as_f64().ok_or_else(|| FilterStop::error(format!("{} is no number", input.short_form())))?;
    Ok(JqValue::number(round(number)))
}

fn length(input: &JqValue, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    match input {
        JqValue::Null => Ok(JqValue::count(0)),
        JqValue::Bool(_) => Err(FilterStop::error(format!("{} has no length", input.short_form()))),
        JqValue::Number(_) => round_number(input, f64::abs),
        JqValue::Text(text) => {
            meter.spend_bytes(text.len())?;
            Ok(JqValue::count(text.chars().count()))
        }
        JqValue::List(items) => Ok(JqValue::count(items.len())),
        JqValue::Object(members) => Ok(JqValue::count(members.len())),
    }
}

fn keys(input: &JqValue, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    match input {
        JqValue::List(items) => JqValue::list((0..items.len()).map(JqValue::count).collect(), meter),
        JqValue::Object(members) => {
            JqValue::list(members.keys().cloned().map(JqValue::Text).collect(), meter)
        }
        other => Err(FilterStop::error(format!("{} has no keys", other.short_form()))),
    }
}

fn has_key(value: &JqValue, key: &JqValue) -> Result<JqValue, FilterStop> {
    match (value, key) {
        (JqValue::Object(members), JqValue::Text(name)) => Ok(JqValue::Bool(members.contains_key(&**name))),
        (JqValue::List(items), JqValue::Number(_)) => {
            let index = key.as_f64().unwrap_or(-1.0);
            Ok(JqValue::Bool(index >= 0.0 && index < items.len() as f64))
        }
        _ => Err(FilterStop::error(format!("{} cannot have {}", value.short_form(), key.short_form()))),
    }
}

/// Depth is bounded where values are made.
fn contains(whole: &JqValue, part: &JqValue, meter: &StepBudget) -> Result<bool, FilterStop> {
    meter.spend(1)?;
    match (whole, part) {
        (JqValue::Object(whole), JqValue::Object(part)) => {
            for (name, part) in part.iter() {
                let held = whole.get(name).map(|held| contains(held, part, meter));
                if !held.transpose()?.unwrap_or(false) {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (JqValue::List(whole), JqValue::List(part)) => {
            'parts: for part in part.iter() {
                for held in whole.iter() {
                    meter.spend(1)?;
                    if held.kind() == part.kind() && contains(held, part, meter)? {
                        continue 'parts;
                    }
                }
                return Ok(false);
            }
            Ok(true)
        }
        (JqValue::Text(whole), JqValue::Text(part)) => {
            meter.spend_bytes(whole.len())?;
            Ok(whole.contains(&**part))
        }
        (whole, part) if whole.kind() == part.kind() => whole.equals(part, meter),
        _ => Err(FilterStop::error(format!("{} cannot contain {}", whole.short_form(), part.short_form()))),
    }
}

/// Null if there is nothing. Texts and arrays are put together at once, not one by one.
pub(super) fn add_all(items: &[JqValue], meter: &StepBudget) -> Result<JqValue, FilterStop> {
    let texts: Option<Vec<&str>> = items.iter().map(|item| item.as_text().map(|text| &**text)).collect();
    if let Some(texts) = texts.filter(|texts| !texts.is_empty()) {
        return concatenate(&texts, meter);
    }
    let lists: Option<Vec<&[JqValue]>> = items.iter().map(|item| expect_list(item).ok()).collect();
    if let Some(lists) = lists.filter(|lists| !lists.is_empty()) {
        meter.spend(lists.iter().map(|list| list.len()).sum())?;
        return JqValue::list(lists.concat(), meter);
    }
    items.iter().try_fold(JqValue::Null, |sum, item| add(&sum, item, meter))
}

fn flatten(input: &JqValue, depth: f64, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    fn flatten_into(
        items: &[JqValue],
        depth: f64,
        flat: &mut Vec<JqValue>,
        meter: &StepBudget,
    ) -> Result<(), FilterStop> {
        meter.spend(1 + items.len())?;
        for item in items {
            match item {
                JqValue::List(inner) if depth > 0.0 => flatten_into(inner, depth - 1.0, flat, meter)?,
                item => flat.push(item.clone()),
            }
        }
        Ok(())
    }
    let mut flat = vec![];
    match input {
        JqValue::Object(members) => {
            let items: Vec<JqValue> = members.values().cloned().collect();
            flatten_into(&items, depth, &mut flat, meter)?;
        }
        input => flatten_into(expect_list(input)?, depth, &mut flat, meter)?,
    }
    JqValue::list(flat, meter)
}

fn reverse(input: &JqValue, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    match input {
        JqValue::Null => JqValue::list(vec![], meter),
        JqValue::Text(text) => {
            meter.spend_bytes(text.len())?;
            Ok(JqValue::text(&text.chars().rev().collect::<String>()))
        }
        input => JqValue::list(expect_list(input)?.iter().rev().cloned().collect(), meter),
    }
}

fn transpose(input: &JqValue, engine: &Engine) -> Result<JqValue, FilterStop> {
    let rows = expect_list(input)?.iter().map(expect_list).collect::<Result<Vec<_>, _>>()?;
    let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let mut columns = vec![];
    for column in 0..width {
        let cells = rows.iter().map(|row| row.get(column).cloned().unwrap_or(JqValue::Null));
        columns.push(JqValue::list(cells.collect(), &engine.meter)?);
    }
    JqValue::list(columns, &engine.meter)
}

pub(super) fn to_entries(input: &JqValue, meter: &StepBudget) -> Result<JqValue, FilterStop> {
    let JqValue::Object(members) = input else {
        return Err(FilterStop::error(format!("{} has no members", input.short_form())));
    };
    let entry = |(name, value): (&std::rc::Rc<str>, &JqValue)| {
        let entry: ObjectMembers =
            [("key".into(), JqValue::Text(name.clone())), ("value".into(), value.clone())].into();
        JqValue::object(entry, meter)
    };
    JqValue::list(members.iter().map(entry).collect::<Result<_, _>>()?, meter)
}

pub(super) fn from_entries(input: &JqValue, engine: &Engine) -> Result<JqValue, FilterStop> {
    let mut made = ObjectMembers::new();
    for entry in engine.list_items(input)? {
        let JqValue::Object(entry) = &entry else {
            return Err(FilterStop::error(format!(
                "{} is no entry with `key` and `value`",
                entry.short_form()
            )));
        };
        let found = |names: &[&str], wanted: fn(&JqValue) -> bool| {
            names.iter().find_map(|name| entry.get(*name).filter(|value| wanted(value))).cloned()
        };
        let key = found(&["key"], |key| !matches!(key, JqValue::Null));
        let key = key.or_else(|| found(&["k", "name", "Name", "K", "Key"], JqValue::is_true));
        let key = match key.unwrap_or(JqValue::Null) {
            JqValue::Text(name) => name,
            other => other.to_json(&engine.meter)?.to_string().into(),
        };
        let value = found(&["value", "v", "Value", "V"], |_| true);
        made.insert(key, value.unwrap_or(JqValue::Null));
    }
    JqValue::object(made, &engine.meter)
}
