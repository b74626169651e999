//! The document in which a tool outside Helve says more about its result than a text or a value: a program on its
//! standard output, an HTTP endpoint in its answer.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use helve_types::{OutputFile, ToolOutput};
use serde::Deserialize;
use serde_json::Value;

const TITLE_CHARS_MAX: usize = 200;
const METADATA_BYTES_MAX: usize = 16 << 10;

/// A result as its tool describes it. Every field may be left out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResultDocument {
    /// What the model reads; the data as JSON unless given.
    text: Option<String>,
    data: Option<Value>,
    title: Option<String>,
    metadata: Option<Value>,
    files: Vec<FileDocument>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileDocument {
    name: String,
    media_type: String,
    base64: String,
}

impl ResultDocument {
    /// Reads a document that is a value already.
    pub fn parse(value: Value) -> Result<Self, String> {
        if !value.is_object() {
            // It would be read by position.
            return Err("it is no JSON object".into());
        }
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    /// The output, or what is wrong with the document. How many files are kept, and how large they may be, is the
    /// pipeline's business, as it is for every tool.
    pub fn into_output(self) -> Result<ToolOutput, String> {
        if let Some(metadata) = &self.metadata {
            let bytes = metadata.to_string().len();
            if bytes > METADATA_BYTES_MAX {
                return Err(format!(
                    "its `metadata` has {bytes} bytes, and {METADATA_BYTES_MAX} are the most; larger facts go into `data`"
                ));
            }
        }
        let files = self.files.into_iter().map(FileDocument::decode_file).collect::<Result<_, _>>()?;
        let text = self.text.or_else(|| self.data.as_ref().map(display_value)).unwrap_or_default();
        Ok(ToolOutput {
            data: self.data,
            title: self.title.as_deref().and_then(title_on_one_line),
            metadata: self.metadata,
            files,
            ..ToolOutput::text(text)
        })
    }
}

impl FileDocument {
    fn decode_file(self) -> Result<OutputFile, String> {
        let bytes = BASE64_STANDARD
            .decode(self.base64.as_bytes())
            .map_err(|error| format!("the file `{}` is not base64: {error}", self.name))?;
        Ok(OutputFile { name: self.name, media_type: self.media_type, bytes })
    }
}

fn display_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// A title as one line that is not endless; none if nothing of it is left.
fn title_on_one_line(title: &str) -> Option<String> {
    let mut words =
        title.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty());
    let mut line = words.next()?.to_owned();
    for word in words {
        line.push(' ');
        line.push_str(word);
    }
    if let Some((at, _)) = line.char_indices().nth(TITLE_CHARS_MAX) {
        line.truncate(at);
        line.push('…');
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(document: Value) -> Result<ToolOutput, String> {
        ResultDocument::parse(document)?.into_output()
    }

    #[test]
    fn everything_in_it_is_in_the_output() {
        let output = output(json!({
            "text": "Drawn.", "data": {"w": 2}, "title": "A chart", "metadata": {"ms": 3},
            "files": [{"name": "c.png", "media_type": "image/png", "base64": "AAEC"}],
        }))
        .unwrap();
        assert_eq!((output.text.as_str(), output.title.as_deref()), ("Drawn.", Some("A chart")));
        assert_eq!((output.data, output.metadata), (Some(json!({"w": 2})), Some(json!({"ms": 3}))));
        let file = OutputFile { name: "c.png".into(), media_type: "image/png".into(), bytes: vec![0, 1, 2] };
        assert_eq!(output.files, [file]);
    }

    #[test]
    fn without_a_text_the_model_reads_the_data() {
        assert_eq!(output(json!({"data": {"n": 1}})).unwrap().text, r#"{"n":1}"#);
        assert_eq!(output(json!({"data": "今天"})).unwrap().text, "今天");
        assert_eq!(output(json!({})).unwrap(), ToolOutput::text(""));
    }

    #[test]
    fn a_title_is_one_line_and_not_endless() {
        let title = |title: &str| output(json!({"title": title})).unwrap().title;
        assert_eq!(title(" two\n\u{7}lines\t"), Some("two lines".into()));
        assert_eq!(title(" \n"), None);
        assert_eq!(title(&"题".repeat(TITLE_CHARS_MAX)), Some("题".repeat(TITLE_CHARS_MAX)));
        assert_eq!(title(&"题".repeat(10_000)), Some("题".repeat(TITLE_CHARS_MAX) + "…"));
    }

    #[test]
    fn metadata_that_is_too_large_is_refused() {
        // The quotation marks count.
        let fits = "x".repeat(METADATA_BYTES_MAX - 2);
        assert_eq!(output(json!({"metadata": fits})).unwrap().metadata, Some(json!(fits)));
        let problem = output(json!({"metadata": fits + "x"})).unwrap_err();
        assert!(problem.contains("its `metadata` has 16385 bytes, and 16384 are the most"), "{problem}");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert_eq!(output(json!(["a text"])).unwrap_err(), "it is no JSON object");
        let problem = output(json!({"txt": "x"})).unwrap_err();
        assert!(problem.contains("unknown field `txt`"), "{problem}");
        let file = json!({"name": "a.png", "media_type": "image/png", "base64": "?"});
        let problem = output(json!({"files": [file]})).unwrap_err();
        assert!(problem.contains("the file `a.png` is not base64"), "{problem}");
    }
}
