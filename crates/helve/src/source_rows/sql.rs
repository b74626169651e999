//! The little SQL that a dump consists of, read as data: nothing of it is ever run.

use std::io::{self, BufRead};

use serde_json::{Value, json};

use super::KEPT_BYTES_MAX;
use crate::i18n::tr;

/// So much of a statement is looked at to decide whether it matters.
const LOOKED_AT: usize = 256;

/// A statement, without its semicolon.
pub(super) struct Statement {
    pub(super) line: u64,
    /// Its first bytes only if it does not matter.
    pub(super) text: String,
}

/// Reads statements one after the other, and lines of data between them.
pub(super) struct SqlReader<R> {
    from: R,
    line: u64,
}

/// Inside what the reader is.
#[derive(PartialEq)]
enum Within {
    Plain,
    /// `'…'` or `E'…'`, and whether the byte before was a backslash that escapes.
    Text {
        has_escapes: bool,
        is_escaped: bool,
    },
    Name,
    /// `$tag$…$tag$`
    Dollar(Vec<u8>),
    LineComment,
    BlockComment(u32),
}

impl<R: BufRead> SqlReader<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, line: 1 }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.from.fill_buf()?.first().copied())
    }

    fn next(&mut self) -> io::Result<Option<u8>> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.from.consume(1);
        }
        self.line += u64::from(byte == Some(b'\n'));
        Ok(byte)
    }

    /// The next statement. Of those that do not matter only the beginning is kept, however long they are.
    pub(super) fn next_statement(
        &mut self,
        matters: impl Fn(&str) -> bool,
    ) -> anyhow::Result<Option<Statement>> {
        let mut text: Vec<u8> = vec![];
        let (mut within, mut line, mut is_kept) = (Within::Plain, self.line, true);
        // The end of a statement that may still become `$tag$`.
        let mut tail: Vec<u8> = vec![];
        while let Some(byte) = self.next()? {
            if text.is_empty() && within == Within::Plain {
                if byte.is_ascii_whitespace() || byte == b';' {
                    line = self.line;
                    continue;
                }
                if byte == b'\\' {
                    // A command of psql.
                    self.skip_line()?;
                    line = self.line;
                    continue;
                }
            }
            let next = self.peek()?;
            if within == Within::Plain && byte == b';' {
                return Ok(Some(Statement { line, text: into_text(text) }));
            }
            let is_comment = matches!(within, Within::LineComment | Within::BlockComment(_))
                || within == Within::Plain && matches!((byte, next), (b'-', Some(b'-')) | (b'/', Some(b'*')));
            within = self.step(within, byte, next, &mut tail)?;
            if !is_kept || is_comment && text.is_empty() {
                continue;
            }
            if text.is_empty() {
                line = self.line;
            }
            text.push(if is_comment { b' ' } else { byte });
            if text.len() == LOOKED_AT {
                is_kept = matters(&into_text(text.clone()));
            }
            if text.len() > KEPT_BYTES_MAX {
                anyhow::bail!(tr!(
                    "line {line}: the statement has more than {max} MiB; make the dump without --rows-per-insert",
                    line = line,
                    max = KEPT_BYTES_MAX >> 20
                ));
            }
        }
        if within != Within::Plain && within != Within::LineComment {
            anyhow::bail!(tr!("line {line}: the dump ends in the middle of a statement", line = line));
        }
        let text = into_text(text);
        Ok((!text.trim().is_empty()).then_some(Statement { line, text }))
    }

    fn step(&mut self, within: Within, byte: u8, next: Option<u8>, tail: &mut Vec<u8>) -> io::Result<Within> {
        Ok(match within {
            Within::Plain => {
                let entered = enter(byte, next, tail);
                if let Within::BlockComment(_) = entered {
                    self.next()?;
                }
                match entered {
                    Within::Plain => {
                        keep_tail(tail, byte);
                        Within::Plain
                    }
                    other => {
                        tail.clear();
                        other
                    }
                }
            }
            Within::Text { has_escapes, is_escaped: true } => Within::Text { has_escapes, is_escaped: false },
            Within::Text { has_escapes: true, .. } if byte == b'\\' => {
                Within::Text { has_escapes: true, is_escaped: true }
            }
            Within::Text { has_escapes, .. } if byte == b'\'' => {
                // A quote that follows at once is one in the text, and the rest is as it was.
                tail.extend(has_escapes.then_some(b'E'));
                Within::Plain
            }
            Within::Name if byte == b'"' => Within::Plain,
            Within::LineComment if byte == b'\n' => Within::Plain,
            Within::BlockComment(depth) if byte == b'*' && next == Some(b'/') => {
                self.next()?;
                if depth == 1 { Within::Plain } else { Within::BlockComment(depth - 1) }
            }
            Within::BlockComment(depth) if byte == b'/' && next == Some(b'*') => {
                self.next()?;
                Within::BlockComment(depth + 1)
            }
            Within::Dollar(tag) => {
                tail.push(byte);
                if tail.len() > tag.len() {
                    tail.remove(0);
                }
                if *tail == tag {
                    tail.clear();
                    Within::Plain
                } else {
                    Within::Dollar(tag)
                }
            }
            same => same,
        })
    }

    /// One line of data; none at the end. Longer than the bound is an error, unless it is not kept.
    pub(super) fn data_line(&mut self, is_kept: bool) -> anyhow::Result<Option<Vec<u8>>> {
        let mut line = vec![];
        let (mut is_first, at) = (true, self.line);
        loop {
            let piece = self.from.fill_buf()?;
            if piece.is_empty() {
                return Ok((!is_first).then_some(line));
            }
            is_first = false;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let used = end.unwrap_or(piece.len());
            // Enough to see `\.`, and no more of what is not kept.
            let kept = if is_kept { used } else { used.min(3_usize.saturating_sub(line.len())) };
            line.extend_from_slice(&piece[..kept]);
            self.from.consume(used + usize::from(end.is_some()));
            if line.len() > KEPT_BYTES_MAX {
                anyhow::bail!(tr!(
                    "line {line}: the row has more than {max} MiB",
                    line = at,
                    max = KEPT_BYTES_MAX >> 20
                ));
            }
            if end.is_some() {
                self.line += 1;
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Some(line));
            }
        }
    }

    pub(super) fn line(&self) -> u64 {
        self.line
    }

    fn skip_line(&mut self) -> anyhow::Result<()> {
        self.data_line(false).map(drop)
    }
}

