//! Rows as the tool system that Helve replaces keeps them: what differs from a definition is mapped, and each mapping is
//! noted. Pure.
//!
//! A definition of ours passes unchanged and without a note.

use helve_types::{Notice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::inside::SCHEME;
use super::{DefinitionError, read_definition};

/// The members of a schema that are never `null` in JSON Schema.
const SCHEMA_MEMBERS: [&str; 9] = [
    "type",
    "description",
    "title",
    "format",
    "properties",
    "required",
    "items",
    "enum",
    "additionalProperties",
];
/// Members that only the other system's tables have.
const TIMES: [&str; 2] = ["created_at", "updated_at"];
const TIMEOUT_SECONDS_MAX: u64 = 600;
/// Deeper schemas are refused when they are compiled.
const SCHEMA_DEPTH_MAX: usize = 64;

/// A definition, and what was changed to get it from the row.
#[derive(Debug, Clone, PartialEq)]
pub struct MappedRow {
    pub definition: ToolDefinition,
    /// One for each member that was mapped.
    pub mapped: Vec<Notice>,
}

/// The definition that a row means, ours or the other system's.
pub fn map_row(given: Value) -> Result<MappedRow, DefinitionError> {
    let Value::Object(mut row) = given else {
        return Err(DefinitionError::new("definition", Notice::definition_object_needed()));
    };
    let mut notes = vec![];
    drop_nulls(&mut row, &mut notes);
    drop_empty(&mut row, &["type", "category", "display_name", "id", "version"]);
    for name in TIMES {
        if row.remove(name).is_some() {
            notes.push(Notice::definition_mapped_time(name));
        }
    }
    if let Some(number) = row.get("id").and_then(Value::as_i64) {
        row.insert("id".into(), json!(number.to_string()));
    }
    let variable = row.get("name").and_then(Value::as_str).map(variable_name_for_tool).unwrap_or_default();
    if let Some(Value::Object(endpoint)) = row.get_mut("endpoint") {
        map_endpoint(endpoint, &variable, &mut notes)?;
    }
    let definition = read_definition(Value::Object(row))?;
    if let Some(version) = &definition.version {
        notes.push(Notice::definition_mapped_version(version));
    }
    Ok(MappedRow { definition, mapped: notes })
}

/// Go writes `null` for what is empty. The one member that may be null is `idempotency_header`, where it means none.
fn drop_nulls(row: &mut Map<String, Value>, notes: &mut Vec<Notice>) {
    let mut dropped = vec![];
    drop_null_members(row, "", &mut dropped);
    if let Some(Value::Object(endpoint)) = row.get_mut("endpoint") {
        drop_null_members(endpoint, "endpoint.", &mut dropped);
        if let Some(Value::Object(auth)) = endpoint.get_mut("auth") {
            drop_null_members(auth, "endpoint.auth.", &mut dropped);
        }
    }
    if let Some(parameters) = row.get_mut("parameters") {
        drop_null_keywords(parameters, "parameters", 0, &mut dropped);
    }
    if !dropped.is_empty() {
        let names: Vec<_> = dropped.iter().map(|name| format!("`{name}`")).collect();
        notes.push(Notice::definition_mapped_nulls(&names.join(", ")));
    }
}

fn drop_null_members(members: &mut Map<String, Value>, at: &str, dropped: &mut Vec<String>) {
    members.retain(|name, value| {
        let keeps = !value.is_null() || name == "idempotency_header";
        if !keeps {
            dropped.push(format!("{at}{name}"));
        }
        keeps
    });
}

/// Within a schema only keywords are dropped: a property may be called as it likes, and a default may be null.
fn drop_null_keywords(schema: &mut Value, at: &str, depth: usize, dropped: &mut Vec<String>) {
    let Value::Object(members) = schema else { return };
    if depth > SCHEMA_DEPTH_MAX {
        return;
    }
    members.retain(|name, value| {
        let keeps = !value.is_null() || !SCHEMA_MEMBERS.contains(&name.as_str());
        if !keeps {
            dropped.push(format!("{at}.{name}"));
        }
        keeps
    });
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        for (name, property) in properties {
            drop_null_keywords(property, &format!("{at}.properties.{name}"), depth + 1, dropped);
        }
    }
    if let Some(items) = members.get_mut("items") {
        drop_null_keywords(items, &format!("{at}.items"), depth + 1, dropped);
    }
}

