//! Where the arguments of a call go: into the address, its query, headers and a body.
//!
//! Everything is parsed when the tool is defined, and a placeholder can only stand where its value stays a value:
//! in a segment of the path, in the value of a query parameter or of a header, in the body. What no placeholder
//! uses goes into the query or the body, by the method. An argument that is not given is not sent, and neither is
//! what would be made with it.

mod body;
mod headers;
mod text;
mod url;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use helve_egress::Url;
use helve_egress::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use helve_tool::DefinitionError;
use helve_types::{BodyFormat, Endpoint, Method, Notice};
use serde_json::{Map, Value};

use self::body::BodyTemplate;
use self::text::{Text, plain, plain_list};
use self::url::UrlTemplate;

pub(crate) use self::headers::{parse_name as header_name, parse_value as header_value};

#[derive(Debug)]
pub(crate) struct Template {
    url: UrlTemplate,
    query: Vec<(String, Text)>,
    headers: Vec<(HeaderName, Text)>,
    body: Option<BodyTemplate>,
    format: BodyFormat,
    rest: RestTarget,
    parameters: Parameters,
    /// The parameters that placeholders use.
    used: BTreeSet<String>,
    /// Query parameters that have their value and take no other.
    taken: BTreeSet<String>,
}

/// Where what no placeholder uses goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RestTarget {
    Query,
    Body,
}

/// What a template knows about the parameters of its tool.
#[derive(Debug)]
struct Parameters {
    names: BTreeSet<String>,
    required: BTreeSet<String>,
    defaults: Map<String, Value>,
    /// Whether the schema asks for arguments that it does not name.
    open: bool,
}

/// A request as far as its arguments decide it.
#[derive(Debug)]
pub(crate) struct FilledRequest {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

impl Template {
    /// `key` is the query parameter that the credential takes.
    pub(crate) fn parse(
        endpoint: &Endpoint,
        parameters: &Value,
        key: Option<&str>,
    ) -> Result<Self, DefinitionError> {
        let parameters = Parameters::read(parameters);
        let url = UrlTemplate::parse(&endpoint.url_template)
            .map_err(|problem| DefinitionError::new("endpoint.url_template", problem))?;
        let texts = |what: &str, texts: &BTreeMap<String, String>| {
            let parsed = texts.iter().map(|(name, written)| match Text::parse(written) {
                Ok(text) => Ok((name.clone(), text)),
                Err(problem) => Err(DefinitionError::new(format!("endpoint.{what}.{name}"), problem)),
            });
            parsed.collect::<Result<Vec<_>, _>>()
        };
        let query = texts("query", &endpoint.query)?;
        let mut headers = vec![];
        for (written, text) in texts("headers", &endpoint.headers)? {
            let field = format!("endpoint.headers.{written}");
            let name =
                headers::parse_name(&written).map_err(|problem| DefinitionError::new(&field, problem))?;
            if let Some(literal) = text.literal() {
                headers::parse_value(&literal).map_err(|problem| DefinitionError::new(&field, problem))?;
            }
            text.names().try_for_each(|name| parameters.check_known(&field, name))?;
            headers.push((name, text));
        }
        let body = endpoint.body.as_ref().map(BodyTemplate::parse).transpose()?;
        let rest = match endpoint.method {
            Method::Get | Method::Head | Method::Delete => RestTarget::Query,
            Method::Post | Method::Put | Method::Patch => RestTarget::Body,
        };
        let taken = url.keys().chain(endpoint.query.keys().map(String::as_str)).chain(key);
        let taken = taken.map(str::to_owned).collect();
        let mut template = Self {
            url,
            query,
            headers,
            body,
            format: endpoint.body_format,
            rest,
            parameters,
            used: BTreeSet::new(),
            taken,
        };
        template.check(endpoint)?;
        Ok(template)
    }

