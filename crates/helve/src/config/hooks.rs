//! `[[hooks]]`: what is asked around calls and questions.

use std::num::{NonZeroU16, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use helve_process::{Program, ResourceLimits};
use helve_tool::{HookPoint, HookSettings, OnFailure};
use serde::Deserialize;

use super::alarms::web_address;
use super::environment::Environment;
use super::places::Places;
use crate::hooks::{ConfiguredHook, GitSnapshots, HookKind, HttpHook};
use crate::i18n::tr;

const TIMEOUT: Duration = Duration::from_secs(5);
/// How many snapshots of a run keep their refs.
const KEPT_MAX: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct HookTable {
    name: String,
    on: Vec<HookPoint>,
    url: Option<String>,
    secret: Option<String>,
    command: Option<Vec<String>>,
    /// The variables that the command gets.
    #[serde(default)]
    env: Vec<String>,
    /// The program with which snapshots of `directory` are taken.
    git: Option<PathBuf>,
    directory: Option<PathBuf>,
    keep: Option<NonZeroU16>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    agents: Vec<String>,
    timeout_ms: Option<NonZeroU64>,
    on_failure: Option<OnFailure>,
}

pub(super) fn hooks(
    tables: Vec<HookTable>,
    environment: &Environment,
    places: &Places,
) -> anyhow::Result<Vec<ConfiguredHook>> {
    let mut hooks: Vec<ConfiguredHook> = vec![];
    for (number, table) in tables.into_iter().enumerate() {
        let wrong = |(key, what): Wrong| places.wrong(&["hooks", &number.to_string(), key], what);
        if hooks.iter().any(|hook| hook.settings.name == table.name) {
            return Err(wrong(("name", tr!("there are two hooks named `{name}`", name = table.name))));
        }
        hooks.push(hook(table, environment).map_err(wrong)?);
    }
    Ok(hooks)
}

/// The key that is wrong, and why.
type Wrong = (&'static str, String);

fn hook(table: HookTable, environment: &Environment) -> Result<ConfiguredHook, Wrong> {
    let wrong = |key, what: String| Err((key, what));
    if table.name.trim().is_empty() {
        return wrong("name", tr!("a hook needs a name, by which the record of a call speaks of it"));
    }
    let only_steps = table.on.iter().all(|point| point.is_step());
    if table.on.is_empty() {
        return wrong(
            "on",
            tr!(
                "say when it is asked: before_call, after_call, system_prompt, params, before_step, after_step"
            ),
        );
    }
    let on_failure = match table.on_failure {
        Some(OnFailure::Refuse) if only_steps => {
            return wrong(
                "on_failure",
                tr!("a step cannot be refused: leave this out, a failure is recorded"),
            );
        }
        Some(on_failure) => on_failure,
        None if only_steps => OnFailure::Continue,
        None => {
            return wrong("on_failure", tr!("say what it means that the hook fails: `refuse` or `continue`"));
        }
    };
    let about_calls =
        table.on.iter().any(|point| matches!(point, HookPoint::BeforeCall | HookPoint::AfterCall));
    if !table.tools.is_empty() && !about_calls {
        return wrong("tools", tr!("questions to a model are about no tool; leave this out or use `agents`"));
    }
    if table.git.is_none() && (table.directory.is_some() || table.keep.is_some()) {
        return wrong("name", tr!("`directory` and `keep` belong to `git`, the full path of the program"));
    }
    let kind = match (table.url, table.command, table.git) {
        (None, None, Some(program)) => {
            if !only_steps {
                return wrong("on", tr!("git takes snapshots: before_step, after_step"));
            }
            if table.secret.is_some() || !table.env.is_empty() {
                return wrong("git", tr!("git gets no `secret` and no variables"));
            }
            HookKind::Git(git_snapshots(program, table.directory, table.keep)?)
        }
        (Some(url), None, None) => {
            if !table.env.is_empty() {
                return wrong("env", tr!("only a command gets variables"));
            }
            let url = web_address(&url).map_err(|what| ("url", what))?;
            HookKind::Http(HttpHook { url, secret: table.secret })
        }
        (None, Some(command), None) => {
            if table.secret.is_some() {
                return wrong(
                    "secret",
                    tr!("only a `url` gets a secret; a command gets variables, with `env`"),
                );
            }
            HookKind::Command(parse_command(command, &table.env, environment)?)
        }
        (None, None, None) => {
            return wrong("name", tr!("say how the hook is reached: with `url`, `command` or `git`"));
        }
        (url, _, _) => {
            let key = if url.is_some() { "url" } else { "command" };
            return wrong(key, tr!("a hook has a `url`, a `command` or `git`, not several of them"));
        }
    };
    let settings = HookSettings {
        name: table.name,
        points: table.on,
        tools: table.tools,
        agents: table.agents,
        timeout: table.timeout_ms.map_or(TIMEOUT, |ms| Duration::from_millis(ms.get())),
        on_failure,
    };
    Ok(ConfiguredHook { settings, kind })
}

fn git_snapshots(
    program: PathBuf,
    directory: Option<PathBuf>,
    keep: Option<NonZeroU16>,
) -> Result<GitSnapshots, Wrong> {
    if !program.is_absolute() {
        return Err(("git", tr!("this is the full path of the program")));
    }
    let Some(directory) = directory.filter(|directory| directory.is_absolute()) else {
        return Err(("git", tr!("say with `directory` which work tree is meant, as a full path")));
    };
    let kept_max = keep.map_or(KEPT_MAX, |keep| usize::from(keep.get()));
    Ok(GitSnapshots { program, directory, kept_max })
}

fn parse_command(
    command: Vec<String>,
    names: &[String],
    environment: &Environment,
) -> Result<Program, Wrong> {
    let mut words = command.into_iter();
    let program = PathBuf::from(words.next().unwrap_or_default());
    if !program.is_absolute() {
        let what = tr!("this is a list: the full path of a program, then its arguments; no shell reads it");
        return Err(("command", what));
    }
    let mut variables = vec![];
    for name in names {
        let Some(value) = environment.text(name) else {
            return Err(("env", tr!("the environment variable {name} is not set", name = name)));
        };
        variables.push((name.clone(), value.into()));
    }
    Ok(Program {
        path: program,
        arguments: words.map(Into::into).collect(),
        environment: variables,
        directory: None,
        limits: ResourceLimits::default(),
    })
}
