//! Steps into a value, and the way that they make.

use std::rc::Rc;

use super::{At, Ended, Engine};
use crate::transform::jq::value::{Members, Meter, Stop, Val};

/// A longer way leads nowhere.
const LENGTH_MAX: u16 = 256;

/// Whether the way is kept.
#[derive(Debug, Clone)]
pub(super) enum Track {
    Off,
    On(Option<Rc<Link>>),
}

#[derive(Debug)]
pub(super) struct Link {
    before: Option<Rc<Self>>,
    way: Way,
    length: u16,
}

/// One step.
#[derive(Debug, Clone)]
pub(super) enum Way {
    Key(Val),
    Slice(Option<f64>, Option<f64>),
}

impl Way {
    pub(super) fn slice(from: &Val, to: &Val) -> Result<Self, Stop> {
        let bound = |value: &Val| match value {
            Val::Null => Ok(None),
            Val::Number(number) => Ok(number.as_f64()),
            other => Err(Stop::error(format!("the bounds of a slice are numbers, not {}", other.sketch()))),
        };
        Ok(Self::Slice(bound(from)?, bound(to)?))
    }

    /// As `path(f)` shows it.
    pub(super) fn shown(&self, meter: &Meter) -> Result<Val, Stop> {
        let bound = |bound: Option<f64>| bound.map_or(Val::Null, Val::number);
        match self {
            Self::Key(key) => Ok(key.clone()),
            Self::Slice(from, to) => {
                let members: Members =
                    [("start".into(), bound(*from)), ("end".into(), bound(*to))].into_iter().collect();
                Val::object(members, meter)
            }
        }
    }

    /// As `getpath`, `setpath` and `delpaths` are told it.
    pub(super) fn read(value: &Val) -> Result<Self, Stop> {
        match value {
            Val::Object(bounds) => {
                let bound = |name: &str| bounds.get(name).cloned().unwrap_or(Val::Null);
                Self::slice(&bound("start"), &bound("end"))
            }
            key => Ok(Self::Key(key.clone())),
        }
    }
}

impl Track {
    fn then(&self, way: &Way) -> Result<Self, Stop> {
        let Self::On(before) = self else { return Ok(Self::Off) };
        let length = before.as_ref().map_or(0, |link| link.length) + 1;
        if length > LENGTH_MAX {
            return Err(Stop::Exhausted(format!("a path has more than {LENGTH_MAX} steps")));
        }
        Ok(Self::On(Some(Rc::new(Link { before: before.clone(), way: way.clone(), length }))))
    }

    pub(super) fn ways(&self) -> Vec<Way> {
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
pub(super) fn step(at: &At, way: Way, meter: &Meter) -> Result<At, Stop> {
    let value = match &way {
        Way::Key(key) => member(&at.value, key)?,
        Way::Slice(from, to) => slice(&at.value, *from, *to, meter)?,
    };
    Ok(At { value, track: at.track.then(&way)? })
}

fn member(value: &Val, key: &Val) -> Result<Val, Stop> {
    match (value, key) {
        (Val::Object(members), Val::Text(name)) => Ok(members.get(&**name).cloned().unwrap_or(Val::Null)),
        (Val::List(items), Val::Number(_)) => {
            let index = place(key, items.len());
            Ok(index.and_then(|index| items.get(index)).cloned().unwrap_or(Val::Null))
        }
        (Val::Null, Val::Text(_) | Val::Number(_) | Val::Null) => Ok(Val::Null),
        (value, Val::Text(name)) => Err(Stop::error(format!("{} has no member `{name}`", value.sketch()))),
        (value, key) => Err(Stop::error(format!("{} has no place {}", value.sketch(), key.sketch()))),
    }
}

/// The index that a number means in a list of this length; negative ones count from the end.
pub(super) fn place(key: &Val, length: usize) -> Option<usize> {
    let index = key.as_f64()?.floor();
    let index = if index < 0.0 { index + length as f64 } else { index };
    (index >= 0.0 && index < usize::MAX as f64).then_some(index as usize)
}

/// The bounds that a slice means in something of this length.
pub(super) fn bounds(from: Option<f64>, to: Option<f64>, length: usize) -> (usize, usize) {
    let length = length as f64;
    let within = |bound: f64| (if bound < 0.0 { bound + length } else { bound }).clamp(0.0, length);
    let from = within(from.unwrap_or(0.0)).floor() as usize;
    let to = within(to.unwrap_or(length)).ceil() as usize;
    (from, to.max(from))
}

fn slice(value: &Val, from: Option<f64>, to: Option<f64>, meter: &Meter) -> Result<Val, Stop> {
    match value {
        Val::Null => Ok(Val::Null),
        Val::List(items) => {
            let (from, to) = bounds(from, to, items.len());
            Val::list(items[from..to].to_vec(), meter)
        }
        Val::Text(text) => {
            meter.spend_bytes(text.len())?;
            let (from, to) = bounds(from, to, text.chars().count());
            let part: String = text.chars().skip(from).take(to - from).collect();
            Ok(Val::text(&part))
        }
        other => Err(Stop::error(format!("{} has no slices", other.sketch()))),
    }
}

impl Engine {
    pub(super) fn iterate(&self, at: &At, out: &mut Vec<At>) -> Ended {
        match &at.value {
            Val::List(items) => {
                self.meter.spend(items.len())?;
                for (index, item) in items.iter().enumerate() {
                    let track = at.track.then(&Way::Key(Val::count(index)))?;
                    out.push(At { value: item.clone(), track });
                }
                Ok(())
            }
            Val::Object(members) => {
                self.meter.spend(members.len())?;
                for (name, member) in members.iter() {
                    let track = at.track.then(&Way::Key(Val::Text(name.clone())))?;
                    out.push(At { value: member.clone(), track });
                }
                Ok(())
            }
            other => Err(Stop::error(format!("{} has no items", other.sketch()))),
        }
    }

    /// The value and all that is in it. Depth is bounded where values are made.
    pub(super) fn descend(&self, at: &At, out: &mut Vec<At>) -> Ended {
        self.meter.spend(1)?;
        out.push(at.clone());
        if matches!(at.value, Val::List(_) | Val::Object(_)) {
            let mut inner = vec![];
            self.iterate(at, &mut inner)?;
            inner.iter().try_for_each(|at| self.descend(at, out))?;
        }
        Ok(())
    }
}
