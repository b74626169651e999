//! The server under test: its configuration, and the limits that the checker holds it to.

use std::path::Path;

use crate::tools::{KINDS, PERMISSIONS};

/// An agent whose runs may use up little.
pub const THRIFTY: &str = "thrifty";
/// What a run of the thrifty agent may use up.
pub const TOKENS_MAX: u64 = 1_200;
pub const CALLS_MAX: usize = 4;
/// An agent whose model can read little.
pub const TERSE: &str = "terse";
/// What that model can read.
const TERSE_TOKENS: u32 = 6_000;

/// How the model is asked for calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calling {
    Native,
    /// Calls are read out of the model's text.
    InText,
}

/// The configuration file of a server with its data in `data`, or on a database server, and its model at `base_url`.
pub fn server_configuration(
    data: &Path,
    database_url: Option<&str>,
    base_url: &str,
    calling: Calling,
) -> String {
    let database = database_url.map(|url| format!("database_url = \"{url}\"\n")).unwrap_or_default();
    let tools = match calling {
        Calling::Native => "native",
        Calling::InText => "prompt:hermes",
    };
    let names: Vec<String> =
        KINDS.iter().filter(|kind| !kind.client).map(|kind| format!("{:?}", kind.name)).collect();
    let names = names.join(", ");
    let model = |name: &str, more: &str| {
        format!(
            "[[models]]\nname = \"{name}\"\nprotocol = \"openai_chat\"\nmodel = \"mock\"\nbase_url = \"{base_url}\"\n\
             api_key_env = \"LAB_KEY\"\ntools = \"{tools}\"\n{more}\n"
        )
    };
    format!(
        "default_model = \"mock\"\n\n\
         [server]\nlisten = \"127.0.0.1:0\"\ndata = \"{}\"\n{database}log = \"warn\"\n\n{}{}\
         [[agents]]\nname = \"{THRIFTY}\"\ntools = [{names}]\n\
         budget = {{ tokens = {TOKENS_MAX}, calls = {CALLS_MAX}, ask_at = 0.6 }}\n\n\
         [limits]\nstreams_per_user_max = 2000\nruns_per_user_max = 200\n\n\
         [[agents]]\nname = \"{TERSE}\"\nmodel = \"small\"\ntools = [{names}]\n\n{PERMISSIONS}",
        data.display(),
        model("mock", ""),
        model("small", &format!("context_tokens = {TERSE_TOKENS}\n")),
    )
}
