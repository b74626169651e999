//! A JSON body with placeholders in it.

use helve_tool::DefinitionError;
use serde_json::{Map, Value};

use super::text::Text;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum BodyTemplate {
    Constant(Value),
    /// A text that is one placeholder: the argument as it is.
    Argument(String),
    Text(Text),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl BodyTemplate {
    pub(super) fn parse(written: &Value) -> Result<Self, DefinitionError> {
        Self::parse_at(written, "endpoint.body")
    }

    /// How deep a body is was bounded when the definition was read.
    fn parse_at(written: &Value, field: &str) -> Result<Self, DefinitionError> {
        Ok(match written {
            Value::String(text) => {
                let text = Text::parse(text).map_err(|problem| DefinitionError::new(field, problem))?;
                match (text.single_placeholder(), text.literal()) {
                    (Some(name), _) => Self::Argument(name.to_owned()),
                    (None, Some(literal)) => Self::Constant(Value::String(literal)),
                    (None, None) => Self::Text(text),
                }
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| Self::parse_at(item, &format!("{field}.{index}")));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let members = members.iter().map(|(name, member)| {
                    Ok((name.clone(), Self::parse_at(member, &format!("{field}.{name}"))?))
                });
                Self::Object(members.collect::<Result<_, DefinitionError>>()?)
            }
            constant => Self::Constant(constant.clone()),
        })
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        matches!(self, Self::Object(members) if members.iter().any(|(held, _)| held == name))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let mut names = vec![];
        self.collect_names(&mut names);
        names.into_iter()
    }

    fn collect_names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Constant(_) => {}
            Self::Argument(name) => names.push(name),
            Self::Text(text) => names.extend(text.names()),
            Self::List(items) => items.iter().for_each(|item| item.collect_names(names)),
            Self::Object(members) => members.iter().for_each(|(_, member)| member.collect_names(names)),
        }
    }

    /// None where an argument is missing; what holds it goes on without it.
    pub(super) fn fill(&self, given: &Map<String, Value>) -> Option<Value> {
        Some(match self {
            Self::Constant(value) => value.clone(),
            Self::Argument(name) => given.get(name)?.clone(),
            Self::Text(text) => Value::String(text.fill(given)?),
            Self::List(items) => items.iter().filter_map(|item| item.fill(given)).collect(),
            Self::Object(members) => {
                let filled =
                    members.iter().filter_map(|(name, member)| Some((name.clone(), member.fill(given)?)));
                Value::Object(filled.collect())
            }
        })
    }
}
