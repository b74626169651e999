//! What a program writes to its standard output.
//!
//! A line that is a JSON object of the type `progress`, `result` or `error` is a message; everything else is the output
//! itself: a JSON value if it is one, and text if not. So a script that only prints its answer is a tool, too.

use helve_process::LineReader;
use helve_tool::ResultDocument;
use helve_types::ToolOutput;
use serde::Deserialize;
use serde_json::Value;

/// What is read of one call's output, files in it included.
const OUTPUT_BYTES_MAX: usize = 16 << 20;
const PROGRESS_BYTES_MAX: usize = 4 << 10;

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ProgramMessage {
    Progress { text: String },
    Result(Box<ResultDocument>),
    Error { message: String },
}

/// What became of a call, as far as its output says.
#[derive(Debug, PartialEq)]
pub(crate) enum ProgramOutcome {
    Output(Box<ToolOutput>),
    /// The program says that it has not done it, and why.
    Error(String),
}

#[derive(Debug, Default)]
pub(crate) struct OutputReader {
    lines: LineReader,
    bytes: usize,
    body: Vec<u8>,
    message: Option<Result<ProgramOutcome, String>>,
}

impl OutputReader {
    /// Takes a piece of the output and reports the progress in it.
    pub(crate) fn push(&mut self, piece: &[u8], progress: impl Fn(&str)) -> Result<(), String> {
        self.bytes += piece.len();
        if self.bytes > OUTPUT_BYTES_MAX {
            return Err(format!("its output is larger than {OUTPUT_BYTES_MAX} bytes"));
        }
        let Self { lines, body, message, .. } = self;
        lines.push(piece, |line| {
            if !handle_line(line, message, &progress) {
                body.extend_from_slice(line);
                body.push(b'\n');
            }
        });
        Ok(())
    }

    /// What the whole output means, or why it means nothing.
    pub(crate) fn finish(mut self) -> Result<ProgramOutcome, String> {
        if let Some(last) = self.lines.finish()
            && !handle_line(&last, &mut self.message, &|_: &str| {})
        {
            self.body.extend_from_slice(&last);
        }
        if let Some(message) = self.message {
            return message;
        }
        let text = std::str::from_utf8(&self.body)
            .map_err(|_| "its output is not UTF-8; files go into a result message as base64".to_owned())?;
        Ok(ProgramOutcome::Output(Box::new(plain_output(text.trim_end()))))
    }
}

/// Takes a line if it is a message. The last result or error counts.
fn handle_line(
    line: &[u8],
    message: &mut Option<Result<ProgramOutcome, String>>,
    progress: &impl Fn(&str),
) -> bool {
    // Parsing every line of a long text as JSON would cost more than the text.
    if !line.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return false };
    if !matches!(value["type"].as_str(), Some("progress" | "result" | "error")) {
        return false;
    }
    match serde_json::from_value(value) {
        Ok(ProgramMessage::Progress { text }) => {
            progress(&text[..text.floor_char_boundary(PROGRESS_BYTES_MAX)]);
        }
        Ok(ProgramMessage::Result(result)) => {
            *message = Some(result.into_output().map(Box::new).map(ProgramOutcome::Output));
        }
        Ok(ProgramMessage::Error { message: text }) => *message = Some(Ok(ProgramOutcome::Error(text))),
        Err(error) => *message = Some(Err(format!("its message cannot be read: {error}"))),
    }
    true
}

/// The output of a program that writes no messages. The model reads the text as the program wrote it.
fn plain_output(text: &str) -> ToolOutput {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::String(inner)) => ToolOutput::text(inner.clone()).with_data(Value::String(inner)),
        Ok(value) => ToolOutput::text(text).with_data(value),
        Err(_) => ToolOutput::text(text),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;

    fn read(output: &str) -> (Result<ProgramOutcome, String>, Vec<String>) {
        let progress = RefCell::new(vec![]);
        let mut reader = OutputReader::default();
        for piece in output.as_bytes().chunks(7) {
            reader.push(piece, |text| progress.borrow_mut().push(text.to_owned())).unwrap();
        }
        (reader.finish(), progress.into_inner())
    }

    fn output_of(text: &str) -> ToolOutput {
        match read(text).0 {
            Ok(ProgramOutcome::Output(output)) => *output,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_value_is_data_and_anything_else_is_text() {
        let value = output_of("{\"b\": 2.50,\n \"a\": 1}\n");
        assert_eq!(
            (value.text.as_str(), value.data),
            ("{\"b\": 2.50,\n \"a\": 1}", Some(json!({"a": 1, "b": 2.5})))
        );
        assert_eq!(output_of("\"今天\"").text, "今天");
        let text = output_of("3 lines\nof text\n");
        assert_eq!((text.text.as_str(), text.data), ("3 lines\nof text", None));
        assert_eq!(output_of("").text, "");
    }

    #[test]
    fn progress_is_reported_and_is_no_part_of_the_output() {
        let (written, progress) = read("{\"type\": \"progress\", \"text\": \"half\"}\n{\"n\": 1}\n");
        assert_eq!(progress, ["half"]);
        assert!(
            matches!(written, Ok(ProgramOutcome::Output(output)) if output.data == Some(json!({"n": 1})))
        );
    }

    #[test]
    fn a_result_message_sets_what_people_and_programs_see() {
        let line = json!({
            "type": "result", "text": "Drawn.", "data": {"w": 2}, "title": "A chart", "metadata": {"ms": 3},
            "files": [{"name": "c.png", "media_type": "image/png", "base64": "AAEC"}],
        });
        let output = output_of(&line.to_string());
        assert_eq!((output.text.as_str(), output.title.as_deref()), ("Drawn.", Some("A chart")));
        assert_eq!((output.data, output.metadata), (Some(json!({"w": 2})), Some(json!({"ms": 3}))));
        assert_eq!(output.files[0].bytes, [0, 1, 2]);
    }

    #[test]
    fn an_error_message_says_that_nothing_was_done() {
        let (written, _) = read("{\"type\": \"error\", \"message\": \"no such city\"}\n");
        assert_eq!(written, Ok(ProgramOutcome::Error("no such city".into())));
    }

    #[test]
    fn an_object_with_another_type_is_data() {
        assert_eq!(output_of("{\"type\": \"point\"}").data, Some(json!({"type": "point"})));
    }

    #[test]
    fn messages_that_cannot_be_read_are_named() {
        for (line, words) in [
            (r#"{"type": "result", "txt": "x"}"#, "unknown field `txt`"),
            (
                r#"{"type": "result", "files": [{"name": "a", "media_type": "b", "base64": "?"}]}"#,
                "not base64",
            ),
        ] {
            let problem = read(line).0.unwrap_err();
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn an_output_without_end_is_refused() {
        let mut reader = OutputReader::default();
        let piece = vec![b'x'; 1 << 20];
        let refused = (0..=16).find_map(|_| reader.push(&piece, |_| {}).err());
        assert!(refused.unwrap().contains("larger than"));
    }
}
