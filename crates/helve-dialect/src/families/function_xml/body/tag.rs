//! One tag: what element it is, whose name it carries, and what it says about its value.

use std::borrow::Cow;

use super::value::is_tokenizer_residue;
use super::{Element, Spelling, TagGrammar};
use crate::ascii;
use helve_json::byte_search::{ByteSet, all_but};

/// A tag of the grammar, or of something else where `kind` is missing.
pub(crate) struct Tag<'t> {
    pub(crate) kind: Option<Element>,
    pub(crate) namespace: &'static str,
    pub(crate) element: &'t str,
    /// What a colon parts from the element, where elements are suffixed.
    pub(crate) suffix: &'t str,
    pub(crate) closes: bool,
    /// It closes itself.
    pub(crate) empty: bool,
    pub(crate) label: Option<Cow<'t, str>>,
    /// An equals sign right behind the element gives the label, and no attribute does.
    pub(crate) assigned: bool,
    pub(crate) typing: Option<Typing>,
}

/// What a tag says about the value it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typing {
    Text,
    /// JSON, or what Python writes for it where it begins with one of these characters.
    Json(&'static str),
}

/// Reads a whole tag, from its first bracket to its last.
pub(crate) fn parse<'t>(grammar: &TagGrammar, raw: &'t str) -> Tag<'t> {
    parse_plain(grammar, raw).unwrap_or_else(|| parse_any(grammar, raw))
}

/// What most tags are: a name that the grammar knows in angles, and nothing else.
#[inline]
fn parse_plain<'t>(grammar: &TagGrammar, raw: &'t str) -> Option<Tag<'t>> {
    let inner = raw.strip_prefix("<")?.strip_suffix(">")?;
    let closing = inner.strip_prefix("/");
    let element = closing.unwrap_or(inner);
    let (_, kind) = grammar.elements.iter().find(|(name, _)| *name == element)?;
    let (kind, closes) = (Some(*kind), closing.is_some());
    Some(Tag {
        kind,
        namespace: "",
        element,
        suffix: "",
        closes,
        empty: false,
        label: None,
        assigned: false,
        typing: None,
    })
}

fn parse_any<'t>(grammar: &TagGrammar, raw: &'t str) -> Tag<'t> {
    let (inner, closes) = match grammar.spelling {
        Spelling::Angles => {
            let inner = raw.strip_prefix("<").unwrap_or(raw);
            let inner = match inner.strip_suffix(">") {
                Some(inner) if grammar.barred => inner.strip_suffix(BARS).unwrap_or(inner),
                Some(inner) => inner,
                None if grammar.barred => inner.strip_suffix(BARS).unwrap_or(raw),
                None => raw,
            };
            let inner = ascii::trim(inner);
            let closing = inner.strip_prefix("/");
            (closing.unwrap_or(inner), closing.is_some())
        }
        Spelling::Tokens => {
            let inner = raw.strip_suffix(Spelling::SEPARATOR).unwrap_or(raw);
            let closing = inner.strip_prefix(Spelling::CLOSE);
            (closing.or_else(|| inner.strip_prefix(Spelling::OPEN)).unwrap_or(inner), closing.is_some())
        }
    };
    let (inner, empty) = match inner.strip_suffix("/") {
        Some(inner) => (ascii::trim(inner), true),
        None => (ascii::trim(inner), false),
    };
    let namespace = grammar.namespaces.iter().find(|namespace| inner.starts_with(**namespace));
    let namespace = namespace.copied().unwrap_or("");
    let inner = ascii::trim_start(&inner[namespace.len()..]);
    let (kind, element, attributes) = parse_element(grammar, inner);
    let (element, suffix) = match grammar.suffixed {
        true => element.split_once(':').unwrap_or((element, "")),
        false => (element, ""),
    };
    let (label, assigned, typing) = (None, false, None);
    let mut tag = Tag { kind, namespace, element, suffix, closes, empty, label, assigned, typing };
    if !attributes.is_empty() {
        tag.read_attributes(attributes, grammar.spelling);
    }
    tag
}

