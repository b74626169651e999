//! Who may pass: the only maker of permits.

use std::sync::Arc;

use helve_policy::{CallAccess, DataLeak, Judgement, Rules, Verdict, find_leak};
use helve_types::{
    About, Approvers, AskedCall, Effect, Failure, FailureKind, Notice, Question, Reason, Stage, ToolCall,
    Trail, UserQuestion, canonical_json, hex,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::check::Arguments;
use crate::outcome::{Outcome, Stop};
use crate::permit::Permit;
use crate::{CallContext, Grant, Registered, Request, Unknown};

/// A checked call before its verdict.
pub(crate) struct Candidate {
    pub(crate) tool: Arc<Registered>,
    pub(crate) arguments: Arguments,
    /// A hook, a person or the agent has changed them.
    pub(crate) changed: bool,
}

impl Candidate {
    /// What an approval is bound to: change any of it and the approval is void.
    pub(crate) fn consent_binding(&self, warned: LeakWarning, approvers: Option<&Approvers>) -> String {
        hash_binding(
            &self.tool.spec.name,
            &self.tool.version,
            self.tool.spec.effect,
            &self.arguments.value,
            warned,
            approvers,
        )
    }
}

/// What a person wrote in place of the arguments they were asked about, as hooks left it.
pub(crate) struct EditedArguments {
    pub(crate) candidate: Candidate,
    /// A hook made something else of it, which no person has seen.
    pub(crate) rewritten: bool,
}

/// Whether the person who agreed was told that private data could leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeakWarning {
    Yes,
    No,
}

impl LeakWarning {
    fn from_leak(leaving: Option<&DataLeak>) -> Self {
        if leaving.is_some() { Self::Yes } else { Self::No }
    }
}

fn hash_binding(
    tool: &str,
    version: &str,
    effect: Effect,
    arguments: &Value,
    warned: LeakWarning,
    approvers: Option<&Approvers>,
) -> String {
    let mut bound = json!({"tool": tool, "version": version, "effect": effect, "arguments": arguments});
    if warned == LeakWarning::Yes {
        bound["warned"] = true.into();
    }
    // Consent of one person, or of other people, is not what a rule wants that names approvers since.
    if let Some(approvers) = approvers {
        bound["approvers"] = json!(approvers);
    }
    hex(&Sha256::digest(canonical_json(&bound)))
}

pub(crate) fn judge_call(rules: &Rules, candidate: &Candidate, cx: &CallContext) -> Judgement {
    let Registered { spec, flow, .. } = &*candidate.tool;
    let must_ask = find_leak(&cx.taint, flow, spec.effect);
    Judgement { must_ask, ..rules.judge(&call_access(candidate, cx)) }
}

/// The call as rules and allowances see it.
pub(crate) fn call_access<'a>(candidate: &'a Candidate, cx: &'a CallContext) -> CallAccess<'a> {
    let spec = &candidate.tool.spec;
    CallAccess {
        tool: &spec.name,
        leads_to: spec.leads_to.as_deref(),
        tags: &spec.tags,
        effect: spec.effect,
        client: spec.client,
        agent: &cx.agent,
        user: &cx.user.0,
        groups: &cx.groups,
        arguments: &candidate.arguments.value,
    }
}

/// Lets the call through, asks a person, or refuses. What cannot be decided is not let through.
pub(crate) fn admit_call(
    judgement: Judgement,
    candidate: Candidate,
    edit: Option<EditedArguments>,
    rules: &Rules,
    cx: &CallContext,
    trail: &mut Trail,
) -> Result<Permit, Stop> {
    let Judgement { verdict, because, rule, must_ask, approvers } = judgement;
    let mut decided =
        |verdict: &str| trail.push(Stage::Judge { verdict: verdict.into(), rule: rule.clone() });
    match verdict {
        Verdict::Deny => {
            decided("deny");
            Err(denied_failure(&candidate, &because).into())
        }
        // Also where no rule asks: a call that repeats itself was put before a person, who may have changed it.
        Verdict::Allow | Verdict::Ask
            if let Some(grant) = find_grant(&candidate, must_ask.as_ref(), approvers.as_deref(), cx) =>
        {
            let (agreed, rewritten) = match edit {
                Some(EditedArguments { candidate, rewritten }) => (candidate, rewritten),
                None => (Candidate { changed: grant.changed || candidate.changed, ..candidate }, false),
            };
            // A person may allow what asks; what is forbidden they cannot write into it.
            let Judgement { verdict, because, must_ask, approvers, .. } = judge_call(rules, &agreed, cx);
            if verdict == Verdict::Deny {
                decided("deny");
                return Err(denied_failure(&agreed, &because).into());
            }
            if rewritten {
                decided("ask");
                return Err(Outcome::Asked(permission_question(
                    &agreed,
                    rewritten_reason(),
                    must_ask,
                    approvers,
                    cx,
                ))
                .into());
            }
            decided("approved");
            Ok(Permit::new(agreed))
        }
        // Before whatever else may let it pass: no rule and no consent to other calls is consent to this.
        Verdict::Allow | Verdict::Ask if let Some(leaving) = must_ask => {
            decided("must_ask");
            let because = DataLeak::reason();
            Err(Outcome::Asked(permission_question(&candidate, because, Some(leaving), approvers, cx)).into())
        }
        Verdict::Allow => {
            decided("allow");
            Ok(Permit::new(candidate))
        }
        Verdict::Ask => {
            decided("ask");
            Err(Outcome::Asked(permission_question(&candidate, because, None, approvers, cx)).into())
        }
    }
}

