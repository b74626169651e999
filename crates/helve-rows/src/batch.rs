//! Several rows made or changed together: all of them, or none if one cannot be.

use std::sync::Arc;

use helve_store::StoreError;

use crate::error::save_error;
use crate::{DefinitionKind, DefinitionRow, HeldRow, Registrar, RowCatalogue, RowError};

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchOutcome {
    Created,
    Changed,
    /// It is what the definition says.
    Unchanged,
}

/// A row of those that were made together.
pub struct BatchRow<K: DefinitionKind> {
    pub name: String,
    pub outcome: BatchOutcome,
    /// The row as it is held; none if it was only checked and would be made.
    pub held: Option<HeldRow<K>>,
}

/// Why none of the rows was saved.
#[derive(Debug)]
pub struct BatchError<E> {
    /// The definition that is wrong, by its number; none if it is no single one.
    pub number: Option<usize>,
    pub error: E,
}

/// What is to be saved in place of what.
struct Planned<K: DefinitionKind> {
    row: DefinitionRow<K>,
    expected: u32,
    built: Arc<K::Built>,
    outcome: BatchOutcome,
}

impl<K: DefinitionKind> RowCatalogue<K> {
    /// Makes or changes a row of each definition. `check` may refuse one, with what is there now, and complete it. With
    /// `dry_run` nothing is saved.
    pub async fn save_all<R: Registrar<K>>(
        &self,
        registrar: &R,
        definitions: Vec<K::Definition>,
        dry_run: bool,
        by: &str,
        check: impl Fn(Option<&K::Definition>, &mut K::Definition) -> Result<(), R::Error> + Send + Sync,
    ) -> Result<Vec<BatchRow<K>>, BatchError<R::Error>> {
        for definition in &definitions {
            registrar.prepare(definition).await;
        }
        let _lock = self.lock().await;
        let mut planned: Vec<Planned<K>> = vec![];
        for (number, definition) in definitions.into_iter().enumerate() {
            let is_there_twice = planned.iter().any(|other| other.row.name() == K::name(&definition));
            let plan = match is_there_twice {
                true => Err(RowError::Exists(K::name(&definition).to_owned()).into()),
                false => self.plan(registrar, definition, &check).await,
            };
            planned.push(plan.map_err(|error| BatchError { number: Some(number), error })?);
        }
        if dry_run {
            let checked = |plan: Planned<K>| BatchRow {
                held: self.get(plan.row.name()),
                name: plan.row.name().to_owned(),
                outcome: plan.outcome,
            };
            return Ok(planned.into_iter().map(checked).collect());
        }
        self.save_planned(registrar, planned, by).await
    }

    /// The next version of the row of a definition, or its first.
    async fn plan<R: Registrar<K>>(
        &self,
        registrar: &R,
        mut definition: K::Definition,
        check: &(impl Fn(Option<&K::Definition>, &mut K::Definition) -> Result<(), R::Error> + Send + Sync),
    ) -> Result<Planned<K>, R::Error> {
        let before = match self.table().get(K::name(&definition)).await {
            Ok(row) => Some(row),
            Err(StoreError::NotFound(_)) => None,
            Err(error) => return Err(RowError::from(error).into()),
        };
        check(before.as_ref().map(|row| &row.definition), &mut definition)?;
        if before.is_none() {
            registrar.check_new(&definition)?;
        }
        let built = self.build(registrar, &definition).map_err(RowError::from)?;
        let now = self.world.now();
        Ok(match before {
            Some(row) => {
                let is_same = row.definition == definition;
                let outcome = if is_same { BatchOutcome::Unchanged } else { BatchOutcome::Changed };
                let next = if is_same { row.clone() } else { row.changed_to(definition, now) };
                Planned { expected: row.version, row: next, built, outcome }
            }
            None => {
                let row = DefinitionRow::new(self.world.row_id(), definition, now);
                Planned { row, expected: 0, built, outcome: BatchOutcome::Created }
            }
        })
    }

    async fn save_planned<R: Registrar<K>>(
        &self,
        registrar: &R,
        planned: Vec<Planned<K>>,
        by: &str,
    ) -> Result<Vec<BatchRow<K>>, BatchError<R::Error>> {
        let change = |plan: &Planned<K>| {
            let action = match plan.outcome {
                BatchOutcome::Created => "created",
                BatchOutcome::Changed => "changed",
                BatchOutcome::Unchanged => return None,
            };
            let line = self.audit_line(action, &format!("{} {}", plan.row.name(), plan.row.hash), by);
            Some((plan.row.clone(), plan.expected, line))
        };
        let changes = planned.iter().filter_map(change).collect();
        let saved = self.table().save_all(changes).await.map_err(save_error);
        let saved = saved.map_err(|error| BatchError { number: None, error: error.into() })?;
        let mut saved = saved.into_iter();
        let hold = |plan: Planned<K>| {
            let Planned { row, built, outcome, .. } = plan;
            let name = row.name().to_owned();
            let held = match outcome {
                BatchOutcome::Unchanged => self.update_held(registrar, row),
                BatchOutcome::Created | BatchOutcome::Changed => {
                    self.hold(registrar, saved.next().unwrap_or(row), Ok(built))
                }
            };
            BatchRow { name, outcome, held: Some(held) }
        };
        Ok(planned.into_iter().map(hold).collect())
    }
}
