//! The body of an operation: its fields beside the parameters where no two have the same name, else whole under `body`.

use helve_types::{BodyFormat, Method};
use serde_json::{Map, Value, json};

use super::arguments::{ArgumentsDraft, placeholder};
use super::parameters::{Style, split_into_fields};
use super::schema::{SchemaProblem, SchemaTranslation};
use super::words;

/// Puts a request's body in its place.
pub(super) fn place_body<'a>(
    given: &'a Value,
    method: Method,
    walk: &mut SchemaTranslation<'a, '_>,
    draft: &mut ArgumentsDraft,
) -> Result<(), SchemaProblem> {
    let Some(content) = given.get("content").and_then(Value::as_object).filter(|all| !all.is_empty()) else {
        return Ok(());
    };
    // Said to be optional, it is; where nothing is said, as in most documents that have it wrong, its schema counts.
    let required = given.get("required").and_then(Value::as_bool);
    if matches!(method, Method::Get | Method::Head) {
        if required == Some(true) {
            return Err(SchemaProblem::Refused(
                "it is a GET or HEAD that needs a body, which is not sent".into(),
            ));
        }
        draft.notes.insert("its body is left out: a GET or HEAD has none".into());
        return Ok(());
    }
    let (format, kind, media) = choose_media_type(content)?;
    let any = json!({});
    let schema = match media.get("schema") {
        Some(schema) => walk.translate(schema)?,
        None => any,
    };
    let text = match given.get("description").and_then(Value::as_str) {
        Some(text) => Some(walk.take_text(text)?),
        None => None,
    };
    let meant = required.unwrap_or(method != Method::Delete);
    let body = RequestBody { schema, text, needed: meant, said: required == Some(true) };
    match format {
        BodyFormat::Form => place_form_body(body, media, draft),
        BodyFormat::Json => {
            if kind != "application/json" && !kind.contains('*') {
                draft.headers.insert("Content-Type".into(), kind.to_owned());
            }
            place_json_body(body, draft);
            Ok(())
        }
    }
}

struct RequestBody {
    schema: Value,
    text: Option<String>,
    /// Whether it, and what its schema needs, is needed.
    needed: bool,
    /// Whether the document says so.
    said: bool,
}

/// JSON if there is any, else a form.
fn choose_media_type(content: &Map<String, Value>) -> Result<(BodyFormat, &str, &Value), SchemaProblem> {
    let named = |fits: &dyn Fn(&str) -> bool| {
        content
            .iter()
            .find(|(kind, _)| fits(&media_type_essence(kind)))
            .map(|(kind, media)| (kind.as_str(), media))
    };
    let json = named(&|kind| kind == "application/json")
        .or_else(|| named(&|kind| kind.ends_with("+json") || kind == "text/json"))
        .or_else(|| named(&|kind| kind == "*/*" || kind == "application/*"));
    if let Some((kind, media)) = json {
        let plain = if media_type_essence(kind) == "application/json" { "application/json" } else { kind };
        return Ok((BodyFormat::Json, plain, media));
    }
    if let Some((kind, media)) = named(&|kind| kind == "application/x-www-form-urlencoded") {
        return Ok((BodyFormat::Form, kind, media));
    }
    let kinds: Vec<String> = content.keys().take(3).map(|kind| words::clean_line(kind, 60)).collect();
    Err(SchemaProblem::Refused(format!(
        "its body is `{}`; only JSON and forms are sent",
        kinds.join("` or `")
    )))
}

fn media_type_essence(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn place_json_body(body: RequestBody, draft: &mut ArgumentsDraft) {
    let fields = flat_fields(&body.schema).filter(|fields| {
        let mut names: Vec<String> = fields.keys().map(|name| super::names::to_identifier(name)).collect();
        names.sort_unstable();
        names.dedup();
        names.len() == fields.len() && fields.keys().all(|name| draft.arguments.is_free(name))
    });
    let Some(fields) = fields else {
        let mut schema = body.schema;
        if let (Some(schema), Some(text)) = (schema.as_object_mut(), body.text) {
            schema.entry("description").or_insert_with(|| text.into());
        }
        let argument = draft.arguments.add_argument("body", "request", schema, body.needed);
        draft.body = Some(placeholder(&argument).into());
        return;
    };
    if fields.is_empty() {
        // An object without fields: nothing to fill in, but still a body.
        draft.body = body.said.then(|| json!({}));
        return;
    }
    let wanted = body.schema.get("required").and_then(Value::as_array);
    let mut template = Map::new();
    for (name, schema) in fields {
        let needed = body.needed && wanted.is_some_and(|wanted| wanted.iter().any(|wanted| wanted == name));
        let argument = draft.arguments.add_argument(name, "body", schema.clone(), needed);
        template.insert(name.clone(), placeholder(&argument).into());
    }
    draft.body = Some(template.into());
}

/// The fields of an object that is nothing but its fields.
fn flat_fields(schema: &Value) -> Option<&Map<String, Value>> {
    let schema = schema.as_object()?;
    let plain = ["type", "properties", "required", "description", "examples", "default", "deprecated"];
    let only = schema.iter().all(|(name, value)| {
        plain.contains(&name.as_str()) || name == "additionalProperties" && *value == json!(false)
    });
    // `["object", "null"]` is the object: a body that is null is none.
    let object = match schema.get("type")? {
        Value::Array(kinds) => kinds.contains(&json!("object")),
        kind => kind == "object",
    };
    schema.get("properties").and_then(Value::as_object).filter(|_| only && object)
}

fn place_form_body(
    body: RequestBody,
    media: &Value,
    draft: &mut ArgumentsDraft,
) -> Result<(), SchemaProblem> {
    let Some(fields) = body.schema.get("properties").and_then(Value::as_object) else {
        if body.said {
            return Err(SchemaProblem::Refused("its form has no fields that are named".into()));
        }
        return Ok(());
    };
    let wanted = body.schema.get("required").and_then(Value::as_array);
    let mut template = Map::new();
    for (name, schema) in fields {
        let needed = body.needed && wanted.is_some_and(|wanted| wanted.iter().any(|wanted| wanted == name));
        let encoding = media.get("encoding").and_then(|encoding| encoding.get(name));
        let style = Style::read(encoding.unwrap_or(&Value::Null), "form");
        // Without a word of the document an object in a form is spread like in an address, which is never meant.
        let object = encoding.is_none() && schema.get("properties").is_some();
        let written = if object {
            Err("an object in a form".into())
        } else {
            split_into_fields(name, style, schema, needed)
        };
        match written {
            Ok(written) => {
                for field in written {
                    let argument =
                        draft.arguments.add_argument(&field.wire, "body", field.schema, field.needed);
                    template.insert(field.wire, placeholder(&argument).into());
                }
            }
            Err(reason) if needed => {
                return Err(SchemaProblem::Refused(format!(
                    "its form needs `{}`: {reason}",
                    words::clean_line(name, 80)
                )));
            }
            Err(reason) => {
                draft.notes.insert(format!("left out: `{}`: {reason}", words::clean_line(name, 80)));
            }
        }
    }
    if !template.is_empty() {
        draft.body = Some(template.into());
        draft.body_format = BodyFormat::Form;
    }
    Ok(())
}