/// Why a person is asked about a call that they have just edited.
fn rewritten_reason() -> Reason {
    Reason::new("a check that comes first has changed what you wrote", Notice::asks_after_rewrite())
}

/// The question about a call that repeats itself, which is asked whatever the rules say, unless they forbid it.
pub(crate) fn ask_about_repetition(
    judgement: Judgement,
    candidate: &Candidate,
    because: &Reason,
    cx: &CallContext,
) -> Result<Question, Failure> {
    check_not_denied(&judgement, candidate)?;
    let asked = question_about(candidate, because.clone(), judgement.must_ask, judgement.approvers, true, cx);
    let (because, reasons) = match judgement.verdict {
        // A yes is a yes to both.
        Verdict::Ask => (
            format!("{}; besides, {}", because.text, judgement.because.text),
            vec![because.notice.clone(), judgement.because.notice],
        ),
        Verdict::Allow | Verdict::Deny => (asked.because, asked.reasons),
    };
    Ok(Question { because, reasons, ..asked })
}

/// Why a call cannot be made is told to a person in no more characters than this.
const REASON_CHARS_MAX: usize = 1_000;

/// The question about a call that repeats itself and cannot be made, even with consent: it is bound to nothing and names no
/// version, so an answer allows nothing but to go on.
pub(crate) fn ask_about_invalid(
    call: &ToolCall,
    because: &Reason,
    why: &Failure,
    cx: &CallContext,
) -> Question {
    let written = serde_json::from_str(&call.arguments);
    // What a person is shown is JSON, also where the model's arguments are not.
    let arguments = written.unwrap_or_else(|_| Value::String(call.arguments.clone()));
    let tool = cx.toolbox.resolve(&call.name).ok();
    let reason: String = why.message.chars().take(REASON_CHARS_MAX).collect();
    Question {
        approval: cx.world.approval_id(),
        about: About::Permission {
            call: Box::new(AskedCall {
                id: call.id.clone(),
                tool: call.name.clone(),
                version: String::new(),
                arguments: canonical_json(&arguments),
                request: None,
                effect: tool.map_or(Effect::NonIdempotent, |(tool, _)| tool.spec.effect),
                warnings: vec![],
                cautions: vec![],
            }),
            repeats: true,
        },
        because: format!("{}; besides, it cannot be made: {reason}", because.text),
        reasons: vec![because.notice.clone(), Notice::call_cannot_be_made(why.user_notice())],
        binding: String::new(),
        approvers: None,
        expires_at: cx.world.now().plus_ms(Question::OPEN_MS),
        asker: cx.asker.clone(),
    }
}

/// Whether a person may allow the call at all.
pub(crate) fn check_not_denied(judgement: &Judgement, candidate: &Candidate) -> Result<(), Failure> {
    match judgement.verdict {
        Verdict::Deny => Err(denied_failure(candidate, &judgement.because)),
        Verdict::Allow | Verdict::Ask => Ok(()),
    }
}

fn denied_failure(candidate: &Candidate, because: &Reason) -> Failure {
    let tool = &candidate.tool.spec.name;
    let told = format!("calling `{tool}` is not allowed: {}; go on without it", because.text);
    Failure::new(FailureKind::Denied, told).with_notice(because.notice.clone())
}

/// A person's consent to just this call of just this tool, if there is one.
/// Who agreed without knowing that private data could leave has not agreed to that.
pub(crate) fn find_grant<'a>(
    candidate: &Candidate,
    must_ask: Option<&DataLeak>,
    approvers: Option<&Approvers>,
    cx: &'a CallContext,
) -> Option<&'a Grant> {
    let holds = |grant: &&Grant| {
        grant.binding == candidate.consent_binding(LeakWarning::Yes, approvers)
            || (must_ask.is_none() && grant.binding == candidate.consent_binding(LeakWarning::No, approvers))
    };
    cx.grant.as_ref().filter(holds)
}