/// An empty text in a column that has a default means the default.
fn drop_empty(members: &mut Map<String, Value>, names: &[&str]) {
    members.retain(|name, value| value != "" || !names.contains(&name.as_str()));
}

fn map_endpoint(
    endpoint: &mut Map<String, Value>,
    variable: &str,
    notes: &mut Vec<Notice>,
) -> Result<(), DefinitionError> {
    drop_empty(endpoint, &["method"]);
    if let Some(timeout) = endpoint.remove("timeout") {
        map_timeout(endpoint, &timeout, notes)?;
    }
    if let Some(method) = endpoint.get("method").and_then(Value::as_str).map(str::to_uppercase) {
        endpoint.insert("method".into(), json!(method));
    }
    if let Some(Value::Object(auth)) = endpoint.get_mut("auth") {
        drop_empty(auth, &["type", "token_env", "username", "password", "header", "name"]);
        if auth.is_empty() {
            endpoint.remove("auth");
        } else if !auth.contains_key("secret") {
            map_auth(auth, variable, notes)?;
        }
    }
    let address = ["url_template", "url"].iter().find_map(|name| endpoint.get(*name)?.as_str());
    let is_inside = address.is_some_and(|url| url.to_ascii_lowercase().starts_with(SCHEME));
    if is_inside && endpoint.remove("method").is_some_and(|method| method != "GET") {
        notes.push(Notice::definition_mapped_method());
    }
    Ok(())
}

fn map_timeout(
    endpoint: &mut Map<String, Value>,
    timeout: &Value,
    notes: &mut Vec<Notice>,
) -> Result<(), DefinitionError> {
    let wrong = |problem| Err(DefinitionError::new("endpoint.timeout", problem));
    if endpoint.contains_key("timeout_ms") {
        return wrong(Notice::definition_timeout_twice());
    }
    let Some(seconds) =
        timeout.as_f64().filter(|seconds| (0.0..=TIMEOUT_SECONDS_MAX as f64).contains(seconds))
    else {
        return wrong(Notice::definition_timeout_unfit(TIMEOUT_SECONDS_MAX, &timeout.to_string()));
    };
    if seconds == 0.0 {
        notes.push(Notice::definition_mapped_timeout_default());
        return Ok(());
    }
    // In whole milliseconds, which 600 seconds are few of.
    let ms = std::time::Duration::from_secs_f64(seconds).as_millis();
    let ms = u64::try_from(ms).unwrap_or(u64::MAX);
    endpoint.insert("timeout_ms".into(), json!(ms));
    notes.push(Notice::definition_mapped_timeout(&timeout.to_string(), ms));
    Ok(())
}

/// The credentials of the other system, which reads them from variables that the row names.
fn map_auth(
    auth: &mut Map<String, Value>,
    variable: &str,
    notes: &mut Vec<Notice>,
) -> Result<(), DefinitionError> {
    let kind = auth.get("type").and_then(Value::as_str).unwrap_or("none").to_lowercase();
    let prefix = auth.remove("token_env");
    let env = match kind.as_str() {
        "bearer" => add_prefix(prefix.as_ref(), "_TOKEN")?,
        "api_key" => add_prefix(prefix.as_ref(), "_API_KEY")?,
        "basic" => find_password_variable(auth, prefix.as_ref(), variable, notes)?,
        // The type is judged with the rest of the definition.
        _ => match prefix {
            Some(prefix) => return restore_prefix(auth, prefix),
            None => return Ok(()),
        },
    };
    if let Some(header) = auth.remove("header").filter(|_| kind == "api_key") {
        auth.entry("name").or_insert(header);
    }
    notes.push(Notice::definition_mapped_auth(&env));
    auth.insert("type".into(), json!(kind));
    auth.insert("secret".into(), json!(env));
    auth.insert("env".into(), json!(env));
    Ok(())
}

fn restore_prefix(auth: &mut Map<String, Value>, prefix: Value) -> Result<(), DefinitionError> {
    auth.insert("token_env".into(), prefix);
    Ok(())
}