/// The element that a tag begins with, its suffix included, and what stands behind it.
#[inline(always)]
fn parse_element<'t>(grammar: &TagGrammar, inner: &'t str) -> (Option<Element>, &'t str, &'t str) {
    let first = inner.as_bytes().first();
    for (name, kind) in grammar.elements {
        // Mostly a name that is known stands there, and a plain separator behind it.
        if name.as_bytes().first() == first
            && let Some(rest) = inner.strip_prefix(name)
            && matches!(rest.as_bytes().first(), None | Some(b' ' | b'='))
        {
            return (Some(*kind), &inner[..name.len()], rest);
        }
    }
    let end = ascii::find_char(inner, |c| c == '=' || is_separator(c)).unwrap_or(inner.len());
    let (element, attributes) = inner.split_at(end);
    let bare = match grammar.suffixed {
        true => element.split(':').next().unwrap_or(element),
        false => element,
    };
    let known = grammar.elements.iter().find(|(name, _)| *name == bare);
    (known.map(|(_, kind)| *kind), element, attributes)
}

impl<'t> Tag<'t> {
    /// Whether a parameter's element is spelt out.
    pub(crate) fn is_spelt_out(&self) -> bool {
        self.element == "parameter"
    }

    /// What stands before the element's name, without its bars.
    pub(crate) fn prefix(&self) -> &'static str {
        self.namespace.trim_matches(['｜', '|', '‖'])
    }

    /// Takes what the attributes say: a name, and what the value is.
    fn read_attributes(&mut self, attributes: &'t str, spelling: Spelling) {
        let known = Attributes::read_all(attributes);
        let assigned = ascii::trim_start(attributes).strip_prefix("=");
        self.assigned = assigned.is_some();
        let label = match assigned {
            Some(value) => Some(Cow::Borrowed(strip_quotes(ascii::trim(value)))),
            None => known.label_attribute().map(|label| match spelling {
                Spelling::Angles => Cow::Borrowed(label),
                Spelling::Tokens => Cow::Owned(label.replace("&quot;", "\"").replace("&amp;", "&")),
            }),
        };
        self.label = label.filter(|label| !label.is_empty());
        self.typing = match (known.string, known.kind) {
            (Some("true"), _) | (None, Some("string")) => Some(Typing::Text),
            (Some("false"), _) => Some(Typing::Json("{[TFN")),
            (None, Some(kind)) => Some(Typing::Json(match kind {
                "object" => "{",
                "array" => "[",
                "boolean" => "TF",
                "null" => "N",
                _ => "",
            })),
            _ => None,
        };
    }
}

/// Whether the character parts attributes.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || is_tokenizer_residue(c)
}

/// The attributes that mean something.
#[derive(Default)]
struct Attributes<'t> {
    name: Option<&'t str>,
    tool: Option<&'t str>,
    key: Option<&'t str>,
    string: Option<&'t str>,
    kind: Option<&'t str>,
}

impl<'t> Attributes<'t> {
    fn read_all(text: &'t str) -> Self {
        let mut read = Self::default();
        let mut rest = text;
        while let Some((key, value, after)) = split_attribute(rest) {
            let slot = match key {
                "name" => &mut read.name,
                "tool" => &mut read.tool,
                "key" => &mut read.key,
                "string" => &mut read.string,
                "type" => &mut read.kind,
                _ => &mut None,
            };
            slot.get_or_insert(value);
            rest = after;
        }
        read
    }

    fn label_attribute(&self) -> Option<&'t str> {
        self.name.or(self.tool).or(self.key)
    }
}

/// The first attribute, its value, and what follows.
fn split_attribute(text: &str) -> Option<(&str, &str, &str)> {
    let rest = &text[ascii::find_char(text, |c| !is_separator(c))?..];
    let (key, value) = ascii::split_once(rest, b'=')?;
    let value = ascii::trim_start(value);
    let (value, after) = match value.chars().next()? {
        quote @ ('"' | '\'') => ascii::split_once(&value[1..], quote as u8).unwrap_or((&value[1..], "")),
        _ => {
            let end = ascii::find_char(value, char::is_whitespace).unwrap_or(value.len());
            value.split_at(end)
        }
    };
    Some((ascii::trim(key), value, after))
}

