//! Skills: brought as JSON or as an archive, looked at, agreed to, switched and deleted.
//!
//! Nothing of a skill is run here or anywhere; a script is a text. A row's version is its `ETag`; a change that names the
//! version it was made for (`If-Match`) never overwrites another one.

mod contents;
mod upload;
mod view;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_runtime::{ListedSkill, OfferOutcome, SkillCatalogueError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::upload::SkillUpload;
use self::view::{ImportedSkillView, SkillList, SkillOutcome, SkillView};
use crate::access::{Principal, Right};
use crate::api::files::percent_encode;
use crate::app::App;
use crate::input::{Json, OptionalJson, Path, Query};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

const VERSION: &str = "The version of the skill, for `If-Match`.";
const IF_MATCH: &str =
    "The version that is changed; if the skill is at another one by now, nothing happens (412).";

pub(crate) fn routes(routes: Routes) -> Routes {
    contents::routes(routes)
        .add_route(
            Operation::get("/api/skills", Right::Chat, "List skills").gives::<SkillList>(),
            list_skills,
        )
        .add_route(
            Operation::post(
                "/api/skills",
                Right::Admin,
                "Make a skill of its files or of an archive, or offer what it has become",
            )
            .with_example(upload::example())
            .gives::<ImportedSkillView>()
            .with_status(201)
            .or_gives::<ImportedSkillView>(200, "There was a skill of this name.")
            .with_answer_header("Location", "Where the skill is.")
            .with_answer_header("ETag", VERSION),
            import_skill,
        )
        .add_route(
            Operation::get("/api/skills/{skill}", Right::Chat, "Look at a skill")
                .gives::<SkillView>()
                .with_answer_header("ETag", VERSION),
            get_skill,
        )
        .add_route(
            Operation::patch("/api/skills/{skill}", Right::Admin, "Switch a skill on or off for new runs")
                .with_header("If-Match", IF_MATCH)
                .with_example(json!({"enabled": false}))
                .gives::<SkillView>()
                .with_answer_header("ETag", VERSION),
            switch_skill,
        )
        .add_route(
            Operation::delete(
                "/api/skills/{skill}",
                Right::Admin,
                "Delete a skill; runs that have it keep it, and its versions stay readable",
            )
            .with_header("If-Match", IF_MATCH)
            .with_status(204),
            delete_skill,
        )
        .add_route(
            Operation::post(
                "/api/skills/{skill}/agree",
                Right::Admin,
                "Agree to what a skill has become, or to one as it was imported",
            )
            .with_example(json!({"hash": "ae9d3a79591f6bffb3428d38ea36f6e1"}))
            .gives::<SkillView>(),
            agree_to_skill,
        )
        .add_route(
            Operation::post(
                "/api/skills/{skill}/reject",
                Right::Admin,
                "Leave a skill in quarantine what it was",
            )
            .gives::<SkillView>(),
            reject_skill_offer,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ImportSkillQuery {
    /// Agrees to the text at once: it counts as trusted, and a changed skill is not put into quarantine.
    #[serde(default)]
    agree: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SwitchSkillBody {
    enabled: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgreeSkillBody {
    /// The `hash` of the offer, or of the skill, that was looked at; if another one is there by now, nothing happens (409).
    #[serde(default)]
    hash: Option<String>,
}

async fn list_skills(State(app): State<App>, principal: Principal) -> Answer<SkillList> {
    Answer(SkillList::new(app.runtime.skills(), principal.is_admin()))
}

async fn get_skill(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    Ok(skill_response(&find_skill(&app, &name)?, principal.is_admin()))
}

fn find_skill(app: &App, name: &str) -> Result<ListedSkill, Problem> {
    app.runtime.skills().get(name).ok_or_else(|| Problem::not_found("skill"))
}

async fn import_skill(
    State(app): State<App>,
    principal: Principal,
    Query(query): Query<ImportSkillQuery>,
    upload: SkillUpload,
) -> Result<Response, Problem> {
    let package = upload.0;
    let ignored = package.ignored.clone();
    let outcome = app.runtime.skills().import(package, query.agree, &principal.user.0).await?;
    let (outcome, skill) = match outcome {
        OfferOutcome::Created(skill) => (SkillOutcome::Created, skill),
        OfferOutcome::Same(skill) => (SkillOutcome::Unchanged, skill),
        OfferOutcome::Changed(skill) => (SkillOutcome::Changed, skill),
        OfferOutcome::Quarantined(skill) => (SkillOutcome::Quarantined, skill),
    };
    let status = if outcome == SkillOutcome::Created { StatusCode::CREATED } else { StatusCode::OK };
    let place = format!("/api/skills/{}", percent_encode(skill.name()));
    let view = ImportedSkillView { outcome, ignored, skill: SkillView::of(&skill, true) };
    let mut response = (status, with_etag(&skill, Answer(view))).into_response();
    if let Ok(location) = HeaderValue::try_from(place) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

async fn switch_skill(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Json<SwitchSkillBody>,
) -> Result<Response, Problem> {
    let expected = expected_version(&headers)?;
    let skill =
        app.runtime.skills().set_enabled(&name, body.value.enabled, expected, &principal.user.0).await?;
    Ok(skill_response(&skill, true))
}

async fn delete_skill(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    app.runtime.skills().delete(&name, expected_version(&headers)?, &principal.user.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn agree_to_skill(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
    OptionalJson(body): OptionalJson<AgreeSkillBody>,
) -> Result<Response, Problem> {
    let skill = app.runtime.skills().agree(&name, body.hash.as_deref(), &principal.user.0).await?;
    Ok(skill_response(&skill, true))
}

async fn reject_skill_offer(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    Ok(skill_response(&app.runtime.skills().reject(&name, &principal.user.0).await?, true))
}

fn skill_response(skill: &ListedSkill, is_admin: bool) -> Response {
    with_etag(skill, Answer(SkillView::of(skill, is_admin)))
}

fn with_etag(skill: &ListedSkill, answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    if let Ok(tag) = HeaderValue::try_from(format!("\"{}\"", skill.row.version)) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The version that a request wants to change; any if it does not say.
fn expected_version(headers: &HeaderMap) -> Result<Option<u32>, Problem> {
    crate::input::expected_version(headers, "skill")
}

impl From<SkillCatalogueError> for Problem {
    fn from(error: SkillCatalogueError) -> Self {
        let detail = error.to_string();
        match error {
            SkillCatalogueError::Definition(wrong) => {
                let problem =
                    Self::bad_request("bad_definition", detail).with_param("problem", wrong.notice());
                problem.with_field("field", wrong.field)
            }
            SkillCatalogueError::Exists(_) => Self::new(StatusCode::CONFLICT, "skill_exists", detail),
            SkillCatalogueError::Missing(_) => Self::not_found("skill"),
            SkillCatalogueError::MissingVersion { .. } => Self::not_found("version of this skill"),
            SkillCatalogueError::InFolder(_) => Self::new(StatusCode::CONFLICT, "skill_in_folder", detail),
            SkillCatalogueError::NoOffer(_) => Self::new(StatusCode::CONFLICT, "skill_without_offer", detail),
            SkillCatalogueError::OfferChanged(_) => {
                Self::new(StatusCode::CONFLICT, "skill_offer_changed", detail)
            }
            SkillCatalogueError::Changed(version) => {
                Self::new(StatusCode::PRECONDITION_FAILED, "skill_changed", detail)
                    .with_field("version", version)
            }
            SkillCatalogueError::TooMany => Self::new(StatusCode::CONFLICT, "too_many_skills", detail),
            SkillCatalogueError::Store(error) => error.into(),
        }
    }
}
