//! Whether a definition can be kept at all, and what is odd about it: pure, whatever kind of tool it describes.

use std::sync::Arc;

use helve_types::{Effect, Notice, ToolDefinition};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::DefinitionError;
use super::mapped::is_variable_name;
use super::words::plain_reason;
use crate::registry::check_name;
use crate::schema::{CheckResult, CompileBudget, Schema};

/// Addresses under `/api/tools/` that are no tools.
pub const RESERVED_NAMES: [&str; 3] = ["execute", "export", "import-openapi"];
const DESCRIPTION_CHARS_MAX: usize = 16_000;
/// Longer ones cost every request and hide what models should not be told.
const DESCRIPTION_CHARS_ODD: usize = 2_000;
const LABEL_CHARS_MAX: usize = 100;

/// The fields that are objects themselves.
const OBJECTS: [&str; 9] = [
    "endpoint",
    "endpoint.auth",
    "endpoint.caller",
    "response_transform",
    "rate_limit",
    "cache",
    "breaker",
    "fallback",
    "labels",
];

fn is_list(given: &Value, field: &str) -> bool {
    given.pointer(&format!("/{}", field.replace('.', "/"))).is_some_and(Value::is_array)
}

/// A definition as a person wrote it; an error names the field.
pub fn read_definition(given: Value) -> Result<ToolDefinition, DefinitionError> {
    // What has fields is written with their names: a list would be read as fields in their order.
    if let Some(field) = OBJECTS.iter().find(|field| is_list(&given, field)) {
        return Err(DefinitionError::new(*field, Notice::definition_object_needed()));
    }
    // What has no fields would take any.
    let auth = given.pointer("/endpoint/auth").and_then(Value::as_object);
    if let Some(auth) = auth.filter(|auth| auth.get("type").is_some_and(|kind| kind == "none"))
        && let Some((name, _)) = auth.iter().find(|(name, value)| *name != "type" && !value.is_null())
    {
        let field = format!("endpoint.auth.{}", name.chars().take(64).collect::<String>());
        return Err(DefinitionError::new(field, Notice::definition_no_field_of_none()));
    }
    read_json(given)
}

/// A definition of any kind as a person wrote it; an error names the field.
pub fn read_json<T: DeserializeOwned>(given: Value) -> Result<T, DefinitionError> {
    if !given.is_object() {
        return Err(DefinitionError::new("definition", Notice::definition_object_needed()));
    }
    serde_path_to_error::deserialize(given).map_err(|error| {
        let (at, problem) = (error.path().to_string(), error.into_inner().to_string());
        let at = if at == "." { String::new() } else { at.replace('[', ".").replace(']', "") };
        let missing = problem.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        let steps = [at.as_str(), missing.unwrap_or_default()];
        let steps: Vec<_> = steps.into_iter().filter(|step| !step.is_empty()).collect();
        let field = if steps.is_empty() { "definition".to_owned() } else { steps.join(".") };
        match missing {
            Some(_) => DefinitionError::new(field, Notice::definition_missing()),
            None => DefinitionError::new(field, plain_reason(&problem)),
        }
    })
}

/// The definition with what a merge patch says (RFC 7396). What is one of several kinds is replaced by another kind:
/// nothing of a key in the query is left in a bearer token.
pub(super) fn apply_patch(
    definition: &ToolDefinition,
    patch: &Value,
) -> Result<ToolDefinition, DefinitionError> {
    let mut laid = json!(definition);
    let kind = "/endpoint/auth/type";
    let is_other = patch.pointer(kind).is_some_and(|given| Some(given) != laid.pointer(kind));
    if is_other && let Some(before) = laid.pointer_mut("/endpoint/auth") {
        *before = json!({});
    }
    let given = &patch["response_transform"];
    let other = match (given["jq"].is_string(), given["path"].is_string()) {
        (true, false) => "path",
        (false, true) => "jq",
        _ => "",
    };
    if let Some(Value::Object(before)) = laid.get_mut("response_transform") {
        before.remove(other);
    }
    merge_patch(&mut laid, patch);
    read_definition(laid)
}

