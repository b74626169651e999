//! Consent that a person gave before, for all calls of a kind: it stands in for the question that a rule would ask.
//!
//! Looked up only where a person would be asked otherwise, so calls that need no consent cost nothing, and read
//! anew each time, so what was taken back is of no use from then on. Which calls it covers is decided in `helve-policy`.

use helve_policy::{Allowance, AllowanceScope, CallOccasion, Judgement, Verdict, parse_patterns};
use helve_store::{Allowance as Kept, AllowanceKey};
use helve_types::{Notice, Reason, Within};

use crate::CallContext;
use crate::gate::{Candidate, call_access, find_grant};

/// The judgement, or in the place of a question the consent that was given before.
pub(crate) async fn apply_allowances(
    judgement: Judgement,
    candidate: &Candidate,
    cx: &CallContext,
) -> Judgement {
    let Judgement { verdict, must_ask, approvers, .. } = &judgement;
    // Consent to other calls is none to let private data leave, and none of approvers.
    let must_ask = must_ask.is_some() || approvers.is_some();
    if *verdict != Verdict::Ask || must_ask || find_grant(candidate, None, None, cx).is_some() {
        return judgement;
    }
    match find_allowance(candidate, cx).await {
        Some(given) => Judgement {
            verdict: Verdict::Allow,
            because: Reason::new("a person allowed calls like this one", Notice::allowed_before()),
            rule: Some(format!("allowance {}", given.id)),
            must_ask: None,
            approvers: None,
        },
        None => judgement,
    }
}

async fn find_allowance(candidate: &Candidate, cx: &CallContext) -> Option<Allowance> {
    let key = AllowanceKey {
        user: cx.user.clone(),
        agent: cx.agent.clone(),
        tool: candidate.tool.spec.name.clone(),
        version: candidate.tool.version.clone(),
    };
    let kept = match cx.journal.allowances(key).await {
        Ok(kept) => kept,
        Err(error) => {
            // What cannot be known is asked.
            tracing::warn!(%error, "allowances not read: a person is asked");
            return None;
        }
    };
    let on = CallOccasion {
        version: &candidate.tool.version,
        run: cx.run,
        conversation: cx.conversation,
        now: cx.world.now(),
    };
    let access = call_access(candidate, cx);
    kept.into_iter().filter_map(parse_allowance).find(|given| given.covers(&access, &on))
}

/// A consent as it is judged; none if it reaches nowhere or cannot be read.
fn parse_allowance(kept: Kept) -> Option<Allowance> {
    let reach = match kept.within {
        Within::Run => AllowanceScope::Run(kept.run),
        Within::Conversation => AllowanceScope::Conversation(kept.conversation?),
        Within::Agent => AllowanceScope::Agent,
    };
    Some(Allowance {
        reach,
        arguments: parse_patterns(&kept.arguments).ok()?,
        id: kept.id,
        user: kept.user.0,
        agent: kept.agent,
        tool: kept.tool,
        version: kept.version,
        expires_at: kept.expires_at,
    })
}
