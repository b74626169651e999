//! Keeps what the model reads within bounds.

use helve_types::ToolOutput;

/// The output as the model gets it, and the whole text where that is more.
///
/// The cut is made at a line's end where one is near, and says how much is missing.
pub(crate) fn bound(mut output: ToolOutput, bytes_max: usize) -> (ToolOutput, Option<String>) {
    let whole_bytes = output.text.len();
    if whole_bytes <= bytes_max {
        return (output, None);
    }
    let mut end = bytes_max;
    while !output.text.is_char_boundary(end) {
        end -= 1;
    }
    if let Some(line_end) = output.text[..end].rfind('\n').filter(|at| *at > end / 2) {
        end = line_end;
    }
    let whole = output.text.clone();
    output.text.truncate(end);
    output.text.push_str(&format!(
        "\n[cut: these are the first {end} of {whole_bytes} bytes; the whole output is kept]"
    ));
    output.whole_bytes = Some(whole_bytes as u64);
    // The value repeats the text; what is too large once is too large twice.
    output.data = None;
    (output, Some(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_output_is_left_alone() {
        let (bounded, whole) = bound(ToolOutput::text("short"), 5);
        assert_eq!((bounded.text.as_str(), whole), ("short", None));
    }

    #[test]
    fn a_large_output_is_cut_on_a_line_and_kept_whole() {
        let text = "first line\nsecond line\nthird line";
        let (bounded, whole) = bound(ToolOutput::text(text), 25);
        assert!(bounded.text.starts_with("first line\nsecond line\n[cut: "), "{}", bounded.text);
        assert_eq!(bounded.whole_bytes, Some(text.len() as u64));
        assert_eq!(whole.as_deref(), Some(text));
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        for bytes_max in 1..12 {
            let (bounded, _) = bound(ToolOutput::text("中文字符🙂结果"), bytes_max);
            assert!(bounded.text.contains("[cut: "));
        }
    }
}
