//! The tools we ship, one file each.
//!
//! A tool is a file `name.rs` and a page `name.md`, which is what models are told. The file holds the argument
//! struct (its comments become the schema), worked examples, the guards that fit the tool, and the work itself;
//! whatever is long lives in a folder of the same name. Adding one adds a line to [`builtin`] and nothing else.

mod calculator;
mod create_plan;
mod get_plan;
mod list_plans;
mod plans;
mod query_database;
mod read_output;
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
use std::time::Duration;

use helve_tool::{Action, Guards, Rule, Tool};
use secrecy::SecretString;

pub use query_database::Database;

const CONNECT: Duration = Duration::from_secs(3);
/// The longest silence, before the first byte and between any two.
const SILENCE: Duration = Duration::from_secs(15);

/// What the operator decides about them.
#[derive(Debug, Clone)]
pub struct Settings {
    /// See [`http_client`].
    pub http: reqwest::Client,
    pub tavily_key: Option<SecretString>,
    pub tavily_url: String,
    /// Where the notes of each user are kept.
    pub notes_dir: PathBuf,
    /// The IANA name of the zone that is local; the system's if there is none or it is not known.
    pub zone: Option<String>,
    /// Those that models may read; without any there is no tool for it.
    pub databases: Vec<Database>,
}

impl Settings {
    /// As on a first start, without a key for searching.
    pub fn new(http: reqwest::Client, notes_dir: impl Into<PathBuf>) -> Self {
        Self {
            http,
            tavily_key: None,
            tavily_url: "https://api.tavily.com".into(),
            notes_dir: notes_dir.into(),
            zone: None,
            databases: vec![],
        }
    }
}

/// Every tool, with the guards that it has unless the operator says otherwise.
pub fn builtin(settings: &Settings) -> Vec<(Arc<dyn Tool>, Guards)> {
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
    ];
    tools.extend(query_database::tool(&settings.databases));
    tools
}

/// What holds unless the operator has a rule about it: users' own plans are theirs, like what they say in a chat, and
/// nothing outside is touched, so nobody is asked.
pub fn rules() -> Vec<Rule> {
    let allowed = |tool: &str| Rule {
        tool: Some(tool.into()),
        tag: None,
        effect: None,
        agent: None,
        user: None,
        action: Action::Allow,
        because: "it is the user's own plan".into(),
    };
    vec![allowed("create_plan"), allowed("update_plan")]
}

/// The client for all tools of a process: no redirects, no proxy from the environment, no retries.
///
/// The process must have installed a rustls provider before; reqwest panics otherwise.
pub fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .user_agent(concat!("helve/", env!("CARGO_PKG_VERSION")))
        .build()
}
