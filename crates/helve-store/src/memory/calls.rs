//! The row of a call, which follows its facts.

use helve_types::{CallId, CallState, RunId, Timestamp, ToolCall, Trail};

use super::MemoryTables;
use crate::{CallChange, CallRecord};

impl MemoryTables {
    pub(super) fn change_call(&mut self, run: RunId, at: Timestamp, id: &CallId, change: CallChange<'_>) {
        if let CallChange::Request { step, tool, arguments, provider_id } = change {
            let call = ToolCall {
                id: id.clone(),
                provider_id: provider_id.map(str::to_owned),
                name: tool.to_owned(),
                arguments: arguments.to_owned(),
                repairs: vec![],
            };
            let record = CallRecord {
                call,
                run,
                step,
                state: CallState::Requested,
                attempt: 0,
                effect: None,
                version: None,
                trail: Trail::default(),
                failure: None,
                problem: None,
                output_bytes: None,
                requested_at: at,
                started_at: None,
                ended_at: None,
            };
            self.calls.insert(id.clone(), record);
            return;
        }
        let Some(record) = self.calls.get_mut(id) else {
            return;
        };
        match change {
            CallChange::Request { .. } => {}
            CallChange::Start { tool, version, effect, attempt, arguments } => {
                record.state = CallState::Running;
                record.call.name = tool.to_owned();
                record.version = Some(version.to_owned());
                record.effect = Some(effect);
                record.attempt = attempt;
                record.started_at = Some(at);
                if let Some(arguments) = arguments {
                    record.call.arguments = arguments.to_owned();
                }
            }
            CallChange::Move(state) => {
                record.state = state;
                record.ended_at = None;
            }
            CallChange::HandOver { state, arguments } => {
                record.state = state;
                record.started_at = Some(at);
                if let Some(arguments) = arguments {
                    record.call.arguments = arguments.to_owned();
                }
            }
            CallChange::Unknown { because, trail } => {
                record.state = CallState::Unknown;
                record.trail = trail.clone();
                record.problem = Some(because.to_owned());
                record.ended_at = Some(at);
            }
            CallChange::End { state, trail, result } => {
                record.state = state;
                record.trail = trail.clone();
                record.failure = result.failure().map(|failure| failure.kind);
                record.problem = result.failure().map(|failure| failure.message.clone());
                record.output_bytes = result.output_bytes();
                record.ended_at = Some(at);
            }
        }
    }
}