    /// Every placeholder is a parameter, and every parameter has a place.
    fn check(&mut self, endpoint: &Endpoint) -> Result<(), DefinitionError> {
        for name in self.url.names_in_path() {
            self.parameters.check_known("endpoint.url_template", name)?;
            let given =
                self.parameters.required.contains(name) || self.parameters.defaults.contains_key(name);
            if !given {
                let problem = Notice::definition_path_needs_value(&format!("{{{name}}}"), name);
                return Err(DefinitionError::new("parameters", problem));
            }
        }
        for name in self.url.names() {
            self.parameters.check_known("endpoint.url_template", name)?;
        }
        for (key, text) in &self.query {
            let field = format!("endpoint.query.{key}");
            if self.url.keys().any(|held| held == key) {
                return Err(DefinitionError::new(field, Notice::definition_query_twice()));
            }
            text.names().try_for_each(|name| self.parameters.check_known(&field, name))?;
        }
        let body = self.body.iter().flat_map(BodyTemplate::names);
        body.clone().try_for_each(|name| self.parameters.check_known("endpoint.body", name))?;
        let texts = self.query.iter().map(|(_, text)| text);
        let texts = texts.chain(self.headers.iter().map(|(_, text)| text)).flat_map(Text::names);
        self.used = self.url.names().chain(texts).chain(body).map(str::to_owned).collect();
        self.check_body(endpoint)?;
        self.check_rest()
    }

    fn check_body(&self, endpoint: &Endpoint) -> Result<(), DefinitionError> {
        let wrong = |field: &str, problem: Notice| Err(DefinitionError::new(field, problem));
        if self.body.is_some() && matches!(endpoint.method, Method::Get | Method::Head) {
            return wrong("endpoint.body", Notice::definition_get_without_body());
        }
        if self.format == BodyFormat::Form && self.rest == RestTarget::Query && self.body.is_none() {
            return wrong("endpoint.body_format", Notice::definition_method_without_body());
        }
        let is_object = self.body.as_ref().is_none_or(BodyTemplate::is_object);
        if self.format == BodyFormat::Form && !is_object {
            return wrong("endpoint.body", Notice::definition_form_is_object());
        }
        let left = self.unused_parameters().next();
        match left {
            Some(name) if self.rest == RestTarget::Body && !is_object => {
                wrong("endpoint.body", Notice::definition_body_without_place(name))
            }
            _ => Ok(()),
        }
    }

    fn check_rest(&self) -> Result<(), DefinitionError> {
        for name in self.unused_parameters() {
            let clash = match self.rest {
                RestTarget::Query => self.taken.contains(name),
                RestTarget::Body => self.body.as_ref().is_some_and(|body| body.has(name)),
            };
            if clash {
                return Err(DefinitionError::new(
                    format!("parameters.properties.{name}"),
                    Notice::definition_name_sent_otherwise("{…}"),
                ));
            }
        }
        Ok(())
    }

    /// The parameters that no placeholder uses.
    fn unused_parameters(&self) -> impl Iterator<Item = &String> {
        self.parameters.names.iter().filter(|name| !self.used.contains(*name))
    }

    pub(crate) fn base(&self) -> &Url {
        self.url.base()
    }

    pub(crate) fn has_header(&self, name: &HeaderName) -> bool {
        self.headers.iter().any(|(held, _)| held == name)
    }

