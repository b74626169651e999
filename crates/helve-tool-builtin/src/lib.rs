//! The tools we ship, one file each.
//!
//! A tool is a file `name.rs` and a page `name.md`, which is what models are told. The file holds the argument
//! struct (its comments become the schema), worked examples, the guards that fit the tool, and the work itself;
//! whatever is long lives in a folder of the same name. Adding one adds a line to [`builtin`] and nothing else.

mod ask_user;
mod calculator;
mod create_plan;
mod get_plan;
mod image_gen;
mod list_plans;
mod load_skill;
mod plans;
mod query_database;
mod read_output;
mod read_skill_file;
mod save_note;
mod search_web;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod time;
mod update_plan;

use std::path::PathBuf;
use std::sync::Arc;

use helve_egress::Egress;
use helve_tool::{Action, Guards, Rule, Tool};

pub use image_gen::{IMAGES_SECRET, Images};
pub use query_database::{Database, DatabasePlace, QueryWorker, describe_database, run_query_worker};
pub use search_web::{TAVILY_SECRET, TAVILY_URL};

/// The subcommand with which a program that uses these tools does [`run_query_worker`] and nothing else.
pub const QUERY_WORKER: &str = "query-worker";

/// What the operator decides about them.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The way out to wherever a model or a foreign server points.
    pub egress: Egress,
    /// The way to the search service, which may be where no tool may go otherwise; its secret [`TAVILY_SECRET`] is the key.
    pub search_egress: Egress,
    pub tavily_url: String,
    /// Where the notes of each user are kept.
    pub notes_dir: PathBuf,
    /// The IANA name of the zone that is local; the system's if there is none or it is not known.
    pub zone: Option<String>,
    /// Those that models may read; without any there is no tool for it.
    pub databases: Vec<Database>,
    /// Who asks those that are SQLite's.
    pub query_worker: QueryWorker,
    /// Who draws pictures; without it there is no tool for it.
    pub images: Option<Images>,
    /// The egress to the image service; what it only names is fetched by `egress`.
    pub images_egress: Egress,
}

impl Settings {
    /// As on a first start.
    pub fn new(egress: Egress, notes_dir: impl Into<PathBuf>) -> Self {
        Self {
            search_egress: egress.clone(),
            images_egress: egress.clone(),
            egress,
            tavily_url: TAVILY_URL.into(),
            notes_dir: notes_dir.into(),
            zone: None,
            databases: vec![],
            query_worker: QueryWorker::current_program([QUERY_WORKER]),
            images: None,
        }
    }
}

/// Every tool, with the guards that it has unless the operator says otherwise.
pub fn builtin_tools(settings: &Settings) -> Vec<(Arc<dyn Tool>, Guards)> {
    let mut tools = vec![
        calculator::tool(),
        time::tool(settings),
        search_web::tool(settings),
        save_note::tool(settings),
        read_output::tool(),
        create_plan::tool(),
        update_plan::tool(),
        get_plan::tool(),
        list_plans::tool(),
        ask_user::tool(),
        load_skill::tool(),
        read_skill_file::tool(),
    ];
    tools.extend(query_database::tool(&settings.databases, &settings.query_worker));
    tools.extend(image_gen::tool(settings));
    tools
}

/// What holds unless the operator has a rule about it: users' own plans are theirs, like what they say in a chat, and
/// nothing outside is touched, so no person is asked.
pub fn default_rules() -> Vec<Rule> {
    let allowed = |tool: &str| Rule {
        tool: Some(tool.into()),
        because: "it is the user's own plan".into(),
        ..Rule::new(Action::Allow)
    };
    vec![allowed("create_plan"), allowed("update_plan")]
}
