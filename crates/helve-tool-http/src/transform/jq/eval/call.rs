//! Functions that ask their arguments something: choosing, folding, places. The others are in `function`.

use super::steps::{PathElement, PathTracking, take_element};
use super::{Engine, EvalResult, TrackedValue, VariableScope};
use crate::transform::jq::function;
use crate::transform::jq::syntax::{Filter, Function};
use crate::transform::jq::value::{FilterStop, JqValue};

impl Engine {
    pub(super) fn eval_call(
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
                self.for_each_value(message, at, scope, &mut |message| Err(FilterStop::Error(message)))
            }
            (F::Recurse, _) => self.descend(at, out),
            (F::Select, [condition]) => self.for_each_value(condition, at, scope, &mut |condition| {
                if condition.is_true() {
                    out.push(at.clone());
                }
                Ok(())
            }),
            (F::First, _) => self.push_member(at, JqValue::count(0), out),
            (F::Last, _) => self.push_member(at, JqValue::number(-1.0), out),
            (F::Nth, [index]) => {
                self.for_each_value(index, at, scope, &mut |index| self.push_member(at, index, out))
            }
            (F::FirstOf, [source]) => self.eval_limited(source, 0, 1, at, scope, out),
            (F::LastOf, [source]) => {
                let mut found = vec![];
                self.eval(source, at, scope, &mut found)?;
                out.extend(found.pop());
                Ok(())
            }
            (F::Limit, [count, source]) => self.for_each_value(count, at, scope, &mut |count| {
                self.eval_limited(source, 0, expect_integer(&count)?, at, scope, out)
            }),
            (F::NthOf, [index, source]) => self.for_each_value(index, at, scope, &mut |index| {
                self.eval_limited(source, expect_integer(&index)?, 1, at, scope, out)
            }),
            (F::GetPath, [path]) => self.for_each_value(path, at, scope, &mut |path| {
                let mut found = at.clone();
                for way in parse_path(&path)? {
                    found = take_element(&found, way, &self.meter)?;
                }
                out.push(found);
                Ok(())
            }),
            (function, _) if kinds_selected(function).is_some() => {
                if kinds_selected(function).is_some_and(|kinds| kinds.contains(&at.value.kind())) {
                    out.push(at.clone());
                }
                Ok(())
            }
            (function, arguments) => {
                let mut made = vec![];
                let ended = self.eval_function(function, arguments, at, scope, &mut made);
                for value in made {
                    out.push(at.with_computed(value)?);
                }
                ended
            }
        }
    }

    /// Functions that make values instead of finding them.
    fn eval_function(
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
                let entries = TrackedValue::untracked(function::to_entries(&at.value, &self.meter)?);
                let entries = JqValue::list(self.map_items(by, &entries, scope)?, &self.meter)?;
                made.push(function::from_entries(&entries, self)?);
            }
            (F::AddOf, [source]) => {
                made.push(function::add_all(&self.eval_values(source, at, scope)?, &self.meter)?)
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
                let items = self.list_items(&at.value)?;
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
                self.for_each_value(to, at, scope, &mut |to| {
                    self.push_range(&JqValue::count(0), &to, &JqValue::count(1), made)
                })?;
            }
            (F::Range, [from, to]) => self.for_each_value(from, at, scope, &mut |from| {
                self.for_each_value(to, at, scope, &mut |to| {
                    self.push_range(&from, &to, &JqValue::count(1), made)
                })
            })?,
            (F::RangeBy, [from, to, by]) => self.for_each_value(from, at, scope, &mut |from| {
                self.for_each_value(to, at, scope, &mut |to| {
                    self.for_each_value(by, at, scope, &mut |by| self.push_range(&from, &to, &by, made))
                })
            })?,
            (F::SortBy | F::GroupBy | F::UniqueBy | F::MinBy | F::MaxBy, [by]) => {
                let mut keyed = vec![];
                for item in self.list_items(&at.value)? {
                    let key = self.eval_values(by, &TrackedValue::untracked(item.clone()), scope)?;
                    keyed.push((JqValue::list(key, &self.meter)?, item));
                }
                made.push(function::order_items(function, keyed, &self.meter)?);
            }
            (function, arguments) => self.eval_path_function(function, arguments, at, scope, made)?,
        }
        Ok(())
    }

    /// Functions about the paths to places in a value.
    fn eval_path_function(
        &self,
        function: Function,
        arguments: &[Filter],
        at: &TrackedValue,
        scope: VariableScope<'_>,
        made: &mut Vec<JqValue>,
    ) -> EvalResult {
        use Function as F;
        match (function, arguments) {
            (F::Del, [paths]) => {
                made.push(self.delete_paths(at.value.clone(), self.find_paths(paths, at, scope)?)?);
            }
            (F::DelPaths, [paths]) => self.for_each_value(paths, at, scope, &mut |paths| {
                let paths = self.list_items(&paths)?.iter().map(parse_path).collect::<Result<_, _>>()?;
                made.push(self.delete_paths(at.value.clone(), paths)?);
                Ok(())
            })?,
            (F::SetPath, [path, to]) => self.for_each_value(path, at, scope, &mut |path| {
                self.for_each_value(to, at, scope, &mut |to| {
                    made.push(self.set_path(&at.value, &parse_path(&path)?, to)?);
                    Ok(())
                })
            })?,
            (F::PathOf, [paths]) => {
                for ways in self.find_paths(paths, at, scope)? {
                    made.push(self.path_to_value(&ways)?);
                }
            }
            (F::Paths | F::PathsWhere, condition) => self.push_paths(condition.first(), at, scope, made)?,
            (F::Pick, [paths]) => {
                let mut picked = JqValue::Null;
                for ways in self.find_paths(paths, at, scope)? {
                    picked = self.set_path(&picked, &ways, self.get_path(&at.value, &ways)?)?;
                }
                made.push(picked);
            }
            (function, arguments) => self.apply_function(function, arguments, &[], at, scope, made)?,
        }
        Ok(())
    }

    /// A plain function, for every combination of its arguments' values. None has more than two.
    fn apply_function(
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
                made.push(function::apply_function(function, &at.value, given, self)?);
                Ok(())
            }
            Some((first, rest)) => self.for_each_value(first, at, scope, &mut |value| {
                self.apply_function(function, rest, &[given, &[value]].concat(), at, scope, made)
            }),
        }
    }

    fn push_member(&self, at: &TrackedValue, index: JqValue, out: &mut Vec<TrackedValue>) -> EvalResult {
        out.push(take_element(at, PathElement::Key(index), &self.meter)?);
        Ok(())
    }

    /// Some of what a filter gives. What comes behind, an error too, does not matter then.
    fn eval_limited(
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

    pub(in super::super) fn list_items(&self, value: &JqValue) -> Result<Vec<JqValue>, FilterStop> {
        let mut items = vec![];
        self.iterate(&TrackedValue::untracked(value.clone()), &mut items)?;
        Ok(items.into_iter().map(|at| at.value).collect())
    }

    fn map_items(
        &self,
        by: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
    ) -> Result<Vec<JqValue>, FilterStop> {
        let mut mapped = vec![];
        for item in self.list_items(&at.value)? {
            mapped.extend(self.eval_values(by, &TrackedValue::untracked(item), scope)?);
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
            let ended = self.eval(by, &TrackedValue::untracked(item.clone()), scope, &mut found);
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
                let items = self.list_items(other)?;
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

    fn push_range(&self, from: &JqValue, to: &JqValue, by: &JqValue, made: &mut Vec<JqValue>) -> EvalResult {
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
    fn push_paths(
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
                Some(condition) => {
                    self.eval_values(condition, at, scope)?.iter().filter(|v| v.is_true()).count()
                }
                None => 1,
            };
            for _ in 0..wanted {
                made.push(self.path_to_value(&at.track.elements())?);
            }
        }
        Ok(())
    }

    fn path_to_value(&self, ways: &[PathElement]) -> Result<JqValue, FilterStop> {
        let shown = ways.iter().map(|way| way.to_value(&self.meter)).collect::<Result<_, _>>()?;
        JqValue::list(shown, &self.meter)
    }
}

fn expect_integer(value: &JqValue) -> Result<usize, FilterStop> {
    let number =
        value.as_f64().ok_or_else(|| FilterStop::error(format!("{} is no count", value.short_form())))?;
    Ok(number.ceil().max(0.0) as usize)
}

fn parse_path(path: &JqValue) -> Result<Vec<PathElement>, FilterStop> {
    match path {
        JqValue::List(keys) => keys.iter().map(PathElement::from_value).collect(),
        other => Err(FilterStop::error(format!("a path is an array, not {}", other.short_form()))),
    }
}

/// The kinds of value that `strings` and its relatives let through.
fn kinds_selected(function: Function) -> Option<&'static [&'static str]> {
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
