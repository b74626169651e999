//! What `helve doctor` finds, as the server itself sees it: only this process knows its keys, models and tools. Who
//! examines is given to the application, since this crate knows no configuration.

use std::pin::Pin;

use axum::extract::State;
use helve_types::Language;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Right;
use crate::app::App;
use crate::input::Query;
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

/// Everything that was found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    pub findings: Vec<Finding>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub level: FindingLevel,
    pub text: String,
    /// A command that helps, or shows more; for a shell on the server's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingLevel {
    Ok,
    /// Works without, but something will be missing.
    Note,
    /// Must be put right.
    Bad,
}

impl Finding {
    fn new(level: FindingLevel, text: impl Into<String>) -> Self {
        Self { level, text: text.into(), run: None }
    }

    pub fn good(text: impl Into<String>) -> Self {
        Self::new(FindingLevel::Ok, text)
    }

    pub fn note(text: impl Into<String>) -> Self {
        Self::new(FindingLevel::Note, text)
    }

    pub fn bad(text: impl Into<String>) -> Self {
        Self::new(FindingLevel::Bad, text)
    }

    /// With the command that helps.
    pub fn run(self, command: impl Into<String>) -> Self {
        Self { run: Some(command.into()), ..self }
    }
}

/// Examines the server and tells its findings in a language.
pub type Doctor = dyn Fn(Language) -> DoctorFuture + Send + Sync;

pub type DoctorFuture = Pin<Box<dyn Future<Output = DoctorReport> + Send>>;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::get("/api/doctor", Right::Admin, "Examine the server, and say how to fix each problem")
            .gives::<DoctorReport>(),
        examine,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
struct DoctorQuery {
    /// The language of the findings; English if not said.
    #[serde(default)]
    lang: FindingLanguage,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum FindingLanguage {
    #[default]
    En,
    Zh,
}

async fn examine(
    State(app): State<App>,
    Query(query): Query<DoctorQuery>,
) -> Result<axum::Json<DoctorReport>, Problem> {
    let doctor = app.doctor.as_ref().ok_or_else(|| Problem::not_found("doctor"))?;
    let language = match query.lang {
        FindingLanguage::En => Language::English,
        FindingLanguage::Zh => Language::Chinese,
    };
    Ok(axum::Json(doctor(language).await))
}
