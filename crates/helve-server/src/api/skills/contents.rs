//! What skills are and were: their versions, what is between two of them, single files, and whole archives.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use helve_runtime::{ComparedSkill, SkillVersionPair};
use helve_types::SkillDefinition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::find_skill;
use crate::access::Right;
use crate::api::files::percent_encode;
use crate::api::import::ChangedField;
use crate::api::versions::{VersionList, VersionView};
use crate::app::App;
use crate::input::{Path, Query};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/skills/{skill}/versions", Right::Admin, "Everything that a skill ever was")
                .gives::<VersionList<SkillDefinition>>(),
            list_skill_versions,
        )
        .add_route(
            Operation::get(
                "/api/skills/{skill}/versions/{version}",
                Right::Admin,
                "Look at a skill as it was at a version",
            )
            .gives::<VersionView<SkillDefinition>>(),
            get_skill_version,
        )
        .add_route(
            Operation::get(
                "/api/skills/{skill}/diff",
                Right::Admin,
                "What is different between two versions of a skill, or what is offered in its place",
            )
            .gives::<SkillDiffView>(),
            compare_skill_versions,
        )
        .add_route(
            Operation::get("/api/skills/{skill}/file", Right::Admin, "Read a file of a skill")
                .gives_bytes("application/octet-stream"),
            get_skill_file,
        )
        .add_route(
            Operation::get("/api/skills/{skill}/export", Right::Admin, "A skill as a zip archive")
                .gives_bytes("application/zip"),
            export_skill,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SkillDiffQuery {
    /// A version's number; the one before `to` if not given.
    #[serde(default)]
    from: Option<u32>,
    /// A version's number, or `offer`; the offer, if there is one, or else the current version, if not given.
    #[serde(default)]
    to: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SkillDiffView {
    from: u32,
    /// A version's number, or `offer`.
    to: String,
    /// At most 30 fields and files; a file's text is at most its first 16,000 bytes.
    changes: Vec<ChangedField>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SkillFileQuery {
    /// The path of the file in the skill; `SKILL.md` if not given.
    #[serde(default)]
    path: Option<String>,
    /// A version's number, or `offer`; the current version if not given.
    #[serde(default)]
    version: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SkillExportQuery {
    /// A version's number; the current one if not given.
    #[serde(default)]
    version: Option<u32>,
}

async fn list_skill_versions(
    State(app): State<App>,
    Path(name): Path<String>,
) -> Result<Answer<VersionList<SkillDefinition>>, Problem> {
    Ok(Answer(VersionList::from_rows(app.runtime.skills().list_versions(&name).await?)))
}

async fn get_skill_version(
    State(app): State<App>,
    Path((name, version)): Path<(String, u32)>,
) -> Result<Answer<VersionView<SkillDefinition>>, Problem> {
    Ok(Answer(VersionView::from_row(app.runtime.skills().version(&name, version).await?)))
}

async fn compare_skill_versions(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(query): Query<SkillDiffQuery>,
) -> Result<Answer<SkillDiffView>, Problem> {
    let to = query.to.as_deref().map(|to| read_version("to", to)).transpose()?;
    let SkillVersionPair { from, to, changes } = app.runtime.skills().compare(&name, query.from, to).await?;
    Ok(Answer(SkillDiffView { from, to, changes: changes.into_iter().map(ChangedField::from).collect() }))
}

fn read_version(field: &str, text: &str) -> Result<ComparedSkill, Problem> {
    let read = text.parse::<ComparedSkill>();
    read.map_err(|detail| Problem::bad_request("bad_query", detail).with_field("field", field))
}

async fn get_skill_file(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(query): Query<SkillFileQuery>,
) -> Result<Response, Problem> {
    let skills = app.runtime.skills();
    let definition =
        match query.version.as_deref().map(|version| read_version("version", version)).transpose()? {
            None => find_skill(&app, &name)?.row.definition.clone(),
            Some(ComparedSkill::Version(number)) => skills.version(&name, number).await?.definition,
            Some(ComparedSkill::Offer) => {
                let offer = find_skill(&app, &name)?.offer;
                offer.ok_or_else(|| Problem::not_found("offer of this skill"))?.definition.clone()
            }
        };
    let path = query.path.as_deref().unwrap_or(helve_skill::SKILL_FILE);
    let file = definition.file(path).ok_or_else(|| Problem::not_found("file of this skill"))?;
    let bytes = app.runtime.store().definition_file(file.hash.clone()).await?;
    let name = path.rsplit('/').next().unwrap_or_default();
    Ok(download(bytes.to_vec(), "application/octet-stream", name))
}

async fn export_skill(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(query): Query<SkillExportQuery>,
) -> Result<Response, Problem> {
    let skills = app.runtime.skills();
    let definition = match query.version {
        None => find_skill(&app, &name)?.row.definition.clone(),
        Some(version) => skills.version(&name, version).await?.definition,
    };
    let package = skills.package(&definition).await?;
    Ok(download(package.to_zip(), "application/zip", &format!("{name}.zip")))
}

/// Bytes that a browser saves and never shows: strangers may have written them.
fn download(bytes: Vec<u8>, media_type: &str, name: &str) -> Response {
    let mut response = bytes.into_response();
    let disposition = format!("attachment; filename*=UTF-8''{}", percent_encode(name));
    let headers: [(HeaderName, &str); 5] = [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_DISPOSITION, &disposition),
        (header::CACHE_CONTROL, "private, no-cache"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
