//! Functions that ask their arguments something: choosing, folding, places. The others are in `function`.

use super::steps::{PathElement, PathTracking, step};
use super::{Engine, EvalResult, TrackedValue, VariableScope};
use crate::transform::jq::function;
use crate::transform::jq::syntax::{Filter, Function};
use crate::transform::jq::value::{FilterStop, JqValue};

impl Engine {
    pub(super) fn call(
        &self,
        function: Function,
        arguments: &[Filter],
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        use Function as F;
        match (function, arguments) {
            (F::Empty, _) => Ok(()),
            (F::Error, _) => Err(FilterStop::Error(at.value.clone())),
            (F::ErrorOf, [message]) => {
                self.each(message, at, scope, &mut |message| Err(FilterStop::Error(message)))
            }
            (F::Recurse, _) => self.descend(at, out),
            (F::Select, [condition]) => self.each(condition, at, scope, &mut |condition| {
                if condition.is_true() {
                    out.push(at.clone());
                }
                Ok(())
            }),
            (F::First, _) => self.one_step(at, JqValue::count(0), out),
            (F::Last, _) => self.one_step(at, JqValue::number(-1.0), out),
            (F::Nth, [index]) => self.each(index, at, scope, &mut |index| self.one_step(at, index, out)),
            (F::FirstOf, [source]) => self.some(source, 0, 1, at, scope, out),
            (F::LastOf, [source]) => {
                let mut found = vec![];
                self.eval(source, at, scope, &mut found)?;
                out.extend(found.pop());
                Ok(())
            }
            (F::Limit, [count, source]) => self.each(count, at, scope, &mut |count| {
                self.some(source, 0, expect_integer(&count)?, at, scope, out)
            }),
            (F::NthOf, [index, source]) => self.each(index, at, scope, &mut |index| {
                self.some(source, expect_integer(&index)?, 1, at, scope, out)
            }),
            (F::GetPath, [path]) => self.each(path, at, scope, &mut |path| {
                let mut found = at.clone();
                for way in ways(&path)? {
                    found = step(&found, way, &self.meter)?;
                }
                out.push(found);
                Ok(())
            }),
            (function, _) if kind_wanted(function).is_some() => {
                if kind_wanted(function).is_some_and(|kinds| kinds.contains(&at.value.kind())) {
                    out.push(at.clone());
                }
                Ok(())
            }
            (function, arguments) => {
                let mut made = vec![];
                let ended = self.make(function, arguments, at, scope, &mut made);
                for value in made {
                    out.push(at.computed(value)?);
                }
                ended
            }
        }
    }

