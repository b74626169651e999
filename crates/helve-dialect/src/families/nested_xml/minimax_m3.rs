//! `]<]minimax[>[<tool_call>⏎]<]minimax[>[<invoke name="f">]<]minimax[>[<k>V]<]minimax[>[</k>…`: MiniMax M3.
//!
//! Odd here: a token before every tag, so that no other tag is markup. Parameters are elements of their own names,
//! objects are nested elements and lists repeat `<item>`.

use super::NestedGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::reasoning::think_mm;

pub(super) static GRAMMAR: NestedGrammar = NestedGrammar { namespace: "]<]minimax[>[" };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "minimax_m3",
    models: "MiniMax M3",
    sample: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"get_weather\">]<]minimax[>[<city>¤]<]minimax[>[</city>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    openers: &[Opener {
        mark: Mark::Tag("]<]minimax[>["),
        then: Lookahead::Words(&["<tool_call>]<]minimax[>[<invoke", "<invoke"]),
        grammar: Grammar::Nested(&GRAMMAR),
    }],
    reasoning: think_mm::MARKS,
    silent: &["[e~["],
    strays: &["</invoke>", "</tool_call>"],
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cases::check;
    use crate::{End, Reading, Tools};

    fn spelt(text: &str) -> String {
        text.replace('§', "]<]minimax[>[")
    }

    #[test]
    fn what_can_only_be_text_holds_no_markup() {
        let call = |value: &str| {
            spelt(&format!("§<tool_call>§<invoke name=\"search\">§<query>{value}§</invoke>\n§</tool_call>"))
        };
        for text in [
            "the token § here",
            "a§</query>b",
            "a§</query> §</other> b",
            "§<tool_call>§<invoke name=\"time\">§<query>x§</query>§</invoke>§</tool_call>",
            "§<limit>3§</limit>",
            "a §<limit",
            "§ §",
            "a]",
            "a]<",
            "a]<]minimax[>",
        ] {
            let expected = format!("call search {}", json!({"query": spelt(text)}));
            check(&DIALECT, &[(&call(&format!("{text}§</query>")), &expected)]);
        }
        check(&DIALECT, &[(&call("a"), "call search {\"query\":\"a\"}")]);
        check(
            &DIALECT,
            &[(&call("a §</query> \n §<limit>3§</limit>"), "call search {\"query\":\"a \",\"limit\":3}")],
        );
    }

    #[test]
    fn a_member_that_is_called_item_makes_no_list() {
        let read = |schema| {
            let tools = Tools::new([("f".to_owned(), json!({"properties": {"a": schema}}))]);
            let call =
                spelt("§<tool_call>§<invoke name=\"f\">§<a>§<item>x§</item>§</a>§</invoke>§</tool_call>");
            let mut arguments = String::new();
            Reading::for_dialect(&DIALECT, tools).read(&call, End::Normal, &mut |piece| {
                if let crate::Piece::CallFinished { call, .. } = piece {
                    arguments = call.arguments;
                }
            });
            arguments
        };
        let text = json!({"type": "string"});
        assert_eq!(read(json!({"type": "object", "properties": {"item": text}})), r#"{"a":{"item":"x"}}"#);
        assert_eq!(read(json!({"type": "array", "items": text})), r#"{"a":["x"]}"#);
    }

    #[test]
    fn cases() {
        let call = spelt(
            "<mm:think>a</mm:think>b§<tool_call>\n§<invoke name=\"search\">§<query>x < </b>§</query>§<limit>3§</limit>§<o>\n§<k>1.5§</k>\n§<l>§<item>a§</item>§<item>2§</item>§</l>§</o>§</invoke>\n§</tool_call> c",
        );
        let lists = format!("{}{}", "[".repeat(124), "]".repeat(124));
        let deep =
            |value: &str| spelt(&format!("§<tool_call>§<invoke name=\"f\">{value}§</invoke>§</tool_call>"));
        check(
            &DIALECT,
            &[
                // What is too deep to be read again stays text.
                (
                    &deep(&format!("§<o>§<k>{lists}§</k>§</o>")),
                    &format!("call f {{\"o\":{{\"k\":{lists}}}}}"),
                ),
                (
                    &deep(&format!("§<o>§<k>§<l>{lists}§</l>§</k>§</o>")),
                    &format!("call f {{\"o\":{{\"k\":{{\"l\":\"{lists}\"}}}}}}"),
                ),
                (
                    &call,
                    "think a | say b | call search {\"query\":\"x < </b>\",\"limit\":3,\"o\":{\"k\":1.5,\"l\":[\"a\",2]}} | say  c",
                ),
                (&spelt("§<tool_call>\n§<invoke name=\"time\">§</invoke>"), "call time {}"),
                // Words inside a call are text behind it, but not where its arguments may be.
                (
                    &spelt(
                        "§<tool_call>§<invoke name=\"search\">So: §<query>x§</query>§</invoke>§</tool_call>.",
                    ),
                    "call search {\"query\":\"x\"} | say So: .",
                ),
                (&deep("{\"a\": 1}"), "broken f"),
                (&deep("§<l>§<item>1§</item> and §<item>2§</item>§</l>"), "broken f"),
                (&deep("§ a <k>1§</k>"), "broken f | say a <k>1</k>"),
                (&spelt("§<tool_call>§<invoke name=\"search\">§<query>ha"), "cut search"),
            ],
        );
    }
}
