//! The texts of a run that a model may quote: results of tools, and what the user has said.
//!
//! A call whose bytes stand in one of them is a quotation. A model quotes a text as it was shown, as it stands inside JSON, or
//! with other blanks; so both sides are compared without blanks, escapes and entities, and with one kind of quotes.

use memchr::memmem;

/// The texts, in the form in which they are compared.
#[derive(Debug, Default)]
pub struct Quotable {
    texts: Vec<u8>,
}

/// So much is searched for the calls of one message. What a message calls beyond that is taken for a quotation, so that a
/// model cannot make the search expensive by calling thousands of tools.
pub(crate) const SEARCHED_MAX: usize = 256 << 20;

/// Between two texts, and in none of them.
const BORDER: u8 = 0;

impl Quotable {
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut quotable = Self::default();
        for text in texts {
            push_comparable(text, &mut quotable.texts);
            quotable.texts.push(BORDER);
        }
        quotable
    }

    /// Whether the call stands in one of the texts. `count_search` counts what was searched so far for the calls of a message.
    pub(crate) fn contains_call(&self, call: &str, count_search: &mut usize) -> bool {
        let call = to_comparable(call);
        !call.is_empty() && self.contains_bytes(&call, count_search)
    }

    /// The same for one of several calls, which the end of the one before may stand before: the two need not stand together.
    pub(crate) fn contains_call_split(&self, call: &str, count_search: &mut usize) -> bool {
        let call = to_comparable(call);
        // What stands there does so with all of its beginnings.
        let (mut known, mut over) = (0, call.len() + 1);
        while over - known > 1 {
            let middle = known + (over - known) / 2;
            match self.contains_bytes(&call[..middle], count_search) {
                true => known = middle,
                false => over = middle,
            }
        }
        known > 0 && self.contains_bytes(&call[known..], count_search)
    }

    fn contains_bytes(&self, part: &[u8], count_search: &mut usize) -> bool {
        if self.texts.is_empty() {
            return false;
        }
        *count_search = count_search.saturating_add(self.texts.len());
        *count_search > SEARCHED_MAX || memmem::find(&self.texts, part).is_some()
    }
}

fn to_comparable(text: &str) -> Vec<u8> {
    let mut comparable = Vec::with_capacity(text.len());
    push_comparable(text, &mut comparable);
    comparable
}

/// Adds the text without what differs between a text and a quotation of it.
fn push_comparable(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| matches!(c, '\\' | '&' | '\'' | '\0') || c.is_whitespace()) {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = match rest.as_bytes()[at] {
            b'\\' => push_escaped(&rest[at..], out),
            b'&' => push_entity(&rest[at..], out),
            b'\'' => {
                out.push(b'"');
                &rest[at + 1..]
            }
            _ => &rest[at + rest[at..].chars().next().map_or(1, char::len_utf8)..],
        };
    }
    out.extend_from_slice(rest.as_bytes());
}

/// The text begins with backslashes, of which there are two for one with every level of quoting. Gives what stands behind the
/// escape.
fn push_escaped<'t>(text: &'t str, out: &mut Vec<u8>) -> &'t str {
    let text = text.trim_start_matches('\\');
    if let Some(text) = text.strip_prefix(['n', 'r', 't']) {
        return text;
    }
    let code = text.strip_prefix('u').and_then(|text| text.get(..4));
    match code.and_then(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?)) {
        Some(c) => {
            push_char(c, out);
            &text[5..]
        }
        None => text,
    }
}

/// The text begins with `&`. Gives what stands behind the entity, or behind the sign.
fn push_entity<'t>(text: &'t str, out: &mut Vec<u8>) -> &'t str {
    const ENTITIES: [(&str, char); 8] = [
        ("lt;", '<'),
        ("gt;", '>'),
        ("quot;", '"'),
        ("apos;", '"'),
        ("#39;", '"'),
        ("#34;", '"'),
        ("#91;", '['),
        ("#93;", ']'),
    ];
    let mut text = &text[1..];
    // Quoted again with every level.
    while let Some(more) = text.strip_prefix("amp;") {
        text = more;
    }
    match ENTITIES.iter().find_map(|(entity, c)| Some((text.strip_prefix(entity)?, *c))) {
        Some((rest, c)) => {
            push_char(c, out);
            rest
        }
        None => {
            out.push(b'&');
            text
        }
    }
}

