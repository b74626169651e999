//! One tag: what element it is, whose name it carries, and what it says about its value.

use std::borrow::Cow;

use super::{Element, Spelling, TagGrammar};

/// A tag of the grammar, or of something else where `kind` is missing.
pub(super) struct Tag<'t> {
    pub(super) kind: Option<Element>,
    pub(super) namespace: &'static str,
    pub(super) element: &'t str,
    pub(super) closes: bool,
    /// It closes itself.
    pub(super) empty: bool,
    pub(super) label: Option<Cow<'t, str>>,
    pub(super) typing: Option<Typing>,
}

/// What a tag says about the value it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typing {
    Text,
    Json,
}

/// Reads a whole tag, from its first bracket to its last.
pub(super) fn parse<'t>(grammar: &TagGrammar, raw: &'t str) -> Tag<'t> {
    let (inner, closes) = match grammar.spelling {
        Spelling::Angles => {
            let inner = raw.strip_prefix('<').unwrap_or(raw);
            let inner = match inner.strip_suffix('>') {
                Some(inner) if grammar.barred => inner.strip_suffix(BARS).unwrap_or(inner),
                Some(inner) => inner,
                None if grammar.barred => inner.strip_suffix(BARS).unwrap_or(raw),
                None => raw,
            };
            let inner = inner.trim();
            (inner.strip_prefix('/').unwrap_or(inner), inner.starts_with('/'))
        }
        Spelling::Tokens => {
            let inner = raw.strip_suffix(Spelling::SEPARATOR).unwrap_or(raw);
            let closing = inner.strip_prefix(Spelling::CLOSE);
            (closing.or_else(|| inner.strip_prefix(Spelling::OPEN)).unwrap_or(inner), closing.is_some())
        }
    };
    let kind_of =
        |element: &str| grammar.elements.iter().find(|(name, _)| *name == element).map(|(_, kind)| *kind);
    if let Some(kind) = kind_of(inner) {
        // What most tags are: a name, and nothing else.
        return Tag {
            kind: Some(kind),
            namespace: "",
            element: inner,
            closes,
            empty: false,
            label: None,
            typing: None,
        };
    }
    let (inner, empty) = match inner.strip_suffix('/') {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let inner = inner.trim();
    let namespace = grammar.namespaces.iter().find(|namespace| inner.starts_with(**namespace));
    let namespace = namespace.copied().unwrap_or("");
    let inner = inner[namespace.len()..].trim_start();
    let end = inner.find(|c: char| c.is_whitespace() || matches!(c, '=' | RESIDUE)).unwrap_or(inner.len());
    let (element, attributes) = inner.split_at(end);
    let element = match grammar.suffixed {
        true => element.split(':').next().unwrap_or(element),
        false => element,
    };
    let kind = kind_of(element);
    let known = Attributes::read(attributes);
    let label = match attributes.trim_start().strip_prefix('=') {
        Some(value) => Some(Cow::Borrowed(unquoted(value.trim()))),
        None => known.label().map(|label| match grammar.spelling {
            Spelling::Angles => Cow::Borrowed(label),
            Spelling::Tokens => Cow::Owned(label.replace("&quot;", "\"").replace("&amp;", "&")),
        }),
    };
    let typing = match (known.string, known.kind) {
        (Some("true"), _) | (None, Some("string")) => Some(Typing::Text),
        (Some("false"), _) | (None, Some(_)) => Some(Typing::Json),
        _ => None,
    };
    Tag { kind, namespace, element, closes, empty, label: label.filter(|label| !label.is_empty()), typing }
}

/// A blank that the tokenizer of some models leaves as it is.
const RESIDUE: char = 'Ġ';

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
    fn read(text: &'t str) -> Self {
        let mut read = Self::default();
        let mut rest = text;
        while let Some((key, value, after)) = attribute(rest) {
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

    fn label(&self) -> Option<&'t str> {
        self.name.or(self.tool).or(self.key)
    }
}

/// The first attribute, its value, and what follows.
fn attribute(text: &str) -> Option<(&str, &str, &str)> {
    let rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == RESIDUE);
    let (key, value) = rest.split_once('=')?;
    let value = value.trim_start();
    let (value, after) = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
        _ => {
            let end = value.find(char::is_whitespace).unwrap_or(value.len());
            value.split_at(end)
        }
    };
    Some((key.trim(), value, after))
}

fn unquoted(text: &str) -> &str {
    ['"', '\''].iter().find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q)).unwrap_or(text)
}

/// What one more character makes of the beginning of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grows {
    /// It may become one.
    On,
    Whole,
    /// It was whole without this character.
    Before,
    /// It is none, nor can it become one with this character.
    Never,
}

/// No tag is longer.
pub(super) const TAG_MAX: usize = 256;

/// What may end a tag in place of a bracket.
pub(super) const BARS: [char; 2] = ['|', '｜'];

/// Whether the beginning ends with a bar behind its element, outside quotes.
fn is_barred(grammar: &TagGrammar, beginning: &str) -> bool {
    let Some(inner) = beginning.strip_suffix(BARS).and_then(|rest| rest.strip_prefix('<')) else {
        return false;
    };
    let inner = inner.trim_start().trim_start_matches('/');
    let bare = grammar.namespaces.iter().find_map(|namespace| inner.strip_prefix(namespace));
    bare.is_some_and(|bare| !bare.trim().is_empty() && bare.matches('"').count() % 2 == 0)
}

/// Judges a beginning with one more character.
pub(super) fn grows(grammar: &TagGrammar, beginning: &str, c: char) -> Grows {
    match grammar.spelling {
        Spelling::Angles => match c {
            '>' => Grows::Whole,
            _ if grammar.barred && is_barred(grammar, beginning) => Grows::Before,
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
            if before.is_empty() && !last.ends_with("|>") && !has_mark(last) {
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

fn has_mark(text: &str) -> bool {
    text.starts_with(Spelling::OPEN) || text.starts_with(Spelling::CLOSE)
}

#[cfg(test)]
mod tests {
    use super::super::{dots, kimi_k3, minicpm5, qwen3_coder};
    use super::*;

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
}
