//! Filters that build a value from what others give: texts, objects and folds.

use super::{Engine, EvalResult, TrackedValue, Variable, VariableScope};
use crate::transform::jq::syntax::{Filter, StringPart};
use crate::transform::jq::value::{FilterStop, JqValue, ObjectMembers};

impl Engine {
    pub(super) fn interpolate(
        &self,
        pieces: &[StringPart],
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        let (mut texts, mut ended) = (vec![String::new()], Ok(()));
        for piece in pieces {
            let mut next = vec![];
            let mut put = |added: &str, texts: &[String]| {
                texts.iter().try_for_each(|text| {
                    self.meter.spend_bytes(text.len() + added.len())?;
                    next.push(format!("{text}{added}"));
                    Ok(())
                })
            };
            match piece {
                StringPart::Text(text) => put(text, &texts)?,
                StringPart::Filter(filter) => {
                    let done = self.for_each_value(filter, at, scope, &mut |value| {
                        put(&self.display_value(&value)?, &texts)
                    });
                    ended = ended.and(done);
                }
            }
            texts = next;
        }
        for text in texts {
            out.push(at.with_computed(JqValue::text(&text))?);
        }
        ended
    }

    /// A string as it is, anything else as JSON.
    fn display_value(&self, value: &JqValue) -> Result<String, FilterStop> {
        match value {
            JqValue::Text(text) => Ok(text.to_string()),
            value => Ok(value.to_json(&self.meter)?.to_string()),
        }
    }

    pub(super) fn build_object(
        &self,
        members: &[(Filter, Filter)],
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        let mut made = vec![ObjectMembers::new()];
        for (name, value) in members {
            let mut next = vec![];
            for before in made {
                self.for_each_value(name, at, scope, &mut |name| {
                    let name = name.as_text().cloned().ok_or_else(|| {
                        FilterStop::error(format!(
                            "a member's name must be a string, not {}",
                            name.short_form()
                        ))
                    })?;
                    self.for_each_value(value, at, scope, &mut |value| {
                        self.meter.spend(1 + before.len())?;
                        let mut members = before.clone();
                        members.insert(name.clone(), value);
                        next.push(members);
                        Ok(())
                    })
                })?;
            }
            made = next;
        }
        for members in made {
            out.push(at.with_computed(JqValue::object(members, &self.meter)?)?);
        }
        Ok(())
    }

    pub(super) fn eval_reduce(
        &self,
        source: &Filter,
        start: &Filter,
        update: &Filter,
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        for mut state in self.eval_values(start, at, scope)? {
            self.for_each_value(source, at, scope, &mut |value| {
                let variable = Variable { value, outer: scope };
                let now = TrackedValue::untracked(std::mem::replace(&mut state, JqValue::Null));
                // The last one counts; none leaves null.
                state = self
                    .eval_values(update, &now, VariableScope(Some(&variable)))?
                    .pop()
                    .unwrap_or(JqValue::Null);
                Ok(())
            })?;
            out.push(at.with_computed(state)?);
        }
        Ok(())
    }

    pub(super) fn eval_foreach(
        &self,
        source: &Filter,
        start: &Filter,
        (update, extract): (&Filter, Option<&Filter>),
        at: &TrackedValue,
        scope: VariableScope<'_>,
        out: &mut Vec<TrackedValue>,
    ) -> EvalResult {
        for mut state in self.eval_values(start, at, scope)? {
            self.for_each_value(source, at, scope, &mut |value| {
                let variable = Variable { value, outer: scope };
                let scope = VariableScope(Some(&variable));
                for next in self.eval_values(update, &TrackedValue::untracked(state.clone()), scope)? {
                    state = next;
                    match extract {
                        None => out.push(at.with_computed(state.clone())?),
                        Some(extract) => {
                            for shown in
                                self.eval_values(extract, &TrackedValue::untracked(state.clone()), scope)?
                            {
                                out.push(at.with_computed(shown)?);
                            }
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
