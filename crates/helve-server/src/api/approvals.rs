//! Questions to people, and their answers.

use axum::extract::State;
use helve_runtime::{ApproverStanding, CommandError};
use helve_store::{Approval, ApprovalFilter, ApprovalState, Scope, StoreError};
use helve_types::{Answer, ApprovalId, Question, UserId, Vote};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Id, Json, Query, StateQuery};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/approvals", Right::Chat, "List questions to people").gives::<ApprovalList>(),
            list_approvals,
        )
        .add_route(
            Operation::get("/api/approvals/{approval}", Right::Chat, "Look at a question")
                .for_user()
                .gives::<ApprovalView>(),
            get_approval,
        )
        .add_route(
            Operation::post(
                "/api/approvals/{approval}",
                Right::Chat,
                "Answer a question; the first answer wins",
            )
            .for_user()
            .with_example(json!({"decision": "approve", "always": {"within": "conversation", "days": 7}}))
            .gives::<ApprovalView>(),
            answer_approval,
        )
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ApprovalView {
    run: String,
    user: String,
    #[serde(flatten)]
    question: Question,
    asked_at: i64,
    /// What approvers have said, where several must agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    votes: Vec<Vote>,
    /// How many more must agree. Only where approvers are named and none has said no.
    #[serde(skip_serializing_if = "Option::is_none")]
    votes_missing: Option<u32>,
    /// Nobody settled it for long, and those of `approvers.escalate` may answer, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    escalated: bool,
    /// What you may do where approvers are named: `may_answer`, `voted`, `own_request` or `not_approver`.
    #[serde(skip_serializing_if = "Option::is_none")]
    you: Option<&'static str>,
    /// `pending`, `answered` or `withdrawn`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_at: Option<i64>,
}

impl From<Approval> for ApprovalView {
    fn from(held: Approval) -> Self {
        let (state, answer, by, answered_at) = match held.state {
            ApprovalState::Pending => ("pending", None, None, None),
            ApprovalState::Withdrawn => ("withdrawn", None, None, None),
            ApprovalState::Answered { answer, by, answered_at } => {
                ("answered", Some(answer), Some(by), Some(answered_at.0))
            }
        };
        Self {
            run: held.run.to_string(),
            user: held.user.to_string(),
            question: held.question,
            asked_at: held.asked_at.0,
            votes: held.votes,
            votes_missing: None,
            escalated: held.escalated,
            you: None,
            state,
            answer,
            by,
            answered_at,
        }
    }
}

impl ApprovalView {
    /// As this user sees it.
    fn for_user(app: &App, held: Approval, user: &UserId) -> Self {
        let is_open = held.state == ApprovalState::Pending;
        let you = app.runtime.standing_of(&held, user).filter(|_| is_open).map(|standing| match standing {
            ApproverStanding::MayAnswer => "may_answer",
            ApproverStanding::Voted => "voted",
            ApproverStanding::OwnRequest => "own_request",
            ApproverStanding::NotApprover => "not_approver",
        });
        let votes_missing = app.runtime.votes_missing(&held).filter(|_| is_open);
        Self { you, votes_missing, ..Self::from(held) }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ApprovalList {
    approvals: Vec<ApprovalView>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ListFilter {
    Pending,
    All,
    /// Those that you may answer, also in runs of others.
    Inbox,
}

pub(crate) async fn list_approvals(
    State(app): State<App>,
    principal: Principal,
    Query(query): Query<StateQuery<ListFilter>>,
) -> Result<axum::Json<ApprovalList>, Problem> {
    let scope = query.scope(&principal)?;
    let page = query.to_page();
    let store = app.runtime.store();
    let held = match query.state {
        Some(ListFilter::Inbox) => {
            let user = principal.user_to_act_for(query.user.as_deref())?;
            app.runtime.load_inbox(&user, page).await?
        }
        Some(ListFilter::All) => store.approvals(scope, ApprovalFilter::All(page)).await?,
        None | Some(ListFilter::Pending) => store.approvals(scope, ApprovalFilter::Pending(page)).await?,
    };
    let view = |held| ApprovalView::for_user(&app, held, &principal.user);
    Ok(axum::Json(ApprovalList { approvals: held.into_iter().map(view).collect() }))
}

pub(crate) async fn get_approval(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<ApprovalId>,
) -> Result<axum::Json<ApprovalView>, Problem> {
    let held = app.runtime.find_approval(&principal.scope(), &principal.user, id).await?;
    Ok(axum::Json(ApprovalView::for_user(&app, held, &principal.user)))
}

pub(crate) async fn answer_approval(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<ApprovalId>,
    body: Json<Answer>,
) -> Result<axum::Json<ApprovalView>, Problem> {
    let answer = body.value;
    if answer == Answer::Expire {
        return Err(Problem::bad_request("answer_does_not_fit", "only time can let a question expire"));
    }
    let settled = settle_approval(&app, principal.scope(), id, answer, principal.user.to_string()).await?;
    Ok(axum::Json(ApprovalView::for_user(&app, settled, &principal.user)))
}

/// Settles a question, or finds that it is settled just so: the same decision twice is one decision.
pub(crate) async fn settle_approval(
    app: &App,
    scope: Scope,
    id: ApprovalId,
    answer: Answer,
    by: String,
) -> Result<Approval, CommandError> {
    let user = UserId(by.clone());
    let before = app.runtime.find_approval(&scope, &user, id).await?;
    if is_settled_by(&before, &answer) {
        return Ok(before);
    }
    let answered = app.runtime.answer_approval(scope, id, answer.clone(), by).await;
    let after = app.runtime.store().approval(Scope::Everyone, id).await?;
    match answered {
        // Another answer was recorded first.
        Err(
            CommandError::NotOpen | CommandError::Over | CommandError::Store(StoreError::AlreadyAnswered),
        ) => {
            if is_settled_by(&after, &answer) {
                Ok(after)
            } else if is_settled_by(&after, &Answer::Expire) {
                Err(CommandError::Expired)
            } else {
                Err(CommandError::NotOpen)
            }
        }
        // Said twice it is one vote.
        Err(CommandError::VotedBefore) => Ok(after),
        Err(error) => Err(error),
        Ok(()) => Ok(after),
    }
}

/// Whether a question was settled with this decision. A no is a no, whatever the reason.
fn is_settled_by(held: &Approval, answer: &Answer) -> bool {
    match &held.state {
        ApprovalState::Answered { answer: Answer::Reject { .. }, .. } => {
            matches!(answer, Answer::Reject { .. })
        }
        ApprovalState::Answered { answer: Answer::Decline { .. }, .. } => {
            matches!(answer, Answer::Decline { .. })
        }
        ApprovalState::Answered { answer: given, .. } => given == answer,
        ApprovalState::Pending | ApprovalState::Withdrawn => false,
    }
}
