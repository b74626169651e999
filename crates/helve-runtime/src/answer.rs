//! A person's answer to a question: looked at before it is passed on, so that one which cannot be meant leaves the
//! question open.

use helve_agent::{Command, CommandError};
use helve_store::{Approval, ApprovalFilter, Page, Scope, StoreError};
use helve_tool::{Ballot, VoteRefusal, build_conditions, fits_all};
use helve_types::{About, Always, Answer, ApprovalId, Approvers, RunId, UserId, Within};
use serde_json::Value;

use crate::Runtime;

impl Runtime {
    /// Settles an open question. The first answer wins.
    pub async fn answer_approval(
        &self,
        scope: Scope,
        approval: ApprovalId,
        answer: Answer,
        by: String,
    ) -> Result<(), CommandError> {
        let held = self.find_approval(&scope, &UserId(by.clone()), approval).await?;
        if let Answer::Approve { arguments, always: Some(always) } = &answer {
            check_always(always, arguments.as_deref(), &held).map_err(CommandError::BadAlways)?;
            if always.within == Within::Conversation
                && self.shared.env().store.run(scope, held.run).await?.conversation.is_none()
            {
                let what = "this run belongs to no conversation; say `run` or `agent`";
                return Err(CommandError::BadAlways(what.into()));
            }
        }
        let always = match &answer {
            Answer::Approve { always, .. } => always.clone(),
            _ => None,
        };
        let told = by.clone();
        self.send_command(held.run, |reply| Command::Answer { approval, answer, by, reply }).await?;
        if let Some(always) = always {
            self.answer_covered_approvals(&held, &always, told).await;
        }
        Ok(())
    }

    /// A question that the scope shows, or that this user may answer. For others it does not exist.
    pub async fn find_approval(
        &self,
        scope: &Scope,
        user: &UserId,
        approval: ApprovalId,
    ) -> Result<Approval, StoreError> {
        let held = self.shared.env().store.approval(Scope::Everyone, approval).await?;
        let is_visible = scope.sees(&held.user) || self.is_named(&held, user);
        if is_visible { Ok(held) } else { Err(StoreError::NotFound("approval")) }
    }

    /// The questions that this user may answer now, those that wait longest first: those of its own runs, and those of
    /// others' that name it or a group of its.
    pub async fn load_inbox(&self, user: &UserId, page: Page) -> Result<Vec<Approval>, StoreError> {
        let store = &self.shared.env().store;
        let all = Page::first(INBOX_SCAN_MAX);
        let mut inbox = store.approvals(Scope::User(user.clone()), ApprovalFilter::Pending(all)).await?;
        inbox.retain(|held| held.question.approvers.is_none());
        let named = store.approvals(Scope::Everyone, ApprovalFilter::WithApprovers(all)).await?;
        inbox.extend(
            named
                .into_iter()
                .filter(|held| self.standing_of(held, user) == Some(ApproverStanding::MayAnswer)),
        );
        inbox.sort_by_key(|held| (held.asked_at, held.id()));
        Ok(inbox.into_iter().skip(page.offset).take(page.limit).collect())
    }

    /// How the user stands to an open question; none where no approvers are named.
    pub fn standing_of(&self, held: &Approval, user: &UserId) -> Option<ApproverStanding> {
        let approvers = held.question.approvers.as_deref()?;
        let groups_of = |user: &str| self.shared.env().groups_of_user(user);
        let standing = match ballot_of(approvers, held).check_approver(&user.0, &groups_of) {
            Err(VoteRefusal::OwnRequest) => ApproverStanding::OwnRequest,
            Err(_) => ApproverStanding::NotApprover,
            Ok(()) if held.votes.iter().any(|vote| vote.by == user.0) => ApproverStanding::Voted,
            Ok(()) => ApproverStanding::MayAnswer,
        };
        Some(standing)
    }

    /// How many more people must agree; none where no approvers are named.
    pub fn votes_missing(&self, held: &Approval) -> Option<u32> {
        let approvers = held.question.approvers.as_deref()?;
        let groups_of = |user: &str| self.shared.env().groups_of_user(user);
        let given = ballot_of(approvers, held).valid_votes(&groups_of).count();
        Some(approvers.approvals.saturating_sub(u32::try_from(given).unwrap_or(u32::MAX)))
    }

    fn is_named(&self, held: &Approval, user: &UserId) -> bool {
        let groups_of = |user: &str| self.shared.env().groups_of_user(user);
        let named = held.question.approvers.as_deref();
        named.is_some_and(|approvers| ballot_of(approvers, held).names(&user.0, &groups_of))
    }