/// Changes what a merge patch says (RFC 7396).
pub fn merge_patch(at: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *at = patch.clone();
        return;
    };
    if !at.is_object() {
        *at = json!({});
    }
    let Value::Object(members) = at else { return };
    for (name, value) in patch {
        if value.is_null() {
            members.remove(name);
        } else {
            merge_patch(members.entry(name).or_insert(Value::Null), value);
        }
    }
}

pub(super) fn check(definition: &ToolDefinition) -> Result<(), DefinitionError> {
    let ToolDefinition { name, description, parameters, .. } = definition;
    check_name(name).map_err(|problem| DefinitionError::new("name", problem))?;
    if RESERVED_NAMES.contains(&name.as_str()) {
        return Err(DefinitionError::new("name", Notice::definition_name_reserved(name)));
    }
    if description.trim().is_empty() {
        return Err(DefinitionError::new("description", Notice::definition_description_empty()));
    }
    if description.chars().count() > DESCRIPTION_CHARS_MAX {
        let problem = Notice::definition_description_too_long(DESCRIPTION_CHARS_MAX as u64);
        return Err(DefinitionError::new("description", problem));
    }
    compile_parameters(parameters).map_err(|problem| DefinitionError::new("parameters", problem))?;
    check_required(parameters)?;
    if definition.check_tool.as_ref() == Some(name) {
        return Err(DefinitionError::new("check_tool", Notice::definition_checks_itself()));
    }
    check_id(definition.id.as_deref())?;
    check_variable(definition.endpoint.auth.secret().and_then(|(_, env)| env))?;
    let labels = definition.tags.iter().enumerate().map(|(n, tag)| (format!("tags.{n}"), tag));
    let labels = labels.chain(definition.category.iter().map(|label| ("category".to_owned(), label)));
    let labels = labels.chain(definition.display_name.iter().map(|label| ("display_name".to_owned(), label)));
    let labels = labels.chain(definition.version.iter().map(|label| ("version".to_owned(), label)));
    for (field, label) in labels {
        let fits = |c: char| !c.is_control();
        if label.trim().is_empty() || label.chars().count() > LABEL_CHARS_MAX || !label.chars().all(fits) {
            let problem = Notice::definition_label_unfit(LABEL_CHARS_MAX as u64);
            return Err(DefinitionError::new(field, problem));
        }
    }
    Ok(())
}

/// An id is written into addresses as a name is.
fn check_id(id: Option<&str>) -> Result<(), DefinitionError> {
    let Some(id) = id else { return Ok(()) };
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && c != '/';
    if id.is_empty() || id.chars().count() > LABEL_CHARS_MAX || !id.chars().all(is_plain) {
        let problem = Notice::definition_id_unfit(LABEL_CHARS_MAX as u64);
        return Err(DefinitionError::new("id", problem));
    }
    if RESERVED_NAMES.contains(&id) || matches!(id, "." | "..") {
        return Err(DefinitionError::new("id", Notice::definition_id_reserved(id)));
    }
    Ok(())
}

/// Variables that configure Helve itself are never given to a tool.
fn check_variable(env: Option<&str>) -> Result<(), DefinitionError> {
    let wrong = |problem: Notice| Err(DefinitionError::new("endpoint.auth.env", problem));
    match env {
        Some(env) if !is_variable_name(env) => wrong(Notice::definition_variable_unfit()),
        Some(env) if env.to_ascii_uppercase().starts_with("HELVE_") => {
            wrong(Notice::definition_variable_of_helve(env))
        }
        _ => Ok(()),
    }
}

fn compile_parameters(parameters: &Value) -> Result<Arc<Schema>, Notice> {
    Schema::compile(parameters, &mut CompileBudget::default())
        .map_err(|problem| Notice::definition_other(&problem))
}

