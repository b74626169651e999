//! Text with placeholders in it.

use helve_types::Notice;
use serde_json::{Map, Value};

pub(super) use self::plain::{join_list, plain_list};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) parts: Vec<TextPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextPart {
    Literal(String),
    Placeholder(String),
}

impl Text {
    /// `{name}` is a placeholder, `{{` and `}}` are braces.
    pub(super) fn parse(written: &str) -> Result<Self, Notice> {
        let (mut parts, mut literal) = (vec![], String::new());
        let mut rest = written;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let (brace, behind) = (&rest[at..=at], &rest[at + 1..]);
            if behind.starts_with(brace) {
                literal.push_str(brace);
                rest = &behind[1..];
                continue;
            }
            let end = behind.find(['{', '}']).filter(|end| behind[*end..].starts_with('}'));
            let (Some(end), "{") = (end, brace) else {
                return Err(Notice::definition_brace_alone(&excerpt(&rest[at..]), &brace.repeat(2)));
            };
            if end == 0 {
                return Err(Notice::definition_brace_empty("{}"));
            }
            if !literal.is_empty() {
                parts.push(TextPart::Literal(std::mem::take(&mut literal)));
            }
            parts.push(TextPart::Placeholder(behind[..end].to_owned()));
            rest = &behind[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() || parts.is_empty() {
            parts.push(TextPart::Literal(literal));
        }
        Ok(Self { parts })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TextPart::Literal(_) => None,
            TextPart::Placeholder(name) => Some(name.as_str()),
        })
    }

    /// The text, if it has no placeholder.
    pub(super) fn literal(&self) -> Option<String> {
        self.fill(&Map::new())
    }

    /// The name, if the text is one placeholder and nothing else.
    pub(super) fn single_placeholder(&self) -> Option<&str> {
        match &self.parts[..] {
            [TextPart::Placeholder(name)] => Some(name),
            _ => None,
        }
    }

    /// The text with its arguments; none if one of them is missing.
    pub(super) fn fill(&self, given: &Map<String, Value>) -> Option<String> {
        let parts = self.parts.iter().map(|part| match part {
            TextPart::Literal(literal) => Some(literal.clone()),
            TextPart::Placeholder(name) => given.get(name).and_then(join_list),
        });
        parts.collect()
    }

    /// As `fill`; a list that stands alone gives a text for each item.
    pub(super) fn fill_all(&self, given: &Map<String, Value>) -> Vec<String> {
        match self.single_placeholder().and_then(|name| given.get(name)) {
            Some(value) => plain_list(value),
            None => self.fill(given).into_iter().collect(),
        }
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(20).collect()
}

/// Values where only text can be.
pub(super) mod plain {
    use serde_json::{Number, Value};

    /// None for null, which is the same as nothing.
    pub(in super::super) fn plain_text(value: &Value) -> Option<String> {
        match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// A list as its items with commas between them.
    pub(in super::super) fn join_list(value: &Value) -> Option<String> {
        match value {
            Value::Array(_) => Some(plain_list(value).join(",")),
            value => plain_text(value),
        }
    }

    /// The items of a list, or the one value; objects as JSON.
    pub(in super::super) fn plain_list(value: &Value) -> Vec<String> {
        match value {
            Value::Array(items) => items.iter().filter_map(plain_text).collect(),
            value => plain_text(value).into_iter().collect(),
        }
    }

    /// Some models write every number with a point; 3.0 is sent as 3.
    pub(in super::super) fn normalize_whole_numbers(value: &mut Value) {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match value {
            Value::Number(number) if number.is_f64() => {
                let float = number.as_f64().unwrap_or(0.5);
                if float.fract() == 0.0 && float.abs() <= EXACT {
                    *number = Number::from(float as i64);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(normalize_whole_numbers),
            Value::Object(members) => members.values_mut().for_each(normalize_whole_numbers),
            _ => {}
        }
    }
}
