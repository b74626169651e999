//! The parameters of an operation: each becomes an argument, and its place in the address or the head is noted.
//!
//! An address is text, so only what has one way of being written into it is taken: plain values, lists of them, and
//! objects of them field by field. What may be left out and cannot be written is left out, with a note; an operation that
//! needs it is no tool.

mod shape;

use helve_egress::header::HeaderName;
use helve_egress::why_header_is_refused;
use helve_types::Auth;
use serde_json::Value;

use super::arguments::{ArgumentsDraft, placeholder};
use super::schema::{SchemaProblem, SchemaTranslation};
use super::words;
pub(super) use shape::{Field, Style, split_into_fields};

/// A parameter after its pointer was followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) place: &'a str,
    pub(super) given: &'a Value,
}

impl<'a> Parameter<'a> {
    pub(super) fn read(given: &'a Value) -> Option<Self> {
        let text = |name: &str| given.get(name).and_then(Value::as_str);
        Some(Self { name: text("name")?, place: text("in")?, given })
    }

    fn is_required(&self) -> bool {
        self.place == "path" || self.given.get("required") == Some(&Value::Bool(true))
    }

    fn style(&self) -> Style {
        let default = if self.place == "query" { "form" } else { "simple" };
        Style::read(self.given, default)
    }
}

/// Headers that the specification says to ignore.
const IGNORED: &[&str] = &["accept", "authorization", "content-type"];

/// Puts one parameter in its place.
pub(super) fn place_parameter<'a>(
    parameter: Parameter<'a>,
    auth: &Auth,
    walk: &mut SchemaTranslation<'a, '_>,
    draft: &mut ArgumentsDraft,
) -> Result<(), SchemaProblem> {
    let name = words::clean_line(parameter.name, 80);
    let lower = parameter.name.to_ascii_lowercase();
    match parameter.place {
        "header" if IGNORED.contains(&lower.as_str()) => return Ok(()),
        "header" if !is_header(parameter.name) => {
            let why = why_header_is_refused(parameter.name).unwrap_or("that is no name of a header");
            draft.notes.insert(format!("the header `{name}` is not sent: {why}"));
            return Ok(());
        }
        "header" | "query" if is_credential(parameter, auth) => return Ok(()),
        "path" | "query" | "header" => {}
        other => {
            let reason =
                format!("`{name}` goes into `{}`, which is not supported", words::clean_line(other, 20));
            return skip_parameter(parameter.is_required(), reason, draft);
        }
    }
    let schema = match parameter.given.get("schema") {
        Some(schema) => walk.translate(schema)?,
        None if parameter.given.get("content").is_some() => {
            let reason = format!("`{name}` is a document inside of the address or the head");
            return skip_parameter(parameter.is_required(), reason, draft);
        }
        None => Value::Object(Default::default()),
    };
    let fields = match split_into_fields(parameter.name, parameter.style(), &schema, parameter.is_required())
    {
        Ok(fields) => fields,
        Err(reason) => return skip_parameter(parameter.is_required(), format!("`{name}`: {reason}"), draft),
    };
    let own = parameter.given.get("description").and_then(Value::as_str);
    for field in fields {
        place_field(parameter, own, field, walk, draft)?;
    }
    Ok(())
}

fn place_field<'a>(
    parameter: Parameter<'a>,
    own_words: Option<&str>,
    mut field: Field,
    walk: &mut SchemaTranslation<'a, '_>,
    draft: &mut ArgumentsDraft,
) -> Result<(), SchemaProblem> {
    if let Some(constant) = field.single_value().filter(|_| field.needed && parameter.place != "path") {
        let places = if parameter.place == "query" { &mut draft.query } else { &mut draft.headers };
        places.insert(field.wire, constant);
        return Ok(());
    }
    // Two objects that are spread over the address may have fields of one name.
    let held = if parameter.place == "query" { &draft.query } else { &draft.headers };
    if parameter.place != "path" && held.contains_key(&field.wire) {
        let reason = format!("`{}` is there already", words::clean_line(&field.wire, 80));
        return skip_parameter(field.needed, reason, draft);
    }
    if let Some(text) = own_words.filter(|_| !field.of_object) {
        let text = walk.take_text(text)?;
        field.describe(&text);
    }
    let argument = draft.arguments.add_argument(&field.wire, parameter.place, field.schema, field.needed);
    let placeholder = placeholder(&argument);
    match parameter.place {
        "path" => draft.path.insert(parameter.name.to_owned(), argument),
        "query" => draft.query.insert(field.wire, placeholder),
        _ => draft.headers.insert(field.wire, placeholder),
    };
    Ok(())
}

fn skip_parameter(needed: bool, reason: String, draft: &mut ArgumentsDraft) -> Result<(), SchemaProblem> {
    if needed {
        return Err(SchemaProblem::Refused(format!("it needs what cannot be sent: {reason}")));
    }
    draft.notes.insert(format!("left out: {reason}"));
    Ok(())
}

/// The credential is put in by the operator's configuration, not by the model.
fn is_credential(parameter: Parameter<'_>, auth: &Auth) -> bool {
    use helve_types::KeyPlace::{Header, Query};
    match auth {
        Auth::ApiKey { name, place: Header, .. } => {
            parameter.place == "header" && parameter.name.eq_ignore_ascii_case(name)
        }
        Auth::ApiKey { name, place: Query, .. } => parameter.place == "query" && parameter.name == name,
        _ => false,
    }
}

/// Whether it is a header that a tool may set.
pub(super) fn is_header(name: &str) -> bool {
    HeaderName::try_from(name).is_ok() && why_header_is_refused(name).is_none()
}
