//! Groups: what their members are given follows from agents, rules and budgets that name them.

use std::collections::BTreeSet;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use helve_store::{AuditEntry, GroupChange, GroupRecord, People, UserRecord};
use helve_types::{AgentBudget, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{IF_MATCH, VERSION, check_count, check_words, save, with_etag};
use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Json, Path, expected_version};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

const NAME_CHARS_MAX: usize = 64;
const CLAIMS_MAX: usize = 100;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/groups", Right::Admin, "List groups").gives::<GroupList>(),
            list_groups,
        )
        .add_route(
            Operation::post("/api/groups", Right::Admin, "Make a group")
                .with_example(json!({"name": "sales", "display_name": "Sales", "claims": ["/staff/sales"]}))
                .gives::<GroupView>()
                .with_status(201)
                .with_answer_header("ETag", VERSION),
            create_group,
        )
        .add_route(
            Operation::get("/api/groups/{group}", Right::Admin, "Look at a group, with its members")
                .gives::<GroupView>()
                .with_answer_header("ETag", VERSION),
            get_group,
        )
        .add_route(
            Operation::patch("/api/groups/{group}", Right::Admin, "Change a group; what is not named stays")
                .with_header("If-Match", IF_MATCH)
                .with_example(json!({"member_day": {"money": 2.0}}))
                .gives::<GroupView>()
                .with_answer_header("ETag", VERSION),
            change_group,
        )
        .add_route(
            Operation::delete("/api/groups/{group}", Right::Admin, "Delete a group; its members stay users")
                .with_header("If-Match", IF_MATCH)
                .with_status(204),
            delete_group,
        )
        .add_route(
            Operation::put(
                "/api/groups/{group}/members/{user}",
                Right::Admin,
                "Make a user a member of a group",
            )
            .with_status(204),
            add_member,
        )
        .add_route(
            Operation::delete(
                "/api/groups/{group}/members/{user}",
                Right::Admin,
                "Take a user out of a group; its runs lose at their next step what the group gave",
            )
            .with_status(204),
            remove_member,
        )
}

