//! The head of `SKILL.md`: the part of YAML that people write there.
//!
//! Keys with texts (plain, in quotes, or as a block after `|` or `>`), lists of texts and maps of texts. Anchors, tags and
//! deeper values are no part of the format. What stands under a key that nobody asks for is not read.

use std::collections::BTreeMap;

use helve_types::Notice;

use crate::SkillError;

/// A key with the lines that belong to it.
struct KeyLines<'a> {
    /// The number of its line in the document, from 1.
    line: u64,
    /// What stands behind the colon.
    head: &'a str,
    /// The lines below, until the next key.
    rest: Vec<&'a str>,
}

/// What stands between the two lines `---`, by key.
pub(crate) struct FrontMatter<'a> {
    blocks: BTreeMap<&'a str, KeyLines<'a>>,
}

impl<'a> FrontMatter<'a> {
    /// The front matter of a document, and what follows it.
    pub(crate) fn split(document: &'a str) -> Result<(Self, &'a str), SkillError> {
        let missing = || SkillError::new(crate::SKILL_FILE, Notice::definition_front_matter_missing());
        let document = document.strip_prefix('\u{feff}').unwrap_or(document);
        let mut lines = document.split_inclusive('\n');
        let mut read = lines.next().filter(|line| line.trim_end() == "---").ok_or_else(missing)?.len();
        let (mut blocks, mut number) = (BTreeMap::new(), 1_u64);
        let mut last: Option<&str> = None;
        for whole in lines {
            read += whole.len();
            number += 1;
            let line = whole.trim_end();
            if line == "---" || line == "..." {
                return Ok((Self { blocks }, &document[read..]));
            }
            if line.starts_with('#') {
                continue;
            }
            let begins_key = !line.starts_with([' ', '\t', '-']) && !line.is_empty();
            if !begins_key {
                match last.and_then(|key| blocks.get_mut(key)) {
                    Some(KeyLines { rest, .. }) => rest.push(line),
                    None if line.is_empty() => {}
                    None => return Err(unreadable(number)),
                }
                continue;
            }
            let (key, head) = split_key(line).ok_or_else(|| unreadable(number))?;
            if blocks.insert(key, KeyLines { line: number, head, rest: vec![] }).is_some() {
                return Err(SkillError::new(key, Notice::definition_key_twice(key)));
            }
            last = Some(key);
        }
        Err(missing())
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.blocks.keys().copied()
    }

    /// The text of a key; none if the key is not there or says nothing.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, SkillError> {
        let Some(block) = self.blocks.get(key) else { return Ok(None) };
        read_text(block.head, &block.rest).ok_or_else(|| unreadable(block.line))
    }

    /// A list, or a text with blanks or commas between its items.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<String>, SkillError> {
        let Some(block) = self.blocks.get(key) else { return Ok(vec![]) };
        read_list(block).ok_or_else(|| unreadable(block.line))
    }

    /// A map of texts. A deeper value is the text that it is written as.
    pub(crate) fn map(&self, key: &str) -> Result<BTreeMap<String, String>, SkillError> {
        let Some(block) = self.blocks.get(key) else { return Ok(BTreeMap::new()) };
        read_map(block).ok_or_else(|| unreadable(block.line))
    }
}

fn unreadable(line: u64) -> SkillError {
    SkillError::new(crate::SKILL_FILE, Notice::definition_front_matter_unreadable(line))
}

/// `key: value`.
fn split_key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '/');
    let key = key.trim_matches(['"', '\'']);
    let fits =
        !key.is_empty() && key.chars().all(is_plain) && (value.is_empty() || value.starts_with([' ', '\t']));
    fits.then_some((key, value.trim()))
}

/// None where it cannot be read; nothing where it says nothing.
fn read_text(head: &str, rest: &[&str]) -> Option<Option<String>> {
    let first = head.chars().next();
    match first {
        Some('|' | '>') => return read_block_text(head, rest).map(Some),
        Some('"' | '\'') => {
            let folded = fold(head, rest);
            return unquote(&folded).map(Some);
        }
        Some('&' | '*' | '!' | '@' | '`' | '%' | '{' | '[') => return None,
        _ => {}
    }
    let text = fold(&without_comment(head), rest);
    Some(Some(text).filter(|text| !matches!(text.as_str(), "" | "~" | "null")))
}

