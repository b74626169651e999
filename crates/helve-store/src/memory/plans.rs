//! Users' own plans.

use helve_types::{CallId, Timestamp, UserId};

use super::{MemoryStore, MemoryTables, page_of};
use crate::{PLANS_MAX, Page, PlanBody, PlanChange, PlanRecord, Plans, StoreError, StoreFuture};

pub(super) struct PlanShelf {
    plan: PlanRecord,
    made_by: CallId,
}

impl MemoryTables {
    pub(super) fn create_plan(
        &mut self,
        user: UserId,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> Result<PlanRecord, StoreError> {
        let shelves = self.plans.entry(user).or_default();
        if let Some(made) = shelves.iter().find(|shelf| shelf.made_by == by) {
            return Ok(made.plan.clone());
        }
        let number = u32::try_from(shelves.len() + 1).unwrap_or(u32::MAX);
        if number > PLANS_MAX {
            return Err(StoreError::Full("plan"));
        }
        let plan = PlanRecord { number, version: 1, body, changed_by: None, created_at: at, updated_at: at };
        shelves.push(PlanShelf { plan: plan.clone(), made_by: by });
        Ok(plan)
    }

    pub(super) fn change_plan(
        &mut self,
        user: &UserId,
        change: PlanChange,
    ) -> Result<PlanRecord, StoreError> {
        let mut shelves = self.plans.get_mut(user).into_iter().flatten();
        let shelf = shelves.find(|shelf| shelf.plan.number == change.number);
        let shelf = shelf.ok_or(StoreError::NotFound("plan"))?;
        if shelf.plan.changed_by.as_ref() != Some(&change.by) {
            if shelf.plan.version != change.over {
                return Err(StoreError::Changed(shelf.plan.version));
            }
            shelf.plan.version += 1;
            shelf.plan.body = change.body;
            shelf.plan.updated_at = change.at;
            shelf.plan.changed_by = Some(change.by);
        }
        Ok(shelf.plan.clone())
    }

    pub(super) fn plans_of(&self, user: &UserId) -> impl Iterator<Item = &PlanRecord> {
        self.plans.get(user).into_iter().flatten().map(|shelf| &shelf.plan)
    }
}

impl Plans for MemoryStore {
    fn create_plan(
        &self,
        user: UserId,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> StoreFuture<'_, PlanRecord> {
        self.with_tables(|all| all.create_plan(user, by, body, at))
    }

    fn change_plan(&self, user: UserId, change: PlanChange) -> StoreFuture<'_, PlanRecord> {
        self.with_tables(|all| all.change_plan(&user, change))
    }

    fn plan(&self, user: UserId, number: u32) -> StoreFuture<'_, PlanRecord> {
        self.with_tables(|all| {
            let found = all.plans_of(&user).find(|plan| plan.number == number);
            found.cloned().ok_or(StoreError::NotFound("plan"))
        })
    }

    fn plans(&self, user: UserId, at: Page) -> StoreFuture<'_, Vec<PlanRecord>> {
        self.with_tables(|all| {
            let mut plans: Vec<_> = all.plans_of(&user).cloned().collect();
            plans.sort_by_key(|plan| std::cmp::Reverse((plan.updated_at, plan.number)));
            Ok(page_of(plans.into_iter(), at))
        })
    }
}
