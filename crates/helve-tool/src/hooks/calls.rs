//! Hooks around a tool call.
//!
//! Before: after the arguments were checked and before they are judged, so that rules and people decide about what will
//! run. A call that a person was asked about, or that was sent before, has its arguments on record; no person is asked
//! about it again, only about what the person wrote in their place. After: on every delivery; what is cached is the tool's own output.

use std::borrow::Cow;

use helve_policy::Judgement;
use helve_types::{Failure, FailureKind, Notice, Stage, ToolOutput, Trail};
use serde_json::Value;

use super::{ChangedOutput, HookCall, HookPoint, HookResult, Hooks, OrderedHook};
use crate::check::{Expected, check_arguments};
use crate::gate::{Candidate, EditedArguments, find_grant};
use crate::link::Given;
use crate::outcome::Stop;
use crate::permit::Permit;
use crate::pipeline::run::ToolAnswer;
use crate::{CallContext, Progress, Registered};

impl Hooks {
    /// Whether any hook is asked before or after the agent's calls of this tool.
    pub(crate) fn has_call_hooks(&self, tool: &str, agent: &str) -> bool {
        [HookPoint::BeforeCall, HookPoint::AfterCall]
            .into_iter()
            .flat_map(|point| self.hooks_at(point, agent))
            .any(|placed| placed.settings.applies_to_tool(tool))
    }

    /// The call as the hooks leave it.
    pub(crate) async fn run_before_call(
        &self,
        candidate: Candidate,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<Candidate, Stop> {
        let is_on_record = cx.grant.is_some() || cx.attempts_before > 0;
        if self.is_empty() || is_on_record {
            return Ok(candidate);
        }
        self.ask_before_unless_stopped(candidate, None, cx, trail).await
    }

    /// What the person who allowed the call wrote in place of its arguments, if they did, as the hooks leave it. It must
    /// fit the schema like the model's arguments.
    pub(crate) async fn run_before_edited_call(
        &self,
        candidate: &Candidate,
        judgement: &Judgement,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<Option<EditedArguments>, Stop> {
        let grant = find_grant(candidate, judgement.must_ask.as_ref(), judgement.approvers.as_deref(), cx);
        let Some(text) = grant.and_then(|grant| grant.edited.as_ref()) else { return Ok(None) };
        let tool = candidate.tool.clone();
        let arguments = check_arguments(Expected::of(&tool, Given::Written), text).await?;
        let written = arguments.canonical.clone();
        let edited = Candidate { tool, arguments, changed: true };
        // What was sent before has passed them.
        if self.is_empty() || cx.attempts_before > 0 {
            return Ok(Some(EditedArguments { candidate: edited, rewritten: false }));
        }
        let candidate = self.ask_before_unless_stopped(edited, None, cx, trail).await?;
        let rewritten = candidate.arguments.canonical != written;
        Ok(Some(EditedArguments { candidate, rewritten }))
    }

    /// The same for a tool that stands in. Those who were asked about the call are not asked again.
    pub(crate) async fn run_before_stand_in(
        &self,
        candidate: Candidate,
        called: &Registered,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<Candidate, Stop> {
        if self.is_empty() {
            return Ok(candidate);
        }
        self.ask_before_unless_stopped(candidate, Some(called), cx, trail).await
    }

    async fn ask_before_unless_stopped(
        &self,
        candidate: Candidate,
        called: Option<&Registered>,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<Candidate, Stop> {
        tokio::select! {
            asked = self.ask_before(candidate, called, cx, trail) => asked,
            () = cx.cancel.cancelled() => Err(Stop::cancelled()),
        }
    }

    async fn ask_before(
        &self,
        mut candidate: Candidate,
        called: Option<&Registered>,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<Candidate, Stop> {
        let tool = candidate.tool.clone();
        let name = &tool.spec.name;
        let is_asked = |placed: &&OrderedHook| {
            let was_asked = called.is_some_and(|called| placed.settings.applies_to_tool(&called.spec.name));
            placed.settings.applies_to_tool(name) && !was_asked
        };
        for placed in self.hooks_at(HookPoint::BeforeCall, &cx.agent).filter(is_asked) {
            let call = hook_call(called.unwrap_or(&tool), &tool, &candidate.arguments.value, cx);
            let mut answer = placed.ask_in_time(placed.hook.before_call(&call)).await;
            if let HookResult::Change(arguments) = &answer {
                // The operator's hook may change what an agent decides about.
                match check_arguments(Expected::undecided(&tool), &arguments.to_string()).await {
                    Ok(same) if same.canonical == candidate.arguments.canonical => continue,
                    Ok(changed) => candidate = Candidate { arguments: changed, changed: true, ..candidate },
                    // The model did nothing wrong: it is the hook that failed.
                    Err(misfit) => answer = placed.result_after_failure(&misfit.message),
                }
            }
            record_in_trail(trail, placed, &answer);
            match answer {
                HookResult::Nothing | HookResult::Change(_) | HookResult::FailedButGoOn => {}
                HookResult::Refused(reason) => return Err(refuse_call(name, &reason)),
                HookResult::Failed => {
                    let told = format!("`{name}` was not called: a check that comes first could not be made");
                    let failure = Failure::new(FailureKind::Denied, told);
                    return Err(failure.with_notice(Notice::forbidden_without_check()).into());
                }
            }
        }
        Ok(candidate)
    }

    /// The output as it is delivered.
    pub(crate) async fn run_after_call(
        &self,
        answered: ToolAnswer,
        permit: &Permit,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> ToolOutput {
        self.ask_after(answered, &permit.tool, &permit.arguments.value, cx, trail).await
    }

    /// The same for a call that was answered elsewhere.
    pub(crate) async fn ask_after(
        &self,
        answered: ToolAnswer,
        called: &Registered,
        arguments: &Value,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> ToolOutput {
        let ToolAnswer { mut output, by } = answered;
        if self.is_empty() {
            return output;
        }
        let call = hook_call(called, &by, arguments, cx);
        for placed in self.output_hooks(&[called, &by], cx) {
            let answer = tokio::select! {
                biased;
                answer = placed.ask_in_time(placed.hook.after_call(&call, &output)) => answer,
                // The call was made, so this is not the end of it, but the call no longer waits for the hook.
                () = cx.cancel.cancelled() => HookResult::Failed,
            };
            record_in_trail(trail, placed, &answer);
            match answer {
                HookResult::Nothing | HookResult::FailedButGoOn => {}
                HookResult::Change(change) => change.apply_to_output(&mut output),
                HookResult::Refused(reason) => return withheld_output(&called.spec.name, &reason),
                HookResult::Failed => return withheld_output(&called.spec.name, "it could not be checked"),
            }
        }
        output
    }

    /// The context for a tool whose output a hook checks before it is delivered: until then none of it is shown.
    pub(crate) fn context_without_progress<'a>(
        &self,
        tool: &Registered,
        cx: &'a CallContext,
    ) -> Cow<'a, CallContext> {
        match self.output_hooks(&[tool], cx).next() {
            Some(_) => Cow::Owned(CallContext { progress: Progress::default(), ..cx.clone() }),
            None => Cow::Borrowed(cx),
        }
    }

    /// Those who are asked about the output of any of these tools.
    fn output_hooks<'a>(
        &'a self,
        tools: &'a [&'a Registered],
        cx: &'a CallContext,
    ) -> impl Iterator<Item = &'a OrderedHook> {
        let is_asked =
            |placed: &&OrderedHook| tools.iter().any(|tool| placed.settings.applies_to_tool(&tool.spec.name));
        self.hooks_at(HookPoint::AfterCall, &cx.agent).filter(is_asked)
    }
}

fn hook_call<'a>(
    called: &'a Registered,
    by: &'a Registered,
    arguments: &'a Value,
    cx: &'a CallContext,
) -> HookCall<'a> {
    let (tool, other) = (called.spec.name.as_str(), by.spec.name.as_str());
    HookCall {
        call: &cx.call,
        tool,
        instead: (tool != other).then_some(other),
        arguments,
        run: cx.run,
        conversation: cx.conversation,
        agent: &cx.agent,
        user: &cx.user,
    }
}

