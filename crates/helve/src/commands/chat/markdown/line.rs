//! What a line of Markdown is, by how it begins.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Paragraph,
    /// `text_at`: where, in bytes of the line, its text begins.
    Heading {
        level: usize,
        text_at: usize,
    },
    Quote {
        text_at: usize,
    },
    /// Of a list: how it begins on the screen.
    Item {
        indent: usize,
        mark: String,
        text_at: usize,
    },
    Fence(Fence),
    Rule,
    TableRow,
}

const FENCE_LENGTH_MIN: usize = 3;
const RULE_LENGTH_MIN: usize = 3;
const HEADING_LEVEL_MAX: usize = 6;
const NUMBER_DIGITS_MAX: usize = 9;
/// A list is not shown deeper than this.
const INDENT_MAX: usize = 20;

impl LineKind {
    /// None while more of the line is needed to know it.
    pub(super) fn of(line: &str, is_complete: bool) -> Option<Self> {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let rest = &line[indent..];
        let unknown = |kind: Option<Self>| if is_complete { kind.or(Some(Self::Paragraph)) } else { kind };
        let Some(first) = rest.chars().next() else { return unknown(None) };
        let run = rest.chars().take_while(|&c| c == first).count();
        match first {
            '#' => match rest[run..].chars().next() {
                None => unknown(None),
                Some(' ') if run <= HEADING_LEVEL_MAX => {
                    Some(Self::Heading { level: run, text_at: indent + run + 1 })
                }
                Some(_) => Some(Self::Paragraph),
            },
            '`' | '~' if run >= FENCE_LENGTH_MIN && !rest[run..].contains('`') => {
                is_complete.then_some(Self::Fence(Fence { mark: first, length: run }))
            }
            '`' | '~' => {
                if run < rest.len() || is_complete {
                    Some(Self::Paragraph)
                } else {
                    None
                }
            }
            '>' => {
                let blank = usize::from(rest[1..].starts_with(' '));
                if rest.len() == 1 && !is_complete {
                    None
                } else {
                    Some(Self::Quote { text_at: indent + 1 + blank })
                }
            }
            '|' => Some(Self::TableRow),
            '-' | '*' | '_' | '+' => unknown(Self::rule_or_item(rest, first, indent, is_complete)),
            '0'..='9' => unknown(Self::numbered(rest, indent)),
            _ => Some(Self::Paragraph),
        }
    }

    fn rule_or_item(rest: &str, mark: char, indent: usize, is_complete: bool) -> Option<Self> {
        let marks = rest.chars().filter(|&c| c == mark).count();
        let is_rule = mark != '+' && rest.chars().all(|c| c == mark || c == ' ');
        if is_rule && is_complete && marks >= RULE_LENGTH_MIN {
            return Some(Self::Rule);
        }
        if (is_rule || rest.len() == 1) && !is_complete {
            return None;
        }
        if mark == '_' || !rest[1..].starts_with(' ') {
            return Some(Self::Paragraph);
        }
        let text = rest[1..].trim_start_matches(' ');
        let text_at = indent + rest.len() - text.len();
        let (mark, box_length) = match text.get(..4) {
            Some("[ ] ") => ("☐ ", 4),
            Some("[x] " | "[X] ") => ("☑ ", 4),
            None if text.starts_with('[') && !is_complete => return None,
            _ => ("• ", 0),
        };
        Some(Self::Item { indent: indent.min(INDENT_MAX), mark: mark.into(), text_at: text_at + box_length })
    }

    fn numbered(rest: &str, indent: usize) -> Option<Self> {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > NUMBER_DIGITS_MAX {
            return Some(Self::Paragraph);
        }
        let mut behind = rest[digits..].chars();
        match (behind.next(), behind.next()) {
            (None, _) | (Some('.' | ')'), None) => None,
            (Some('.' | ')'), Some(' ')) => Some(Self::Item {
                indent: indent.min(INDENT_MAX),
                mark: rest[..digits + 2].into(),
                text_at: indent + digits + 2,
            }),
            _ => Some(Self::Paragraph),
        }
    }
}

/// Whether the line closes the code block. None while that is open.
pub(super) fn fence_end(fence: Fence, line: &str, is_complete: bool) -> Option<bool> {
    let rest = line.trim_matches(' ');
    let only_marks = rest.chars().all(|c| c == fence.mark);
    if !only_marks {
        return Some(false);
    }
    is_complete.then(|| rest.chars().count() >= fence.length)
}
