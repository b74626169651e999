//! The models, agents and tools of the server: to list, to choose from, and to complete.

use std::time::Duration;

use anyhow::bail;
use serde_json::Value;

use super::Chat;
use super::keyboard::{KnownNames, Names};
use crate::client::{Client, ClientError, in_gutter, line};
use crate::commands::suggest::similar;
use crate::commands::tools::about;
use crate::i18n::{tr, words};

/// So often a name is looked for before it is taken to be wrong.
const LOOKS: u32 = 5;
/// As many names as people read.
const NAMES_SHOWN: usize = 10;
const PAUSE: Duration = Duration::from_millis(300);

/// A list of things with names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Model,
    Agent,
    Tool,
}

impl Kind {
    fn path(self) -> &'static str {
        match self {
            Self::Model => "/api/models",
            Self::Agent => "/api/agents",
            Self::Tool => "/api/tools",
        }
    }

    fn member(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Agent => "agents",
            Self::Tool => "tools",
        }
    }

    /// What lists them.
    fn command(self) -> &'static str {
        match self {
            Self::Model => "/model",
            Self::Agent => "/agent",
            Self::Tool => "/tools",
        }
    }
}

/// Lets the Tab key offer the models of this list, and the agents and tools as soon as the server has told them.
pub(super) fn learn(client: &Client, names: &Names, models: &Value) {
    let models = models["models"].as_array().map(|items| all_names(items)).unwrap_or_default();
    names.set(KnownNames { models: models.clone(), ..KnownNames::default() });
    let (client, names) = (client.clone(), names.clone());
    tokio::spawn(async move {
        let list = async |kind| items(&client, kind).await.map(|items| all_names(&items)).unwrap_or_default();
        names.set(KnownNames { models, agents: list(Kind::Agent).await, tools: list(Kind::Tool).await });
    });
}

async fn items(client: &Client, kind: Kind) -> Result<Vec<Value>, ClientError> {
    let mut list: Value = client.get(kind.path(), &[]).await?;
    match list.get_mut(kind.member()).map(Value::take) {
        Some(Value::Array(items)) => Ok(items),
        _ => Ok(vec![]),
    }
}

/// What each item can be called; a model also with one of its variants.
fn all_names(items: &[Value]) -> Vec<String> {
    let mut names = vec![];
    for item in items {
        let Some(name) = item["name"].as_str() else { continue };
        names.push(name.to_owned());
        let variants = item["variants"].as_array().into_iter().flatten().filter_map(Value::as_str);
        names.extend(variants.map(|variant| format!("{name}:{variant}")));
    }
    names
}

impl Chat {
    /// Lists them by name, with what is wrong with them.
    pub(super) async fn list(&mut self, kind: Kind) {
        match items(&self.client, kind).await {
            Err(error) => self.screen.note(&error.to_string()),
            Ok(items) => {
                let lines = items.iter().filter_map(|item| {
                    let problem =
                        item["problem"].as_str().map(|problem| format!("  ({})", line(&words(problem))));
                    Some(format!("{}{}\n", line(item["name"].as_str()?), problem.unwrap_or_default()))
                });
                self.screen.block(&lines.collect::<String>());
            }
        }
    }

    /// Whether there is one of this name; if not, the person is told which ones are similar.
    pub(super) async fn exists(&mut self, kind: Kind, name: &str) -> bool {
        match items(&self.client, kind).await {
            Err(error) => {
                self.screen.note(&error.to_string());
                false
            }
            Ok(items) => {
                let names = all_names(&items);
                let found = names.iter().any(|known| known == name);
                if !found {
                    self.tell_unknown(kind, name, &names);
                }
                found
            }
        }
    }

    /// Fails where there is none of this name. The list of a vendor's models may still be on its way.
    pub(super) async fn check_exists(&self, kind: Kind, name: &str) -> anyhow::Result<()> {
        let mut names = vec![];
        for look in 0..LOOKS {
            if look > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let items = items(&self.client, kind).await?;
            names = all_names(&items);
            let has_id = items.iter().any(|item| item["id"].as_str() == Some(name));
            if has_id || names.iter().any(|known| known == name) {
                return Ok(());
            }
        }
        let shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| line(name)).collect();
        bail!(unknown(kind, name, &names, |what| tr!(
            "{what}; there are: {names}",
            what = what,
            names = shown.join(", ")
        )))
    }

    fn tell_unknown(&mut self, kind: Kind, name: &str, names: &[String]) {
        let told = unknown(kind, name, names, |what| {
            tr!("{what}; {command} lists them", what = what, command = kind.command())
        });
        self.screen.note(&told);
    }

    /// Says what a tool does.
    pub(super) async fn describe_tool(&mut self, name: &str) {
        match items(&self.client, Kind::Tool).await {
            Err(error) => self.screen.note(&error.to_string()),
            Ok(items) => match items.iter().find(|item| item["name"] == name) {
                None => self.tell_unknown(Kind::Tool, name, &all_names(&items)),
                Some(item) => {
                    let description = item["description"].as_str().unwrap_or_default();
                    // The rest is for models, in English.
                    let told = about(description);
                    let known = words(&told);
                    let told = if known == told { description } else { &known };
                    self.screen.block(&format!("{}\n{}", line(name), in_gutter(told)));
                }
            },
        }
    }
}

/// That there is none of this name, with names that are similar or else what `otherwise` says.
fn unknown(kind: Kind, name: &str, names: &[String], otherwise: impl Fn(&str) -> String) -> String {
    let name = line(name);
    let near: Vec<String> = similar(&name, names.iter().map(String::as_str)).into_iter().map(line).collect();
    let what = match kind {
        Kind::Model => tr!("there is no model `{name}`", name = name),
        Kind::Agent => tr!("there is no agent `{name}`", name = name),
        Kind::Tool => tr!("there is no tool `{name}`", name = name),
    };
    match near.is_empty() {
        true => otherwise(&what),
        false => tr!("{what}; similar names: {names}", what = what, names = near.join(", ")),
    }
}