/// The question what became of a call. It is bound to what running it again would send, if that is what was sent and is
/// shown; otherwise having it run again is no consent, and is asked about like any call.
pub(crate) fn build_outcome_question(
    call: &ToolCall,
    unknown: Unknown,
    again: Option<&Candidate>,
    rules: &Rules,
    cx: &CallContext,
) -> Question {
    let judged = again.map(|again| judge_call(rules, again, cx));
    // To have it run again is consent to the call, and theirs to give.
    let (leaving, approvers) = judged.map_or((None, None), |judged| (judged.must_ask, judged.approvers));
    let bound = again.filter(|again| request_preview(again, cx) == unknown.request);
    let binding = bound
        .map(|again| again.consent_binding(LeakWarning::from_leak(leaving.as_ref()), approvers.as_deref()));
    let (warnings, cautions) = leaving.map(DataLeak::into_warnings).unwrap_or_default();
    Question {
        approval: cx.world.approval_id(),
        about: About::Outcome {
            call: Box::new(AskedCall {
                id: call.id.clone(),
                tool: call.name.clone(),
                version: bound.map(|again| again.tool.version.clone()).unwrap_or_default(),
                arguments: call.arguments.clone(),
                request: unknown.request,
                effect: again.map_or(Effect::NonIdempotent, |again| again.tool.spec.effect),
                warnings,
                cautions,
            }),
            sent_at: Some(unknown.sent_at),
            checked: unknown.checked,
        },
        because: unknown.because,
        reasons: vec![Notice::call_outcome_unknown()],
        binding: binding.unwrap_or_default(),
        approvers,
        expires_at: cx.world.now().plus_ms(Question::OPEN_MS),
        asker: cx.asker.clone(),
    }
}

/// The question that a call puts to the person. Nothing runs after it, so its binding is consent to nothing.
pub(crate) fn question_of_model(permit: &Permit, asked: UserQuestion, cx: &CallContext) -> Question {
    let Permit { tool, arguments, .. } = permit;
    Question {
        approval: cx.world.approval_id(),
        about: About::User {
            call: Box::new(AskedCall {
                id: cx.call.clone(),
                tool: tool.spec.name.clone(),
                version: tool.version.clone(),
                arguments: arguments.canonical.clone(),
                request: None,
                effect: tool.spec.effect,
                warnings: vec![],
                cautions: vec![],
            }),
            asked: Box::new(asked),
        },
        because: "the model wants to know something".into(),
        reasons: vec![Notice::asks_for_answer()],
        binding: String::new(),
        approvers: None,
        expires_at: cx.world.now().plus_ms(Question::OPEN_MS),
        asker: cx.asker.clone(),
    }
}

fn permission_question(
    candidate: &Candidate,
    because: Reason,
    leaving: Option<DataLeak>,
    approvers: Option<Box<Approvers>>,
    cx: &CallContext,
) -> Question {
    question_about(candidate, because, leaving, approvers, false, cx)
}

fn question_about(
    candidate: &Candidate,
    because: Reason,
    leaving: Option<DataLeak>,
    approvers: Option<Box<Approvers>>,
    repeats: bool,
    cx: &CallContext,
) -> Question {
    let warned = LeakWarning::from_leak(leaving.as_ref());
    let (warnings, cautions) = leaving.map(DataLeak::into_warnings).unwrap_or_default();
    Question {
        approval: cx.world.approval_id(),
        about: About::Permission {
            call: Box::new(AskedCall {
                id: cx.call.clone(),
                tool: candidate.tool.spec.name.clone(),
                version: candidate.tool.version.clone(),
                arguments: candidate.arguments.canonical.clone(),
                request: request_preview(candidate, cx),
                effect: candidate.tool.spec.effect,
                warnings,
                cautions,
            }),
            repeats,
        },
        because: because.text,
        reasons: vec![because.notice],
        binding: candidate.consent_binding(warned, approvers.as_deref()),
        approvers,
        expires_at: cx.world.now().plus_ms(Question::OPEN_MS),
        asker: cx.asker.clone(),
    }
}

/// What would go over the wire, where the tool knows more of that than the arguments say.
pub(crate) fn request_preview(candidate: &Candidate, cx: &CallContext) -> Option<String> {
    candidate.tool.tool.as_ref()?.preview(Request { arguments: &candidate.arguments.value }, cx)
}
