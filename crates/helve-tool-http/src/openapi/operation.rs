//! One operation becomes one definition; or there is a reason why not.

use std::collections::BTreeMap;

use helve_types::{Auth, Effect, Endpoint, LabelTerms, Method, ToolDefinition, ToolKind};
use serde_json::{Value, json};

use super::arguments::{ArgumentsDraft, placeholder};
use super::auth::{ChosenScheme, Schemes};
use super::parameters::{self, Parameter};
use super::read::Document;
use super::schema::{DETAILS, SCHEMA_BYTES_MAX, SchemaProblem, SchemaTranslation, Schemas};
use super::server::{self, ServerChoice};
use super::{body, words};

const DESCRIPTION_CHARS_MAX: usize = 1000;
const TITLE_CHARS_MAX: usize = 80;
/// What the document's own tags begin with.
const FOREIGN_TAG: &str = "api:";
const TAGS_MAX: usize = 10;
const PARAMETERS_MAX: usize = 500;

/// An operation in its document.
#[derive(Debug, Clone)]
pub(super) struct Operation<'a> {
    pub(super) path: &'a str,
    /// In small letters, as documents write it.
    pub(super) verb: &'static str,
    pub(super) method: Method,
    pub(super) item: &'a Value,
    pub(super) operation: &'a Value,
    pub(super) id: Option<&'a str>,
    pub(super) tags: Vec<&'a str>,
}

/// What all operations of a document share.
#[derive(Debug)]
pub(super) struct DocumentContext<'a> {
    pub(super) document: &'a Document,
    pub(super) schemas: Schemas<'a>,
    pub(super) schemes: Schemes<'a>,
    /// The server that the operator chose for all.
    pub(super) server: Option<ServerChoice>,
    pub(super) category: Option<String>,
    /// The tag that tells where a tool is from.
    pub(super) origin: String,
}

/// A definition, and what else is to be said about it.
#[derive(Debug)]
pub(super) struct MadeDefinition {
    pub(super) definition: ToolDefinition,
    pub(super) notes: Vec<String>,
    pub(super) server: ServerChoice,
    pub(super) secret: Option<(String, String)>,
}

impl<'a> DocumentContext<'a> {
    pub(super) fn build_definition(
        &self,
        found: &Operation<'a>,
        name: String,
    ) -> Result<MadeDefinition, String> {
        let server = match &self.server {
            Some(server) => server.clone(),
            None => server::find_server(self.document, found.item, found.operation)?,
        };
        self.check_operation(found).map_err(|stop| match stop {
            SchemaProblem::Refused(reason) => reason,
            SchemaProblem::TooLarge => "it is too large".into(),
        })?;
        let chosen = self.schemes.choose_scheme(found.operation)?;
        let parameters = self.read_parameters(found)?;
        let path = Path::parse(found.path)?;
        let (mut draft, less) = self.draft_arguments(found, &parameters, &path, &chosen.auth)?;
        let mut notes: Vec<String> = std::mem::take(&mut draft.notes).into_iter().collect();
        if less {
            notes.push("its schema was too large and is shortened".into());
        }
        if found.operation.get("deprecated") == Some(&Value::Bool(true)) {
            notes.push("deprecated".into());
        }
        let ChosenScheme { auth, secret, note } = chosen;
        notes.extend(note);
        let definition = self.write_definition(found, name, auth, &server, &path, draft);
        helve_tool::check_schema(&definition.parameters)?;
        Ok(MadeDefinition { definition, notes, server, secret })
    }

    /// Many paths may point to the same operation, and the same parameters may stand on many paths.
    fn check_operation(&self, found: &Operation<'a>) -> Result<(), SchemaProblem> {
        self.schemas.scan_value(found.operation)?;
        for beside in ["parameters", "servers"] {
            found.item.get(beside).map_or(Ok(()), |beside| self.schemas.scan_value(beside))?;
        }
        Ok(())
    }

