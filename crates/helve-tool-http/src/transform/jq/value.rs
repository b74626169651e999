//! Values while a filter works on them: cheap to copy, and bounded in depth.
//!
//! A container is shared until it is changed, so handing the whole answer to every part of a filter costs
//! nothing. What makes or walks one pays for it from the meter, also where sharing makes it look small.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Number, Value};

/// Values nested deeper than this are accidents, and would not survive being dropped.
const DEPTH_MAX: u16 = 256;

/// Why a filter gave no further value.
#[derive(Debug, Clone)]
pub(super) enum FilterStop {
    /// Can be caught by `try`, `?` and `//`.
    Error(JqValue),
    /// Cannot.
    Exhausted(String),
}

impl FilterStop {
    /// A filter may catch and keep it, so it does not quote what is long.
    pub(super) fn error(text: impl AsRef<str>) -> Self {
        const BYTES_MAX: usize = 1000;
        let text = text.as_ref();
        Self::Error(JqValue::text(&text[..text.floor_char_boundary(BYTES_MAX)]))
    }
}

/// What is left of the steps that a filter may take.
#[derive(Debug)]
pub(super) struct StepBudget {
    left: Cell<u64>,
}

impl StepBudget {
    pub(super) fn new(steps: u64) -> Self {
        Self { left: Cell::new(steps) }
    }

    pub(super) fn spend(&self, steps: usize) -> Result<(), FilterStop> {
        let left = self.left.get().checked_sub(steps as u64);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or_else(|| FilterStop::Exhausted("it takes too many steps".into()))
    }

    /// Text is cheaper than items.
    pub(super) fn spend_bytes(&self, bytes: usize) -> Result<(), FilterStop> {
        self.spend(1 + bytes / 64)
    }
}

#[derive(Debug, Clone)]
pub(super) enum JqValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(Rc<str>),
    List(Rc<List>),
    Object(Rc<Object>),
}

#[derive(Debug)]
pub(super) struct List {
    items: Vec<JqValue>,
    depth: u16,
}

#[derive(Debug)]
pub(super) struct Object {
    members: ObjectMembers,
    depth: u16,
}

pub(super) type ObjectMembers = BTreeMap<Rc<str>, JqValue>;

impl std::ops::Deref for List {
    type Target = [JqValue];

    fn deref(&self) -> &[JqValue] {
        &self.items
    }
}

impl std::ops::Deref for Object {
    type Target = ObjectMembers;

    fn deref(&self) -> &ObjectMembers {
        &self.members
    }
}

impl JqValue {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// A whole number is written as one, however it was computed.
    pub(super) fn number(number: f64) -> Self {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if number.fract() == 0.0 && number.abs() <= EXACT {
            return Self::Number(Number::from(number as i64));
        }
        // JSON has no infinity and no NaN; jq writes the one as the largest number and the other as null.
        match Number::from_f64(number.clamp(f64::MIN, f64::MAX)) {
            Some(number) => Self::Number(number),
            None => Self::Null,
        }
    }

    pub(super) fn count(count: usize) -> Self {
        Self::Number(Number::from(count as u64))
    }

    pub(super) fn list(items: Vec<Self>, meter: &StepBudget) -> Result<Self, FilterStop> {
        meter.spend(1 + items.len())?;
        let depth = container_depth(items.iter())?;
        Ok(Self::List(Rc::new(List { items, depth })))
    }

    pub(super) fn object(members: ObjectMembers, meter: &StepBudget) -> Result<Self, FilterStop> {
        meter.spend(1 + members.len())?;
        let depth = container_depth(members.values())?;
        Ok(Self::Object(Rc::new(Object { members, depth })))
    }

    fn depth(&self) -> u16 {
        match self {
            Self::List(list) => list.depth,
            Self::Object(object) => object.depth,
            _ => 0,
        }
    }

