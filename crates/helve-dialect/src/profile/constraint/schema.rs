//! From a JSON Schema to rules. What a schema says with keywords that are not understood here is left open.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::rules::{Notation, Rules, literal};
use super::shape::common_prefix_len;
use super::words::text_until_rule;

/// What one tool's schema may take. Beyond it the arguments are any object.
const SPEND_MAX: usize = 16 * 1024;
const DEPTH_MAX: usize = 16;
/// Longer bounds are not counted: each count is a rule on the server.
const COUNT_MAX: u64 = 64;

/// The arguments of one tool.
pub(super) struct Arguments<'a> {
    schema: &'a Value,
}

/// Arguments written one by one.
pub(super) struct Members {
    /// At least one of them.
    pub(super) some: Option<String>,
    /// Whether there may be none.
    pub(super) none: bool,
}

struct TooMuch;

impl<'a> Arguments<'a> {
    pub(super) fn from_schema(schema: &'a Value) -> Self {
        Self { schema }
    }

    /// As one object.
    pub(super) fn object_rule(&self, rules: &mut Rules) -> String {
        let mark = rules.mark();
        let mut writer = Writer::new(self.schema, rules);
        match writer.value_rule(self.schema, 0) {
            // The arguments are an object, whatever else the schema allows.
            Ok(any) if any == "value" => "object".to_owned(),
            Ok(object) => object,
            Err(TooMuch) => {
                rules.roll_back_to(&mark);
                "object".to_owned()
            }
        }
    }

    pub(super) fn member_rules(&self, assign: &str, next: &str, close: &str, rules: &mut Rules) -> Members {
        let text = (rules.notation == Notation::Text)
            .then(|| text_until_rule(end_of_text(next, close), None, rules));
        let mark = rules.mark();
        let known = Writer::new(self.schema, rules).member_rules(text.as_deref(), assign, next);
        known.unwrap_or_else(|TooMuch| {
            rules.roll_back_to(&mark);
            let any = text.as_deref().unwrap_or("value");
            let member = format!("[a-zA-Z_] [a-zA-Z0-9_]{{0,63}} {} {any}", literal(assign));
            Members { some: Some(format!("{member} ( {} {member} )*", literal(next))), none: true }
        })
    }
}

/// What a value that is written as it is cannot contain: the tag behind it.
fn end_of_text<'a>(next: &'a str, close: &str) -> &'a str {
    let same = match common_prefix_len(next, close) {
        0 => next,
        length => &next[..length],
    };
    same.find('>').map_or(same, |at| &same[..=at])
}

struct Writer<'a, 'r> {
    root: &'a Value,
    rules: &'r mut Rules,
    spent: usize,
    /// Rules of what is referred to.
    known: HashMap<&'a str, String>,
    /// References that are being followed and have said nothing yet: to follow one again would never end.
    following: Vec<&'a str>,
}

impl<'a, 'r> Writer<'a, 'r> {
    fn new(root: &'a Value, rules: &'r mut Rules) -> Self {
        Self { root, rules, spent: 0, known: HashMap::new(), following: vec![] }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), TooMuch> {
        self.spent += bytes;
        if self.spent > SPEND_MAX { Err(TooMuch) } else { Ok(()) }
    }

    fn value_rule(&mut self, schema: &'a Value, depth: usize) -> Result<String, TooMuch> {
        self.spend(16)?;
        let Some(members) = schema.as_object().filter(|_| depth < DEPTH_MAX) else { return any_value_rule() };
        if let Some(Value::String(reference)) = members.get("$ref") {
            return self.referenced_rule(reference, depth);
        }
        if let Some(value) = members.get("const") {
            return self.constant_rule(value);
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            let values =
                values.iter().map(|value| self.constant_rule(value)).collect::<Result<Vec<_>, _>>()?;
            return Ok(join_alternatives(values));
        }
        let types = list_types(members);
        if types.is_empty() {
            return self.combined_rule(members, depth);
        }
        let mut ways = vec![];
        for kind in types {
            ways.push(self.rule_of_type(kind, members, depth)?);
        }
        if members.get("nullable") == Some(&Value::Bool(true)) {
            ways.push(self.rules.notation.value_literal(&Value::Null));
        }
        Ok(join_alternatives(ways))
    }

