//! A section of one call, as most are, where it lies before us whole: read in one go, without the state that one in pieces
//! needs.
//!
//! Reads only what is in perfect order. `None` says no more than that the section must be read step by step, by
//! `FramedBody`, which knows what is odd about it, or what is still to come.

use super::{Called, FramedGrammar, HEAD_MAX, Sign};
use crate::Tools;
use crate::calls::{Ends, WholeCall};
use helve_json::byte_search::begins;
use helve_json::skip::{container_end, skip_blanks};

/// Reads it at the position, which is behind the mark of the section.
pub(super) fn read<'t>(
    text: &'t str,
    from: usize,
    grammar: &'static FramedGrammar,
    tools: &Tools,
) -> Option<WholeCall<'t>> {
    let bytes = text.as_bytes();
    let head_at = take(bytes, from, grammar, Sign::Call)?;
    let (head_end, at) = head(bytes, head_at, grammar)?;
    let head = &text[head_at..head_end];
    // Behind an open quote the arguments would be a string.
    if bytes.get(at) != Some(&b'{') || head.ends_with('"') {
        return None;
    }
    let Called::Tool { name, id } = (grammar.name)(head, tools) else { return None };
    let end = container_end(bytes, at, 0)?;
    let over = take(bytes, skip_blanks(bytes, end), grammar, Sign::End)?;
    let over = take(bytes, skip_blanks(bytes, over), grammar, Sign::Close)?;
    Some(WholeCall { id, name: name.into(), arguments: text[at..end].into(), ends: Ends::Closed(over) })
}

/// Where the head ends that begins at the position, and where the arguments begin.
fn head(bytes: &[u8], from: usize, grammar: &FramedGrammar) -> Option<(usize, usize)> {
    let firsts = grammar.signs.iter().fold(0, |set, (sign, _)| set | bit(sign.as_bytes()[0]));
    for at in from..bytes.len().min(from + HEAD_MAX) {
        if bytes[at] == b'{' && grammar.bracket_ends_head {
            return Some((at, at));
        }
        if firsts & bit(bytes[at]) == 0 {
            continue;
        }
        match grammar.signs.iter().find(|(sign, _)| begins(&bytes[at..], sign)) {
            None => {}
            Some((sign, Sign::Arguments)) => return Some((at, skip_blanks(bytes, at + sign.len()))),
            Some(_) => return None,
        }
    }
    None
}

/// A byte's place in a set; two bytes share it.
fn bit(byte: u8) -> u128 {
    1 << (byte & 127)
}

/// Where the text goes on behind a sign at the position that says this.
fn take(bytes: &[u8], at: usize, grammar: &FramedGrammar, says: Sign) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let stands = |(sign, what): &&(&str, Sign)| *what == says && begins(rest, sign);
    grammar.signs.iter().find(stands).map(|(sign, _)| at + sign.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::framed::{deepseek_v3, deepseek_v31, kimi_k2};
    use crate::{Reading, read as read_message};

    fn tools() -> Tools {
        Tools::new([("search".to_owned(), json!({"properties": {"query": {"type": "string"}}}))])
    }

    /// What a section is made of: `(` begins a call, `|` the arguments, `)` ends the call and `]` the section.
    const BITS: &[&str] = &[
        "(search|{}",
        "(f|{\"query\": \"x\"}",
        "(0|{\"query\": \")\"}",
        "(search|",
        "{}",
        ")",
        "]",
        "\n",
        "x",
        "{",
        "\"",
        "`",
        "(",
        "|",
        "<",
        "{\"query\": ",
    ];

    fn section() -> impl Strategy<Value = String> {
        proptest::collection::vec(prop::sample::select(BITS), 0..5).prop_map(|bits| bits.concat())
    }

    proptest! {
        #[test]
        fn a_section_in_one_go_is_the_section_in_pieces(odd in section(), known in any::<bool>()) {
            let deepseek = ["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"];
            let kimi = [
                "<|tool_calls_section_begin|>",
                "<|tool_call_begin|>",
                "<|tool_call_argument_begin|>",
                "<|tool_call_end|>",
                "<|tool_calls_section_end|>",
            ];
            for (dialect, [open, call, arguments, end, close]) in
                [(&deepseek_v31::DIALECT, deepseek), (&deepseek_v3::DIALECT, deepseek), (&kimi_k2::DIALECT, kimi)]
            {
                for written in [format!("(search|{{}})]{odd}"), format!("(search|{{}}{odd})]"), odd.clone()] {
                    let signs = |c: char| match c {
                        '(' => call.to_owned(),
                        '|' => arguments.to_owned(),
                        ')' => end.to_owned(),
                        ']' => close.to_owned(),
                        other => other.to_string(),
                    };
                    let text: String = std::iter::once(open.to_owned()).chain(written.chars().map(signs)).collect();
                    let reading = Reading::of(dialect, if known { tools() } else { Tools::unknown() });
                    let whole = read_message(&text, reading.clone(), None);
                    prop_assert_eq!(read_message(&text, reading, Some(1)), whole, "{}", text);
                }
            }
        }
    }

    #[test]
    fn a_section_of_one_call_is_read_in_one_go() {
        let text = " <|tool_call_begin|>functions.search:0<|tool_call_argument_begin|> {\"query\": \"<|tool_call_end|>\"} <|tool_call_end|>\n<|tool_calls_section_end|> so";
        let call = read(text, 1, &kimi_k2::GRAMMAR, &tools()).expect("nothing is odd here");
        assert_eq!((call.name.as_ref(), call.id.as_deref()), ("search", Some("functions.search:0")));
        assert_eq!(call.arguments, r#"{"query": "<|tool_call_end|>"}"#);
        assert!(matches!(call.ends, Ends::Closed(end) if &text[end..] == " so"));
        assert!(read(&text[..text.len() - 4], 1, &kimi_k2::GRAMMAR, &tools()).is_none());
    }
}
