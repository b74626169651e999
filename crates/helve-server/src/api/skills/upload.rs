//! A skill as it is brought: as JSON with its files, or as an archive.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use helve_runtime::SkillCatalogueError;
use helve_skill::{
    ARCHIVE_BYTES_MAX, SKILL_FILE, SkillDocument, SkillError, SkillFiles, SkillPackage, decode_base64,
    read_archive, write_document,
};
use helve_tool::run_on_pool;
use helve_types::{Notice, SkillSource};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::input::{LargeJson, is_json, read_body};
use crate::problem::Problem;
use crate::routes::{Input, Operation};

/// Media types of archives; what they are is read off their first bytes.
const ARCHIVES: &[&str] = &[
    "application/zip",
    "application/gzip",
    "application/x-gzip",
    "application/x-tar",
    "application/octet-stream",
];

/// A skill: either with `SKILL.md` among its `files`, or with what stands there in the other fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SkillBody {
    /// 1 to 64 lower-case letters, digits and single `-`.
    #[serde(default)]
    name: Option<String>,
    /// What the skill does and when to use it; models read it in every run that has the skill.
    #[serde(default)]
    description: Option<String>,
    /// What a model reads when it loads the skill, in Markdown.
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    license: Option<String>,
    /// What the skill needs around it, in words.
    #[serde(default)]
    compatibility: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    /// The tools that the skill names. It gives no right to call them.
    #[serde(default)]
    allowed_tools: Vec<String>,
    #[serde(default)]
    files: Vec<SkillFileBody>,
}

/// A file, as `text` or as `base64`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SkillFileBody {
    /// `references/forms.md`
    path: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    base64: Option<String>,
}

pub(super) fn example() -> Value {
    json!({
        "name": "meeting-minutes",
        "description": "How we write minutes. Use it whenever somebody wants minutes of a meeting.",
        "instructions": "# Minutes\n\nBegin with the decisions, then who does what by when. The form is `template.md`.",
        "files": [{"path": "template.md", "text": "## Decisions\n\n## To do\n"}]
    })
}

pub(super) struct SkillUpload(pub(super) SkillPackage);

impl FromRequest<App> for SkillUpload {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        let package = if is_json(&kind) {
            let body: LargeJson<SkillBody> = LargeJson::from_request(request, app).await?;
            run_on_pool(move || read_written(body.0)).await
        } else if is_archive(&kind) {
            let bytes = read_body(request, app, ARCHIVE_BYTES_MAX).await?;
            let read = move || SkillPackage::new(read_archive(&bytes)?, SkillSource::Import);
            run_on_pool(read).await
        } else {
            let detail = "the body must be JSON or an archive: send Content-Type: application/json, application/zip or \
                          application/gzip";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json_or_archive", detail));
        };
        let busy = || {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "closing", "the server goes down; try again later")
        };
        Ok(Self(package.ok_or_else(busy)?.map_err(SkillCatalogueError::from)?))
    }
}

fn is_archive(kind: &str) -> bool {
    let name = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    ARCHIVES.contains(&name.as_str())
}

impl Input for SkillUpload {
    fn describe(operation: &mut Operation) {
        operation.take_body::<SkillBody>();
        operation.take_bytes(&["application/zip", "application/gzip"]);
    }
}

fn read_written(body: SkillBody) -> Result<SkillPackage, SkillError> {
    let SkillBody { name, description, instructions, license, compatibility, metadata, allowed_tools, files } =
        body;
    let wrong = |field: String, problem: Notice| SkillError { field, problem };
    let mut read = SkillFiles::default();
    let has_document = files.iter().any(|file| file.path == SKILL_FILE);
    let says_something = name.is_some()
        || description.is_some()
        || instructions.is_some()
        || license.is_some()
        || compatibility.is_some()
        || !metadata.is_empty()
        || !allowed_tools.is_empty();
    if has_document == says_something {
        return Err(wrong("files".into(), Notice::definition_skill_both_forms()));
    }
    if !has_document {
        let written = write_document(&SkillDocument {
            name: name.unwrap_or_default(),
            description: description.unwrap_or_default(),
            license,
            compatibility,
            metadata,
            allowed_tools,
            instructions: instructions.unwrap_or_default(),
            ignored: vec![],
        });
        read.add(SKILL_FILE, written.into_bytes())?;
    }
    for (number, SkillFileBody { path, text, base64 }) in files.into_iter().enumerate() {
        let field = format!("files.{number}");
        let bytes = match (text, base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(base64)) => decode_base64(&field, &base64)?,
            _ => return Err(wrong(field, Notice::definition_file_in_one_form())),
        };
        read.add(&path, bytes)?;
    }
    SkillPackage::new(read, SkillSource::Import)
}