/// What a byte of plain SQL begins.
fn enter(byte: u8, next: Option<u8>, tail: &[u8]) -> Within {
    match (byte, next) {
        (b'\'', _) => {
            let has_escapes = matches!(tail.last(), Some(b'e' | b'E'));
            Within::Text { has_escapes, is_escaped: false }
        }
        (b'"', _) => Within::Name,
        (b'-', Some(b'-')) => Within::LineComment,
        (b'/', Some(b'*')) => Within::BlockComment(1),
        (b'$', _) => match tail.iter().rposition(|byte| *byte == b'$') {
            Some(begin) if tail[begin + 1..].iter().all(|byte| is_word(*byte)) => {
                let mut tag = tail[begin..].to_vec();
                tag.push(b'$');
                Within::Dollar(tag)
            }
            _ => Within::Plain,
        },
        _ => Within::Plain,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The last bytes, as many as a tag has at most.
fn keep_tail(tail: &mut Vec<u8>, byte: u8) {
    if tail.len() >= 64 {
        tail.remove(0);
    }
    tail.push(byte);
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A piece of a statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SqlToken {
    /// A word, in lower case unless it was quoted.
    Word(String),
    Text(String),
    Number(String),
    Mark(char),
}

/// The pieces of a statement that has ended.
pub(super) fn tokens(text: &str) -> Result<Vec<SqlToken>, String> {
    let mut found = vec![];
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => {}
            '"' => found.push(SqlToken::Word(quoted(&mut rest, '"', false)?)),
            '\'' => found.push(SqlToken::Text(quoted(&mut rest, '\'', false)?)),
            'e' | 'E' if rest.peek() == Some(&'\'') => {
                rest.next();
                found.push(SqlToken::Text(quoted(&mut rest, '\'', true)?));
            }
            c if c.is_alphabetic() || c == '_' => {
                let mut word = c.to_lowercase().to_string();
                while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || *c == '_' || *c == '$') {
                    word.extend(c.to_lowercase());
                }
                found.push(SqlToken::Word(word));
            }
            c if c.is_ascii_digit() || c == '-' || c == '+' => {
                let mut number = c.to_string();
                while let Some(c) = rest.next_if(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E')) {
                    number.push(c);
                }
                found.push(SqlToken::Number(number));
            }
            c => found.push(SqlToken::Mark(c)),
        }
    }
    Ok(found)
}

fn quoted(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    end: char,
    has_escapes: bool,
) -> Result<String, String> {
    let mut text = String::new();
    loop {
        match rest.next() {
            None => return Err(tr!("a text does not end")),
            Some(c) if c == end => {
                if rest.next_if_eq(&end).is_none() {
                    return Ok(text);
                }
                text.push(end);
            }
            Some('\\') if has_escapes => match rest.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('b') => text.push('\u{8}'),
                Some('f') => text.push('\u{c}'),
                Some(c) => text.push(c),
                None => return Err(tr!("a text does not end")),
            },
            Some(c) => text.push(c),
        }
    }
}

/// A field of `COPY … FROM stdin`: none for `\N`.
pub(super) fn copied_field(field: &str) -> Option<String> {
    if field == "\\N" {
        return None;
    }
    let mut text = String::with_capacity(field.len());
    let mut rest = field.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match rest.next() {
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('v') => text.push('\u{b}'),
            Some(c) => text.push(c),
            None => {}
        }
    }
    Some(text)
}

/// `{a,"b c",NULL}` as a list.
pub(super) fn array_value(text: &str) -> Option<Value> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let (mut items, mut item, mut was_quoted) = (vec![], String::new(), false);
    let mut rest = inner.chars();
    let mut is_quoted = false;
    let mut push = |item: &mut String, was_quoted: &mut bool| {
        let text = std::mem::take(item);
        let is_null = !*was_quoted && text.eq_ignore_ascii_case("null");
        items.push(if is_null { Value::Null } else { json!(text) });
        *was_quoted = false;
    };
    while let Some(c) = rest.next() {
        match c {
            '\\' => item.extend(rest.next()),
            '"' => {
                is_quoted = !is_quoted;
                was_quoted = true;
            }
            ',' if !is_quoted => push(&mut item, &mut was_quoted),
            c => item.push(c),
        }
    }
    if !item.is_empty() || was_quoted || !inner.is_empty() {
        push(&mut item, &mut was_quoted);
    }
    Some(Value::Array(items))
}
