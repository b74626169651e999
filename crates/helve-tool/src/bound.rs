//! Keeps what the model reads within bounds, and sets aside what is more than that.

use helve_store::KeptFile;
use helve_types::{CallId, Labels, ToolOutput};

use crate::files::keep_files;
use crate::{CallContext, Outcome};

/// The tool by which a model reads on where an output was cut.
pub const READ_OUTPUT: &str = "read_output";

/// What is kept beside the record of an outcome.
#[derive(Debug, Default)]
pub(crate) struct SideRecords {
    /// The whole text where the record has only its beginning.
    pub(crate) full_output: Option<String>,
    pub(crate) files: Vec<KeptFile>,
    /// Of what an unknown outcome quotes.
    pub(crate) labels: Option<Box<Labels>>,
}

/// The output as the model gets it, and what is kept beside it.
///
/// The cut is made at a line's end where one is near, and says how much is missing and how to read on.
pub(crate) fn bound_output(
    mut output: ToolOutput,
    bytes_max: usize,
    call: &CallId,
    cx: &CallContext,
) -> (ToolOutput, SideRecords) {
    let (kept, remarks) = keep_files(std::mem::take(&mut output.files), call, cx.run);
    let whole = cut_output(&mut output, bytes_max, call, || cx.toolbox.find(READ_OUTPUT).is_some());
    output.attachments.extend(kept.iter().map(|(_, attachment)| attachment.clone()));
    for remark in remarks {
        output.text.push_str(&format!("\n[{remark}]"));
    }
    (
        output,
        SideRecords {
            full_output: whole,
            files: kept.into_iter().map(|(file, _)| file).collect(),
            labels: None,
        },
    )
}

/// A failure is read like an output, and says what it has to say in less.
const FAILURE_BYTES_MAX: usize = 8 << 10;

/// The outcome as the model gets it: what a failure says is cut like an output. Gives the whole of it, if it was cut.
pub(crate) fn bound_failure(outcome: Outcome, call: &CallId, cx: &CallContext) -> (Outcome, Option<String>) {
    let mut outcome = outcome;
    let whole = match &mut outcome {
        Outcome::Failed(failure) | Outcome::Refused(failure) => {
            let can_read_on = || cx.toolbox.find(READ_OUTPUT).is_some();
            cut_text(&mut failure.message, FAILURE_BYTES_MAX, call, can_read_on)
        }
        Outcome::Unknown(unknown) => {
            unknown.because = display_within(&unknown.because, FAILURE_BYTES_MAX);
            None
        }
        _ => None,
    };
    (outcome, whole)
}

/// Cuts the text if it is too long; then gives the whole of it.
fn cut_output(
    output: &mut ToolOutput,
    bytes_max: usize,
    call: &CallId,
    can_read_on: impl FnOnce() -> bool,
) -> Option<String> {
    let whole = cut_text(&mut output.text, bytes_max, call, can_read_on)?;
    output.whole_bytes = Some(whole.len() as u64);
    // The value repeats the text; what is too large once is too large twice.
    output.data = None;
    Some(whole)
}

fn cut_text(
    text: &mut String,
    bytes_max: usize,
    call: &CallId,
    can_read_on: impl FnOnce() -> bool,
) -> Option<String> {
    let whole_bytes = text.len();
    if whole_bytes <= bytes_max {
        return None;
    }
    let mut end = text.floor_char_boundary(bytes_max);
    if let Some(line_end) = text[..end].rfind('\n').filter(|at| *at > end / 2) {
        end = line_end;
    }
    let whole = text.clone();
    text.truncate(end);
    let how = if can_read_on() {
        format!("; read on with {READ_OUTPUT} {{\"call\": \"{call}\", \"offset\": {end}}}")
    } else {
        String::new()
    };
    text.push_str(&format!(
        "\n[cut: these are the first {end} of {whole_bytes} bytes; the whole output is kept{how}]"
    ));
    Some(whole)
}

/// What is said, in at most so many bytes, however much there is to say; the rest is not even written.
pub(crate) fn display_within(said: &dyn std::fmt::Display, bytes_max: usize) -> String {
    let mut written = BoundedWriter { text: String::new(), bytes_max };
    if std::fmt::write(&mut written, format_args!("{said}")).is_err() {
        written.text.push('…');
    }
    written.text
}

struct BoundedWriter {
    text: String,
    bytes_max: usize,
}

impl std::fmt::Write for BoundedWriter {
    fn write_str(&mut self, piece: &str) -> std::fmt::Result {
        let left = self.bytes_max - self.text.len();
        let end = piece.floor_char_boundary(left);
        self.text.push_str(&piece[..end]);
        if end < piece.len() { Err(std::fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use helve_types::World;

    use super::*;

    fn call() -> CallId {
        CallId::new(World::deterministic().run_id(), 1, 0)
    }

    fn check(text: &str, bytes_max: usize) -> (ToolOutput, Option<String>) {
        let mut output = ToolOutput::text(text);
        let whole = cut_output(&mut output, bytes_max, &call(), || true);
        (output, whole)
    }

    #[test]
    fn a_small_output_is_left_alone() {
        let (bounded, whole) = check("short", 5);
        assert_eq!((bounded.text.as_str(), whole), ("short", None));
    }

    #[test]
    fn a_large_output_is_cut_on_a_line_and_kept_whole() {
        let text = "first line\nsecond line\nthird line";
        let (bounded, whole) = check(text, 25);
        assert!(bounded.text.starts_with("first line\nsecond line\n[cut: "), "{}", bounded.text);
        assert_eq!(bounded.whole_bytes, Some(text.len() as u64));
        assert_eq!(whole.as_deref(), Some(text));
    }

    #[test]
    fn the_model_is_told_how_to_read_on_if_it_can() {
        let (bounded, _) = check("first line\nsecond line\nthird line", 25);
        let how = format!("; read on with read_output {{\"call\": \"{}\", \"offset\": 22}}]", call());
        assert!(bounded.text.ends_with(&how), "{}", bounded.text);
        let mut output = ToolOutput::text("x".repeat(99));
        cut_output(&mut output, 9, &call(), || false);
        assert!(output.text.ends_with("bytes; the whole output is kept]"), "{}", output.text);
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        for bytes_max in 1..12 {
            let (bounded, _) = check("中文字符🙂结果", bytes_max);
            assert!(bounded.text.contains("[cut: "));
        }
    }
}
