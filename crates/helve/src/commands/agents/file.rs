//! What people write about agents: definitions in files, fields and links on the command line.

use anyhow::{Context, bail};
use helve_runtime::read_agent;
use helve_tool::read_json;
use helve_types::{AgentDefinition, AgentTool, AgentToolConfig};
use serde_json::Value;

use crate::commands::approvals::answer::read;
use crate::commands::tools::file::value;
use crate::i18n::tr;

/// The definitions in a file, or on standard input where the file is `-`.
pub(super) fn definitions(file: &str) -> anyhow::Result<Vec<AgentDefinition>> {
    let given = value(file)?;
    let name = if file == "-" { tr!("standard input") } else { file.to_owned() };
    parse(given).context(name)
}

fn parse(given: Value) -> anyhow::Result<Vec<AgentDefinition>> {
    let items = match given {
        Value::Array(items) => items,
        Value::Object(mut members) if !members.contains_key("name") && members.contains_key("agents") => {
            match (members.remove("agents"), members.keys().next()) {
                (Some(Value::Array(items)), None) => items,
                (_, Some(other)) => {
                    bail!(tr!("`{other}`: beside `agents` nothing else may stand", other = other))
                }
                _ => bail!(tr!("`agents` must be a list of definitions")),
            }
        }
        one => return Ok(vec![read_agent(one)?]),
    };
    let read = |(number, item)| read_agent(item).with_context(|| tr!("agent {number}", number = number));
    (1..).zip(items).map(read).collect()
}

/// A JSON object, in the argument itself or in the file that it names.
pub(super) fn object(argument: &str) -> anyhow::Result<Value> {
    let value: Value = serde_json::from_str(&read(argument)?).with_context(|| tr!("it is not JSON"))?;
    if !value.is_object() {
        bail!(tr!("it must be a JSON object"));
    }
    Ok(value)
}

pub(super) fn link(name: String, config: Option<&str>, enabled: bool) -> anyhow::Result<AgentTool> {
    let config: AgentToolConfig = match config {
        Some(config) => read_json(object(config)?)?,
        None => AgentToolConfig::default(),
    };
    Ok(AgentTool { name, enabled, config })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_agent_or_many_are_read_and_what_is_wrong_is_told_with_its_number() {
        let names = |given: Value| {
            let read = parse(given).map_err(|error| format!("{error:#}"));
            read.map(|all| all.into_iter().map(|agent| agent.name).collect::<Vec<_>>())
        };
        assert_eq!(names(json!({"name": "a"})).unwrap(), ["a"]);
        assert_eq!(names(json!({"agents": [{"name": "a"}, {"name": "b"}]})).unwrap(), ["a", "b"]);
        let wrong = names(json!([{"name": "a"}, {"name": "b", "colour": 1}])).unwrap_err();
        assert!(wrong.starts_with("agent 2: `colour`"), "{wrong}");
        let wrong = names(json!({"agents": [], "tools": []})).unwrap_err();
        assert_eq!(wrong, "`tools`: beside `agents` nothing else may stand");
    }
}