fn strip_quotes(text: &str) -> &str {
    ["\"", "'"].iter().find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q)).unwrap_or(text)
}

/// What one more character makes of the beginning of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grows {
    /// It may become one.
    On,
    Whole,
    /// It was whole without this character.
    Before,
    /// It is none, nor can it become one with this character.
    Never,
}

/// No tag is longer.
pub(crate) const TAG_MAX: usize = 256;

/// What may end a tag in place of a bracket.
const BARS: [char; 2] = ['|', '｜'];

/// Whether the text ends with a bar.
pub(crate) fn ends_with_bar(text: &str) -> bool {
    matches!(text.as_bytes(), [.., b'|'] | [.., WIDE_BAR, 0xBD, 0x9C])
}

/// Whether the beginning ends with a bar behind its element, outside quotes.
fn ends_with_bar_after_element(grammar: &TagGrammar, beginning: &str) -> bool {
    let Some(inner) = beginning.strip_suffix(BARS).and_then(|rest| rest.strip_prefix('<')) else {
        return false;
    };
    let inner = inner.trim_start().trim_start_matches('/');
    let bare = grammar.namespaces.iter().find_map(|namespace| inner.strip_prefix(namespace));
    bare.is_some_and(|bare| !bare.trim().is_empty() && bare.matches('"').count() % 2 == 0)
}

/// Bytes inside a tag in angles that decide nothing. Brackets do, and bars where one may stand for a bracket.
static INSIDE: ByteSet = all_but(&[b'<', b'>', b'|', WIDE_BAR]);

/// The first byte of the wide bar.
const WIDE_BAR: u8 = 0xEF;

/// How much of the text a beginning of this length takes in, up to where it may be decided what becomes of it.
pub(crate) fn undecided_length(beginning: usize, text: &str) -> usize {
    let room = TAG_MAX.saturating_sub(beginning).min(text.len());
    let decides = text.as_bytes()[..room].iter().position(|byte| !INSIDE[*byte as usize]);
    // The last character may pass the limit, but does not begin behind it.
    decides.unwrap_or_else(|| text.ceil_char_boundary(room))
}

/// Judges a beginning with one more character.
pub(crate) fn judge_next_char(grammar: &TagGrammar, beginning: &str, c: char) -> Grows {
    match grammar.spelling {
        Spelling::Angles => match c {
            '>' => Grows::Whole,
            _ if grammar.barred && ends_with_bar_after_element(grammar, beginning) => Grows::Before,
            '<' => Grows::Never,
            _ if beginning.len() >= TAG_MAX => Grows::Never,
            _ => Grows::On,
        },
        Spelling::Tokens => {
            let (last, before) = match beginning.rfind('<') {
                Some(0) | None => (beginning, ""),
                Some(at) => (&beginning[at..], &beginning[..at]),
            };
            let fits = |mark: &str| mark.strip_prefix(last).is_some_and(|rest| rest.starts_with(c));
            if before.is_empty() && !last.ends_with("|>") && !begins_with_token(last) {
                return if fits(Spelling::OPEN) || fits(Spelling::CLOSE) { Grows::On } else { Grows::Never };
            }
            if before.is_empty() {
                return if beginning.len() >= TAG_MAX { Grows::Never } else { Grows::On };
            }
            match fits(Spelling::SEPARATOR) {
                true if last.len() + 1 == Spelling::SEPARATOR.len() => Grows::Whole,
                true => Grows::On,
                false => Grows::Never,
            }
        }
    }
}

