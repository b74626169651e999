//! Finding words in a long text.

use helve_types::{Notice, ToolOutput};
use serde_json::json;

const PLACES_MAX: usize = 30;
/// How much is shown before and after what was found.
const BEFORE_BYTES: usize = 80;
const AFTER_BYTES: usize = 240;

/// The places where the words stand, whatever the case of Latin letters.
pub(super) fn find_in_output(whole: &str, words: &str) -> Result<ToolOutput, String> {
    let words = words.trim();
    if words.is_empty() {
        return Err("`search` is empty; say what to look for".into());
    }
    let offsets = find_offsets(whole, words);
    let title = format!("{} × “{words}”", offsets.len());
    let headline = Notice::places_found(offsets.len() as u64, words);
    if offsets.is_empty() {
        let text = format!("`{words}` stands nowhere in the {} bytes of this output.", whole.len());
        return Ok(ToolOutput::text(text)
            .with_headline(title, headline)
            .with_data(json!({"places": [], "count": 0})));
    }
    let count = offsets.len();
    let mut text = format!("{count} place{}:", if count == 1 { "" } else { "s" });
    let (mut line, mut counted_to) = (1, 0);
    let mut shown = vec![];
    for offset in offsets.into_iter().take(PLACES_MAX) {
        line += whole.as_bytes()[counted_to..offset].iter().filter(|byte| **byte == b'\n').count();
        counted_to = offset;
        let around = surrounding_text(whole, offset, words.len());
        text.push_str(&format!("\nline {line}, offset {offset}: {around}"));
        shown.push(json!({"line": line, "offset": offset, "text": around}));
    }
    if count > PLACES_MAX {
        text.push_str(&format!(
            "\n[the first {PLACES_MAX} of {count} places; search for more words to find fewer]"
        ));
    }
    Ok(ToolOutput::text(text)
        .with_headline(title, headline)
        .with_data(json!({"places": shown, "count": count})))
}

/// Where each begins; they do not overlap. A text that begins like a character begins at one.
fn find_offsets(whole: &str, words: &str) -> Vec<usize> {
    let (whole, words) = (whole.as_bytes(), words.as_bytes());
    let mut found = vec![];
    let mut at = 0;
    while let Some(window) = whole.get(at..at + words.len()) {
        if window.eq_ignore_ascii_case(words) {
            found.push(at);
            at += words.len();
        } else {
            at += 1;
        }
    }
    found
}

/// What stands there, within its line.
fn surrounding_text(whole: &str, offset: usize, length: usize) -> &str {
    let from = whole.floor_char_boundary(offset.saturating_sub(BEFORE_BYTES));
    let to = whole.floor_char_boundary(offset + length + AFTER_BYTES);
    let from = whole[from..offset].rfind('\n').map_or(from, |at| from + at + 1);
    let to = whole[offset + length..to].find('\n').map_or(to, |at| offset + length + at);
    whole[from..to].trim()
}
