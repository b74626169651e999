//! From the JSON Schema that a model writes to a form that people fill in. What cannot be shown is refused, with the
//! field and what is supported.

use helve_types::{FormField, FormOption, ReplyForm, TextFormat};
use serde_json::{Map, Number, Value};

use super::reply::check_reply;
use super::{FIELD_OPTIONS_MAX, FIELDS_MAX, SCHEMA_BYTES_MAX, TEXT_CHARS_MAX, check_options};

const NAME_CHARS_MAX: usize = 64;
const TITLE_CHARS_MAX: usize = 200;
const DESCRIPTION_CHARS_MAX: usize = 500;

/// Members of the schema of a form, or of a group of fields.
const OBJECT_KEYWORDS: &[&str] = &[
    "$schema",
    "type",
    "title",
    "description",
    "properties",
    "required",
    "propertyOrdering",
    "additionalProperties",
];
/// Members of the schema of every other field.
const FIELD_KEYWORDS: &[&str] = &["type", "title", "description", "default"];
const TEXT_KEYWORDS: &[&str] = &["format", "minLength", "maxLength", "multiline", "enum", "oneOf"];
const NUMBER_KEYWORDS: &[&str] = &["minimum", "maximum"];
const LIST_KEYWORDS: &[&str] = &["items", "minItems", "maxItems", "uniqueItems"];
const ITEM_KEYWORDS: &[&str] = &["type", "enum", "oneOf", "anyOf"];

type Members = Map<String, Value>;

/// The form of a schema.
pub(super) fn read_form(schema: &Value) -> Result<ReplyForm, String> {
    if schema.to_string().len() > SCHEMA_BYTES_MAX {
        return Err(format!("`form` is larger than {SCHEMA_BYTES_MAX} bytes; ask for less"));
    }
    let Some(members) = schema.as_object().filter(|members| is_object(members)) else {
        return Err(
            r#"`form` must be a JSON Schema of an object: {"type": "object", "properties": {…}}"#.into()
        );
    };
    let mut reader = FormReader { fields: 0 };
    Ok(ReplyForm::Fields { fields: reader.read_fields(members, "", true)? })
}

fn is_object(members: &Members) -> bool {
    match members.get("type") {
        Some(kind) => kind == "object",
        None => members.contains_key("properties"),
    }
}

struct FormReader {
    /// Read so far.
    fields: usize,
}

impl FormReader {
    fn read_fields(
        &mut self,
        schema: &Members,
        path: &str,
        may_group: bool,
    ) -> Result<Vec<FormField>, String> {
        check_keywords(schema, path, &[OBJECT_KEYWORDS])?;
        let place = if path.is_empty() { "`form`".to_owned() } else { field_at(path) };
        let properties = schema.get("properties").and_then(Value::as_object);
        let properties = properties.filter(|properties| !properties.is_empty());
        let properties =
            properties.ok_or_else(|| format!("{place} has no `properties`; name the fields there"))?;
        let names = |keyword: &str| -> Result<Vec<&str>, String> {
            let Some(listed) = schema.get(keyword) else { return Ok(vec![]) };
            let names: Option<Vec<&str>> =
                listed.as_array().and_then(|names| names.iter().map(Value::as_str).collect());
            let names = names.ok_or_else(|| format!("{place}: `{keyword}` must be a list of names"))?;
            match names.iter().find(|name| !properties.contains_key(**name)) {
                Some(name) => Err(format!("{place}: `{keyword}` names `{name}`, which is no field")),
                None => Ok(names),
            }
        };
        let required = names("required")?;
        // JSON objects have no order here: people see the fields as the model lists them elsewhere.
        let mut order = names("propertyOrdering")?;
        order.extend(&required);
        order.extend(properties.keys().map(String::as_str));
        let mut fields: Vec<FormField> = vec![];
        for name in order {
            if fields.iter().any(|field| field.name == name) {
                continue;
            }
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let schema = &properties[name];
            fields.push(self.read_field(name, schema, &path, required.contains(&name), may_group)?);
        }
        Ok(fields)
    }