/// What is required has to be there: a model cannot fill in what is not described. Where names may be any, they may be
/// these.
fn check_required(parameters: &Value) -> Result<(), DefinitionError> {
    let properties = parameters.get("properties").and_then(Value::as_object);
    let is_described = |name: &str| properties.is_some_and(|all| all.contains_key(name));
    let elsewhere = ["allOf", "anyOf", "oneOf", "$ref", "patternProperties", "if", "dependentSchemas"];
    let described_elsewhere = elsewhere.iter().any(|keyword| parameters.get(*keyword).is_some());
    let any_name = parameters.get("additionalProperties").is_some_and(|given| *given != Value::Bool(false));
    let required = parameters.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing =
        required.enumerate().find(|(_, name)| name.as_str().is_some_and(|name| !is_described(name)));
    match missing {
        Some((n, name)) if !described_elsewhere && !any_name => {
            let problem = Notice::definition_required_undescribed(&name.to_string());
            Err(DefinitionError::new(format!("parameters.required.{n}"), problem))
        }
        _ => Ok(()),
    }
}

/// What is odd, but may be meant. `effect_of` knows the tools there are.
pub(super) fn list_warnings(
    definition: &ToolDefinition,
    effect_of: impl Fn(&str) -> Option<Effect>,
) -> Vec<Notice> {
    let mut found = vec![];
    let length = definition.description.chars().count();
    if length > DESCRIPTION_CHARS_ODD {
        found.push(Notice::definition_odd_long_description(length as u64));
    }
    let told = json!({
        "description": definition.description,
        "display_name": definition.display_name,
        "parameters": definition.parameters,
        "examples": definition.examples,
    });
    find_hidden_chars(&told, &mut String::new(), &mut found);
    let fallback = definition.fallback.as_ref().and_then(|fallback| fallback.tool.as_deref());
    if let Some(name) = fallback
        && (effect_of(name).is_none() || name == definition.name)
    {
        found.push(Notice::definition_odd_fallback(name));
    }
    match definition.check_tool.as_deref().map(|name| (name, effect_of(name))) {
        None | Some((_, Some(Effect::Read))) => {}
        Some((name, None)) => {
            found.push(Notice::definition_odd_check_missing(name));
        }
        Some((name, Some(_))) => {
            found.push(Notice::definition_odd_check_changes(name));
        }
    }
    found.extend(list_misfit_examples(definition));
    found
}

fn list_misfit_examples(definition: &ToolDefinition) -> Vec<Notice> {
    if definition.examples.is_empty() {
        return vec![];
    }
    let Ok(schema) = compile_parameters(&definition.parameters) else { return vec![] };
    let examples = definition.examples.iter().enumerate();
    let wrong = examples.filter(|(_, example)| schema.check_value(&example.arguments) != CheckResult::Fits);
    wrong.map(|(n, _)| Notice::definition_odd_example(n as u64)).collect()
}

/// Characters that people do not see and models do.
fn find_hidden_chars(value: &Value, path: &mut String, found: &mut Vec<Notice>) {
    let mut look = |text: &str, path: &str| {
        let mut hidden: Vec<_> = text.chars().filter(|c| is_hidden_char(*c)).collect();
        hidden.dedup();
        if let [first, ..] = hidden[..] {
            let code = u32::from(first);
            found.push(Notice::definition_odd_hidden(path, &format!("U+{code:04X}")));
        }
    };
    let at = path.len();
    match value {
        Value::String(text) => look(text, path),
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                path.push_str(&format!(".{n}"));
                find_hidden_chars(item, path, found);
                path.truncate(at);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                if at > 0 {
                    path.push('.');
                }
                path.push_str(&name.escape_default().to_string());
                if name.chars().any(is_hidden_char) {
                    found.push(Notice::definition_odd_hidden_name(path));
                }
                find_hidden_chars(member, path, found);
                path.truncate(at);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_hidden_char(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    ) || (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
}
