//! What a filter makes of a value.
//!
//! Every filter gives a list of values, and may end in an error after some of them; both are kept, since
//! `first(f)` and `try f` want the values and not the error. No filter of this subset is endless, so nothing is
//! lost by making the whole list. Where a place is asked for (`path(f)`, `f |= g`, `del(f)`) the same evaluation
//! carries the way to each value along.

mod build;
mod call;
mod change;
mod steps;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use self::steps::{PathTracking, take_element};
use super::function::{self, Compiled};
use super::operator::apply_operator;
use super::syntax::{Filter, JqOperator, PathStep};
use super::value::{FilterStop, JqValue, StepBudget};

pub(super) struct Engine {
    pub(super) meter: StepBudget,
    /// Patterns that this evaluation has met.
    patterns: RefCell<HashMap<String, Rc<Compiled>>>,
}

/// A value and, if paths are tracked, the path to it.
#[derive(Debug, Clone)]
pub(super) struct TrackedValue {
    pub(super) value: JqValue,
    track: PathTracking,
}

/// The variables, the innermost first.
#[derive(Clone, Copy)]
pub(super) struct VariableScope<'a>(Option<&'a Variable<'a>>);

struct Variable<'a> {
    value: JqValue,
    outer: VariableScope<'a>,
}

type EvalResult = Result<(), FilterStop>;

impl TrackedValue {
    fn untracked(value: JqValue) -> Self {
        Self { value, track: PathTracking::Off }
    }

    /// The same value without its path.
    fn without_path(&self) -> Self {
        Self::untracked(self.value.clone())
    }

    /// A value that was made, not found: there is no way to it.
    fn with_computed(&self, value: JqValue) -> Result<Self, FilterStop> {
        match self.track {
            PathTracking::Off => Ok(Self::untracked(value)),
            PathTracking::On(_) => Err(FilterStop::error("this is no way to a place in the value")),
        }
    }
}

impl VariableScope<'_> {
    fn get(self, index: usize) -> JqValue {
        let mut scope = self;
        for _ in 0..index {
            scope = scope.0.map_or(VariableScope(None), |variable| variable.outer);
        }
        // The parser knows every variable, so there always is one.
        scope.0.map_or(JqValue::Null, |variable| variable.value.clone())
    }
}

impl Engine {
    pub(super) fn new(steps: u64) -> Self {
        Self { meter: StepBudget::new(steps), patterns: RefCell::default() }
    }

    pub(super) fn run(&self, filter: &Filter, value: JqValue) -> Result<Vec<JqValue>, FilterStop> {
        let mut out = vec![];
        self.eval(filter, &TrackedValue::untracked(value), VariableScope(None), &mut out)?;
        Ok(out.into_iter().map(|at| at.value).collect())
    }

    fn eval(
        &self,
        filter: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        self.meter.spend(1)?;
        match filter {
            Filter::Identity => out.push(at.clone()),
            Filter::Descend => self.descend(at, out)?,
            Filter::Null => out.push(at.with_computed(JqValue::Null)?),
            Filter::Bool(bool) => out.push(at.with_computed(JqValue::Bool(*bool))?),
            Filter::Number(number) => out.push(at.with_computed(JqValue::Number(number.clone()))?),
            Filter::Variable(index) => out.push(at.with_computed(scope.get(*index))?),
            Filter::Text(pieces) => self.interpolate(pieces, at, scope, out)?,
            Filter::Steps(term, steps) => self.eval_path(term, steps, at, scope, out)?,
            Filter::Pipe(parts) => self.eval_pipe(parts, at, scope, out)?,
            Filter::Comma(parts) => parts.iter().try_for_each(|part| self.eval(part, at, scope, out))?,
            Filter::Negative(inner) => self.for_each_value(inner, at, scope, &mut |value| {
                let negative = apply_operator(JqOperator::Subtract, &JqValue::count(0), &value, &self.meter);
                out.push(at.with_computed(negative?)?);
                Ok(())
            })?,
            Filter::Binary(operator, left, right) => {
                // The right side is the outer loop, as in jq.
                self.for_each_value(right, at, scope, &mut |right| {
                    self.for_each_value(left, at, scope, &mut |left| {
                        out.push(at.with_computed(apply_operator(*operator, &left, &right, &self.meter)?)?);
                        Ok(())
                    })
                })?;
            }
            Filter::And(left, right) => self.eval_logical(left, right, true, at, scope, out)?,
            Filter::Or(left, right) => self.eval_logical(left, right, false, at, scope, out)?,
            Filter::Otherwise(left, right) => self.eval_alternative(left, right, at, scope, out)?,
            Filter::Update(paths, by) => self.eval_update(paths, by, at, scope, out)?,
            Filter::Assign(paths, to) => self.eval_assign(paths, to, at, scope, out)?,
            Filter::Change(how, paths, by) => self.eval_arithmetic_update(*how, paths, by, at, scope, out)?,
            Filter::List(inner) => {
                let items = inner.as_ref().map(|inner| self.eval_values(inner, at, scope));
                out.push(
                    at.with_computed(JqValue::list(items.transpose()?.unwrap_or_default(), &self.meter)?)?,
                );
            }
            Filter::Object(members) => self.build_object(members, at, scope, out)?,
            Filter::If { condition, then, otherwise } => {
                self.eval_if(condition, (then, otherwise.as_deref()), at, scope, out)?;
            }
            Filter::Try(body, handler) => match (self.eval(body, at, scope, out), handler) {
                (Err(FilterStop::Error(error)), Some(handler)) => {
                    self.for_each_value(handler, &TrackedValue::untracked(error), scope, &mut |value| {
                        out.push(at.with_computed(value)?);
                        Ok(())
                    })?;
                }
                (Err(FilterStop::Error(_)) | Ok(()), _) => {}
                (Err(stop), _) => return Err(stop),
            },
            Filter::Bind { source, body } => self.for_each_value(source, at, scope, &mut |value| {
                let variable = Variable { value, outer: scope };
                self.eval(body, at, VariableScope(Some(&variable)), out)
            })?,
            Filter::Reduce { source, start, update } => {
                self.eval_reduce(source, start, update, at, scope, out)?
            }
            Filter::Foreach { source, start, update, extract } => {
                self.eval_foreach(source, start, (update, extract.as_deref()), at, scope, out)?;
            }
            Filter::Call(function, arguments) => self.eval_call(*function, arguments, at, scope, out)?,
        }
        Ok(())
    }

