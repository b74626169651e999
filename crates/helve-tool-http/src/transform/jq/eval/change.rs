//! Values with something changed at a place, or without it.

use super::steps::{PathElement, PathTracking, list_index, slice_bounds, take_element};
use super::{Engine, EvalResult, TrackedValue, VariableScope};
use crate::transform::jq::function;
use crate::transform::jq::operator::apply_operator;
use crate::transform::jq::syntax::{Filter, JqOperator};
use crate::transform::jq::value::{FilterStop, JqValue};

/// No list is made longer by naming a far place in it.
const PLACE_MAX: usize = 100_000;

impl Engine {
    /// The ways to all that a filter finds.
    pub(super) fn find_paths(
        &self,
        filter: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
    ) -> Result<Vec<Vec<PathElement>>, FilterStop> {
        let start = TrackedValue { value: at.value.clone(), track: PathTracking::On(None) };
        let mut found = vec![];
        self.eval(filter, &start, scope, &mut found)?;
        let ways: Vec<Vec<PathElement>> = found.iter().map(|at| at.track.elements()).collect();
        self.meter.spend(ways.iter().map(Vec::len).sum())?;
        Ok(ways)
    }

    /// `paths |= by`: by its first value; a place for which there is none goes away.
    pub(super) fn eval_update(
        &self,
        paths: &Filter,
        by: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        let (mut value, mut gone) = (at.value.clone(), vec![]);
        for way in self.find_paths(paths, at, scope)? {
            let old = self.get_path(&value, &way)?;
            let mut new = vec![];
            let ended = self.eval(by, &TrackedValue::untracked(old), scope, &mut new);
            match new.into_iter().next() {
                Some(new) => value = self.set_path(&value, &way, new.value)?,
                None => {
                    ended?;
                    gone.push(way);
                }
            }
        }
        out.push(at.with_computed(self.delete_paths(value, gone)?)?);
        Ok(())
    }

    /// `paths = to`: what it becomes is asked of the whole value, not of the place.
    pub(super) fn eval_assign(
        &self,
        paths: &Filter,
        to: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        self.for_each_value(to, at, scope, &mut |new| {
            let mut value = at.value.clone();
            for way in self.find_paths(paths, at, scope)? {
                value = self.set_path(&value, &way, new.clone())?;
            }
            out.push(at.with_computed(value)?);
            Ok(())
        })
    }

    /// `paths += by` and the like; without an operator it is `//=`.
    pub(super) fn eval_arithmetic_update(
        &self,
        operator: Option<JqOperator>,
        paths: &Filter,
        by: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        self.for_each_value(by, at, scope, &mut |by| {
            let mut value = at.value.clone();
            for way in self.find_paths(paths, at, scope)? {
                let old = self.get_path(&value, &way)?;
                let new = match operator {
                    Some(operator) => apply_operator(operator, &old, &by, &self.meter)?,
                    None if old.is_true() => old,
                    None => by.clone(),
                };
                value = self.set_path(&value, &way, new)?;
            }
            out.push(at.with_computed(value)?);
            Ok(())
        })
    }

    pub(super) fn get_path(&self, value: &JqValue, ways: &[PathElement]) -> Result<JqValue, FilterStop> {
        let mut at = TrackedValue::untracked(value.clone());
        for way in ways {
            self.meter.spend(1)?;
            at = take_element(&at, way.clone(), &self.meter)?;
        }
        Ok(at.value)
    }

    /// Ways are as long as `steps` lets them be, which bounds the recursion.
    pub(super) fn set_path(
        &self,
        value: &JqValue,
        ways: &[PathElement],
        new: JqValue,
    ) -> Result<JqValue, FilterStop> {
        let Some((way, rest)) = ways.split_first() else { return Ok(new) };
        let PathElement::Key(key) = way else {
            return Err(FilterStop::error("a slice cannot be changed here; use its items"));
        };
        let inner = take_element(&TrackedValue::untracked(value.clone()), way.clone(), &self.meter)?.value;
        let new = self.set_path(&inner, rest, new)?;
        match (value, key) {
            (JqValue::Object(_) | JqValue::Null, JqValue::Text(name)) => {
                let mut members = match value {
                    JqValue::Object(members) => (***members).clone(),
                    _ => Default::default(),
                };
                members.insert(name.clone(), new);
                JqValue::object(members, &self.meter)
            }
            (JqValue::List(_) | JqValue::Null, JqValue::Number(_)) => {
                let mut items = match value {
                    JqValue::List(items) => items.to_vec(),
                    _ => vec![],
                };
                let index = list_index(key, items.len()).filter(|index| *index < PLACE_MAX);
                let index = index
                    .ok_or_else(|| FilterStop::error(format!("{} is out of range", key.short_form())))?;
                if items.len() <= index {
                    self.meter.spend(index - items.len())?;
                    items.resize(index + 1, JqValue::Null);
                }
                items[index] = new;
                JqValue::list(items, &self.meter)
            }
            (value, key) => {
                Err(FilterStop::error(format!("{} has no place {}", value.short_form(), key.short_form())))
            }
        }
    }

    /// The value without these places. The last ones go first, so that those before keep their numbers.
    pub(super) fn delete_paths(
        &self,
        mut value: JqValue,
        ways: Vec<Vec<PathElement>>,
    ) -> Result<JqValue, FilterStop> {
        let mut keyed = vec![];
        for ways in ways {
            let shown = ways.iter().map(|way| way.to_value(&self.meter)).collect::<Result<Vec<_>, _>>()?;
            keyed.push((JqValue::list(shown, &self.meter)?, ways));
        }
        let keyed = function::sort_stable(keyed, |(a, _), (b, _)| b.compare(a, &self.meter))?;
        for (_, ways) in keyed {
            value = self.delete_path(&value, &ways)?;
        }
        Ok(value)
    }

    fn delete_path(&self, value: &JqValue, ways: &[PathElement]) -> Result<JqValue, FilterStop> {
        let Some((way, rest)) = ways.split_first() else { return Ok(JqValue::Null) };
        if matches!(value, JqValue::Null) {
            return Ok(JqValue::Null);
        }
        if !rest.is_empty() {
            let inner =
                take_element(&TrackedValue::untracked(value.clone()), way.clone(), &self.meter)?.value;
            if matches!(inner, JqValue::Null) {
                return Ok(value.clone());
            }
            let inner = self.delete_path(&inner, rest)?;
            return self.set_path(value, std::slice::from_ref(way), inner);
        }
        match (value, way) {
            (JqValue::Object(members), PathElement::Key(JqValue::Text(name))) => {
                let mut members = (***members).clone();
                members.remove(&**name);
                JqValue::object(members, &self.meter)
            }
            (JqValue::List(items), PathElement::Key(key @ JqValue::Number(_))) => {
                let gone = list_index(key, items.len());
                let kept = items.iter().enumerate().filter(|(index, _)| Some(*index) != gone);
                JqValue::list(kept.map(|(_, item)| item.clone()).collect(), &self.meter)
            }
            (JqValue::List(items), PathElement::Slice(from, to)) => {
                let (from, to) = slice_bounds(*from, *to, items.len());
                JqValue::list([&items[..from], &items[to..]].concat(), &self.meter)
            }
            (value, _) => {
                Err(FilterStop::error(format!("nothing can be removed there from {}", value.short_form())))
            }
        }
    }
}