    fn rule_of_type(
        &mut self,
        kind: &str,
        members: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<String, TooMuch> {
        match kind {
            "string" => Ok(self.string_rule(members)),
            "integer" | "number" => Ok(kind.to_owned()),
            "boolean" => {
                let notation = self.rules.notation;
                Ok(join_alternatives(
                    [true, false].map(|value| notation.value_literal(&Value::Bool(value))).to_vec(),
                ))
            }
            "null" => Ok(self.rules.notation.value_literal(&Value::Null)),
            "array" => self.write_inside_brackets(|writer| writer.array_rule(members, depth)),
            "object" => self.write_inside_brackets(|writer| writer.object_rule(members, depth)),
            _ => any_value_rule(),
        }
    }

    /// A schema without a type: one of several, or anything.
    fn combined_rule(&mut self, members: &'a Map<String, Value>, depth: usize) -> Result<String, TooMuch> {
        let one_of = ["anyOf", "oneOf"].iter().find_map(|key| members.get(*key)?.as_array());
        if let Some(schemas) = one_of {
            let ways = schemas.iter().map(|schema| self.value_rule(schema, depth + 1));
            return Ok(join_alternatives(ways.collect::<Result<Vec<_>, _>>()?));
        }
        match members.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([only]) => self.value_rule(only, depth + 1),
            _ => any_value_rule(),
        }
    }

    fn referenced_rule(&mut self, reference: &'a str, depth: usize) -> Result<String, TooMuch> {
        if let Some(name) = self.known.get(reference) {
            let endless = self.following.contains(&reference);
            return if endless { any_value_rule() } else { Ok(name.clone()) };
        }
        let pointed = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(schema) = pointed else { return any_value_rule() };
        let name = self.rules.reserve_name("ref");
        self.known.insert(reference, name.clone());
        self.following.push(reference);
        let body = self.value_rule(schema, depth + 1)?;
        self.following.pop();
        self.spend(body.len())?;
        self.rules.define_rule(&name, &body);
        Ok(name)
    }

    /// Within brackets a reference may come again: there is something between.
    fn write_inside_brackets(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<String, TooMuch>,
    ) -> Result<String, TooMuch> {
        let following = std::mem::take(&mut self.following);
        let written = write(self)?;
        self.following = following;
        self.spend(written.len())?;
        Ok(self.rules.add_rule("v", &written))
    }

    fn string_rule(&self, members: &Map<String, Value>) -> String {
        let (least, most) = read_bounds(members, "minLength", "maxLength");
        if (least, most) == (0, None) {
            return "string".to_owned();
        }
        let quote = self.rules.notation.quote_literal();
        format!("{quote} char{} {quote}", format_repetition(least, most))
    }

