//! Questions to people, and their answers.

use axum::extract::State;
use helve_store::{Approval, ApprovalFilter, ApprovalState, Scope};
use helve_types::{Answer, ApprovalId, Question};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Principal;
use crate::app::App;
use crate::input::{Asked, Id, Json, ListQuery};
use crate::problem::Problem;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ApprovalView {
    run: String,
    user: String,
    #[serde(flatten)]
    question: Question,
    asked_at: i64,
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
            state,
            answer,
            by,
            answered_at,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ApprovalList {
    approvals: Vec<ApprovalView>,
}

/// Which approvals.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ApprovalQuery {
    /// `pending` if not said, or `all`.
    #[serde(default)]
    state: Option<Wanted>,
    #[serde(flatten)]
    list: ListQuery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Wanted {
    Pending,
    All,
}

pub(crate) async fn list_approvals(
    State(app): State<App>,
    principal: Principal,
    Asked(query): Asked<ApprovalQuery>,
) -> Result<axum::Json<ApprovalList>, Problem> {
    let scope = match &query.list.user {
        // Whoever answers for everybody sees everybody's questions.
        None => principal.scope(),
        Some(user) => Scope::User(principal.acting_for(Some(user))?),
    };
    let filter = match query.state {
        None | Some(Wanted::Pending) => ApprovalFilter::Pending,
        Some(Wanted::All) => ApprovalFilter::All(query.list.page()),
    };
    let held = app.runtime.store().approvals(scope, filter).await?;
    Ok(axum::Json(ApprovalList { approvals: held.into_iter().map(ApprovalView::from).collect() }))
}

pub(crate) async fn get_approval(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<ApprovalId>,
) -> Result<axum::Json<ApprovalView>, Problem> {
    Ok(axum::Json(app.runtime.store().approval(principal.scope(), id).await?.into()))
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
    let store = app.runtime.store();
    let before = store.approval(principal.scope(), id).await?;
    // The same answer twice is one answer.
    if !matches!(&before.state, ApprovalState::Answered { answer: given, .. } if *given == answer) {
        app.runtime.answer(principal.scope(), id, answer, principal.user.to_string()).await?;
    }
    Ok(axum::Json(store.approval(principal.scope(), id).await?.into()))
}
