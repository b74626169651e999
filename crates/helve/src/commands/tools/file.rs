//! Definitions of tools in a file, as people write them.

use crate::commands::notice::problem_words;
use crate::i18n::tr;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use helve_tool::{IMPORT_BYTES_MAX, read_definition};
use helve_types::ToolDefinition;
use serde_json::Value;

/// One byte more than is read, which tells that there is more.
const READ_MAX: u64 = IMPORT_BYTES_MAX as u64 + 1;

/// The definitions in a file, or on standard input where the file is `-`.
pub(super) fn definitions(file: &str) -> anyhow::Result<Vec<ToolDefinition>> {
    let name = if file == "-" { tr!("standard input") } else { file.to_owned() };
    parse(value(file)?).context(name)
}

/// What a file of JSON or TOML says.
pub(in crate::commands) fn value(file: &str) -> anyhow::Result<Value> {
    let text = read(file)?;
    let extension = Path::new(file).extension().and_then(|extension| extension.to_str());
    match extension {
        Some("toml") => from_toml(&text),
        Some("json") => from_json(&text),
        _ => either(&text),
    }
}

/// The text of a file, or of standard input where the file is `-`.
pub(super) fn read(file: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    match file {
        "-" => std::io::stdin()
            .take(READ_MAX)
            .read_to_string(&mut text)
            .with_context(|| tr!("standard input cannot be read as UTF-8"))?,
        path => std::fs::File::open(path)
            .and_then(|opened| opened.take(READ_MAX).read_to_string(&mut text))
            .with_context(|| tr!("`{path}` cannot be read", path = path))?,
    };
    if text.len() > IMPORT_BYTES_MAX {
        bail!(tr!(
            "`{file}` is larger than {max} MiB; import it in parts",
            file = file,
            max = IMPORT_BYTES_MAX >> 20
        ));
    }
    Ok(text)
}

fn from_json(text: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).with_context(|| tr!("it is not JSON"))
}

fn from_toml(text: &str) -> anyhow::Result<Value> {
    toml::from_str(text).with_context(|| tr!("it is not TOML"))
}

/// The file does not say which it is, so whatever it can be read as.
fn either(text: &str) -> anyhow::Result<Value> {
    let json = from_json(text);
    json.or_else(|not_json| match from_toml(text) {
        Ok(given) => Ok(given),
        Err(not_toml) => {
            bail!(tr!(
                "it is neither JSON ({not_json}) nor TOML ({not_toml})",
                not_json = format!("{:#}", Inner(&not_json)),
                not_toml = format!("{:#}", Inner(&not_toml))
            ))
        }
    })
}

/// An error without the outermost word on it.
struct Inner<'a>(&'a anyhow::Error);

impl std::fmt::Display for Inner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cause = self.0.root_cause().to_string();
        f.write_str(cause.lines().next().unwrap_or_default())
    }
}

fn definition(given: Value) -> anyhow::Result<ToolDefinition> {
    read_definition(given).map_err(|wrong| anyhow::anyhow!(problem_words(&wrong)))
}

fn parse(given: Value) -> anyhow::Result<Vec<ToolDefinition>> {
    let items = match given {
        Value::Array(items) => items,
        Value::Object(mut members) if !members.contains_key("name") && members.contains_key("tools") => {
            match (members.remove("tools"), members.keys().next()) {
                (Some(Value::Array(items)), None) => items,
                (_, Some(other)) => {
                    bail!(tr!("`{other}`: beside `tools` nothing else may stand", other = other))
                }
                _ => bail!(tr!("`tools` must be a list of definitions")),
            }
        }
        one => return Ok(vec![definition(one)?]),
    };
    let mut definitions: Vec<ToolDefinition> = vec![];
    for (number, item) in items.into_iter().enumerate() {
        let definition = definition(item).with_context(|| tr!("tool {number}", number = number + 1))?;
        if definitions.iter().any(|known| known.name == definition.name) {
            bail!(tr!(
                "tool {number}: there are two named `{name}`",
                number = number + 1,
                name = definition.name
            ));
        }
        definitions.push(definition);
    }
    Ok(definitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"name": "a", "description": "A.", "endpoint": {"url": "https://a.example"}}"#;
    const TOML: &str = "name = \"a\"\ndescription = \"A.\"\n[endpoint]\nurl = \"https://a.example\"\n";

    fn names(text: &str) -> Vec<String> {
        parse(either(text).unwrap()).unwrap().into_iter().map(|definition| definition.name).collect()
    }

    #[test]
    fn one_or_many_in_json_or_toml_are_the_same() {
        let both = format!("[{JSON}, {}]", JSON.replace("\"a\"", "\"b\""));
        assert_eq!(names(JSON), ["a"]);
        assert_eq!(names(TOML), ["a"]);
        assert_eq!(names(&both), ["a", "b"]);
        assert_eq!(names(&format!(r#"{{"tools": {both}}}"#)), ["a", "b"]);
        assert_eq!(
            names(&TOML.replace("[endpoint]", "[tools.endpoint]").replacen("name", "[[tools]]\nname", 1)),
            ["a"]
        );
        assert_eq!(parse(from_json(JSON).unwrap()).unwrap(), parse(from_toml(TOML).unwrap()).unwrap());
    }

    #[test]
    fn what_is_wrong_is_told_with_the_tool_and_the_field() {
        let told = |text: &str| format!("{:#}", either(text).and_then(parse).unwrap_err());
        assert!(told("{{").starts_with("it is neither JSON (key must be"), "{}", told("{{"));
        assert_eq!(told(&format!("[{JSON}, {JSON}]")), "tool 2: there are two named `a`");
        assert_eq!(told(&format!("[{JSON}, {{\"name\": \"b\"}}]")), "tool 2: `description`: it is missing");
        assert_eq!(told(r#"{"tools": [], "name_": 1}"#), "`name_`: beside `tools` nothing else may stand");
        assert_eq!(told("7"), "`definition`: it must be a JSON object");
    }
}
