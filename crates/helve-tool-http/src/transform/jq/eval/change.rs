//! Values with something changed at a place, or without it.

use super::steps::{Track, Way, bounds, place, step};
use super::{At, Ended, Engine, Scope};
use crate::transform::jq::function;
use crate::transform::jq::operator::operate;
use crate::transform::jq::syntax::{Filter, Operator};
use crate::transform::jq::value::{Stop, Val};

/// No list is made longer by naming a far place in it.
const PLACE_MAX: usize = 100_000;

impl Engine {
    /// The ways to all that a filter finds.
    pub(super) fn ways(&self, filter: &Filter, at: &At, scope: Scope<'_>) -> Result<Vec<Vec<Way>>, Stop> {
        let start = At { value: at.value.clone(), track: Track::On(None) };
        let mut found = vec![];
        self.eval(filter, &start, scope, &mut found)?;
        let ways: Vec<Vec<Way>> = found.iter().map(|at| at.track.ways()).collect();
        self.meter.spend(ways.iter().map(Vec::len).sum())?;
        Ok(ways)
    }

    /// `paths |= by`: by its first value; a place for which there is none goes away.
    pub(super) fn update(
        &self,
        paths: &Filter,
        by: &Filter,
        at: &At,
        scope: Scope<'_>,
        out: &mut Vec<At>,
    ) -> Ended {
        let (mut value, mut gone) = (at.value.clone(), vec![]);
        for way in self.ways(paths, at, scope)? {
            let old = self.get(&value, &way)?;
            let mut new = vec![];
            let ended = self.eval(by, &At::plain(old), scope, &mut new);
            match new.into_iter().next() {
                Some(new) => value = self.set(&value, &way, new.value)?,
                None => {
                    ended?;
                    gone.push(way);
                }
            }
        }
        out.push(at.made(self.remove(value, gone)?)?);
        Ok(())
    }

    /// `paths = to`: what it becomes is asked of the whole value, not of the place.
    pub(super) fn assign(
        &self,
        paths: &Filter,
        to: &Filter,
        at: &At,
        scope: Scope<'_>,
        out: &mut Vec<At>,
    ) -> Ended {
        self.each(to, at, scope, &mut |new| {
            let mut value = at.value.clone();
            for way in self.ways(paths, at, scope)? {
                value = self.set(&value, &way, new.clone())?;
            }
            out.push(at.made(value)?);
            Ok(())
        })
    }

    /// `paths += by` and the like; without an operator it is `//=`.
    pub(super) fn change(
        &self,
        operator: Option<Operator>,
        paths: &Filter,
        by: &Filter,
        at: &At,
        scope: Scope<'_>,
        out: &mut Vec<At>,
    ) -> Ended {
        self.each(by, at, scope, &mut |by| {
            let mut value = at.value.clone();
            for way in self.ways(paths, at, scope)? {
                let old = self.get(&value, &way)?;
                let new = match operator {
                    Some(operator) => operate(operator, &old, &by, &self.meter)?,
                    None if old.is_true() => old,
                    None => by.clone(),
                };
                value = self.set(&value, &way, new)?;
            }
            out.push(at.made(value)?);
            Ok(())
        })
    }

    pub(super) fn get(&self, value: &Val, ways: &[Way]) -> Result<Val, Stop> {
        let mut at = At::plain(value.clone());
        for way in ways {
            self.meter.spend(1)?;
            at = step(&at, way.clone(), &self.meter)?;
        }
        Ok(at.value)
    }

    /// Ways are as long as `steps` lets them be, which bounds the recursion.
    pub(super) fn set(&self, value: &Val, ways: &[Way], new: Val) -> Result<Val, Stop> {
        let Some((way, rest)) = ways.split_first() else { return Ok(new) };
        let Way::Key(key) = way else {
            return Err(Stop::error("a slice cannot be changed here; use its items"));
        };
        let inner = step(&At::plain(value.clone()), way.clone(), &self.meter)?.value;
        let new = self.set(&inner, rest, new)?;
        match (value, key) {
            (Val::Object(_) | Val::Null, Val::Text(name)) => {
                let mut members = match value {
                    Val::Object(members) => (***members).clone(),
                    _ => Default::default(),
                };
                members.insert(name.clone(), new);
                Val::object(members, &self.meter)
            }
            (Val::List(_) | Val::Null, Val::Number(_)) => {
                let mut items = match value {
                    Val::List(items) => items.to_vec(),
                    _ => vec![],
                };
                let index = place(key, items.len()).filter(|index| *index < PLACE_MAX);
                let index = index.ok_or_else(|| Stop::error(format!("{} is out of range", key.sketch())))?;
                if items.len() <= index {
                    self.meter.spend(index - items.len())?;
                    items.resize(index + 1, Val::Null);
                }
                items[index] = new;
                Val::list(items, &self.meter)
            }
            (value, key) => Err(Stop::error(format!("{} has no place {}", value.sketch(), key.sketch()))),
        }
    }

    /// The value without these places. The last ones go first, so that those before keep their numbers.
    pub(super) fn remove(&self, mut value: Val, ways: Vec<Vec<Way>>) -> Result<Val, Stop> {
        let mut keyed = vec![];
        for ways in ways {
            let shown = ways.iter().map(|way| way.shown(&self.meter)).collect::<Result<Vec<_>, _>>()?;
            keyed.push((Val::list(shown, &self.meter)?, ways));
        }
        let keyed = function::sorted(keyed, |(a, _), (b, _)| b.compare(a, &self.meter))?;
        for (_, ways) in keyed {
            value = self.without(&value, &ways)?;
        }
        Ok(value)
    }

    fn without(&self, value: &Val, ways: &[Way]) -> Result<Val, Stop> {
        let Some((way, rest)) = ways.split_first() else { return Ok(Val::Null) };
        if matches!(value, Val::Null) {
            return Ok(Val::Null);
        }
        if !rest.is_empty() {
            let inner = step(&At::plain(value.clone()), way.clone(), &self.meter)?.value;
            if matches!(inner, Val::Null) {
                return Ok(value.clone());
            }
            let inner = self.without(&inner, rest)?;
            return self.set(value, std::slice::from_ref(way), inner);
        }
        match (value, way) {
            (Val::Object(members), Way::Key(Val::Text(name))) => {
                let mut members = (***members).clone();
                members.remove(&**name);
                Val::object(members, &self.meter)
            }
            (Val::List(items), Way::Key(key @ Val::Number(_))) => {
                let gone = place(key, items.len());
                let kept = items.iter().enumerate().filter(|(index, _)| Some(*index) != gone);
                Val::list(kept.map(|(_, item)| item.clone()).collect(), &self.meter)
            }
            (Val::List(items), Way::Slice(from, to)) => {
                let (from, to) = bounds(*from, *to, items.len());
                Val::list([&items[..from], &items[to..]].concat(), &self.meter)
            }
            (value, _) => Err(Stop::error(format!("nothing can be removed there from {}", value.sketch()))),
        }
    }
}