/// Whether what is no tag was meant as one: it begins with a name as a tag does.
pub(crate) fn was_meant_as_tag(grammar: &TagGrammar, raw: &str) -> bool {
    match grammar.spelling {
        Spelling::Tokens => begins_with_token(raw),
        Spelling::Angles => {
            let name = raw.strip_prefix('<').unwrap_or(raw);
            let name = name.strip_prefix('/').unwrap_or(name);
            let begins = |known: &str| name.trim_start().starts_with(known);
            name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                || grammar.namespaces.iter().any(|namespace| begins(namespace))
                || grammar.elements.iter().any(|(element, _)| begins(element))
        }
    }
}

/// Whether a beginning at which the message ends may be that of a tag of the grammar.
#[cold]
pub(crate) fn may_begin_tag(grammar: &TagGrammar, beginning: &str) -> bool {
    let names = |inner: &str| {
        let inner = inner.split('<').next().unwrap_or("").trim_start();
        let inner = if grammar.barred { inner.trim_end_matches(BARS) } else { inner };
        let spaced = grammar.namespaces.iter().any(|namespace| namespace.starts_with(inner));
        let namespace = grammar.namespaces.iter().find_map(|namespace| inner.strip_prefix(namespace));
        let inner = namespace.unwrap_or(inner).trim_start();
        let (kind, _, attributes) = parse_element(grammar, inner);
        let begun = || grammar.elements.iter().any(|(name, _)| name.starts_with(inner));
        spaced || kind.is_some() || attributes.is_empty() && begun()
    };
    let marks = match grammar.spelling {
        Spelling::Angles => &["</", "<"],
        Spelling::Tokens => &[Spelling::CLOSE, Spelling::OPEN],
    };
    let begins =
        |mark: &&str| mark.starts_with(beginning) || beginning.strip_prefix(*mark).is_some_and(names);
    marks.iter().any(begins)
}

fn begins_with_token(text: &str) -> bool {
    text.starts_with(Spelling::OPEN) || text.starts_with(Spelling::CLOSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::channels::kimi_k3;
    use crate::families::function_xml::{dots, minicpm5, qwen3_coder};

    fn check(grammar: &TagGrammar, raw: &str, expected: (&str, bool, Option<&str>)) {
        let tag = parse(grammar, raw);
        assert_eq!((tag.element, tag.closes, tag.label.as_deref()), expected, "{raw}");
    }

    #[test]
    fn tags_are_read_in_every_spelling() {
        check(&qwen3_coder::GRAMMAR, "<function=get_weather>", ("function", false, Some("get_weather")));
        check(&qwen3_coder::GRAMMAR, "< parameter = \"k\" >", ("parameter", false, Some("k")));
        check(&qwen3_coder::GRAMMAR, "</parameter>", ("parameter", true, None));
        check(&dots::TAGS, "<invoke name='f'>", ("invoke", false, Some("f")));
        check(&dots::TAGS, "<invoke name=f>", ("invoke", false, Some("f")));
        check(&minicpm5::GRAMMAR, "<functionname=\"f\">", ("functionname", false, Some("f")));
        check(&minicpm5::GRAMMAR, "<functionĠname=\"f\">", ("function", false, Some("f")));
        check(
            &kimi_k3::GRAMMAR,
            "<|open|> call tool=\"a&amp;b\" index=\"1\" <|sep|>",
            ("call", false, Some("a&b")),
        );
        check(&kimi_k3::GRAMMAR, "<|close|>call<|sep|>", ("call", true, None));
    }
    #[test]
    fn what_decides_nothing_is_taken_in_one_go() {
        let checks = [
            (1, "", 0),
            (1, "ab", 2),
            (1, "ab>c", 2),
            (1, "é<", 2),
            (1, "a|b", 1),
            (1, "a｜b", 1),
            (TAG_MAX - 1, "abc", 1),
            (TAG_MAX - 1, "éa", 2),
            (TAG_MAX - 2, "a€>", 4),
            (TAG_MAX, "a", 0),
            (TAG_MAX + 1, "a", 0),
        ];
        for (beginning, text, expected) in checks {
            assert_eq!(undecided_length(beginning, text), expected, "{text:?} behind {beginning}");
        }
    }
}