    fn array_rule(&mut self, members: &'a Map<String, Value>, depth: usize) -> Result<String, TooMuch> {
        let item = match members.get("items") {
            Some(items) => self.value_rule(items, depth + 1)?,
            None => "value".to_owned(),
        };
        let (least, most) = read_bounds(members, "minItems", "maxItems");
        if most == Some(0) {
            return Ok(r#""[" s "]""#.to_owned());
        }
        let more = format_repetition(least.saturating_sub(1), most.map(|most| most - 1));
        let items = format!(r#"{item} ( "," s {item} ){more} s"#);
        Ok(if least == 0 { format!(r#""[" s ( {items} )? "]""#) } else { format!(r#""[" s {items} "]""#) })
    }

    fn object_rule(&mut self, members: &'a Map<String, Value>, depth: usize) -> Result<String, TooMuch> {
        let properties = self.property_rules(members, depth, None, |writer, key, value| {
            let key = writer.rules.notation.value_literal(&Value::from(key));
            format!(r#"{key} ":" s {value}"#)
        })?;
        let Some(properties) = properties else {
            return match members.get("additionalProperties") {
                Some(values @ Value::Object(_)) => {
                    let value = self.value_rule(values, depth + 1)?;
                    Ok(format!(r#""{{" s ( string ":" s {value} ( "," s string ":" s {value} )* s )? "}}""#))
                }
                Some(Value::Bool(false)) => Ok(r#""{" s "}""#.to_owned()),
                _ => Ok("object".to_owned()),
            };
        };
        let Members { some, none } = self.series_rules(&properties, r#""," s"#);
        let some = some.unwrap_or_default();
        Ok(if none { format!(r#""{{" s ( {some} s )? "}}""#) } else { format!(r#""{{" s {some} s "}}""#) })
    }

    /// The top level where arguments are written one by one; text as it is where the profile writes it so.
    fn member_rules(&mut self, text: Option<&str>, assign: &str, next: &str) -> Result<Members, TooMuch> {
        let Some(members) = self.root.as_object() else { return Err(TooMuch) };
        let assign = literal(assign);
        let write = |_: &mut Self, key: &str, value: String| format!("{} {assign} {value}", literal(key));
        let properties = self.property_rules(members, 0, text, write)?;
        let closed = members.get("additionalProperties") == Some(&Value::Bool(false));
        match properties {
            Some(properties) => Ok(self.series_rules(&properties, &literal(next))),
            None if closed => Ok(Members { some: None, none: true }),
            None => Err(TooMuch),
        }
    }

    /// The rules of an object's members, and whether each must be there; none where it names none.
    fn property_rules(
        &mut self,
        members: &'a Map<String, Value>,
        depth: usize,
        text: Option<&str>,
        write: impl Fn(&mut Self, &str, String) -> String,
    ) -> Result<Option<Vec<(String, bool)>>, TooMuch> {
        let properties = members.get("properties").and_then(Value::as_object).filter(|some| !some.is_empty());
        let Some(properties) = properties else { return Ok(None) };
        let required = members.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut written = vec![];
        for (key, schema) in properties {
            self.spend(key.len() + 16)?;
            let value = match text {
                Some(text) => self.raw_text_rule(schema, text)?,
                None => self.value_rule(schema, depth + 1)?,
            };
            let member = write(self, key, value);
            self.spend(member.len())?;
            written.push((self.rules.add_rule("m", &member), required.iter().any(|name| name == key)));
        }
        Ok(Some(written))
    }

    fn raw_text_rule(&mut self, schema: &'a Value, text: &str) -> Result<String, TooMuch> {
        let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if let Some(Value::Array(values)) = schema.get("enum") {
            self.spend(values.iter().map(|value| words(value).len() + 4).sum())?;
            return Ok(join_alternatives(values.iter().map(|value| literal(&words(value))).collect()));
        }
        let types = schema.as_object().map(list_types).unwrap_or_default();
        if types.is_empty() || types.contains(&"string") {
            return Ok(text.to_owned());
        }
        self.value_rule(schema, 1)
    }

    /// Members in their order, those that need not be there left out or not. A rule for each rest keeps it short.
    fn series_rules(&mut self, members: &[(String, bool)], separator: &str) -> Members {
        let mut rests = vec![String::new()];
        for (member, required) in members.iter().skip(1).rev() {
            let rest = rests.last().cloned().unwrap_or_default();
            let body = match required {
                true => format!("{separator} {member} {rest}"),
                false => format!("( {separator} {member} )? {rest}"),
            };
            rests.push(self.rules.add_rule("rest", body.trim_end()));
        }
        rests.reverse();
        let first_required = members.iter().position(|(_, required)| *required);
        let starts = members.iter().zip(&rests).take(first_required.map_or(members.len(), |at| at + 1));
        let starts = starts.map(|((member, _), rest)| format!("{member} {rest}").trim_end().to_owned());
        Members { some: Some(join_alternatives(starts.collect())), none: first_required.is_none() }
    }

    fn constant_rule(&mut self, value: &Value) -> Result<String, TooMuch> {
        let written = self.rules.notation.value_literal(value);
        self.spend(written.len())?;
        Ok(written)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it stands where rules are written, which may be too much")]
fn any_value_rule() -> Result<String, TooMuch> {
    Ok("value".to_owned())
}

/// The types that a schema names, or that its other keywords speak of.
fn list_types(members: &Map<String, Value>) -> Vec<&str> {
    match members.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ if members.contains_key("properties") => vec!["object"],
        _ if members.contains_key("items") => vec!["array"],
        _ => vec![],
    }
}

fn read_bounds(members: &Map<String, Value>, least: &str, most: &str) -> (u64, Option<u64>) {
    let bound = |key: &str| members.get(key).and_then(Value::as_u64);
    let least = bound(least).unwrap_or(0).min(COUNT_MAX);
    (least, bound(most).filter(|most| *most <= COUNT_MAX && *most >= least))
}

fn format_repetition(least: u64, most: Option<u64>) -> String {
    match (least, most) {
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (least, None) => format!("{{{least},}}"),
        (least, Some(most)) => format!("{{{least},{most}}}"),
    }
}

fn join_alternatives(mut ways: Vec<String>) -> String {
    match ways.len() {
        0 => "value".to_owned(),
        1 => ways.remove(0),
        _ => format!("( {} )", ways.join(" | ")),
    }
}