    fn read_field(
        &mut self,
        name: &str,
        schema: &Value,
        path: &str,
        required: bool,
        may_group: bool,
    ) -> Result<FormField, String> {
        self.fields += 1;
        if self.fields > FIELDS_MAX {
            return Err(format!("`form` has more than {FIELDS_MAX} fields; ask for less"));
        }
        let place = field_at(path);
        let is_plain = |c: char| !c.is_control() && c != '.';
        if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || !name.chars().all(is_plain) {
            return Err(format!("{place}: a name has 1 to {NAME_CHARS_MAX} characters, and no dot"));
        }
        let schema = schema.as_object().ok_or_else(|| format!("{place} must be an object with a `type`"))?;
        let form = self.read_field_form(schema, path, may_group)?;
        let default = schema.get("default").cloned();
        if let Some(default) = &default
            && check_reply(&form, default).is_err()
        {
            return Err(format!("{place}: `default` does not fit the field"));
        }
        Ok(FormField {
            name: name.to_owned(),
            title: text(schema, "title", &place, TITLE_CHARS_MAX)?,
            description: text(schema, "description", &place, DESCRIPTION_CHARS_MAX)?,
            required,
            default,
            form,
        })
    }

    fn read_field_form(
        &mut self,
        schema: &Members,
        path: &str,
        may_group: bool,
    ) -> Result<ReplyForm, String> {
        let place = field_at(path);
        let kind = match schema.get("type") {
            Some(kind) => kind.as_str().ok_or_else(|| format!("{place}: `type` must be one type"))?,
            None if schema.contains_key("enum") || schema.contains_key("oneOf") => "string",
            None => return Err(format!("{place} has no `type`; {SUPPORTED}")),
        };
        match kind {
            "string" => {
                check_keywords(schema, path, &[FIELD_KEYWORDS, TEXT_KEYWORDS])?;
                match read_options(schema, &["enum", "oneOf"], &place)? {
                    Some(options) => Ok(ReplyForm::Choice { options }),
                    None => read_text_form(schema, &place),
                }
            }
            "number" | "integer" => {
                check_keywords(schema, path, &[FIELD_KEYWORDS, NUMBER_KEYWORDS])?;
                let minimum = number(schema, "minimum", &place)?;
                let maximum = number(schema, "maximum", &place)?;
                let as_float = |bound: &Option<Number>| bound.as_ref().and_then(Number::as_f64);
                if as_float(&minimum).zip(as_float(&maximum)).is_some_and(|(min, max)| min > max) {
                    return Err(format!("{place}: `minimum` is greater than `maximum`"));
                }
                Ok(ReplyForm::Number { whole: kind == "integer", minimum, maximum })
            }
            "boolean" => {
                check_keywords(schema, path, &[FIELD_KEYWORDS])?;
                Ok(ReplyForm::Boolean)
            }
            "array" => {
                check_keywords(schema, path, &[FIELD_KEYWORDS, LIST_KEYWORDS])?;
                read_list_form(schema, &place)
            }
            "object" if may_group => Ok(ReplyForm::Fields { fields: self.read_fields(schema, path, false)? }),
            "object" => Err(format!("{place} is an object in an object; a form has one level of groups")),
            _ => Err(format!("{place}: the type `{kind}` cannot be asked for; {SUPPORTED}")),
        }
    }
}

const SUPPORTED: &str = "use string (with enum, format, minLength, maxLength, multiline), number or integer (with \
    minimum, maximum), boolean, array of strings with an enum, or one level of object";

fn field_at(path: &str) -> String {
    let short: String = path.chars().take(2 * NAME_CHARS_MAX).collect();
    format!("field `{short}`")
}

fn check_keywords(schema: &Members, path: &str, known: &[&[&str]]) -> Result<(), String> {
    let is_known = |keyword: &&String| known.iter().any(|list| list.contains(&keyword.as_str()));
    match schema.keys().find(|keyword| !is_known(keyword)) {
        Some(keyword) => {
            let place = if path.is_empty() { "`form`".to_owned() } else { field_at(path) };
            let keyword: String = keyword.chars().take(NAME_CHARS_MAX).collect();
            Err(format!("{place}: `{keyword}` is not supported here; {SUPPORTED}"))
        }
        None => Ok(()),
    }
}

fn text(schema: &Members, keyword: &str, place: &str, chars_max: usize) -> Result<Option<String>, String> {
    let Some(value) = schema.get(keyword) else { return Ok(None) };
    let text = value.as_str().ok_or_else(|| format!("{place}: `{keyword}` must be a text"))?.trim();
    if text.chars().count() > chars_max {
        return Err(format!("{place}: `{keyword}` has more than {chars_max} characters"));
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

fn number(schema: &Members, keyword: &str, place: &str) -> Result<Option<Number>, String> {
    match schema.get(keyword) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number.clone())),
        Some(_) => Err(format!("{place}: `{keyword}` must be a number")),
    }
}