    /// Functions that make values instead of finding them.
    fn make(
        &self,
        function: Function,
        arguments: &[Filter],
        at: &TrackedValue,
        scope: VariableScope<'_>,
        made: &mut Vec<JqValue>,
    ) -> EvalResult {
        use Function as F;
        match (function, arguments) {
            (F::Map, [by]) => made.push(JqValue::list(self.map_items(by, at, scope)?, &self.meter)?),
            (F::MapValues, [by]) => made.push(self.map_values(by, at, scope)?),
            (F::WithEntries, [by]) => {
                let entries = TrackedValue::plain(function::to_entries(&at.value, &self.meter)?);
                let entries = JqValue::list(self.map_items(by, &entries, scope)?, &self.meter)?;
                made.push(function::from_entries(&entries, self)?);
            }
            (F::AddOf, [source]) => {
                made.push(function::add_all(&self.values(source, at, scope)?, &self.meter)?)
            }
            (F::IsEmpty, [source]) => {
                let mut found = vec![];
                let ended = self.eval(source, &at.without_path(), scope, &mut found);
                if found.is_empty() {
                    ended?;
                }
                made.push(JqValue::Bool(found.is_empty()));
            }
            (F::Any | F::All, _) => {
                let items = self.items(&at.value)?;
                let decides = function == F::Any;
                made.push(JqValue::Bool(items.iter().any(|item| item.is_true() == decides) == decides));
            }
            (F::AnyOf, [condition]) => made.push(self.check_condition(true, None, condition, at, scope)?),
            (F::AllOf, [condition]) => made.push(self.check_condition(false, None, condition, at, scope)?),
            (F::AnyOfEach, [source, condition]) => {
                made.push(self.check_condition(true, Some(source), condition, at, scope)?);
            }
            (F::AllOfEach, [source, condition]) => {
                made.push(self.check_condition(false, Some(source), condition, at, scope)?);
            }
            (F::RangeTo, [to]) => {
                self.each(to, at, scope, &mut |to| {
                    self.range(&JqValue::count(0), &to, &JqValue::count(1), made)
                })?;
            }
            (F::Range, [from, to]) => self.each(from, at, scope, &mut |from| {
                self.each(to, at, scope, &mut |to| self.range(&from, &to, &JqValue::count(1), made))
            })?,
            (F::RangeBy, [from, to, by]) => self.each(from, at, scope, &mut |from| {
                self.each(to, at, scope, &mut |to| {
                    self.each(by, at, scope, &mut |by| self.range(&from, &to, &by, made))
                })
            })?,
            (F::SortBy | F::GroupBy | F::UniqueBy | F::MinBy | F::MaxBy, [by]) => {
                let mut keyed = vec![];
                for item in self.items(&at.value)? {
                    let key = self.values(by, &TrackedValue::plain(item.clone()), scope)?;
                    keyed.push((JqValue::list(key, &self.meter)?, item));
                }
                made.push(function::order_items(function, keyed, &self.meter)?);
            }
            (F::Del, [paths]) => {
                made.push(self.remove(at.value.clone(), self.ways(paths, at, scope)?)?);
            }
            (F::DelPaths, [paths]) => self.each(paths, at, scope, &mut |paths| {
                let paths = self.items(&paths)?.iter().map(ways).collect::<Result<_, _>>()?;
                made.push(self.remove(at.value.clone(), paths)?);
                Ok(())
            })?,
            (F::SetPath, [path, to]) => self.each(path, at, scope, &mut |path| {
                self.each(to, at, scope, &mut |to| {
                    made.push(self.set_path(&at.value, &ways(&path)?, to)?);
                    Ok(())
                })
            })?,
            (F::PathOf, [paths]) => {
                for ways in self.ways(paths, at, scope)? {
                    made.push(self.shown_ways(&ways)?);
                }
            }
            (F::Paths | F::PathsWhere, condition) => self.paths(condition.first(), at, scope, made)?,
            (F::Pick, [paths]) => {
                let mut picked = JqValue::Null;
                for ways in self.ways(paths, at, scope)? {
                    picked = self.set_path(&picked, &ways, self.get_path(&at.value, &ways)?)?;
                }
                made.push(picked);
            }
            (function, arguments) => self.apply(function, arguments, &[], at, scope, made)?,
        }
        Ok(())
    }

    /// A plain function, for every combination of its arguments' values. None has more than two.
    fn apply(
        &self,
        function: Function,
        arguments: &[Filter],
        given: &[JqValue],
        at: &TrackedValue,
        scope: VariableScope<'_>,
        made: &mut Vec<JqValue>,
    ) -> EvalResult {
        match arguments.split_first() {
            None => {
                made.push(function::apply(function, &at.value, given, self)?);
                Ok(())
            }
            Some((first, rest)) => self.each(first, at, scope, &mut |value| {
                self.apply(function, rest, &[given, &[value]].concat(), at, scope, made)
            }),
        }
    }

    fn one_step(&self, at: &TrackedValue, index: JqValue, out: &mut Vec<TrackedValue>) -> EvalResult {
        out.push(step(at, PathElement::Key(index), &self.meter)?);
        Ok(())
    }

    /// Some of what a filter gives. What comes behind, an error too, does not matter then.
    fn some(
        &self,
        source: &Filter,
        skip: usize,
        take: usize,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        if take == 0 {
            return Ok(());
        }
        let mut found = vec![];
        let ended = self.eval(source, at, scope, &mut found);
        let enough = found.len() >= skip.saturating_add(take);
        out.extend(found.into_iter().skip(skip).take(take));
        match ended {
            Err(FilterStop::Error(_)) if enough => Ok(()),
            ended => ended,
        }
    }

    pub(in super::super) fn items(&self, value: &JqValue) -> Result<Vec<JqValue>, FilterStop> {
        let mut items = vec![];
        self.iterate(&TrackedValue::plain(value.clone()), &mut items)?;
        Ok(items.into_iter().map(|at| at.value).collect())
    }

    fn map_items(
        &self,
        by: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
    ) -> Result<Vec<JqValue>, FilterStop> {
        let mut mapped = vec![];
        for item in self.items(&at.value)? {
            mapped.extend(self.values(by, &TrackedValue::plain(item), scope)?);
        }
        Ok(mapped)
    }

