//! Where references inside of a schema lead. Nothing outside of it is ever followed.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The places of a schema that references can name.
#[derive(Debug)]
pub(super) struct Refs<'s> {
    root: &'s Value,
    id: Option<&'s str>,
    /// Anchors by name; a dynamic one may stand in several places.
    anchors: HashMap<&'s str, Vec<&'s Value>>,
}

impl<'s> Refs<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        let id = root.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
        let mut refs = Self { root, id, anchors: HashMap::new() };
        refs.collect(root);
        refs
    }

    /// The depth of the schema is bounded.
    fn collect(&mut self, value: &'s Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::Object(members) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = members.get(keyword).and_then(Value::as_str) {
                        self.anchors.entry(name).or_default().push(value);
                    }
                }
                // Older drafts name places so.
                if let Some(name) =
                    members.get("$id").and_then(Value::as_str).and_then(|id| id.strip_prefix('#'))
                {
                    self.anchors.entry(name).or_default().push(value);
                }
                members.values().for_each(|member| self.collect(member));
            }
            _ => {}
        }
    }

    /// All places that the references of a schema may lead to.
    pub(super) fn targets(&self, members: &'s Map<String, Value>) -> Result<Vec<&'s Value>, String> {
        let mut found = vec![];
        for keyword in super::keywords::REFERENCES {
            if let Some(reference) = members.get(keyword).and_then(Value::as_str) {
                found.extend(self.find_target(reference)?);
            }
        }
        Ok(found)
    }

    fn find_target(&self, reference: &str) -> Result<Vec<&'s Value>, String> {
        let outside = || {
            format!(
                "`$ref` is `{}`, which is not in this schema; write what is meant under `$defs` and refer to it as \
                 `#/$defs/NAME`",
                shorten(reference)
            )
        };
        let inside = match reference.strip_prefix('#') {
            Some(inside) => inside,
            None => {
                let (base, inside) = reference.split_once('#').unwrap_or((reference, ""));
                if Some(base) != self.id {
                    return Err(outside());
                }
                inside
            }
        };
        if inside.is_empty() {
            return Ok(vec![self.root]);
        }
        let inside = percent_decode(inside);
        let found = match inside.starts_with('/') {
            true => self.root.pointer(&inside).map(|found| vec![found]),
            false => self.anchors.get(inside.as_str()).cloned(),
        };
        found.ok_or_else(outside)
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Pointers in fragments are percent-encoded.
fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