    /// The operation's own parameters and those of its path, which it may replace.
    fn read_parameters(&self, found: &Operation<'a>) -> Result<Vec<Parameter<'a>>, String> {
        let mut all: BTreeMap<(&str, &str), Parameter<'a>> = BTreeMap::new();
        for holder in [found.item, found.operation] {
            let listed = holder.get("parameters").and_then(Value::as_array);
            for given in listed.into_iter().flatten() {
                let given = self.schemas.refs.follow(given)?;
                // What has no name or no place is no parameter.
                if let Some(parameter) = Parameter::read(given) {
                    all.insert((parameter.place, parameter.name), parameter);
                }
            }
        }
        if all.len() > PARAMETERS_MAX {
            return Err(format!("it has {} parameters", all.len()));
        }
        // Paths first: theirs are the names that must not change.
        let (mut first, rest): (Vec<_>, Vec<_>) = all.into_values().partition(|held| held.place == "path");
        first.extend(rest);
        Ok(first)
    }

    /// With as much detail as there is room for.
    fn draft_arguments(
        &self,
        found: &Operation<'a>,
        parameters: &[Parameter<'a>],
        path: &Path<'a>,
        auth: &Auth,
    ) -> Result<(ArgumentsDraft, bool), String> {
        for (number, detail) in DETAILS.iter().enumerate() {
            let mut walk = self.schemas.begin_translation(*detail);
            match self.draft_with_detail(found, parameters, path, auth, &mut walk) {
                Ok(draft) => return Ok((draft, walk.left_out || number > 0)),
                Err(SchemaProblem::TooLarge) => {}
                Err(SchemaProblem::Refused(reason)) => return Err(reason),
            }
        }
        Err(format!("its parameters do not fit into {} KiB, even shortened", SCHEMA_BYTES_MAX >> 10))
    }

    fn draft_with_detail(
        &self,
        found: &Operation<'a>,
        parameters: &[Parameter<'a>],
        path: &Path<'a>,
        auth: &Auth,
        walk: &mut SchemaTranslation<'a, '_>,
    ) -> Result<ArgumentsDraft, SchemaProblem> {
        let mut draft = ArgumentsDraft::default();
        for parameter in parameters {
            if parameter.place == "path" && !path.names.contains(&parameter.name) {
                let name = words::clean_line(parameter.name, 80);
                draft.notes.insert(format!("`{name}` is not in the path and left out"));
                continue;
            }
            walk.spend(parameter.name.len() + 16)?;
            parameters::place_parameter(*parameter, auth, walk, &mut draft)?;
        }
        // A name in the path without a description is a text all the same.
        for name in &path.names {
            if !draft.path.contains_key(*name) {
                let argument = draft.arguments.add_argument(name, "path", json!({"type": "string"}), true);
                draft.path.insert((*name).to_owned(), argument);
            }
        }
        if let Some(given) = found.operation.get("requestBody") {
            let given = self.schemas.refs.follow(given).map_err(SchemaProblem::Refused)?;
            body::place_body(given, found.method, walk, &mut draft)?;
        }
        Ok(draft)
    }

    fn write_definition(
        &self,
        found: &Operation<'a>,
        name: String,
        auth: Auth,
        server: &ServerChoice,
        path: &Path<'a>,
        mut draft: ArgumentsDraft,
    ) -> ToolDefinition {
        for (name, value) in &path.query {
            draft.query.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
        }
        if let Some(kind) = self.describe_answer(found.operation) {
            draft.headers.insert("Accept".into(), kind);
        }
        // Rules go by tags: what a stranger wrote must not be taken for the operator's own.
        let foreign = found.tags.iter().take(TAGS_MAX).map(|tag| words::clean_line(tag, 60));
        let mut tags: Vec<String> =
            foreign.filter(|tag| !tag.is_empty()).map(|tag| format!("{FOREIGN_TAG}{tag}")).collect();
        tags.push(self.origin.clone());
        ToolDefinition {
            id: None,
            name,
            version: None,
            kind: ToolKind::Invokable,
            display_name: title(found.operation),
            description: description(found),
            category: self.category.clone(),
            endpoint: Endpoint {
                url_template: format!("{}{}", server.base, path.fill(&draft.path)),
                method: found.method,
                query: draft.query,
                headers: draft.headers,
                body: draft.body,
                body_format: draft.body_format,
                auth,
                timeout_ms: None,
                redirects: 0,
                idempotency_header: None,
                caller: None,
                busy_is_not_done: true,
            },
            parameters: draft.arguments.into_schema(),
            response_transform: None,
            rate_limit: None,
            cache: None,
            breaker: None,
            fallback: None,
            attempts: None,
            output_bytes_max: None,
            enabled: true,
            tags,
            effect: Some(method_effect(found.method)),
            on_unknown: None,
            check_tool: None,
            examples: vec![],
            labels: LabelTerms::default(),
        }
    }

    /// The kind of JSON that the document promises, since some servers give nothing unless asked for their own.
    fn describe_answer(&self, operation: &'a Value) -> Option<String> {
        let answers = operation.get("responses").and_then(Value::as_object)?;
        let good = answers.iter().filter(|(status, _)| status.starts_with('2') || *status == "default");
        let kinds: Vec<&str> = good
            .filter_map(|(_, answer)| self.schemas.refs.follow(answer).ok()?.get("content")?.as_object())
            .flat_map(|content| content.keys().map(String::as_str))
            .collect();
        let plain = kinds.iter().find(|kind| kind.starts_with("application/json"));
        let own = kinds.iter().find(|kind| kind.contains("json") && !kind.contains("problem"));
        let kind = plain.map(|_| "application/json").or(own.copied())?;
        let fits = |c: char| c.is_ascii_graphic() && c != '{' && c != '}' || c == ' ';
        (kind.len() <= 120 && kind.chars().all(fits)).then(|| kind.to_owned())
    }
}

/// What repeating it does, as HTTP says of the method.
/// What an import makes of a method.
pub(super) fn method_effect(method: Method) -> Effect {
    match method {
        Method::Get | Method::Head => Effect::Read,
        Method::Put | Method::Delete => Effect::Idempotent,
        Method::Post | Method::Patch => Effect::NonIdempotent,
    }
}

fn title(operation: &Value) -> Option<String> {
    let summary = operation.get("summary").and_then(Value::as_str)?;
    Some(words::clean_line(summary, TITLE_CHARS_MAX)).filter(|title| !title.is_empty())
}

fn description(found: &Operation<'_>) -> String {
    let said = |name: &str| {
        let text = found.operation.get(name).and_then(Value::as_str).unwrap_or_default();
        words::clean_text(text, DESCRIPTION_CHARS_MAX)
    };
    let (summary, long) = (said("summary"), said("description"));
    let whole = match (summary.as_str(), long.as_str()) {
        ("", "") => format!("{} {}", found.verb.to_ascii_uppercase(), found.path),
        (only, "") | ("", only) => only.to_owned(),
        (summary, long) if long.starts_with(summary) => long.to_owned(),
        (summary, long) => format!("{summary}\n\n{long}"),
    };
    let old = found.operation.get("deprecated") == Some(&Value::Bool(true));
    let whole = if old { format!("(Deprecated.) {whole}") } else { whole };
    words::clean_text(&whole, DESCRIPTION_CHARS_MAX)
}

/// A path of the document: its text, the names in it, and what some write behind a question mark.
#[derive(Debug, PartialEq, Eq)]
struct Path<'a> {
    text: &'a str,
    names: Vec<&'a str>,
    query: Vec<(&'a str, &'a str)>,
}

impl<'a> Path<'a> {
    fn parse(whole: &'a str) -> Result<Self, String> {
        let shown = || words::clean_line(whole, 200);
        if !whole.starts_with('/') || whole.contains('#') || whole.len() > 2000 {
            return Err(format!("`{}` is no path that can be called", shown()));
        }
        let (text, query) = whole.split_once('?').unwrap_or((whole, ""));
        let query = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .filter(|(_, value)| !value.contains('{'));
        let mut names = vec![];
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err(format!("`{}` has a brace that is not closed", shown()));
            };
            // `{+path}` and `{?query}` are templates of another kind.
            if before.contains('}') || name.is_empty() || name.contains(['{', '+', '?', '*', '/', ',']) {
                return Err(format!("`{}` has something else than a name in braces", shown()));
            }
            if !names.contains(&name) {
                names.push(name);
            }
            rest = after;
        }
        if rest.contains('}') {
            return Err(format!("`{}` has a brace that was not opened", shown()));
        }
        Ok(Self { text, names, query: query.collect() })
    }

    /// The path with the arguments' names in the place of the document's.
    fn fill(&self, arguments: &BTreeMap<String, String>) -> String {
        let mut out = String::new();
        let mut rest = self.text;
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, after)| Some((before, after.split_once('}')?)))
        {
            out.push_str(before);
            out.push_str(&placeholder(arguments.get(name).map_or(name, String::as_str)));
            rest = after;
        }
        out + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_text_with_names_in_it() {
        let path = Path::parse("/a/{pet-id}/{x}.json?mode=full&q={q}").unwrap();
        assert_eq!(path.names, ["pet-id", "x"]);
        assert_eq!(path.query, [("mode", "full")]);
        let arguments = BTreeMap::from([("pet-id".into(), "pet_id".into())]);
        assert_eq!(path.fill(&arguments), "/a/{pet_id}/{x}.json");
        for wrong in ["a", "/a#b", "/{a", "/a}", "/{+a}", "/{a{b}}", "/{}"] {
            assert!(Path::parse(wrong).is_err(), "{wrong}");
        }
    }
}