    /// By the first value; an item without any goes away.
    fn map_values(
        &self,
        by: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
    ) -> Result<JqValue, FilterStop> {
        let first = |item: &JqValue| -> Result<Option<JqValue>, FilterStop> {
            let mut found = vec![];
            let ended = self.eval(by, &TrackedValue::plain(item.clone()), scope, &mut found);
            let first = found.into_iter().next();
            if first.is_none() {
                ended?;
            }
            Ok(first.map(|at| at.value))
        };
        match &at.value {
            JqValue::Object(members) => {
                let mapped =
                    members.iter().map(|(name, item)| Ok(first(item)?.map(|item| (name.clone(), item))));
                JqValue::object(
                    mapped.filter_map(Result::transpose).collect::<Result<_, FilterStop>>()?,
                    &self.meter,
                )
            }
            other => {
                let items = self.items(other)?;
                let mapped = items.iter().map(first).filter_map(Result::transpose);
                JqValue::list(mapped.collect::<Result<_, FilterStop>>()?, &self.meter)
            }
        }
    }

    /// `any` (decided by the first that is true) or `all` (by the first that is not).
    fn check_condition(
        &self,
        decides: bool,
        source: Option<&Filter>,
        condition: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
    ) -> Result<JqValue, FilterStop> {
        let (mut found, mut ended) = (vec![], Ok(()));
        match source {
            Some(source) => ended = self.eval(source, &at.without_path(), scope, &mut found),
            None => self.iterate(&at.without_path(), &mut found)?,
        }
        for item in found {
            let mut answers = vec![];
            let asked = self.eval(condition, &item, scope, &mut answers);
            if answers.iter().any(|answer| answer.value.is_true() == decides) {
                return Ok(JqValue::Bool(decides));
            }
            asked?;
        }
        ended?;
        Ok(JqValue::Bool(!decides))
    }

    fn range(&self, from: &JqValue, to: &JqValue, by: &JqValue, made: &mut Vec<JqValue>) -> EvalResult {
        let bounds = (from.as_f64(), to.as_f64(), by.as_f64());
        let (Some(from), Some(to), Some(by)) = bounds else {
            return Err(FilterStop::error("the bounds of `range` are numbers"));
        };
        if by == 0.0 {
            return Err(FilterStop::error("the step of `range` is zero"));
        }
        let mut number = from;
        while if by > 0.0 { number < to } else { number > to } {
            self.meter.spend(1)?;
            made.push(JqValue::number(number));
            number += by;
        }
        Ok(())
    }

    /// The ways to everything inside, or to what a condition holds for.
    fn paths(
        &self,
        condition: Option<&Filter>,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        made: &mut Vec<JqValue>,
    ) -> EvalResult {
        let mut all = vec![];
        self.descend(&TrackedValue { value: at.value.clone(), track: PathTracking::On(None) }, &mut all)?;
        for at in all.iter().skip(1) {
            let wanted = match condition {
                Some(condition) => self.values(condition, at, scope)?.iter().filter(|v| v.is_true()).count(),
                None => 1,
            };
            for _ in 0..wanted {
                made.push(self.shown_ways(&at.track.ways())?);
            }
        }
        Ok(())
    }

    fn shown_ways(&self, ways: &[PathElement]) -> Result<JqValue, FilterStop> {
        let shown = ways.iter().map(|way| way.to_value(&self.meter)).collect::<Result<_, _>>()?;
        JqValue::list(shown, &self.meter)
    }
}

fn expect_integer(value: &JqValue) -> Result<usize, FilterStop> {
    let number =
        value.as_f64().ok_or_else(|| FilterStop::error(format!("{} is no count", value.sketch())))?;
    Ok(number.ceil().max(0.0) as usize)
}

fn ways(path: &JqValue) -> Result<Vec<PathElement>, FilterStop> {
    match path {
        JqValue::List(keys) => keys.iter().map(PathElement::read).collect(),
        other => Err(FilterStop::error(format!("a path is an array, not {}", other.sketch()))),
    }
}

/// The kinds of value that `strings` and its relatives let through.
fn kind_wanted(function: Function) -> Option<&'static [&'static str]> {
    Some(match function {
        Function::Arrays => &["array"],
        Function::Booleans => &["boolean"],
        Function::Nulls => &["null"],
        Function::Numbers => &["number"],
        Function::Objects => &["object"],
        Function::Strings => &["string"],
        Function::Iterables => &["array", "object"],
        Function::Scalars => &["null", "boolean", "number", "string"],
        Function::Values => &["boolean", "number", "string", "array", "object"],
        _ => return None,
    })
}