/// Lines of one text, with blanks between them; an empty line begins a new one.
fn fold(head: &str, rest: &[&str]) -> String {
    let mut text = head.trim().to_owned();
    for line in rest.iter().map(|line| line.trim()) {
        match line {
            "" => text.push('\n'),
            line => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push(' ');
                }
                text.push_str(line);
            }
        }
    }
    text.trim_end().to_owned()
}

fn without_comment(text: &str) -> String {
    if text.starts_with('#') {
        return String::new();
    }
    text.split(" #").next().unwrap_or_default().trim().to_owned()
}

/// A block after `|`, whose lines stay lines, or after `>`, whose lines become one.
fn read_block_text(head: &str, rest: &[&str]) -> Option<String> {
    let mark = without_comment(head);
    if !matches!(mark.as_str(), "|" | "|-" | "|+" | ">" | ">-" | ">+") {
        return None;
    }
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let margin = rest.iter().filter(|line| !line.is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    let lines = rest.iter().map(|line| line.get(margin..).unwrap_or_default());
    let text = match mark.starts_with('|') {
        true => lines.collect::<Vec<_>>().join("\n"),
        false => fold("", &lines.collect::<Vec<_>>()),
    };
    Some(text.trim_end().to_owned())
}

/// A text in quotes, which end it.
fn unquote(text: &str) -> Option<String> {
    let mut chars = text.chars();
    let quote = chars.next()?;
    let mut read = String::new();
    loop {
        match chars.next()? {
            c if c == quote && quote == '\'' && chars.as_str().starts_with('\'') => {
                chars.next();
                read.push('\'');
            }
            c if c == quote => break,
            '\\' if quote == '"' => read.push(unescape(&mut chars)?),
            c => read.push(c),
        }
    }
    let rest = chars.as_str().trim_start();
    (rest.is_empty() || rest.starts_with('#')).then_some(read)
}

fn unescape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '0' => '\0',
        'x' => read_hex(chars, 2).and_then(char::from_u32)?,
        'u' => {
            let high = read_hex(chars, 4)?;
            if !(0xd800..0xdc00).contains(&high) {
                return char::from_u32(high);
            }
            let (Some('\\'), Some('u')) = (chars.next(), chars.next()) else { return None };
            let low = read_hex(chars, 4).filter(|low| (0xdc00..0xe000).contains(low))?;
            char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?
        }
        'U' => read_hex(chars, 8).and_then(char::from_u32)?,
        c @ ('"' | '\\' | '/' | ' ') => c,
        _ => return None,
    })
}

