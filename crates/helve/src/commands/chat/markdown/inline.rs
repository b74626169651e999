//! Spans within a line: emphasis, code, links.

use super::{BOLD, CODE, DIM, ITALIC, RESET, STRIKE, UNDERLINE};

/// A span is looked for so far; what does not end within this is plain text.
const SPAN_BYTES_MAX: usize = 1_000;
/// Spans within spans.
const DEPTH_MAX: usize = 8;

/// A renderer of text that has a style already.
#[derive(Clone)]
pub(super) struct Inline {
    /// The sequences that are in force.
    style: String,
    depth: usize,
    /// The character before the text.
    before: Option<char>,
}

/// What begins at a place of the text.
enum Found<'t> {
    /// So many bytes, as they are.
    Plain(usize),
    /// A character that was escaped, and how many bytes it took.
    Escaped(&'t str, usize),
    /// Text with spans of its own.
    Span {
        style: &'static str,
        inner: &'t str,
        used: usize,
    },
    Code {
        inner: &'t str,
        used: usize,
    },
    Link {
        label: &'t str,
        target: &'t str,
        used: usize,
    },
    /// It cannot be known before more has come.
    Open,
}

impl Inline {
    pub(super) fn new(style: &str) -> Self {
        Self { style: style.to_owned(), depth: 0, before: None }
    }

    /// For text that goes on behind this character.
    pub(super) fn after(self, before: Option<char>) -> Self {
        Self { before, ..self }
    }

    /// What can be shown of the text, and how many bytes of it that is: all of it, if it is complete.
    pub(super) fn render(&self, text: &str, is_complete: bool) -> (String, usize) {
        let (mut out, mut at) = (String::new(), 0);
        while at < text.len() {
            match self.find(text, at, is_complete) {
                Found::Plain(length) => {
                    out.push_str(&text[at..at + length]);
                    at += length;
                }
                Found::Escaped(shown, used) => {
                    out.push_str(shown);
                    at += used;
                }
                Found::Span { style, inner, used } => {
                    out.push_str(&self.span(style, inner));
                    at += used;
                }
                Found::Code { inner, used } => {
                    out.push_str(&format!("{CODE}{inner}{RESET}{}", self.style));
                    at += used;
                }
                Found::Link { label, target, used } => {
                    if label != target {
                        out.push_str(&self.span(UNDERLINE, label));
                        out.push_str(&format!("{DIM} ({target}){RESET}{}", self.style));
                    } else {
                        out.push_str(&format!("{UNDERLINE}{target}{RESET}{}", self.style));
                    }
                    at += used;
                }
                Found::Open => break,
            }
        }
        (out, at)
    }

    fn span(&self, style: &str, inner: &str) -> String {
        let within = Self { style: format!("{}{style}", self.style), depth: self.depth + 1, before: None };
        format!("{style}{}{RESET}{}", within.render(inner, true).0, self.style)
    }

    fn find<'t>(&self, text: &'t str, at: usize, is_complete: bool) -> Found<'t> {
        let rest = &text[at..];
        let window = window(rest);
        // What does not end in a full window is taken as it is.
        let is_complete = is_complete || window.len() < rest.len() || window.len() + 4 > SPAN_BYTES_MAX;
        let before = text[..at].chars().next_back().or(self.before);
        let Some(first) = rest.chars().next() else { return Found::Plain(0) };
        let open_or = |plain: usize| if is_complete { Found::Plain(plain) } else { Found::Open };
        match first {
            '\\' => match rest[1..].chars().next() {
                None => open_or(1),
                Some(c) if c.is_ascii_punctuation() => Found::Escaped(&rest[1..2], 2),
                Some(_) => Found::Plain(1),
            },
            '`' => {
                let run = run(rest, '`');
                match code_end(window, run) {
                    // One more mark would make it no end.
                    Some(end) if end + run == rest.len() && !is_complete => Found::Open,
                    Some(end) => Found::Code { inner: window[run..end].trim_matches(' '), used: end + run },
                    None => open_or(run),
                }
            }
            '*' | '_' | '~' if self.depth < DEPTH_MAX => {
                emphasis(window, first, before, is_complete).unwrap_or_else(|plain| {
                    // A mark that cannot begin anything is itself, whatever follows.
                    if plain.is_final { Found::Plain(plain.length) } else { open_or(plain.length) }
                })
            }
            '[' if self.depth < DEPTH_MAX => {
                link(window, 0).unwrap_or_else(|is_final| if is_final { Found::Plain(1) } else { open_or(1) })
            }
            '!' => match rest[1..].chars().next() {
                None => open_or(1),
                Some('[') if self.depth < DEPTH_MAX => link(window, 1)
                    .unwrap_or_else(|is_final| if is_final { Found::Plain(1) } else { open_or(1) }),
                Some(_) => Found::Plain(1),
            },
            _ => {
                let length = rest.find(['\\', '`', '*', '_', '~', '[', '!']).unwrap_or(rest.len());
                Found::Plain(length.max(first.len_utf8()))
            }
        }
    }
}

