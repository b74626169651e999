//! Plain functions: a value and the values of the arguments in, a value out.

mod order;
mod text;

use super::eval::Engine;
use super::operator::{add, joined};
use super::syntax::Function;
use super::value::{Members, Meter, Stop, Val};

pub(super) use self::order::{ordered, sorted};
pub(super) use self::text::{Compiled, compile};

pub(super) fn apply(function: Function, input: &Val, given: &[Val], engine: &Engine) -> Result<Val, Stop> {
    use Function as F;
    let meter = &engine.meter;
    match (function, given) {
        (F::Not, _) => Ok(Val::Bool(!input.is_true())),
        (F::Type, _) => Ok(Val::text(input.kind())),
        (F::Length, _) => length(input, meter),
        (F::Keys | F::KeysUnsorted, _) => keys(input, meter),
        (F::Has, [key]) => has(input, key),
        (F::In, [object]) => has(object, input),
        (F::Contains, [part]) => Ok(Val::Bool(contains(input, part, meter)?)),
        (F::Inside, [whole]) => Ok(Val::Bool(contains(whole, input, meter)?)),
        (F::Add, _) => add_all(&engine.items(input)?, meter),
        (F::Flatten, _) => flatten(input, f64::INFINITY, meter),
        (F::FlattenTo, [depth]) => match depth.as_f64() {
            Some(depth) if depth >= 0.0 => flatten(input, depth, meter),
            _ => Err(Stop::error("the depth of `flatten` is a number from 0")),
        },
        (F::Reverse, _) => reverse(input, meter),
        (F::Transpose, _) => transpose(input, engine),
        (F::ToEntries, _) => to_entries(input, meter),
        (F::FromEntries, _) => from_entries(input, engine),
        (F::Abs | F::Abs2, _) => number(input, f64::abs),
        (F::Ceil, _) => number(input, f64::ceil),
        (F::Floor, _) => number(input, f64::floor),
        (F::Round, _) => number(input, f64::round),
        (F::Sqrt, _) => number(input, f64::sqrt),
        (F::Sort | F::Unique | F::Min | F::Max, _) => {
            let items = list(input)?.iter();
            ordered(function, items.map(|item| (item.clone(), item.clone())).collect(), meter)
        }
        (function, given) => text::apply(function, input, given, engine),
    }
}

fn list(value: &Val) -> Result<&[Val], Stop> {
    match value {
        Val::List(items) => Ok(items),
        other => Err(Stop::error(format!("{} is no array", other.sketch()))),
    }
}

fn number(input: &Val, round: fn(f64) -> f64) -> Result<Val, Stop> {
    let number = input.as_f64().ok_or_else(|| Stop::error(format!("{} is no number", input.sketch())))?;
    Ok(Val::number(round(number)))
}

fn length(input: &Val, meter: &Meter) -> Result<Val, Stop> {
    match input {
        Val::Null => Ok(Val::count(0)),
        Val::Bool(_) => Err(Stop::error(format!("{} has no length", input.sketch()))),
        Val::Number(_) => number(input, f64::abs),
        Val::Text(text) => {
            meter.spend_bytes(text.len())?;
            Ok(Val::count(text.chars().count()))
        }
        Val::List(items) => Ok(Val::count(items.len())),
        Val::Object(members) => Ok(Val::count(members.len())),
    }
}

fn keys(input: &Val, meter: &Meter) -> Result<Val, Stop> {
    match input {
        Val::List(items) => Val::list((0..items.len()).map(Val::count).collect(), meter),
        Val::Object(members) => Val::list(members.keys().cloned().map(Val::Text).collect(), meter),
        other => Err(Stop::error(format!("{} has no keys", other.sketch()))),
    }
}

fn has(value: &Val, key: &Val) -> Result<Val, Stop> {
    match (value, key) {
        (Val::Object(members), Val::Text(name)) => Ok(Val::Bool(members.contains_key(&**name))),
        (Val::List(items), Val::Number(_)) => {
            let index = key.as_f64().unwrap_or(-1.0);
            Ok(Val::Bool(index >= 0.0 && index < items.len() as f64))
        }
        _ => Err(Stop::error(format!("{} cannot have {}", value.sketch(), key.sketch()))),
    }
}

