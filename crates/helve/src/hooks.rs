//! Hooks of the operator's that are not Rust: an HTTP endpoint or a command, asked in JSON and answering in it.
//!
//! `wire` is what is said, `http` and `command` are how it gets there. `git` is a hook that ships with Helve.

mod command;
mod git;
mod http;
mod wire;

use std::sync::Arc;

use helve_egress::EgressSettings;
use helve_process::Program;
use helve_tool::{
    ChangedOutput, Hook, HookCall, HookError, HookFuture, HookPoint, HookQuestion, HookReply, HookSettings,
    Hooks,
};
use helve_types::{ModelParams, SnapshotId, ToolOutput};
use serde_json::{Value, json};

pub use self::git::GitSnapshots;
pub use self::http::HttpHook;

/// How much a hook may answer.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// A hook as the configuration has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredHook {
    pub settings: HookSettings,
    pub kind: HookKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookKind {
    Http(HttpHook),
    Command(Program),
    Git(GitSnapshots),
}

/// All hooks of the configuration, in its order.
pub(crate) fn hooks(configured: &[ConfiguredHook], egress: &EgressSettings) -> anyhow::Result<Hooks> {
    let mut hooks = Hooks::new();
    for ConfiguredHook { settings, kind } in configured {
        let carrier = match kind {
            HookKind::Http(http) => Carrier::Http(http.ready(egress, settings.timeout)?),
            HookKind::Command(program) => Carrier::Command(program.clone()),
            HookKind::Git(git) => {
                hooks = hooks.with_hook(settings.clone(), Arc::new(git.clone()));
                continue;
            }
        };
        let hook = Foreign { name: settings.name.clone(), carrier };
        hooks = hooks.with_hook(settings.clone(), Arc::new(hook));
    }
    Ok(hooks)
}

/// A hook outside of this process.
struct Foreign {
    name: String,
    carrier: Carrier,
}

enum Carrier {
    Http(http::Ready),
    Command(Program),
}

impl Foreign {
    /// Asks one question; an empty answer says nothing.
    async fn ask(&self, point: HookPoint, about: Value, more: Value) -> Result<Option<Value>, HookError> {
        let question = wire::question(&self.name, point, about, more);
        let answer = match &self.carrier {
            Carrier::Http(http) => http.exchange(question).await?,
            Carrier::Command(program) => command::exchange(program, &question).await?,
        };
        wire::answer(&answer)
    }

    async fn ask_for_snapshot(
        &self,
        point: HookPoint,
        step: &HookQuestion<'_>,
    ) -> Result<HookReply<SnapshotId>, HookError> {
        let answer = self.ask(point, json!(step), json!({})).await?;
        answer.map_or(Ok(HookReply::Nothing), wire::snapshot)
    }
}

impl Hook for Foreign {
    fn before_call<'a>(&'a self, call: &'a HookCall<'a>) -> HookFuture<'a, Value> {
        Box::pin(async move {
            let answer = self.ask(HookPoint::BeforeCall, json!(call), json!({})).await?;
            answer.map_or(Ok(HookReply::Nothing), wire::arguments)
        })
    }

    fn after_call<'a>(
        &'a self,
        call: &'a HookCall<'a>,
        output: &'a ToolOutput,
    ) -> HookFuture<'a, ChangedOutput> {
        Box::pin(async move {
            let answer =
                self.ask(HookPoint::AfterCall, json!(call), json!({"output": wire::shown(output)})).await?;
            answer.map_or(Ok(HookReply::Nothing), wire::output)
        })
    }

    fn system_prompt<'a>(
        &'a self,
        question: &'a HookQuestion<'a>,
        system: &'a str,
    ) -> HookFuture<'a, String> {
        Box::pin(async move {
            let answer =
                self.ask(HookPoint::SystemPrompt, json!(question), json!({"system": system})).await?;
            answer.map_or(Ok(HookReply::Nothing), |answer| wire::system(answer, system))
        })
    }

    fn params<'a>(
        &'a self,
        question: &'a HookQuestion<'a>,
        params: &'a ModelParams,
    ) -> HookFuture<'a, ModelParams> {
        Box::pin(async move {
            let answer = self.ask(HookPoint::Params, json!(question), json!({"params": params})).await?;
            answer.map_or(Ok(HookReply::Nothing), wire::params)
        })
    }

    fn before_step<'a>(&'a self, step: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        Box::pin(self.ask_for_snapshot(HookPoint::BeforeStep, step))
    }

    fn after_step<'a>(&'a self, step: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        Box::pin(self.ask_for_snapshot(HookPoint::AfterStep, step))
    }
}

#[cfg(test)]
mod tests;