/// The beginning of the text, no longer than a span may be.
fn window(text: &str) -> &str {
    let mut end = text.len().min(SPAN_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn run(text: &str, mark: char) -> usize {
    text.bytes().take_while(|&byte| char::from(byte) == mark).count()
}

/// Where the marks stand that close a code span which begins with so many.
fn code_end(text: &str, length: usize) -> Option<usize> {
    let mut at = length;
    while let Some(next) = text[at..].find('`') {
        let here = run(&text[at + next..], '`');
        if here == length {
            return Some(at + next);
        }
        at += next + here;
    }
    None
}

/// Marks that are no span.
struct Marks {
    length: usize,
    /// No more of the text can make a span of them.
    is_final: bool,
}

fn emphasis(text: &str, mark: char, before: Option<char>, is_complete: bool) -> Result<Found<'_>, Marks> {
    let length = run(text, mark);
    let next = text[length..].chars().next();
    let style = match (mark, length) {
        ('*' | '_', 1) => ITALIC,
        ('*' | '_', 2) => BOLD,
        ('*' | '_', 3) => "\u{1b}[1;3m",
        ('~', 2) => STRIKE,
        _ => return Err(Marks { length, is_final: next.is_some() }),
    };
    let Some(next) = next else { return Err(Marks { length, is_final: false }) };
    let within_word = mark == '_' && before.is_some_and(char::is_alphanumeric);
    if next.is_whitespace() || within_word {
        return Err(Marks { length, is_final: true });
    }
    match emphasis_end(text, mark, length, is_complete) {
        // What follows decides whether it is the end.
        Some(end) if end + length == text.len() && !is_complete => Err(Marks { length, is_final: false }),
        Some(end) => Ok(Found::Span { style, inner: &text[length..end], used: end + length }),
        None => Err(Marks { length, is_final: false }),
    }
}

/// Where the marks stand that close the emphasis. Marks in code are none.
fn emphasis_end(text: &str, mark: char, length: usize, is_complete: bool) -> Option<usize> {
    let mut at = length;
    let mut before = mark;
    while let Some(c) = text[at..].chars().next() {
        if c == '`' {
            let ticks = run(&text[at..], '`');
            let code_end = code_end(&text[at..], ticks).map(|end| at + end + ticks);
            if !is_complete && code_end.is_none_or(|end| end == text.len()) {
                // What follows decides whether this is code.
                return None;
            }
            at = code_end.unwrap_or(at + ticks);
            before = '`';
        } else if c == '\\' {
            at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8);
            before = '\\';
        } else if c == mark {
            let here = run(&text[at..], mark);
            let after = text[at + here..].chars().next();
            let in_word = mark == '_' && after.is_some_and(char::is_alphanumeric);
            let closes = !before.is_whitespace() && !in_word;
            if closes && (here == length || here == 3 && length < 3) {
                return Some(at + here - length);
            }
            at += here;
            before = mark;
        } else {
            at += c.len_utf8();
            before = c;
        }
    }
    None
}

/// `[label](target)`, with so many bytes before it. The error says whether it can be none, whatever follows.
fn link(text: &str, before: usize) -> Result<Found<'_>, bool> {
    let label_at = before + 1;
    let Some(close) = text[label_at..].find(']').map(|at| label_at + at) else { return Err(false) };
    match text[close + 1..].chars().next() {
        None => return Err(false),
        Some('(') => {}
        Some(_) => return Err(true),
    }
    let target_at = close + 2;
    let Some(end) = text[target_at..].find(')').map(|at| target_at + at) else { return Err(false) };
    // A title behind the address is left out.
    let target = text[target_at..end].split_whitespace().next().unwrap_or_default();
    Ok(Found::Link { label: &text[label_at..close], target, used: end + 1 })
}
