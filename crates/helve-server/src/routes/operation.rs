//! What the document says about an operation, apart from what its handler's types say.

use axum::routing::MethodFilter;
use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::schemas::{SchemaOf, inline_schemas, schema_of_type};
use crate::access::Right;

/// The methods that the API has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    pub(super) fn to_filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }

    /// What the document calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// What the document says about an operation.
pub(crate) struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) right: Right,
    pub(super) summary: &'static str,
    pub(super) query: Option<SchemaOf>,
    /// Accepts `?user=` in addition to its own query.
    pub(super) for_user: bool,
    /// Clients of other systems call it: fields that it does not know are named in its answer and not refused.
    pub(super) is_foreign: bool,
    pub(super) body: Option<SchemaOf>,
    /// Whether the body may be left out.
    pub(super) is_body_optional: bool,
    /// Other media types that the body may have.
    pub(super) body_types: &'static [&'static str],
    /// A body that the schema accepts.
    pub(super) example: Option<Value>,
    /// Headers of the request.
    pub(super) headers: Vec<Header>,
    /// Headers of the answer.
    pub(super) answer_headers: Vec<Header>,
    pub(super) status: u16,
    /// The content of the answer; nothing for an answer without a body.
    pub(super) content: Content,
    /// Answers with another status that are no problem documents.
    pub(super) other_answers: Vec<OtherAnswer>,
}

/// A header and what it is for.
pub(super) type Header = (&'static str, &'static str);

/// What an answer may consist of: any of JSON, events and another media type, or nothing.
#[derive(Default)]
pub(super) struct Content {
    pub(super) json: Option<SchemaOf>,
    pub(super) events: bool,
    /// Media types; `image/*` and `*/*` stand for several.
    pub(super) other: Option<&'static str>,
}

pub(super) struct OtherAnswer {
    pub(super) status: u16,
    pub(super) meaning: &'static str,
    pub(super) content: Content,
}

impl Operation {
    pub(crate) fn get(path: &'static str, right: Right, summary: &'static str) -> Self {
        Self::new(Method::Get, path, right, summary)
    }

    pub(crate) fn post(path: &'static str, right: Right, summary: &'static str) -> Self {
        Self::new(Method::Post, path, right, summary)
    }

    pub(crate) fn put(path: &'static str, right: Right, summary: &'static str) -> Self {
        Self::new(Method::Put, path, right, summary)
    }

    pub(crate) fn patch(path: &'static str, right: Right, summary: &'static str) -> Self {
        Self::new(Method::Patch, path, right, summary)
    }

    pub(crate) fn delete(path: &'static str, right: Right, summary: &'static str) -> Self {
        Self::new(Method::Delete, path, right, summary)
    }

    fn new(method: Method, path: &'static str, right: Right, summary: &'static str) -> Self {
        Self {
            method,
            path,
            right,
            summary,
            query: None,
            for_user: false,
            is_foreign: false,
            body: None,
            is_body_optional: false,
            body_types: &[],
            example: None,
            headers: vec![],
            answer_headers: vec![],
            status: 200,
            content: Content::default(),
            other_answers: vec![],
        }
    }

    /// Acts for a user, whom the address can name.
    pub(crate) fn for_user(self) -> Self {
        Self { for_user: true, ..self }
    }

    /// A body that the schema accepts; a test compares them.
    pub(crate) fn with_example(self, body: Value) -> Self {
        Self { example: Some(body), ..self }
    }

    pub(crate) fn gives<T: JsonSchema>(mut self) -> Self {
        self.content.json = Some(schema_of_type::<T>);
        self
    }

    pub(crate) fn gives_events(mut self) -> Self {
        self.content.events = true;
        self
    }

    /// Content of another media type.
    pub(crate) fn gives_bytes(mut self, media_type: &'static str) -> Self {
        self.content.other = Some(media_type);
        self
    }

    /// The names of the parameters of its address.
    pub(super) fn path_parameter_names(&self) -> Vec<String> {
        let schema = self.query.map(|query| query(&mut inline_schemas())).unwrap_or_default();
        let named = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        named.cloned().chain(self.for_user.then(|| "user".to_owned())).collect()
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Another status, without a body.
    pub(crate) fn or_status(self, status: u16, meaning: &'static str) -> Self {
        self.or_content(status, meaning, Content::default())
    }

    /// Another status, with JSON.
    pub(crate) fn or_gives<T: JsonSchema>(self, status: u16, meaning: &'static str) -> Self {
        self.or_content(status, meaning, Content { json: Some(schema_of_type::<T>), ..Content::default() })
    }

    fn or_content(mut self, status: u16, meaning: &'static str, content: Content) -> Self {
        self.other_answers.push(OtherAnswer { status, meaning, content });
        self
    }

    pub(crate) fn with_header(mut self, name: &'static str, meaning: &'static str) -> Self {
        self.headers.push((name, meaning));
        self
    }

    /// A header of its answer.
    pub(crate) fn with_answer_header(mut self, name: &'static str, meaning: &'static str) -> Self {
        self.answer_headers.push((name, meaning));
        self
    }

    /// The headers of every operation that starts a run.
    pub(crate) fn starts_run(mut self) -> Self {
        self.headers
            .push(("Idempotency-Key", "The same key with the same request finds the run of the first one."));
        self.answer_headers.extend([
            ("X-Helve-Run", "The run."),
            ("X-Helve-Conversation", "Its conversation, where the server keeps one."),
            (
                "Idempotency-Replayed",
                "`true` if the run was started by an earlier request with the same key.",
            ),
        ]);
        self
    }
}