#[derive(Debug, Serialize, JsonSchema)]
struct GroupList {
    groups: Vec<GroupView>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GroupView {
    name: String,
    version: u32,
    display_name: String,
    /// Users whom an identity provider gives one of these values are members.
    claims: Vec<String>,
    /// What the runs of each single member may use up in a day.
    member_day: AgentBudget,
    /// The ids of all members, by name and by claim.
    members: Vec<String>,
    created_at: i64,
    updated_at: i64,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NewGroup {
    name: String,
    #[serde(flatten)]
    fields: GroupFields,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GroupFields {
    #[serde(default)]
    display_name: Option<String>,
    #[serde(default)]
    claims: Option<BTreeSet<String>>,
    #[serde(default)]
    member_day: Option<AgentBudget>,
}

async fn list_groups(State(app): State<App>) -> Answer<GroupList> {
    let people = app.runtime.people().current();
    Answer(GroupList { groups: people.groups.values().map(|group| GroupView::new(group, &people)).collect() })
}

async fn get_group(State(app): State<App>, Path(name): Path<String>) -> Result<Response, Problem> {
    let people = app.runtime.people().current();
    let group = people.groups.get(&name).ok_or_else(|| Problem::not_found("group"))?;
    Ok(group_response(group, &people))
}

async fn create_group(
    State(app): State<App>,
    principal: Principal,
    body: Json<NewGroup>,
) -> Result<Response, Problem> {
    let NewGroup { name, fields } = body.value;
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(is_good) {
        let detail = format!(
            "the name of a group has letters, digits, `-`, `_` and `.`, and at most {NAME_CHARS_MAX} of them"
        );
        return Err(Problem::bad_request("bad_group", detail));
    }
    let mut group = GroupRecord::new(name, app.runtime.world().now());
    fields.apply(&mut group)?;
    let saved = save_group(&app, &principal, group, 0, "group.created").await?;
    Ok((StatusCode::CREATED, group_response(&saved, &app.runtime.people().current())).into_response())
}

async fn change_group(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Json<GroupFields>,
) -> Result<Response, Problem> {
    app.refresh_access().await?;
    let group = app.runtime.people().current().groups.get(&name).cloned();
    let mut group = group.ok_or_else(|| Problem::not_found("group"))?;
    let expected = expected_version(&headers, "group")?.unwrap_or(group.version);
    body.value.apply(&mut group)?;
    let saved = save_group(&app, &principal, group, expected, "group.changed").await?;
    Ok(group_response(&saved, &app.runtime.people().current()))
}

async fn delete_group(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let audit = group_entry(&app, &principal, "group.deleted", &name);
    app.runtime.store().delete_group(name, expected_version(&headers, "group")?, audit).await?;
    app.refresh_access().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn add_member(
    State(app): State<App>,
    principal: Principal,
    Path((group, id)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let id = UserId::parse(&id).map_err(|error| Problem::bad_request("bad_user", error.to_string()))?;
    app.refresh_access().await?;
    let people = app.runtime.people().current();
    if !people.groups.contains_key(&group) {
        return Err(Problem::not_found("group"));
    }
    let mut user = people.users.get(&id).cloned().unwrap_or_else(|| {
        let mut user = UserRecord::new(id.clone(), app.runtime.world().now());
        user.role = app.access.highest_token_rights(&id).unwrap_or(user.role);
        user
    });
    if user.groups.insert(group.clone()) {
        let audit = group_entry(&app, &principal, "group.member_added", &group).about(&*user.id.0);
        let expected = user.version;
        save(&app, user, expected, false, audit).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn remove_member(
    State(app): State<App>,
    principal: Principal,
    Path((group, id)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let mut user = super::find_user(&app, &UserId(id)).await?;
    if !user.groups.remove(&group) {
        return Err(Problem::not_found("member of this group"));
    }
    let audit = group_entry(&app, &principal, "group.member_removed", &group).about(&*user.id.0);
    let expected = user.version;
    save(&app, user, expected, false, audit).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn group_entry(app: &App, principal: &Principal, action: &str, group: &str) -> AuditEntry {
    let detail: String = group.chars().take(NAME_CHARS_MAX).collect();
    AuditEntry::new(app.runtime.world().now(), &*principal.user.0, action, detail)
}

async fn save_group(
    app: &App,
    principal: &Principal,
    mut group: GroupRecord,
    expected: u32,
    action: &str,
) -> Result<GroupRecord, Problem> {
    group.updated_at = app.runtime.world().now();
    let audit = group_entry(app, principal, action, &group.name);
    let saved = app.runtime.store().save_group(GroupChange { group, expected, audit }).await?;
    app.refresh_access().await?;
    Ok(saved)
}

impl GroupFields {
    fn apply(self, group: &mut GroupRecord) -> Result<(), Problem> {
        if let Some(name) = self.display_name {
            group.display_name = check_words("display_name", name)?;
        }
        if let Some(claims) = self.claims {
            check_count("claims", claims.len(), CLAIMS_MAX)?;
            group.claims =
                claims.into_iter().map(|claim| check_words("claims", claim)).collect::<Result<_, _>>()?;
        }
        if let Some(budget) = self.member_day {
            helve_runtime::check_budget(&budget)
                .map_err(|wrong| Problem::bad_request("bad_body", format!("member_day: {wrong}")))?;
            group.grants.member_day = budget;
        }
        Ok(())
    }
}

impl GroupView {
    fn new(group: &GroupRecord, people: &People) -> Self {
        Self {
            name: group.name.clone(),
            version: group.version,
            display_name: group.display_name.clone(),
            claims: group.claims.iter().cloned().collect(),
            member_day: group.grants.member_day,
            members: people.members_of(&group.name).map(|user| user.id.to_string()).collect(),
            created_at: group.created_at.0,
            updated_at: group.updated_at.0,
        }
    }
}

fn group_response(group: &GroupRecord, people: &People) -> Response {
    with_etag(group.version, Answer(GroupView::new(group, people)))
}