fn add_prefix(prefix: Option<&Value>, ending: &str) -> Result<String, DefinitionError> {
    let wrong = |problem| Err(DefinitionError::new("endpoint.auth.token_env", problem));
    match prefix {
        Some(Value::String(prefix)) => Ok(format!("{}{ending}", prefix.trim())),
        Some(_) => wrong(Notice::definition_string_needed()),
        None => wrong(Notice::definition_prefix_missing(ending)),
    }
}

/// The variable of a password. A row never holds a secret, so a password that is written out is left behind.
fn find_password_variable(
    auth: &mut Map<String, Value>,
    prefix: Option<&Value>,
    variable: &str,
    notes: &mut Vec<Notice>,
) -> Result<String, DefinitionError> {
    let password = auth.remove("password");
    let named = password.as_ref().and_then(Value::as_str).and_then(parse_variable_name);
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let env = match prefix {
        Some(_) => add_prefix(prefix, "_PASSWORD")?,
        None => format!("{variable}_PASSWORD"),
    };
    if password.is_some() {
        notes.push(Notice::definition_mapped_password(&env));
    }
    Ok(env)
}

/// `${NAME}`, `$NAME` or `env:NAME`. Anything else may be the password itself, however it is written.
fn parse_variable_name(text: &str) -> Option<&str> {
    let braced = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let name = braced.or_else(|| text.strip_prefix("env:")).or_else(|| text.strip_prefix('$'))?;
    is_variable_name(name).then_some(name)
}

