//! Filters that build a value from what others give: texts, objects and folds.

use super::{At, Ended, Engine, Scope, Variable};
use crate::transform::jq::syntax::{Filter, Piece};
use crate::transform::jq::value::{Members, Stop, Val};

impl Engine {
    pub(super) fn interpolate(
        &self,
        pieces: &[Piece],
        at: &At,
        scope: Scope<'_>,
        out: &mut Vec<At>,
    ) -> Ended {
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
                Piece::Text(text) => put(text, &texts)?,
                Piece::Filter(filter) => {
                    let done = self.each(filter, at, scope, &mut |value| put(&self.shown(&value)?, &texts));
                    ended = ended.and(done);
                }
            }
            texts = next;
        }
        for text in texts {
            out.push(at.made(Val::text(&text))?);
        }
        ended
    }

    /// A string as it is, anything else as JSON.
    fn shown(&self, value: &Val) -> Result<String, Stop> {
        match value {
            Val::Text(text) => Ok(text.to_string()),
            value => Ok(value.to_json(&self.meter)?.to_string()),
        }
    }

    pub(super) fn object(
        &self,
        members: &[(Filter, Filter)],
        at: &At,
        scope: Scope<'_>,
        out: &mut Vec<At>,
    ) -> Ended {
        let mut made = vec![Members::new()];
        for (name, value) in members {
            let mut next = vec![];
            for before in made {
                self.each(name, at, scope, &mut |name| {
                    let name = name.as_text().cloned().ok_or_else(|| {
                        Stop::error(format!("a member's name must be a string, not {}", name.sketch()))
                    })?;
                    self.each(value, at, scope, &mut |value| {
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
            out.push(at.made(Val::object(members, &self.meter)?)?);
        }
        Ok(())
    }

    pub(super) fn reduce(
        &self,
        source: &Filter,
        start: &Filter,
        update: &Filter,
        at: &At,
        scope: Scope<'_>,
        out: &mut Vec<At>,
    ) -> Ended {
        for mut state in self.values(start, at, scope)? {
            self.each(source, at, scope, &mut |value| {
                let variable = Variable { value, outer: scope };
                let now = At::plain(std::mem::replace(&mut state, Val::Null));
                // The last one counts; none leaves null.
                state = self.values(update, &now, Scope(Some(&variable)))?.pop().unwrap_or(Val::Null);
                Ok(())
            })?;
            out.push(at.made(state)?);
        }
        Ok(())
    }

    pub(super) fn foreach(
        &self,
        source: &Filter,
        start: &Filter,
        (update, extract): (&Filter, Option<&Filter>),
        at: &At,
        scope: Scope<'_>,
        out: &mut Vec<At>,
    ) -> Ended {
        for mut state in self.values(start, at, scope)? {
            self.each(source, at, scope, &mut |value| {
                let variable = Variable { value, outer: scope };
                let scope = Scope(Some(&variable));
                for next in self.values(update, &At::plain(state.clone()), scope)? {
                    state = next;
                    match extract {
                        None => out.push(at.made(state.clone())?),
                        Some(extract) => {
                            for shown in self.values(extract, &At::plain(state.clone()), scope)? {
                                out.push(at.made(shown)?);
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