fn refuse_call(tool: &str, reason: &str) -> Stop {
    Failure::new(FailureKind::Denied, format!("`{tool}` was not called: {reason}"))
        .with_notice(Notice::forbidden_by_hook(reason))
        .into()
}

/// What is delivered in place of an output. The call was made, and the model must not take it for a failure.
fn withheld_output(tool: &str, reason: &str) -> ToolOutput {
    let text = format!("`{tool}` was called and has answered, but its output is withheld: {reason}");
    ToolOutput::text(text).with_headline("withheld", Notice::output_withheld())
}

impl ChangedOutput {
    fn apply_to_output(self, output: &mut ToolOutput) {
        if let Some(text) = self.text {
            output.text = text;
            output.data = None;
        }
        output.data = self.data.or(output.data.take());
        output.title = self.title.or(output.title.take());
        output.metadata = self.metadata.or(output.metadata.take());
        if let Some(stay) = self.files {
            output.files.retain(|file| stay.contains(&file.name));
            output.attachments.retain(|attachment| stay.contains(&attachment.name));
        }
    }
}

/// A hook that has nothing to say leaves nothing.
fn record_in_trail<T>(trail: &mut Trail, placed: &OrderedHook, answer: &HookResult<T>) {
    let did = match answer {
        HookResult::Nothing => return,
        HookResult::Change(_) => "changed",
        HookResult::Refused(_) => "refused",
        HookResult::Failed | HookResult::FailedButGoOn => "failed",
    };
    trail.push(Stage::Hook { name: placed.name().into(), did: did.into() });
}
