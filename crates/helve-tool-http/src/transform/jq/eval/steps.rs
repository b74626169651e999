//! Steps into a value, and the way that they make.

use std::rc::Rc;

use super::{Engine, EvalResult, TrackedValue};
use crate::transform::jq::value::{FilterStop, JqValue, ObjectMembers, StepBudget};

/// A longer way leads nowhere.
const LENGTH_MAX: u16 = 256;

/// Whether the way is kept.
#[derive(Debug, Clone)]
pub(super) enum PathTracking {
    Off,
    On(Option<Rc<PathLink>>),
}

#[derive(Debug)]
pub(super) struct PathLink {
    before: Option<Rc<Self>>,
    way: PathElement,
    length: u16,
}

/// One step.
#[derive(Debug, Clone)]
pub(super) enum PathElement {
    Key(JqValue),
    Slice(Option<f64>, Option<f64>),
}

impl PathElement {
    pub(super) fn slice(from: &JqValue, to: &JqValue) -> Result<Self, FilterStop> {
        let bound = |value: &JqValue| match value {
            JqValue::Null => Ok(None),
            JqValue::Number(number) => Ok(number.as_f64()),
            other => Err(FilterStop::error(format!(
                "the bounds of a slice are numbers, not {}",
                other.short_form()
            ))),
        };
        Ok(Self::Slice(bound(from)?, bound(to)?))
    }

    /// As `path(f)` shows it.
    pub(super) fn to_value(&self, meter: &StepBudget) -> Result<JqValue, FilterStop> {
        let bound = |bound: Option<f64>| bound.map_or(JqValue::Null, JqValue::number);
        match self {
            Self::Key(key) => Ok(key.clone()),
            Self::Slice(from, to) => {
                let members: ObjectMembers =
                    [("start".into(), bound(*from)), ("end".into(), bound(*to))].into_iter().collect();
                JqValue::object(members, meter)
            }
        }
    }

    /// As `getpath`, `setpath` and `delpaths` are told it.
    pub(super) fn from_value(value: &JqValue) -> Result<Self, FilterStop> {
        match value {
            JqValue::Object(bounds) => {
                let bound = |name: &str| bounds.get(name).cloned().unwrap_or(JqValue::Null);
                Self::slice(&bound("start"), &bound("end"))
            }
            key => Ok(Self::Key(key.clone())),
        }
    }
}

impl PathTracking {
    fn append(&self, way: &PathElement) -> Result<Self, FilterStop> {
        let Self::On(before) = self else { return Ok(Self::Off) };
        let length = before.as_ref().map_or(0, |link| link.length) + 1;
        if length > LENGTH_MAX {
            return Err(FilterStop::Exhausted(format!("a path has more than {LENGTH_MAX} steps")));
        }
        Ok(Self::On(Some(Rc::new(PathLink { before: before.clone(), way: way.clone(), length }))))
    }

    pub(super) fn elements(&self) -> Vec<PathElement> {
        let mut ways = vec![];
        let mut link = match self {
            Self::On(link) => link.as_ref(),
            Self::Off => None,
        };
        while let Some(one) = link {
            ways.push(one.way.clone());
            link = one.before.as_ref();
        }
        ways.reverse();
        ways
    }
}

/// The value that a step leads to.
pub(super) fn take_element(
    at: &TrackedValue,
    way: PathElement,
    meter: &StepBudget,
) -> Result<TrackedValue, FilterStop> {
    let value = match &way {
        PathElement::Key(key) => get_member(&at.value, key)?,
        PathElement::Slice(from, to) => slice(&at.value, *from, *to, meter)?,
    };
    Ok(TrackedValue { value, track: at.track.append(&way)? })
}

fn get_member(value: &JqValue, key: &JqValue) -> Result<JqValue, FilterStop> {
    match (value, key) {
        (JqValue::Object(members), JqValue::Text(name)) => {
            Ok(members.get(&**name).cloned().unwrap_or(JqValue::Null))
        }
        (JqValue::List(items), JqValue::Number(_)) => {
            let index = list_index(key, items.len());
            Ok(index.and_then(|index| items.get(index)).cloned().unwrap_or(JqValue::Null))
        }
        (JqValue::Null, JqValue::Text(_) | JqValue::Number(_) | JqValue::Null) => Ok(JqValue::Null),
        (value, JqValue::Text(name)) => {
            Err(FilterStop::error(format!("{} has no member `{name}`", value.short_form())))
        }
        (value, key) => {
            Err(FilterStop::error(format!("{} has no place {}", value.short_form(), key.short_form())))
        }
    }
}

/// The index that a number means in a list of this length; negative ones count from the end.
pub(super) fn list_index(key: &JqValue, length: usize) -> Option<usize> {
    let index = key.as_f64()?.floor();
    let index = if index < 0.0 { index + length as f64 } else { index };
    (index >= 0.0 && index < usize::MAX as f64).then_some(index as usize)
}

/// The bounds that a slice means in something of this length.
pub(super) fn slice_bounds(from: Option<f64>, to: Option<f64>, length: usize) -> (usize, usize) {
    let length = length as f64;
    let within = |bound: f64| (if bound < 0.0 { bound + length } else { bound }).clamp(0.0, length);
    let from = within(from.unwrap_or(0.0)).floor() as usize;
    let to = within(to.unwrap_or(length)).ceil() as usize;
    (from, to.max(from))
}

fn slice(
    value: &JqValue,
    from: Option<f64>,
    to: Option<f64>,
    meter: &StepBudget,
) -> Result<JqValue, FilterStop> {
    match value {
        JqValue::Null => Ok(JqValue::Null),
        JqValue::List(items) => {
            let (from, to) = slice_bounds(from, to, items.len());
            JqValue::list(items[from..to].to_vec(), meter)
        }
        JqValue::Text(text) => {
            meter.spend_bytes(text.len())?;
            let (from, to) = slice_bounds(from, to, text.chars().count());
            let part: String = text.chars().skip(from).take(to - from).collect();
            Ok(JqValue::text(&part))
        }
        other => Err(FilterStop::error(format!("{} has no slices", other.short_form()))),
    }
}

impl Engine {
    pub(super) fn iterate(&self, at: &TrackedValue, out: &mut Vec<TrackedValue>) -> EvalResult {
        match &at.value {
            JqValue::List(items) => {
                self.meter.spend(items.len())?;
                for (index, item) in items.iter().enumerate() {
                    let track = at.track.append(&PathElement::Key(JqValue::count(index)))?;
                    out.push(TrackedValue { value: item.clone(), track });
                }
                Ok(())
            }
            JqValue::Object(members) => {
                self.meter.spend(members.len())?;
                for (name, member) in members.iter() {
                    let track = at.track.append(&PathElement::Key(JqValue::Text(name.clone())))?;
                    out.push(TrackedValue { value: member.clone(), track });
                }
                Ok(())
            }
            other => Err(FilterStop::error(format!("{} has no items", other.short_form()))),
        }
    }

    /// The value and all that is in it. Depth is bounded where values are made.
    pub(super) fn descend(&self, at: &TrackedValue, out: &mut Vec<TrackedValue>) -> EvalResult {
        self.meter.spend(1)?;
        out.push(at.clone());
        if matches!(at.value, JqValue::List(_) | JqValue::Object(_)) {
            let mut inner = vec![];
            self.iterate(at, &mut inner)?;
            inner.iter().try_for_each(|at| self.descend(at, out))?;
        }
        Ok(())
    }
}
