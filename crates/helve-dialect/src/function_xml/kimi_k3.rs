//! The calls of Kimi K3: elements spelt with tokens, whose arguments say their own types.

use super::{Element, Spelling, TagGrammar};
use crate::Tools;

pub(crate) static GRAMMAR: TagGrammar = TagGrammar {
    spelling: Spelling::Tokens,
    elements: &[
        ("tools", Element::Wrapper),
        ("call", Element::Call),
        ("argument", Element::Parameter),
        ("json", Element::Json),
        ("message", Element::End),
        ("think", Element::Channel),
        ("response", Element::Channel),
    ],
    name,
    ..TagGrammar::PLAIN
};

/// The prefix of Kimi K2 is left out where only the name behind it is declared.
fn name<'n>(name: &'n str, tools: &Tools) -> &'n str {
    match name.strip_prefix("functions.") {
        Some(bare) if tools.resolve(name).is_none() && tools.resolve(bare).is_some() => bare,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use crate::cases::check;
    use crate::channels::kimi_k3::DIALECT;

    #[test]
    fn a_call_that_is_quoted_ends_with_its_channel() {
        let call =
            "<|open|>call tool=\"search\"<|sep|><|open|>argument key=\"query\" type=\"string\"<|sep|>a";
        let closed = format!("{call}<|close|>argument<|sep|>");
        let behind =
            "<|open|>tools<|sep|><|open|>call tool=\"time\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>";
        let answer = "<|open|>response<|sep|>A<|close|>response<|sep|>";
        for quoted in [call, &closed] {
            for then in ["", " so.", "<|close|>call<|sep|> so."] {
                let quoted = format!("x {quoted}{then}");
                let thought = format!("<|open|>think<|sep|>{quoted}<|close|>think<|sep|>{answer}{behind}");
                let said = format!("<|open|>response<|sep|>{quoted}<|close|>response<|sep|>{behind}");
                check(
                    &DIALECT,
                    &[
                        (&thought, &format!("think {quoted} | say A | call time {{}}")),
                        (&said, &format!("say {quoted} | call time {{}}")),
                    ],
                );
            }
        }
    }

    #[test]
    fn the_end_of_a_channel_or_of_the_message_ends_a_call_whose_values_are_closed() {
        let call = "<|open|>tools<|sep|><|open|>call tool=\"search\"<|sep|><|open|>argument key=\"query\" type=\"string\"<|sep|>a<|close|>argument<|sep|>";
        for behind in
            ["<|close|>response<|sep|>", "<|open|>response<|sep|>", "<|close|>message<|sep|><|end_of_msg|>"]
        {
            check(&DIALECT, &[(&format!("{call}{behind}"), "call search {\"query\": \"a\"}")]);
        }
    }

    #[test]
    fn words_inside_a_call_are_text_behind_it() {
        let argument = "<|open|>argument key=\"query\" type=\"string\"<|sep|>a<|close|>argument<|sep|>";
        for (words, expected) in [
            ("So: <b> ", "call search {\"query\": \"a\"} | say So: <b> "),
            ("b<|close|>argument<|sep|>", "broken search"),
            ("<|open|>argment key=\"limit\"<|sep|>", "broken search"),
            ("<|open|>limit <|open|>", "broken search"),
        ] {
            let call = format!(
                "<|open|>tools<|sep|><|open|>call tool=\"search\"<|sep|>{words}{argument}<|close|>call<|sep|><|close|>tools<|sep|>"
            );
            check(&DIALECT, &[(&call, expected)]);
        }
    }

    #[test]
    fn a_body_that_is_no_object_is_decoded_or_broken() {
        let call = |body: &str| {
            format!(
                "<|open|>tools<|sep|><|open|>call tool=\"functions.search\"<|sep|><|open|>json<|sep|>{body}<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
            )
        };
        for (body, expected) in [
            (r#"{"query": "x"}"#, r#"call search {"query": "x"}"#),
            (r#" "{\"query\": \"x\"}" "#, r#"call search {"query": "x"} (Encoding)"#),
            ("", "call search {}"),
            ("not json", "broken search"),
            ("[1]", "broken search"),
            (r#""x""#, "broken search"),
        ] {
            check(&DIALECT, &[(&call(body), expected)]);
        }
    }

    #[test]
    fn arguments_that_say_their_type_may_be_written_in_python() {
        for (kind, value, expected) in [
            ("object", "{'a': True}", r#"{"a": true}"#),
            ("array", "['a', None]", r#"["a", null]"#),
            ("boolean", "True", "true"),
            ("null", "None", "null"),
            ("object", "True", r#""True""#),
            ("object", "{'a': b}", r#""{'a': b}""#),
            ("number", "None", r#""None""#),
        ] {
            let call = format!(
                "<|open|>tools<|sep|><|open|>call tool=\"f\"<|sep|><|open|>argument key=\"k\" type=\"{kind}\"<|sep|>{value}<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
            );
            check(&DIALECT, &[(&call, &format!("call f {{\"k\": {expected}}}"))]);
        }
    }

    #[test]
    fn a_tag_of_a_channel_inside_a_value_is_data() {
        let value = "the <|close|>think<|sep|> tag, <|open|>response<|sep|> and <|close|>message<|sep|> too";
        let call = format!(
            "<|open|>tools<|sep|><|open|>call tool=\"search\"<|sep|><|open|>argument key=\"query\" type=\"string\"<|sep|>{value}<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
        );
        check(&DIALECT, &[(&call, &format!("call search {{\"query\": \"{value}\"}}"))]);
    }
}