    /// The request for these arguments, or what is wrong with them, for the model.
    pub(crate) fn fill(&self, arguments: &Value) -> Result<FilledRequest, String> {
        let given = self.parameters.with_defaults(arguments);
        let rest: Vec<(&String, &Value)> = given
            .iter()
            .filter(|(name, _)| {
                !self.used.contains(*name) && (self.parameters.open || self.parameters.names.contains(*name))
            })
            .collect();
        let mut pairs = vec![];
        for (key, text) in &self.query {
            pairs.extend(text.fill_all(&given).into_iter().map(|text| (key.clone(), text)));
        }
        if self.rest == RestTarget::Query {
            for (name, value) in &rest {
                if self.taken.contains(*name) {
                    return Err(format!("there is no parameter `{name}`; leave it out"));
                }
                pairs.extend(plain_list(value).into_iter().map(|text| ((*name).clone(), text)));
            }
        }
        let url = self.url.fill(&given, &pairs)?;
        let mut headers = self.fill_headers(&given)?;
        let body = self.fill_body(&given, &rest)?;
        if body.is_some() && !headers.contains_key(CONTENT_TYPE) {
            headers.insert(
                CONTENT_TYPE,
                HeaderValue::from_static(match self.format {
                    BodyFormat::Json => "application/json",
                    BodyFormat::Form => "application/x-www-form-urlencoded",
                }),
            );
        }
        Ok(FilledRequest { url, headers, body })
    }

    fn fill_headers(&self, given: &Map<String, Value>) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, text) in &self.headers {
            let Some(text) = text.fill(given) else { continue };
            let value = headers::parse_value(&text).map_err(|problem| {
                let problem = problem.english();
                format!("the header `{name}` cannot be made of these arguments: {problem}")
            })?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn fill_body(
        &self,
        given: &Map<String, Value>,
        rest: &[(&String, &Value)],
    ) -> Result<Option<Bytes>, String> {
        let added =
            self.rest == RestTarget::Body && (!rest.is_empty() || self.unused_parameters().next().is_some());
        if self.body.is_none() && !added {
            return Ok(None);
        }
        let mut value = match &self.body {
            Some(body) => match body.fill(given) {
                Some(filled) => filled,
                // The body is one argument, which is not given.
                None => return Ok(None),
            },
            None => Value::Object(Map::new()),
        };
        if let (RestTarget::Body, Some(members)) = (self.rest, value.as_object_mut()) {
            for (name, value) in rest {
                members.entry(name.as_str()).or_insert_with(|| (*value).clone());
            }
        }
        let text = match self.format {
            BodyFormat::Json => value.to_string(),
            BodyFormat::Form => encode_form(&value)?,
        };
        Ok(Some(text.into()))
    }
}

fn encode_form(value: &Value) -> Result<String, String> {
    let members = value.as_object().ok_or("the form cannot be made of these arguments")?;
    let mut form = ::url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in members {
        form.extend_pairs(plain_list(value).iter().map(|text| (name, text)));
    }
    Ok(form.finish())
}

impl Parameters {
    fn read(schema: &Value) -> Self {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let defaults = properties.into_iter().flatten().filter_map(|(name, property)| {
            Some((name.clone(), property.get("default").filter(|value| !value.is_null())?.clone()))
        });
        Self {
            names: properties.into_iter().flatten().map(|(name, _)| name.clone()).collect(),
            required: required.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
            defaults: defaults.collect(),
            open: schema
                .get("additionalProperties")
                .is_some_and(|more| more.as_bool() == Some(true) || more.is_object()),
        }
    }

    fn check_known(&self, field: &str, name: &str) -> Result<(), DefinitionError> {
        if self.names.contains(name) {
            return Ok(());
        }
        let known: Vec<&str> = self.names.iter().map(String::as_str).take(20).collect();
        let slot = format!("{{{name}}}");
        let problem = match known.is_empty() {
            true => Notice::definition_no_properties(&slot),
            false => Notice::definition_no_property(&slot, &known.join(", ")),
        };
        Err(DefinitionError::new(field, problem))
    }

    /// The arguments with the defaults of those that are not given.
    fn with_defaults(&self, arguments: &Value) -> Map<String, Value> {
        let mut given = arguments.as_object().cloned().unwrap_or_default();
        given.values_mut().for_each(plain::normalize_whole_numbers);
        for (name, default) in &self.defaults {
            given.entry(name).or_insert_with(|| default.clone());
        }
        given
    }
}

#[cfg(test)]
mod tests;