    /// Without an `else` a value for which the condition does not hold stays as it is.
    fn eval_if(
        &self,
        condition: &Filter,
        (then, otherwise): (&Filter, Option<&Filter>),
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        self.for_each_value(condition, at, scope, &mut |condition| match (condition.is_true(), otherwise) {
            (true, _) => self.eval(then, at, scope, out),
            (false, Some(otherwise)) => self.eval(otherwise, at, scope, out),
            (false, None) => {
                out.push(at.clone());
                Ok(())
            }
        })
    }

    /// A pattern, compiled once.
    pub(super) fn compile_pattern(&self, pattern: &str, flags: &str) -> Result<Rc<Compiled>, FilterStop> {
        let key = format!("{flags}/{pattern}");
        if let Some(known) = self.patterns.borrow().get(&key) {
            return Ok(known.clone());
        }
        let compiled = Rc::new(function::compile_pattern(pattern, flags, &self.meter)?);
        self.patterns.borrow_mut().insert(key, compiled.clone());
        Ok(compiled)
    }

    /// All values, or the error that ends them.
    fn eval_values(
        &self,
        filter: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
    ) -> Result<Vec<JqValue>, FilterStop> {
        let mut found = vec![];
        self.eval(filter, &at.without_path(), scope, &mut found)?;
        Ok(found.into_iter().map(|at| at.value).collect())
    }

    /// Does something with each value, then ends as the filter ended.
    fn for_each_value(
        &self,
        filter: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        then: &mut dyn FnMut(JqValue) -> EvalResult,
    ) -> EvalResult {
        let mut found = vec![];
        let ended = self.eval(filter, &at.without_path(), scope, &mut found);
        found.into_iter().try_for_each(|at| then(at.value))?;
        ended
    }

    /// What comes out of one part goes into the next. An error waits behind the values that came before it.
    fn eval_pipe(
        &self,
        parts: &[Filter],
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        let (mut values, mut ended) = (vec![at.clone()], Ok(()));
        for part in parts {
            let mut next = vec![];
            for value in &values {
                if let Err(stop) = self.eval(part, value, scope, &mut next) {
                    ended = Err(stop);
                    break;
                }
            }
            values = next;
        }
        out.append(&mut values);
        ended
    }

    fn eval_path(
        &self,
        term: &Filter,
        steps: &[PathStep],
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        let mut values = vec![];
        let mut ended = self.eval(term, at, scope, &mut values);
        for one in steps {
            let mut next = vec![];
            for value in &values {
                // What stands in brackets is about the value that the whole term was given.
                if let Err(stop) = self.take_step(one, value, at, scope, &mut next) {
                    ended = Err(stop);
                    break;
                }
            }
            values = next;
        }
        out.append(&mut values);
        ended
    }

    fn take_step(
        &self,
        one: &PathStep,
        value: &TrackedValue,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        match one {
            PathStep::Each => self.iterate(value, out),
            PathStep::Index(by) => self.for_each_value(by, at, scope, &mut |by| {
                out.push(take_element(value, steps::PathElement::Key(by), &self.meter)?);
                Ok(())
            }),
            PathStep::Slice(from, to) => {
                let bound = |filter: &Option<Filter>| match filter {
                    Some(filter) => self.eval_values(filter, at, scope),
                    None => Ok(vec![JqValue::Null]),
                };
                let (froms, tos) = (bound(from)?, bound(to)?);
                for from in &froms {
                    for to in &tos {
                        out.push(take_element(value, steps::PathElement::slice(from, to)?, &self.meter)?);
                    }
                }
                Ok(())
            }
        }
    }

    /// `and`, `or`: the right side is asked only if the left one has not decided.
    fn eval_logical(
        &self,
        left: &Filter,
        right: &Filter,
        decides: bool,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        self.for_each_value(left, at, scope, &mut |left| {
            if left.is_true() != decides {
                out.push(at.with_computed(JqValue::Bool(!decides))?);
                return Ok(());
            }
            self.for_each_value(right, at, scope, &mut |right| {
                out.push(at.with_computed(JqValue::Bool(right.is_true()))?);
                Ok(())
            })
        })
    }

    /// Every value of the left that is neither null nor false; if there is none, the right. Errors of the left are
    /// no values.
    fn eval_alternative(
        &self,
        left: &Filter,
        right: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        let mut found = vec![];
        if let Err(FilterStop::Exhausted(why)) = self.eval(left, at, scope, &mut found) {
            return Err(FilterStop::Exhausted(why));
        }
        found.retain(|at| at.value.is_true());
        if found.is_empty() {
            return self.eval(right, at, scope, out);
        }
        out.append(&mut found);
        Ok(())
    }
}
