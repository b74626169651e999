//! The way to a part of an answer: `data.items.0.title`, `$.data[0]["a b"]` or `/data/items/0`.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

const BYTES_MAX: usize = 1 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    steps: Vec<String>,
}

impl Path {
    pub(crate) fn parse(written: &str) -> Result<Self, String> {
        let written = written.trim();
        if written.len() > BYTES_MAX {
            return Err(format!("a path has {BYTES_MAX} bytes at most"));
        }
        if let Some(pointer) = written.strip_prefix('/') {
            let steps = pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
            return Ok(Self { steps: steps.collect() });
        }
        let mut rest = written.strip_prefix('$').unwrap_or(written);
        let mut steps = vec![];
        // The first name may come without a dot.
        let mut dotted = rest.len() < written.len() || rest.starts_with(['.', '[']);
        while !rest.is_empty() || !dotted {
            let (step, behind) = if let Some(bracket) = rest.strip_prefix('[') {
                parse_bracket(bracket)?
            } else {
                let name =
                    if dotted { rest.strip_prefix('.').ok_or_else(|| path_error(rest))? } else { rest };
                let end = name.find(['.', '[']).unwrap_or(name.len());
                (name[..end].to_owned(), &name[end..])
            };
            if step.is_empty() {
                return Err(path_error(rest));
            }
            if step == "*" {
                return Err("a path leads to one place; use `jq` for all items, such as `.items[]`".into());
            }
            steps.push(step);
            rest = behind;
            dotted = true;
        }
        Ok(Self { steps })
    }

    /// What the path leads to, or where it ends and what is there.
    pub(crate) fn find<'a>(&self, value: &'a Value) -> Result<&'a Value, String> {
        let mut found = value;
        for (taken, step) in self.steps.iter().enumerate() {
            let next = match found {
                Value::Object(members) => members.get(step),
                Value::Array(items) => resolve_index(step, items.len()).and_then(|index| items.get(index)),
                _ => None,
            };
            found = next.ok_or_else(|| {
                let place = match self.steps[..taken].join(".") {
                    place if place.is_empty() => "it".into(),
                    place => format!("`{place}`"),
                };
                format!("the answer has no `{step}` in {place}, which is {}", shorten_value(found))
            })?;
        }
        Ok(found)
    }
}

impl Path {
    /// What the path leads to, as it stands in the text, which is JSON.
    pub(crate) fn find_written<'a>(&self, text: &'a str) -> Option<&'a str> {
        let mut found = text;
        for step in &self.steps {
            found = match found.trim_start().as_bytes().first()? {
                b'{' => serde_json::from_str::<HashMap<String, &RawValue>>(found).ok()?.get(step)?.get(),
                b'[' => {
                    let items: Vec<&RawValue> = serde_json::from_str(found).ok()?;
                    items.get(resolve_index(step, items.len())?)?.get()
                }
                _ => return None,
            };
        }
        Some(found)
    }
}

/// `0]` or `"a b"]`.
fn parse_bracket(rest: &str) -> Result<(String, &str), String> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (step, behind) = match quote {
        Some(quote) => {
            let inner = &rest[1..];
            let end = inner.find(quote).ok_or_else(|| path_error(rest))?;
            (&inner[..end], &inner[end + 1..])
        }
        None => {
            let end = rest.find(']').ok_or_else(|| path_error(rest))?;
            (&rest[..end], &rest[end..])
        }
    };
    Ok((step.to_owned(), behind.strip_prefix(']').ok_or_else(|| path_error(rest))?))
}

fn path_error(rest: &str) -> String {
    let rest: String = rest.chars().take(20).collect();
    let place = if rest.is_empty() { "the end".into() } else { format!("`{rest}`") };
    format!("the path cannot be read at {place}; write it like `data.items.0.title`")
}

/// Negative numbers count from the end.
fn resolve_index(step: &str, length: usize) -> Option<usize> {
    match step.strip_prefix('-') {
        Some(back) => length.checked_sub(back.parse().ok()?),
        None => step.parse().ok(),
    }
}

fn shorten_value(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "an empty object".into(),
        Value::Object(members) => {
            let names: Vec<&str> = members.keys().map(String::as_str).take(10).collect();
            format!("an object with {}", names.join(", "))
        }
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Null => "null".into(),
        Value::String(_) => "a text".into(),
        Value::Bool(_) => "true or false".into(),
        Value::Number(_) => "a number".into(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(path: &str, expected: Expect) {
        let answer = json!({"data": {"items": [{"title": "a"}, {"a b": 1, "c/d": 2}], "n": null}});
        let found = Path::parse(path).and_then(|path| path.find(&answer).cloned());
        expected.assert_eq(&found.map_or_else(|error| error, |value| value.to_string()));
    }

    #[test]
    fn all_notations_lead_there() {
        for path in
            ["data.items.0.title", "$.data.items[0].title", ".data.items[-2].title", "/data/items/0/title"]
        {
            check(path, expect![[r#""a""#]]);
        }
        check(r#"$.data["items"][1]['a b']"#, expect!["1"]);
        check("/data/items/1/c~1d", expect!["2"]);
        check("data.n", expect!["null"]);
        check("$[\"data\"].n", expect!["null"]);
        assert_eq!(Path::parse("$").unwrap().steps.len(), 0);
    }

    #[test]
    fn a_way_that_ends_early_says_what_is_there() {
        check("data.hits.0", expect!["the answer has no `hits` in `data`, which is an object with items, n"]);
        check("result", expect!["the answer has no `result` in it, which is an object with data"]);
        check("data.items.7", expect!["the answer has no `7` in `data.items`, which is a list of 2"]);
        check(
            "data.items.0.title.x",
            expect!["the answer has no `x` in `data.items.0.title`, which is a text"],
        );
    }

    #[test]
    fn what_is_no_path_is_refused_when_it_is_defined() {
        check(
            "data..items",
            expect!["the path cannot be read at `..items`; write it like `data.items.0.title`"],
        );
        check("data[0", expect!["the path cannot be read at `0`; write it like `data.items.0.title`"]);
        check("", expect!["the path cannot be read at the end; write it like `data.items.0.title`"]);
        check(
            "data.items[*].title",
            expect!["a path leads to one place; use `jq` for all items, such as `.items[]`"],
        );
    }
}