fn read_hex(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<u32> {
    (0..digits).try_fold(0_u32, |value, _| Some(value.checked_mul(16)? + chars.next()?.to_digit(16)?))
}

fn read_list(block: &KeyLines<'_>) -> Option<Vec<String>> {
    let head = without_comment(block.head);
    if let Some(inside) = head.strip_prefix('[') {
        let items = inside.strip_suffix(']')?.split(',').map(str::trim).filter(|item| !item.is_empty());
        return items.map(read_item).collect();
    }
    if head.is_empty() {
        let items = block
            .rest
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        return items.map(|line| read_item(line.strip_prefix('-')?.trim())).collect();
    }
    let text = read_text(block.head, &block.rest)?.unwrap_or_default();
    let separator = |c: char| c == ',' || (c.is_whitespace() && !text.contains(','));
    Some(text.split(separator).map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
}

fn read_item(item: &str) -> Option<String> {
    read_text(item, &[]).map(Option::unwrap_or_default)
}

fn read_map(block: &KeyLines<'_>) -> Option<BTreeMap<String, String>> {
    if matches!(without_comment(block.head).as_str(), "{}" | "~" | "null") {
        return Some(BTreeMap::new());
    }
    if !without_comment(block.head).is_empty() {
        return None;
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines =
        block.rest.iter().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#')).peekable();
    let margin = lines.peek().map_or(0, |line| indent(line));
    let mut map = BTreeMap::new();
    while let Some(line) = lines.next() {
        if indent(line) != margin || margin == 0 {
            return None;
        }
        let (key, head) = split_key(line.trim())?;
        let mut deeper = vec![];
        while let Some(line) = lines.next_if(|line| indent(line) > margin) {
            deeper.push(*line);
        }
        let is_nested = head.is_empty() || head.starts_with(['{', '[']);
        let text = match is_nested {
            true => {
                let nested = deeper.iter().map(|line| line.get(margin..).unwrap_or_default());
                std::iter::once(head)
                    .filter(|head| !head.is_empty())
                    .chain(nested)
                    .collect::<Vec<_>>()
                    .join("\n")
            }
            false => read_text(head, &deeper)?.unwrap_or_default(),
        };
        if map.insert(key.to_owned(), text).is_some() {
            return None;
        }
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(yaml: &str) -> Result<Option<String>, String> {
        let document = format!("---\n{yaml}\n---\nbody");
        let (matter, body) = FrontMatter::split(&document).map_err(|error| error.problem.code)?;
        assert_eq!(body, "body");
        matter.text("key").map_err(|error| error.problem.code)
    }

    #[test]
    fn texts_are_read_as_people_write_them() {
        for (yaml, read) in [
            ("key: Fills in forms.", "Fills in forms."),
            ("key:   spaced out   # why", "spaced out"),
            ("key: Use it for: forms, C#, a#b", "Use it for: forms, C#, a#b"),
            ("key: \"a \\\"b\\\" \\u4e2d \\ud83d\\ude42\\n\" # why", "a \"b\" 中 🙂\n"),
            ("key: 'it''s # not a comment'", "it's # not a comment"),
            ("key: one\n  two\n  three", "one two three"),
            ("key: >-\n  one\n  two\n\n  three\nother: x", "one two\nthree"),
            ("key: |\n  one\n    two\n\n  three", "one\n  two\n\nthree"),
            ("key: \"one\n  two\"", "one two"),
            ("\"key\": 表格\n# why\nother: 1", "表格"),
            ("other:\n  deep:\n    - {a: &x 1}\nkey: 1.0", "1.0"),
        ] {
            assert_eq!(text(yaml), Ok(Some(read.into())), "{yaml}");
        }
        for yaml in ["key:", "key: ~", "key: null", "key: # nothing", "other: 1"] {
            assert_eq!(text(yaml), Ok(None), "{yaml}");
        }
        for yaml in [
            "key: \"open",
            "key: 'open",
            "key: \"\\q\"",
            "key: \"a\" b",
            "key: &a x",
            "key: !!str x",
            "key: {a: b}",
            "key: |9\n  x",
            "no colon",
            "key:x",
            "  indented: 1",
            "key: \"\\ud83d\"",
            "- a",
        ] {
            assert_eq!(text(yaml), Err("definition_front_matter_unreadable".into()), "{yaml}");
        }
        assert_eq!(text("key: 1\nkey: 2"), Err("definition_key_twice".into()));
    }

    #[test]
    fn lists_and_maps_are_read() {
        for yaml in [
            "[read, \"write\"]",
            "read write",
            "read, write",
            "\n  - read\n  # why\n  - 'write'",
            "\n- read\n- write",
        ] {
            let document = format!("---\nkey: {yaml}\n---\n");
            let (matter, _) = FrontMatter::split(&document).unwrap();
            assert_eq!(matter.list("key").unwrap(), ["read", "write"], "{yaml}");
        }
        let document = "---\nkey:\n  author: \"mei\"\n  version: 1.0\n  deep:\n    a: b\n---\n";
        let (matter, _) = FrontMatter::split(document).unwrap();
        let map = matter.map("key").unwrap();
        assert_eq!(
            (map["author"].as_str(), map["version"].as_str(), map["deep"].as_str()),
            ("mei", "1.0", "  a: b")
        );
        for yaml in ["text", "\n  a: 1\n  a: 2", "\n  - a", "\n    a: 1\n  b: 2"] {
            let document = format!("---\nkey: {yaml}\n---\n");
            let (matter, _) = FrontMatter::split(&document).unwrap();
            assert!(matter.map("key").is_err(), "{yaml}");
        }
    }

    #[test]
    fn a_document_without_front_matter_is_refused() {
        for document in ["", "# Title", "---\nname: x", "----\nname: x\n----\n", "\n---\nname: x\n---\n"] {
            let error = FrontMatter::split(document).err().unwrap();
            assert_eq!(error.problem.code, "definition_front_matter_missing", "{document}");
        }
        let (matter, body) = FrontMatter::split("\u{feff}---\r\nkey: x\r\n---\r\nbody\r\n").unwrap();
        assert_eq!((matter.text("key").unwrap().unwrap().as_str(), body), ("x", "body\r\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "(---\n)?[-a-z:#|>\"'\\\\\\[\\] \t\n中]{0,80}(\n---\n)?.{0,10}") {
            if let Ok((matter, _)) = FrontMatter::split(&text) {
                for key in matter.keys().collect::<Vec<_>>() {
                    _ = (matter.text(key), matter.list(key), matter.map(key));
                }
            }
        }
    }
}