fn count(schema: &Members, keyword: &str, place: &str) -> Result<Option<u32>, String> {
    let Some(value) = schema.get(keyword) else { return Ok(None) };
    let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
    count.map(Some).ok_or_else(|| format!("{place}: `{keyword}` must be a whole number from 0 on"))
}

fn read_text_form(schema: &Members, place: &str) -> Result<ReplyForm, String> {
    let format = match schema.get("format") {
        None => None,
        Some(named) => {
            let known = named.as_str().and_then(TextFormat::parse);
            let formats = TextFormat::ALL.map(TextFormat::as_str).join(", ");
            Some(known.ok_or_else(|| format!("{place}: `format` must be one of {formats}"))?)
        }
    };
    let multiline = match schema.get("multiline") {
        None => false,
        Some(Value::Bool(multiline)) => *multiline,
        Some(_) => return Err(format!("{place}: `multiline` must be true or false")),
    };
    if multiline && format.is_some() {
        return Err(format!("{place}: a text with a `format` has one line"));
    }
    let chars_max = u32::try_from(TEXT_CHARS_MAX).unwrap_or(u32::MAX);
    let (min_chars, max_chars) = (count(schema, "minLength", place)?, count(schema, "maxLength", place)?);
    if max_chars.is_some_and(|max| max == 0) || min_chars > Some(max_chars.unwrap_or(chars_max)) {
        return Err(format!("{place}: `minLength` and `maxLength` leave no text that fits"));
    }
    let max_chars = max_chars.unwrap_or(chars_max).min(chars_max);
    Ok(ReplyForm::Text { format, multiline, min_chars: min_chars.filter(|min| *min > 0), max_chars })
}

fn read_list_form(schema: &Members, place: &str) -> Result<ReplyForm, String> {
    let wanted = || format!("{place}: `items` must be strings with an `enum`");
    let items = schema.get("items").and_then(Value::as_object).ok_or_else(wanted)?;
    if items.get("type").is_some_and(|kind| kind != "string")
        || items.keys().any(|keyword| !ITEM_KEYWORDS.contains(&keyword.as_str()))
    {
        return Err(wanted());
    }
    let options = read_options(items, &["enum", "oneOf", "anyOf"], place)?.ok_or_else(wanted)?;
    let all = u32::try_from(options.len()).unwrap_or(u32::MAX);
    let min_items = count(schema, "minItems", place)?.unwrap_or(0);
    let max_items = count(schema, "maxItems", place)?.unwrap_or(all).min(all);
    if max_items == 0 || min_items > max_items {
        return Err(format!("{place}: `minItems` and `maxItems` leave no choice that fits"));
    }
    Ok(ReplyForm::Choices { options, min_items, max_items })
}

/// The options that a schema lists: plain ones, or ones with a title each.
fn read_options(schema: &Members, keywords: &[&str], place: &str) -> Result<Option<Vec<FormOption>>, String> {
    let Some((keyword, listed)) = keywords.iter().find_map(|keyword| Some((keyword, schema.get(*keyword)?)))
    else {
        return Ok(None);
    };
    let wanted = || match *keyword {
        "enum" => format!("{place}: `enum` must be a list of texts"),
        _ => format!(r#"{place}: `{keyword}` must be a list such as [{{"const": "a", "title": "A"}}]"#),
    };
    let listed = listed.as_array().filter(|listed| !listed.is_empty()).ok_or_else(wanted)?;
    if listed.len() > FIELD_OPTIONS_MAX {
        return Err(format!("{place} has more than {FIELD_OPTIONS_MAX} options; offer fewer"));
    }
    let option = |listed: &Value| match (listed, *keyword) {
        (Value::String(value), "enum") => Some(FormOption { value: value.clone(), title: None }),
        (Value::Object(titled), "oneOf" | "anyOf") if titled.len() <= 2 => {
            let value = titled.get("const")?.as_str()?.to_owned();
            let title = match titled.get("title") {
                Some(title) => Some(title.as_str()?.to_owned()),
                None if titled.len() == 1 => None,
                None => return None,
            };
            Some(FormOption { value, title })
        }
        _ => None,
    };
    let options: Option<Vec<_>> = listed.iter().map(option).collect();
    let options = options.ok_or_else(wanted)?;
    check_options(place, &options)?;
    Ok(Some(options))
}