/// Whether a text can be the name of an environment variable.
pub(super) fn is_variable_name(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && name.len() <= 100 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The name of a tool as a variable would be called.
fn variable_name_for_tool(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("TOOL_{}", name.chars().take(64).map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use helve_types::Auth;

    use super::*;

    fn row(changes: Value) -> Value {
        let mut row = json!({
            "id": "weather", "name": "get_weather", "type": "invokable", "display_name": "天气", "description": "…",
            "category": "custom",
            "endpoint": {
                "url_template": "https://api.example.com/w/{city}", "method": "GET", "headers": null,
                "auth": {"type": "bearer", "token_env": "WEATHER"}, "timeout": 30
            },
            "parameters": {
                "type": "object", "properties": {"city": {"type": "string", "description": "…"}}, "required": ["city"]
            },
            "response_transform": null, "rate_limit": null, "enabled": true, "version": "1.0.0", "tags": ["weather"]
        });
        for (at, value) in changes.as_object().unwrap() {
            let (parent, name) = at.rsplit_once('/').unwrap();
            row.pointer_mut(parent).unwrap()[name] = value.clone();
        }
        row
    }

    fn auth_of(auth: Value) -> Auth {
        map_row(row(json!({"/endpoint/auth": auth}))).unwrap().definition.endpoint.auth
    }

    #[test]
    fn a_row_of_the_source_system_becomes_a_definition_with_a_note_for_each_mapping() {
        let MappedRow { definition, mapped } = map_row(row(json!({}))).unwrap();
        assert_eq!(definition.id.as_deref(), Some("weather"));
        assert_eq!(definition.name, "get_weather");
        assert_eq!(definition.version.as_deref(), Some("1.0.0"));
        assert_eq!(definition.endpoint.timeout_ms.unwrap().get(), 30_000);
        let secret = || "WEATHER_TOKEN".to_owned();
        assert_eq!(definition.endpoint.auth, Auth::Bearer { secret: secret(), env: Some(secret()) });
        let told: Vec<String> = mapped.iter().map(Notice::english).collect();
        let told = told.join("\n");
        for part in
            ["`endpoint.headers`", "`rate_limit`", "30 seconds", "`WEATHER_TOKEN`", "`version` `1.0.0`"]
        {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    #[test]
    fn every_null_that_go_writes_means_not_given() {
        let all = row(json!({
            "/endpoint/auth": null, "/endpoint/timeout": null, "/endpoint/method": null, "/tags": null,
            "/category": null, "/version": null, "/id": null, "/enabled": null, "/type": null, "/display_name": null,
            "/parameters/required": null, "/parameters/properties/city/enum": null, "/created_at": null,
        }));
        let definition = map_row(all).unwrap().definition;
        assert_eq!(definition.endpoint.auth, Auth::None);
        assert!(definition.enabled && definition.tags.is_empty() && definition.version.is_none());
        assert!(definition.parameters.get("required").is_none(), "{}", definition.parameters);
        let no_properties =
            map_row(row(json!({"/parameters/properties": null, "/parameters/required": null})));
        assert_eq!(no_properties.unwrap().definition.parameters, json!({"type": "object"}));
        // A default may be null, and a property may be called like a keyword.
        let kept = json!({"type": "object", "properties": {"type": {"type": "string", "default": null}}});
        let read = map_row(row(json!({"/parameters": kept.clone()}))).unwrap();
        assert_eq!(read.definition.parameters, kept);
    }

    #[test]
    fn each_kind_of_credential_becomes_a_secret_with_the_variable_that_is_meant() {
        let named = |name: &str| Some(name.to_owned());
        let key = auth_of(json!({"type": "api_key", "token_env": "WEATHER", "username": "", "password": ""}));
        assert_eq!(key.secret(), Some(("WEATHER_API_KEY", Some("WEATHER_API_KEY"))));
        let header = auth_of(json!({"type": "api_key", "token_env": "W", "header": "X-Key"}));
        assert!(matches!(header, Auth::ApiKey { name, .. } if name == "X-Key"));
        let basic = auth_of(json!({"type": "basic", "username": "mei", "password": "${CRM_PASSWORD}"}));
        let expected =
            Auth::Basic { username: "mei".into(), secret: "CRM_PASSWORD".into(), env: named("CRM_PASSWORD") };
        assert_eq!(basic, expected);
        assert_eq!(auth_of(json!({"type": "none", "token_env": ""})), Auth::None);
        assert_eq!(auth_of(json!({"type": ""})), Auth::None);
        assert_eq!(
            auth_of(json!({"type": "bearer", "secret": "w"})),
            Auth::Bearer { secret: "w".into(), env: None }
        );
    }

    #[test]
    fn a_password_that_is_written_out_is_not_kept_anywhere() {
        for password in ["hush-hush", "ADMIN_2024", "$ pay"] {
            let given = json!({"/endpoint/auth": {"type": "basic", "username": "mei", "password": password}});
            let MappedRow { definition, mapped } = map_row(row(given)).unwrap();
            assert_eq!(definition.endpoint.auth.secret().unwrap().0, "TOOL_GET_WEATHER_PASSWORD");
            let all = format!("{definition:?} {mapped:?}");
            assert!(!all.contains(password), "{all}");
            assert!(mapped.iter().any(|note| note.english().contains("was not kept")));
        }
    }

    #[test]
    fn what_cannot_be_mapped_is_refused_with_its_field() {
        let refused = |changes: Value| map_row(row(changes)).unwrap_err().to_string();
        for (changes, expected) in [
            (json!({"/endpoint/timeout": 601}), "`endpoint.timeout`: it must be seconds"),
            (json!({"/endpoint/timeout": "30s"}), "`endpoint.timeout`: it must be seconds"),
            (json!({"/endpoint/timeout_ms": 5000}), "`endpoint.timeout`: `timeout_ms` says it as well"),
            (json!({"/endpoint/auth": {"type": "bearer"}}), "`endpoint.auth.token_env`: it is missing"),
            (json!({"/endpoint/auth": {"type": "oauth2"}}), "`endpoint.auth"),
            (json!({"/version": 3}), "`version`: it must be a string"),
            (json!({"/colour": "red"}), "`colour`"),
        ] {
            let told = refused(changes);
            assert!(told.contains(expected), "{expected}: {told}");
        }
        assert!(map_row(json!([])).is_err());
    }

    #[test]
    fn a_row_that_leads_inside_says_no_method() {
        let given =
            json!({"/endpoint": {"url_template": "internal://calculator", "method": "POST", "timeout": 5}});
        let MappedRow { definition, mapped } = map_row(row(given)).unwrap();
        assert_eq!(definition.endpoint.method, helve_types::Method::Get);
        assert!(mapped.iter().any(|note| note.english().contains("`endpoint.method`")));
    }
}
