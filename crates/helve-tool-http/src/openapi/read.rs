//! From bytes to a document: JSON or YAML, OpenAPI 3.0 or later, within bounds.

use helve_egress::Url;
use serde_json::Value;

use super::ImportError;

/// The largest document that is read.
pub const DOCUMENT_BYTES_MAX: usize = 16 << 20;

/// A document in memory takes many times its bytes, and an alias of YAML takes none in the file.
const NODES_MAX: usize = 2_000_000;
const DEPTH_MAX: usize = 100;

/// Which rules its schemas follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaEdition {
    /// Schemas of their own kind, with `nullable` and without most of JSON Schema.
    V30,
    /// JSON Schema 2020-12.
    V31,
}

/// An OpenAPI document that was read and not yet looked into.
#[derive(Debug, Clone)]
pub struct Document {
    pub(super) root: Value,
    pub(super) edition: SchemaEdition,
    /// As it says itself, such as `3.0.3`.
    pub(super) openapi: String,
    /// Where it came from, if it came over the network: relative addresses of servers begin there.
    pub(super) from: Option<Url>,
}

impl Document {
    pub fn read(bytes: &[u8], from: Option<Url>) -> Result<Self, ImportError> {
        if bytes.len() > DOCUMENT_BYTES_MAX {
            let problem = format!(
                "the document has {} bytes; {DOCUMENT_BYTES_MAX} are the most that is read",
                bytes.len()
            );
            return Err(ImportError::Document(problem));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|error| ImportError::Document(format!("the document is not UTF-8: {error}")))?;
        Self::from_value(parse(text.trim_start_matches('\u{feff}'))?, from)
    }

    /// A document that is already parsed, such as one inside of a request.
    pub fn from_value(root: Value, from: Option<Url>) -> Result<Self, ImportError> {
        let (edition, openapi) = read_edition(&root)?;
        Ok(Self { root, edition, openapi, from })
    }
}

/// Whatever begins with a brace is JSON, which YAML would read too, only slower and with stranger errors.
fn parse(text: &str) -> Result<Value, ImportError> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text)
            .map_err(|error| ImportError::Document(format!("the document is not valid JSON: {error}")));
    }
    let options = serde_saphyr::options! {
        // As OpenAPI wants it: `no` is a word, and Norway.
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_documents: 1,
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_events: 2 * NODES_MAX,
            max_total_scalar_bytes: 2 * DOCUMENT_BYTES_MAX,
        },
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| ImportError::Document(format!("the document is not valid YAML: {error}")))
}

fn read_edition(root: &Value) -> Result<(SchemaEdition, String), ImportError> {
    let said = |name: &str| match root.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        // `openapi: 3.1` without quotes.
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    if let Some(swagger) = said("swagger") {
        let problem = format!(
            "this is Swagger {swagger}, the form before OpenAPI 3; convert it first, for example with `npx swagger2openapi FILE -o openapi.json`"
        );
        return Err(ImportError::Document(problem));
    }
    let Some(openapi) = said("openapi") else {
        let problem = "there is no `openapi: 3…` in it; give an OpenAPI 3.0 or 3.1 document as JSON or YAML";
        return Err(ImportError::Document(problem.into()));
    };
    let edition = match openapi.split('.').take(2).collect::<Vec<_>>()[..] {
        ["3", "0"] => SchemaEdition::V30,
        // 3.2 adds to 3.1 and takes nothing away.
        ["3", "1" | "2"] => SchemaEdition::V31,
        _ => {
            let problem = format!("`openapi` is `{openapi}`; 3.0, 3.1 and 3.2 are understood");
            return Err(ImportError::Document(problem));
        }
    };
    Ok((edition, openapi))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Document, String> {
        Document::read(text.as_bytes(), None).map_err(|error| error.to_string())
    }

    #[test]
    fn json_and_yaml_are_the_same_document() {
        let yaml =
            "openapi: 3.0.3\npaths:\n  /a:\n    get:\n      responses:\n        200: {description: no}\n";
        let json = r#"{"openapi": "3.0.3", "paths": {"/a": {"get": {"responses": {"200": {"description": "no"}}}}}}"#;
        assert_eq!(read(yaml).unwrap().root, read(json).unwrap().root);
        assert_eq!(read(&format!("\u{feff}{json}")).unwrap().edition, SchemaEdition::V30);
    }

    #[test]
    fn a_version_without_quotes_is_a_version() {
        assert_eq!(read("openapi: 3.1\npaths: {}").unwrap().edition, SchemaEdition::V31);
        assert_eq!(read("openapi: '3.2.0'").unwrap().edition, SchemaEdition::V31);
    }

    #[test]
    fn what_is_no_openapi_3_is_told_what_to_do() {
        assert!(read(r#"{"swagger": "2.0"}"#).unwrap_err().contains("swagger2openapi"));
        assert!(read(r#"{"openapi": "4.0.0"}"#).unwrap_err().contains("`4.0.0`"));
        assert!(read("hello").unwrap_err().contains("OpenAPI 3.0 or 3.1"));
        assert!(read("").unwrap_err().contains("OpenAPI 3.0 or 3.1"));
        assert!(read("<html>").is_err());
        assert!(read("{").unwrap_err().contains("not valid JSON"));
        assert!(Document::read(&[0xff, 0xfe, 0], None).unwrap_err().to_string().contains("UTF-8"));
        assert!(Document::from_value(json!([1]), None).is_err());
    }

    #[test]
    fn bombs_are_refused_and_not_exploded() {
        let mut laughs = "openapi: 3.0.0\na: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for (name, of) in
            ["b", "c", "d", "e", "f", "g", "h", "i"].iter().zip(["a", "b", "c", "d", "e", "f", "g", "h"])
        {
            let aliases = vec![format!("*{of}"); 10].join(", ");
            laughs.push_str(&format!("{name}: &{name} [{aliases}]\n"));
        }
        assert!(read(&laughs).unwrap_err().contains("not valid YAML"));
        assert!(read(&format!("openapi: 3.0.0\na: {}", "[".repeat(100_000))).is_err());
        assert!(read(&format!("{{\"openapi\": {}", "[".repeat(100_000))).is_err());
        let large = vec![b' '; DOCUMENT_BYTES_MAX + 1];
        assert!(Document::read(&large, None).unwrap_err().to_string().contains("the most that is read"));
    }
}
