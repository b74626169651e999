//! Looking for calls in memory: all of them are looked at.

use helve_types::{CallId, RunId, Timestamp, UserId};

use super::MemoryTables;
use crate::{CallRecord, Execution, ExecutionFilter, ExecutionPage, Mark, SENDS_KEPT_MS, Scope, StoreError};

impl MemoryTables {
    pub(super) fn keep_send(&mut self, run: RunId, tool: &str, at: Timestamp) {
        let Some(shelf) = self.runs.get(&run) else { return };
        let sends = self.sends.entry(tool.to_owned()).or_default();
        sends.retain(|(kept, _)| kept.0 >= at.0.saturating_sub(SENDS_KEPT_MS));
        sends.push((at, shelf.record.user.clone()));
    }

    pub(super) fn sends(
        &self,
        tool: &str,
        user: Option<&UserId>,
        since: Timestamp,
        limit: usize,
    ) -> Vec<Timestamp> {
        let sends = self.sends.get(tool).into_iter().flatten();
        let asked = sends.filter(|(at, of)| *at >= since && user.is_none_or(|user| user == of));
        let mut times: Vec<_> = asked.map(|(at, _)| *at).collect();
        times.sort_unstable_by(|one, other| other.cmp(one));
        times.truncate(limit);
        times
    }

    pub(super) fn executions(
        &self,
        scope: &Scope,
        filter: &ExecutionFilter,
        page: &ExecutionPage,
    ) -> Vec<Execution> {
        let mut seen: Vec<_> =
            self.calls.values().filter_map(|call| self.visible_execution(scope, call)).collect();
        seen.retain(|held| fits_filter(filter, held));
        seen.sort_by_key(|held| std::cmp::Reverse(sort_key(&held.to_mark())));
        let is_next = |held: &Execution| {
            page.before.as_ref().is_none_or(|mark| sort_key(&held.to_mark()) < sort_key(mark))
        };
        seen.into_iter().filter(is_next).take(page.limit).collect()
    }

    pub(super) fn execution(&self, scope: &Scope, call: &CallId) -> Result<Execution, StoreError> {
        let held = self.calls.get(call).and_then(|call| self.visible_execution(scope, call));
        held.ok_or(StoreError::NotFound("call"))
    }

    fn visible_execution(&self, scope: &Scope, record: &CallRecord) -> Option<Execution> {
        let run = &self.runs.get(&record.run)?.record;
        scope.sees(&run.user).then(|| Execution {
            record: record.clone(),
            user: run.user.clone(),
            agent: run.setup.agent.clone(),
        })
    }
}

fn fits_filter(filter: &ExecutionFilter, held: &Execution) -> bool {
    let ExecutionFilter { tool, user, state, from, to, run } = filter;
    let Execution { record, user: owner, .. } = held;
    tool.as_ref().is_none_or(|tool| *tool == record.call.name)
        && user.as_ref().is_none_or(|user| user == owner)
        && state.is_none_or(|state| state == record.state)
        && from.is_none_or(|from| record.requested_at >= from)
        && to.is_none_or(|to| record.requested_at < to)
        && run.is_none_or(|run| run == record.run)
}

/// Calls of one moment come in the order of their runs' ids, then of their own as text.
fn sort_key(mark: &Mark) -> (i64, helve_types::RunId, String) {
    (mark.requested_at.0, mark.call.run, mark.call.to_string())
}
