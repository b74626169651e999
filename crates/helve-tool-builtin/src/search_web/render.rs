//! From results to what a model reads: the summary first, then the results by number, whole ones only.

use helve_types::{Language, Notice, ToolOutput};
use serde_json::json;

use super::tavily::{Search, TavilyAnswer, TavilyHit};

const TEXT_CHARS_MAX: usize = 8_000;
/// Kept free for the line that says how much was left out.
const LAST_LINE_CHARS: usize = 120;
/// Between two blocks.
const BLANK_LINE: usize = 2;
const SUMMARY_CHARS_MAX: usize = 2_000;
const FIELD_CHARS_MAX: usize = 500;
/// Of each page that was asked for whole, so that several have room.
const RAW_CHARS_MAX: usize = 3_000;

/// The words around results, in the language of the conversation.
struct Labels {
    summary: &'static str,
    /// Above the results; nothing where the summary's own line is enough.
    heading: Option<&'static str>,
    source: &'static str,
    content: &'static str,
    indent: &'static str,
    untitled: &'static str,
}

impl Labels {
    fn new(language: Language) -> Self {
        match language {
            Language::English => Self {
                summary: "Summary: ",
                heading: None,
                source: "Source: ",
                content: "",
                indent: "",
                untitled: "(no title)",
            },
            Language::Chinese => Self {
                summary: "AI 摘要：",
                heading: Some("搜索结果："),
                source: "来源：",
                content: "内容：",
                indent: "   ",
                untitled: "（无标题）",
            },
        }
    }
}

pub(super) fn build_output(search: &Search<'_>, mut found: TavilyAnswer, language: Language) -> ToolOutput {
    let labels = Labels::new(language);
    found.results.truncate(search.max_results.into());
    let answer = found.answer.map(|answer| one_line(&answer)).filter(|answer| !answer.is_empty());
    let total = found.results.len();
    let query = shorten(&one_line(search.query), FIELD_CHARS_MAX);

    let mut blocks = vec![];
    blocks.extend(
        answer.as_ref().map(|answer| format!("{}{}", labels.summary, shorten(answer, SUMMARY_CHARS_MAX))),
    );
    if total == 0 {
        blocks.push(nothing_found(&query, language));
    }
    let mut room = TEXT_CHARS_MAX
        - LAST_LINE_CHARS
        - blocks.iter().map(|block| count_chars(block) + BLANK_LINE).sum::<usize>();
    let mut shown = 0;
    for (index, hit) in found.results.iter().enumerate() {
        let mut block = format_hit(index + 1, hit, &labels);
        if let Some(heading) = labels.heading.filter(|_| index == 0) {
            block = format!("{heading}\n{block}");
        }
        // One long result is better than none.
        if shown == 0 {
            block = shorten(&block, room.saturating_sub(BLANK_LINE));
        }
        let Some(left) = room.checked_sub(count_chars(&block) + BLANK_LINE) else { break };
        room = left;
        shown += 1;
        blocks.push(block);
    }
    if shown < total {
        blocks.push(cut_notice(shown, total, language));
    }
    ToolOutput::text(blocks.join("\n\n"))
        .with_headline(title(total, &query, language), Notice::results_found(total as u64, &query))
        .with_data(json!({"query": search.query, "answer": answer, "results": found.results}))
}

fn nothing_found(query: &str, language: Language) -> String {
    match language {
        Language::English => format!("No results were found for \"{query}\". Try other keywords."),
        Language::Chinese => format!("没有找到与“{query}”相关的结果，请换用其他关键词。"),
    }
}

fn cut_notice(shown: usize, total: usize, language: Language) -> String {
    match language {
        Language::English => {
            format!(
                "[cut: {shown} of {total} results are shown; search again with narrower keywords for more]"
            )
        }
        Language::Chinese => format!("（结果已截断，共 {total} 条结果）"),
    }
}

fn title(total: usize, query: &str, language: Language) -> String {
    let noun = if total == 1 { "result" } else { "results" };
    match language {
        Language::English => format!("{total} {noun} for \"{query}\""),
        Language::Chinese => format!("“{query}”的 {total} 条结果"),
    }
}

/// A page cannot add lines of its own, and so cannot pretend to be the next result.
fn format_hit(number: usize, hit: &TavilyHit, labels: &Labels) -> String {
    let Labels { source, content, indent, .. } = labels;
    let line = |text: &Option<String>| text.as_deref().map(one_line).filter(|text| !text.is_empty());
    let title = line(&hit.title).unwrap_or_else(|| labels.untitled.into());
    let mut lines = vec![format!("{number}. {}", shorten(&title, FIELD_CHARS_MAX))];
    lines.extend(line(&hit.url).map(|url| format!("{indent}{source}{}", shorten(&url, FIELD_CHARS_MAX))));
    // The whole page where it was asked for, otherwise what the service picked of it.
    let text =
        line(&hit.raw_content).map(|text| shorten(&text, RAW_CHARS_MAX)).or_else(|| line(&hit.content));
    lines.extend(text.map(|text| format!("{indent}{content}{text}")));
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

fn count_chars(text: &str) -> usize {
    text.chars().count()
}

/// At most so many characters, the last one being `…` where some are missing.
fn shorten(text: &str, chars_max: usize) -> String {
    if count_chars(text) <= chars_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{kept}…")
}
