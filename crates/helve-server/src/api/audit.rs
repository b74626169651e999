//! The audit log: who did what, for operators.

use axum::extract::State;
use helve_store::{AuditFilter, AuditRecord};
use helve_types::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Right;
use crate::app::App;
use crate::input::Query;
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::get("/api/audit", Right::Admin, "List who did what, newest first").gives::<AuditList>(),
        list_audit,
    )
}

/// Which entries, newest first.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AuditQuery {
    /// Done by this user, or to what is theirs.
    user: Option<String>,
    /// An action (`approval.answered`), or the subject of several (`approval`).
    action: Option<String>,
    /// Done then or later, in milliseconds since 1970.
    from: Option<i64>,
    /// Done before then.
    to: Option<i64>,
    /// How many at most; 50 if not said, 500 at most.
    limit: Option<usize>,
    /// `next` of the page before.
    before: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditList {
    entries: Vec<AuditView>,
    /// What to ask for as `before` to get the next page, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    /// The number and hash of the last entry. Keep it elsewhere: `helve audit verify --expect` finds with it that the
    /// end of the log was cut off.
    head: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditView {
    seq: u64,
    at: i64,
    action: String,
    detail: String,
    /// Who did it; none of a person who was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// Whose things it was done to.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// `by` as it is in the chain.
    by_pseudonym: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    about_pseudonym: Option<String>,
    /// The hash of the entry before it.
    previous: String,
    hash: String,
}

impl From<AuditRecord> for AuditView {
    fn from(record: AuditRecord) -> Self {
        let AuditRecord { entry, by, about } = record;
        Self {
            seq: entry.seq,
            at: entry.at.0,
            by,
            about,
            previous: entry.previous.to_string(),
            hash: entry.hash.to_string(),
            action: entry.action,
            detail: entry.detail,
            by_pseudonym: entry.by,
            about_pseudonym: entry.about,
        }
    }
}

pub(crate) async fn list_audit(
    State(app): State<App>,
    Query(query): Query<AuditQuery>,
) -> Result<axum::Json<AuditList>, Problem> {
    let AuditQuery { user, action, from, to, limit, before } = query;
    let limit = limit.unwrap_or(50).clamp(1, 500);
    let filter = AuditFilter { user, action, since: from.map(Timestamp), until: to.map(Timestamp), before };
    let store = app.runtime.store();
    let head = store.audit_head().await?.to_string();
    let found = store.audit_records(filter, limit).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.entry.seq);
    Ok(axum::Json(AuditList { entries: found.into_iter().map(AuditView::from).collect(), next, head }))
}