    /// Answers the other open questions that would not have been asked if the consent had been there before. Those that
    /// cannot be answered now stay open: the consent itself is given.
    async fn answer_covered_approvals(&self, said: &Approval, always: &Always, by: String) {
        let open = match always.within {
            Within::Run => ApprovalFilter::PendingOf(said.run),
            Within::Conversation | Within::Agent => ApprovalFilter::Pending(Page::first(COVERED_MAX)),
        };
        let open = match self.shared.env().store.approvals(Scope::User(said.user.clone()), open).await {
            Ok(open) => open,
            Err(error) => {
                tracing::warn!(%error, "allowance not applied: open questions not read");
                return;
            }
        };
        for other in open.into_iter().filter(|other| is_question_covered(said, other, always)) {
            let (run, approval, by) = (other.run, other.id(), by.clone());
            if self.is_run_covered(said.run, run, always.within).await
                && let Err(error) = self
                    .send_command(run, |reply| Command::Answer {
                        approval,
                        answer: Answer::approve(),
                        by,
                        reply,
                    })
                    .await
            {
                tracing::info!(%run, %approval, %error, "allowance not applied to an open question");
            }
        }
    }

    /// Whether another run is of the same agent and, where that is asked, of the same conversation.
    async fn is_run_covered(&self, said_in: RunId, other: RunId, within: Within) -> bool {
        let store = &self.shared.env().store;
        let (Ok(mine), Ok(its)) =
            (store.run(Scope::Everyone, said_in).await, store.run(Scope::Everyone, other).await)
        else {
            return false;
        };
        mine.setup.agent == its.setup.agent
            && match within {
                Within::Run => said_in == other,
                Within::Conversation => mine.conversation.is_some() && mine.conversation == its.conversation,
                Within::Agent => true,
            }
    }
}

/// So many open questions of each kind are looked at for an inbox.
const INBOX_SCAN_MAX: usize = 1_000;

/// How a user stands to a question that approvers answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApproverStanding {
    MayAnswer,
    /// The user has agreed, and others must, too.
    Voted,
    /// It is the user's own run.
    OwnRequest,
    NotApprover,
}

fn ballot_of<'a>(approvers: &'a Approvers, held: &'a Approval) -> Ballot<'a> {
    Ballot { approvers, escalated: held.escalated, requester: &held.user.0, votes: &held.votes }
}

/// So many open questions are looked at; others are answered by a person, or never asked again.
const COVERED_MAX: usize = 200;

/// Whether a question is about a call that the consent covers. A warning, or a question because a run repeats
/// itself, is about that call alone.
fn is_question_covered(said: &Approval, other: &Approval, always: &Always) -> bool {
    let (Some(mine), About::Permission { call: its, repeats: false }) =
        (said.question.call(), &other.question.about)
    else {
        return false;
    };
    let sent = serde_json::from_str(&its.arguments).unwrap_or(Value::Null);
    other.question.approvers.is_none()
        && its.warnings.is_empty()
        && (&*its.tool, &*its.version) == (&*mine.tool, &*mine.version)
        && fits_all(&always.arguments, &sent)
}

/// What is wrong with a consent that outlives its call, if anything.
fn check_always(always: &Always, edited: Option<&str>, held: &Approval) -> Result<(), String> {
    if held.question.approvers.is_some() {
        let why =
            "approvers are named for this call, and each of its calls is theirs to decide; answer it once";
        return Err(why.into());
    }
    let About::Permission { call, repeats } = &held.question.about else {
        return Err(
            "only a question whether a call may run can be answered for always; answer it once".into()
        );
    };
    // A question about a loop shows one run, and not what else the tool may be called for.
    if *repeats && always.within != Within::Run {
        return Err("this call repeats itself in this run; say `run`, or answer it once".into());
    }
    if *repeats && call.version.is_empty() {
        return Err(
            "this call cannot be made, so there is nothing to allow for always; answer it once, or with a no"
                .into(),
        );
    }
    if call.version.is_empty() {
        return Err("the question does not say which version of the tool it is about; answer it once".into());
    }
    // Those that will be sent. If they cannot be read they fit nothing.
    let sent = serde_json::from_str(edited.unwrap_or(&call.arguments)).unwrap_or(Value::Null);
    build_conditions(always, &sent).map(drop)
}
