//! `helve tools call`: one call of a tool, by the server that runs or else by this command.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use helve_runtime::CallOptions;
use helve_tool::{Outcome, Progress, Unknown};
use helve_types::{Failure, Notice, ToolOutput, UserId, World};
use serde::Deserialize;
use serde_json::{Value, json};

use super::unknown_tool;
use crate::assemble::{Assembly, Hold, assemble};
use crate::client::{Client, Reach, line, segment, text};
use crate::commands::approvals::answer::read;
use crate::commands::notice::{definition_words, failure_words, problem_words};
use crate::i18n::{Language, language, tr};
use crate::output::outln;

/// The user whose call it is where none is named.
const USER: &str = "local";

#[derive(Debug, Args)]
pub(super) struct CallArgs {
    name: String,
    /// The arguments, a JSON object, or `@` and the name of a file with it
    #[arg(default_value = "{}")]
    arguments: String,
    /// Print the JSON value instead of the text
    #[arg(long)]
    json: bool,
    /// The user who makes the call [default: the owner of the token, or local]
    #[arg(long)]
    user: Option<String>,
}

/// As the server tells what came of a call.
#[derive(Deserialize)]
struct CallView {
    outcome: String,
    #[serde(default)]
    output: Option<ToolOutput>,
    /// Why it is unknown whether it happened.
    #[serde(default)]
    because: String,
    #[serde(default)]
    failure: Option<Failure>,
}

pub(super) async fn call(reach: &Reach, given: CallArgs) -> anyhow::Result<ExitCode> {
    match reach.running().await? {
        (Some(client), _) => call_there(&client, given).await,
        (None, config) => {
            let assembly = assemble(&config, &World::real(), Hold::Shared, vec![]).await?;
            call_here(&assembly, given).await
        }
    }
}

/// Has the server make the call: with its keys and its tools, and by the rules for its user.
async fn call_there(client: &Client, given: CallArgs) -> anyhow::Result<ExitCode> {
    // It was read as an object.
    let mut body = json!({"arguments": serde_json::from_str::<Value>(&read(&given.arguments)?)?});
    if let Some(user) = &given.user {
        body["user"] = json!(user);
    }
    let path = format!("/api/tools/{}/call", segment(&given.name));
    let called = match client.post_and_wait(&path, Some(&body)).await {
        Ok(called) => serde_json::from_value::<CallView>(called)?,
        Err(error) if error.is_refused_with(404) => bail!(unknown_there(client, &given.name).await),
        Err(error) => return Err(error.into()),
    };
    match (called.outcome.as_str(), called.output, called.failure) {
        ("finished", Some(output), _) => print(output, given.json),
        ("unknown", ..) => bail!(unknown_outcome(&called.because)),
        (_, _, Some(failure)) => bail!("{}", refusal(&failure)),
        (outcome, ..) => bail!(tr!("the call ended as `{outcome}`", outcome = line(outcome))),
    }
}

async fn unknown_there(client: &Client, name: &str) -> String {
    let listed: Value = client.get("/api/tools", &[]).await.unwrap_or_default();
    let tools = listed["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let listed = tools.iter().find(|tool| tool["name"].as_str() == Some(name));
    // A tool that is listed and cannot be called says why; its name is not the mistake.
    if let Some(tool) = listed
        && let Some(problem) = tool["problem"].as_str()
    {
        let notice = serde_json::from_value::<Notice>(tool["notices"]["problem"].clone());
        let problem = notice.map_or_else(|_| line(problem), |notice| definition_words(&notice));
        return tr!("tool `{name}` cannot be used: {problem}", name = line(name), problem = problem);
    }
    unknown_tool(name, tools.iter().filter_map(|tool| tool["name"].as_str()))
}

/// Makes the call in this process, with its own environment.
pub(super) async fn call_here(assembly: &Assembly, given: CallArgs) -> anyhow::Result<ExitCode> {
    // A model's slip in a name is repaired; a person is asked to write the name of the tool that is meant.
    let catalogue = assembly.runtime.catalogue();
    let name = catalogue.resolve_name(&given.name);
    let all = catalogue.list();
    let Some(tool) = catalogue.get(&name) else {
        bail!(unknown_tool(&name, all.iter().map(|tool| tool.name())));
    };
    if let Some(problem) = &tool.problem {
        bail!(tr!("tool `{name}` cannot be used: {problem}", name = name, problem = problem_words(problem)));
    }
    let arguments = read(&given.arguments)?;
    let user = UserId::parse(given.user.as_deref().unwrap_or(USER))?;
    let progress = Progress::new(|piece| {
        let mut err = std::io::stderr().lock();
        _ = err.write_all(text(piece).as_bytes()).and_then(|()| err.flush());
    });
    let options = CallOptions::default();
    match assembly.runtime.call_tool(user, &name, &arguments, options, progress).await?.outcome {
        Outcome::Finished(output) => print(output, given.json),
        Outcome::Failed(failure) | Outcome::Refused(failure) => bail!("{}", refusal(&failure)),
        Outcome::Unknown(Unknown { because, .. }) => bail!(unknown_outcome(&because)),
        Outcome::Asked(_) | Outcome::Delegated { .. } | Outcome::Subagent(_) => {
            bail!(tr!("this call cannot be made from the command line"))
        }
    }
}

fn print(output: ToolOutput, as_json: bool) -> anyhow::Result<ExitCode> {
    match output.data {
        Some(data) if as_json => outln!("{data}"),
        // A program gets it as it is; on a screen it could steer the terminal.
        _ if std::io::stdout().is_terminal() => outln!("{}", text(&output.text)),
        _ => outln!("{}", output.text),
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown_outcome(because: &str) -> String {
    // The reason is written in English only.
    match language() {
        Language::English => tr!(
            "it is unknown whether it happened: {because}; check before you repeat it",
            because = line(because)
        ),
        Language::Chinese => tr!("it is unknown whether it happened; check before you repeat it"),
    }
}

/// What the person at the terminal is told of a failed call. The notice about a tool in quarantine is for users; the
/// operator is told what to do.
fn refusal(failure: &Failure) -> String {
    let notice = failure.notice.as_deref().filter(|notice| notice.code == "tool_not_agreed");
    match notice.and_then(|notice| notice.params.get("tool")).and_then(Value::as_str) {
        Some(name) => tr!(
            "tool `{name}` has changed and is in quarantine; see `helve tools show {name}`, then `agree` or `reject`",
            name = line(name)
        ),
        None => failure_words(failure),
    }
}