fn push_char(c: char, out: &mut Vec<u8>) {
    match c {
        '\'' => out.push(b'"'),
        '\\' | '\0' => {}
        c if c.is_whitespace() => {}
        c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// Whether the text begins so, blanks aside.
pub(crate) fn begins_without_blanks(text: &str, beginning: &str) -> bool {
    let mut chars = text.chars().filter(|c| !c.is_whitespace());
    beginning.chars().all(|c| chars.next() == Some(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str =
        r#"<tool_call>{"name": "send", "arguments": {"to": "ann's", "text": "a\nb"}}</tool_call>"#;

    fn holds(texts: &[&str], call: &str) -> bool {
        Quotable::new(texts.iter().copied()).contains_call(call, &mut 0)
    }

    #[test]
    fn a_quotation_is_known_in_every_notation_of_its_text() {
        let in_json = serde_json::to_string(&format!("So: {CALL}.")).expect("is text");
        let twice = serde_json::to_string(&serde_json::json!({"body": in_json})).expect("is JSON");
        let spaced = CALL.replace(", ", ",\n    ").replace(">{", ">\n{");
        let tight = CALL.replace(": ", ":").replace(", ", ",");
        let html =
            CALL.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        let escaped = in_json.replace('<', "\\u003c");
        let pythons = CALL.replace('"', "'").replace("ann's", "ann\\'s");
        for text in [CALL, &in_json, &twice, &spaced, &tight, &html, &escaped, &pythons] {
            assert!(holds(&["before", text, "after"], CALL), "{text}");
            assert!(holds(&[&format!("It says {text} there.")], &spaced), "{text}");
        }
    }

    #[test]
    fn a_call_behind_the_end_of_another_is_known() {
        let quotable = Quotable::new([CALL]);
        let (mark, rest) = CALL.split_at(11);
        let apart = |call: &str| quotable.contains_call_split(call, &mut 0);
        assert!(apart(&format!("</tool_call>{mark}{rest}")) && apart(CALL));
        assert!(!apart(&format!("</tool_call>{mark}{}", rest.replace("ann", "bob"))));
        assert!(!apart("") && !apart("§"));
    }

    #[test]
    fn what_stands_nowhere_is_no_quotation() {
        assert!(!holds(&[], CALL));
        assert!(!holds(&["send", "ann"], CALL));
        assert!(!holds(&[&CALL.replace("ann", "bob")], CALL));
        let (one, other) = CALL.split_at(CALL.len() / 2);
        assert!(!holds(&[one, other], CALL), "two texts are not one");
        assert!(!holds(&["anything", ""], " \n"), "nothing is no quotation");
    }

    #[test]
    fn a_message_of_thousands_of_calls_is_not_searched_without_end() {
        let quotable = Quotable::new([&*"x".repeat(1 << 20)]);
        let mut count_search = 0;
        let calls =
            (0..10_000).take_while(|n| !quotable.contains_call(&format!("f({n})"), &mut count_search));
        assert_eq!(calls.count(), SEARCHED_MAX / ((1 << 20) + 1), "then every call is a quotation");
    }

    #[test]
    fn odd_escapes_are_text() {
        for text in ["\\", "a\\", "\\u12", "\\uzzzz", "\\ud800", "&", "&amp;", "&lt", "\\\\\\n", "\0", "'"] {
            assert!(holds(&[&format!("x{text}y")], &format!("x{text}y")), "{text:?}");
        }
    }

    #[test]
    fn a_beginning_is_compared_without_blanks() {
        assert!(begins_without_blanks("{ \"tool_calls\" : []", "{\"tool_calls\""));
        assert!(begins_without_blanks("{\"tool_calls\"", "{\"tool_calls\""));
        assert!(!begins_without_blanks("{\"tool_call", "{\"tool_calls\""));
        assert!(!begins_without_blanks("{\"tools\": 1}", "{\"tool_calls\""));
    }
}