    pub(super) fn is_true(&self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false))
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }

    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&Rc<str>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The depth of what comes from outside was checked when it was parsed.
    pub(super) fn from_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::text(text),
            Value::Array(items) => {
                let items: Vec<Self> = items.iter().map(Self::from_json).collect();
                let depth = 1 + items.iter().map(Self::depth).max().unwrap_or(0);
                Self::List(Rc::new(List { items, depth }))
            }
            Value::Object(members) => {
                let members: ObjectMembers = members
                    .iter()
                    .map(|(name, value)| (name.as_str().into(), Self::from_json(value)))
                    .collect();
                let depth = 1 + members.values().map(Self::depth).max().unwrap_or(0);
                Self::Object(Rc::new(Object { members, depth }))
            }
        }
    }

    /// Walks what sharing may have made small, so it is paid for.
    pub(super) fn to_json(&self, meter: &StepBudget) -> Result<Value, FilterStop> {
        meter.spend(1)?;
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(*bool),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => {
                meter.spend_bytes(text.len())?;
                Value::String(text.to_string())
            }
            Self::List(list) => {
                Value::Array(list.iter().map(|item| item.to_json(meter)).collect::<Result<_, _>>()?)
            }
            Self::Object(object) => {
                let members = object.iter();
                let members = members.map(|(name, value)| Ok((name.to_string(), value.to_json(meter)?)));
                Value::Object(members.collect::<Result<_, FilterStop>>()?)
            }
        })
    }

    /// The total order of jq: null, false, true, numbers, strings, arrays, objects.
    pub(super) fn compare(&self, other: &Self, meter: &StepBudget) -> Result<Ordering, FilterStop> {
        meter.spend(1)?;
        Ok(match (self, other) {
            (Self::Number(a), Self::Number(b)) => compare_numbers(a, b),
            (Self::Text(a), Self::Text(b)) => {
                meter.spend_bytes(a.len().min(b.len()))?;
                a.cmp(b)
            }
            (Self::List(a), Self::List(b)) => {
                for (a, b) in a.iter().zip(b.iter()) {
                    let order = a.compare(b, meter)?;
                    if order.is_ne() {
                        return Ok(order);
                    }
                }
                a.len().cmp(&b.len())
            }
            (Self::Object(a), Self::Object(b)) => {
                meter.spend(a.len().min(b.len()))?;
                let names = a.keys().cmp(b.keys());
                if names.is_ne() {
                    return Ok(names);
                }
                for (a, b) in a.values().zip(b.values()) {
                    let order = a.compare(b, meter)?;
                    if order.is_ne() {
                        return Ok(order);
                    }
                }
                Ordering::Equal
            }
            _ => self.sort_rank().cmp(&other.sort_rank()),
        })
    }

    pub(super) fn equals(&self, other: &Self, meter: &StepBudget) -> Result<bool, FilterStop> {
        Ok(self.compare(other, meter)?.is_eq())
    }

    fn sort_rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(false) => 1,
            Self::Bool(true) => 2,
            Self::Number(_) => 3,
            Self::Text(_) => 4,
            Self::List(_) => 5,
            Self::Object(_) => 6,
        }
    }

    /// A short form for error messages.
    pub(super) fn short_form(&self) -> String {
        const CHARS_MAX: usize = 40;
        let short = |text: &str| match text.char_indices().nth(CHARS_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        match self {
            Self::Null => "null".into(),
            Self::Bool(bool) => format!("boolean ({bool})"),
            Self::Number(number) => format!("number ({number})"),
            Self::Text(text) => format!("string ({:?})", short(text)),
            Self::List(list) => format!("array (of {})", list.len()),
            Self::Object(object) => {
                let names: Vec<&str> = object.keys().take(5).map(|name| &**name).collect();
                format!("object (with {})", short(&names.join(", ")))
            }
        }
    }
}

fn container_depth<'a>(values: impl Iterator<Item = &'a JqValue>) -> Result<u16, FilterStop> {
    let depth = 1 + values.map(JqValue::depth).max().unwrap_or(0);
    if depth > DEPTH_MAX {
        return Err(FilterStop::Exhausted(format!("its value is nested deeper than {DEPTH_MAX} levels")));
    }
    Ok(depth)
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0)),
    }
}