/// Depth is bounded where values are made.
fn contains(whole: &Val, part: &Val, meter: &Meter) -> Result<bool, Stop> {
    meter.spend(1)?;
    match (whole, part) {
        (Val::Object(whole), Val::Object(part)) => {
            for (name, part) in part.iter() {
                let held = whole.get(name).map(|held| contains(held, part, meter));
                if !held.transpose()?.unwrap_or(false) {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Val::List(whole), Val::List(part)) => {
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
        (Val::Text(whole), Val::Text(part)) => {
            meter.spend_bytes(whole.len())?;
            Ok(whole.contains(&**part))
        }
        (whole, part) if whole.kind() == part.kind() => whole.equals(part, meter),
        _ => Err(Stop::error(format!("{} cannot contain {}", whole.sketch(), part.sketch()))),
    }
}

/// Null if there is nothing. Texts and arrays are put together at once, not one by one.
pub(super) fn add_all(items: &[Val], meter: &Meter) -> Result<Val, Stop> {
    let texts: Option<Vec<&str>> = items.iter().map(|item| item.as_text().map(|text| &**text)).collect();
    if let Some(texts) = texts.filter(|texts| !texts.is_empty()) {
        return joined(&texts, meter);
    }
    let lists: Option<Vec<&[Val]>> = items.iter().map(|item| list(item).ok()).collect();
    if let Some(lists) = lists.filter(|lists| !lists.is_empty()) {
        meter.spend(lists.iter().map(|list| list.len()).sum())?;
        return Val::list(lists.concat(), meter);
    }
    items.iter().try_fold(Val::Null, |sum, item| add(&sum, item, meter))
}

fn flatten(input: &Val, depth: f64, meter: &Meter) -> Result<Val, Stop> {
    fn into(items: &[Val], depth: f64, flat: &mut Vec<Val>, meter: &Meter) -> Result<(), Stop> {
        meter.spend(1 + items.len())?;
        for item in items {
            match item {
                Val::List(inner) if depth > 0.0 => into(inner, depth - 1.0, flat, meter)?,
                item => flat.push(item.clone()),
            }
        }
        Ok(())
    }
    let mut flat = vec![];
    match input {
        Val::Object(members) => {
            let items: Vec<Val> = members.values().cloned().collect();
            into(&items, depth, &mut flat, meter)?;
        }
        input => into(list(input)?, depth, &mut flat, meter)?,
    }
    Val::list(flat, meter)
}

fn reverse(input: &Val, meter: &Meter) -> Result<Val, Stop> {
    match input {
        Val::Null => Val::list(vec![], meter),
        Val::Text(text) => {
            meter.spend_bytes(text.len())?;
            Ok(Val::text(&text.chars().rev().collect::<String>()))
        }
        input => Val::list(list(input)?.iter().rev().cloned().collect(), meter),
    }
}

fn transpose(input: &Val, engine: &Engine) -> Result<Val, Stop> {
    let rows = list(input)?.iter().map(list).collect::<Result<Vec<_>, _>>()?;
    let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let mut columns = vec![];
    for column in 0..width {
        let cells = rows.iter().map(|row| row.get(column).cloned().unwrap_or(Val::Null));
        columns.push(Val::list(cells.collect(), &engine.meter)?);
    }
    Val::list(columns, &engine.meter)
}

pub(super) fn to_entries(input: &Val, meter: &Meter) -> Result<Val, Stop> {
    let Val::Object(members) = input else {
        return Err(Stop::error(format!("{} has no members", input.sketch())));
    };
    let entry = |(name, value): (&std::rc::Rc<str>, &Val)| {
        let entry: Members =
            [("key".into(), Val::Text(name.clone())), ("value".into(), value.clone())].into();
        Val::object(entry, meter)
    };
    Val::list(members.iter().map(entry).collect::<Result<_, _>>()?, meter)
}

pub(super) fn from_entries(input: &Val, engine: &Engine) -> Result<Val, Stop> {
    let mut made = Members::new();
    for entry in engine.items(input)? {
        let Val::Object(entry) = &entry else {
            return Err(Stop::error(format!("{} is no entry with `key` and `value`", entry.sketch())));
        };
        let found = |names: &[&str], wanted: fn(&Val) -> bool| {
            names.iter().find_map(|name| entry.get(*name).filter(|value| wanted(value))).cloned()
        };
        let key = found(&["key"], |key| !matches!(key, Val::Null));
        let key = key.or_else(|| found(&["k", "name", "Name", "K", "Key"], Val::is_true));
        let key = match key.unwrap_or(Val::Null) {
            Val::Text(name) => name,
            other => other.to_json(&engine.meter)?.to_string().into(),
        };
        let value = found(&["value", "v", "Value", "V"], |_| true);
        made.insert(key, value.unwrap_or(Val::Null));
    }
    Val::object(made, &engine.meter)
}
