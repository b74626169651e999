//! From results to what a model reads: the summary first, then the results by number, whole ones only.

use helve_types::ToolOutput;
use serde_json::json;

use super::tavily::{Found, Hit, Search};

const TEXT_CHARS_MAX: usize = 8_000;
/// Kept free for the line that says how much was left out.
const LAST_LINE_CHARS: usize = 120;
/// Between two blocks.
const BLANK_LINE: usize = 2;
const SUMMARY_CHARS_MAX: usize = 2_000;
const FIELD_CHARS_MAX: usize = 500;

pub(super) fn show(search: &Search<'_>, mut found: Found) -> ToolOutput {
    found.results.truncate(search.max_results.into());
    let answer = found.answer.map(|answer| one_line(&answer)).filter(|answer| !answer.is_empty());
    let total = found.results.len();
    let query = cut(&one_line(search.query), FIELD_CHARS_MAX);

    let mut blocks = vec![];
    blocks.extend(answer.as_ref().map(|answer| format!("Summary: {}", cut(answer, SUMMARY_CHARS_MAX))));
    if total == 0 {
        blocks.push(format!("No results were found for \"{query}\". Try other keywords."));
    }
    let mut room = TEXT_CHARS_MAX
        - LAST_LINE_CHARS
        - blocks.iter().map(|block| chars(block) + BLANK_LINE).sum::<usize>();
    let mut shown = 0;
    for (index, hit) in found.results.iter().enumerate() {
        let mut block = describe(index + 1, hit);
        // One long result is better than none.
        if shown == 0 {
            block = cut(&block, room.saturating_sub(BLANK_LINE));
        }
        let Some(left) = room.checked_sub(chars(&block) + BLANK_LINE) else { break };
        room = left;
        shown += 1;
        blocks.push(block);
    }
    if shown < total {
        blocks.push(format!(
            "[cut: {shown} of {total} results are shown; search again with narrower keywords for more]"
        ));
    }
    let noun = if total == 1 { "result" } else { "results" };
    ToolOutput::text(blocks.join("\n\n"))
        .titled(format!("{total} {noun} for \"{query}\""))
        .with_data(json!({"query": search.query, "answer": answer, "results": found.results}))
}

/// A page cannot add lines of its own, and so cannot pretend to be the next result.
fn describe(number: usize, hit: &Hit) -> String {
    let line = |text: &Option<String>| text.as_deref().map(one_line).filter(|text| !text.is_empty());
    let title = line(&hit.title).unwrap_or_else(|| "(no title)".into());
    let mut lines = vec![format!("{number}. {}", cut(&title, FIELD_CHARS_MAX))];
    lines.extend(line(&hit.url).map(|url| format!("Source: {}", cut(&url, FIELD_CHARS_MAX))));
    lines.extend(line(&hit.content));
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// At most so many characters, the last one being `…` where some are missing.
fn cut(text: &str, chars_max: usize) -> String {
    if chars(text) <= chars_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{kept}…")
}
