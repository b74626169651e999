//! `[TOOL_CALLS]`: Mistral, Magistral, Ministral, Devstral.
//!
//! Odd here: up to version 7 a JSON array follows, from 11 on a name, `[ARGS]` and the arguments, each call with its
//! own `[TOOL_CALLS]`, which the next may lack; in between there were an id (`[CALL_ID]`) and no `[ARGS]` at all.
//! Ids have nine characters.

use super::{FramedGrammar, FramedSign, read_plain_name};
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::json_tags::JsonGrammar;
use crate::families::reasoning;

static ARRAY: JsonGrammar = JsonGrammar { close: &["[/TOOL_CALLS]"], ..JsonGrammar::PLAIN };

static NAMED: FramedGrammar = FramedGrammar {
    signs: &[
        // An array or an object may follow the next one.
        ("[TOOL_CALLS]", FramedSign::Beyond),
        ("[CALL_ID]", FramedSign::Id),
        ("[ARGS]", FramedSign::Arguments),
        ("[/TOOL_CALLS]", FramedSign::Close),
    ],
    closers: &["[TOOL_CALLS]", "[/TOOL_CALLS]"],
    bracket_ends_head: true,
    chained: true,
    read_name: read_plain_name,
    ..FramedGrammar::PLAIN
};

const MARK: Mark = Mark::Tag("[TOOL_CALLS]");

pub(crate) static DIALECT: Dialect = Dialect {
    name: "mistral",
    models: "Mistral, Magistral, Ministral, Devstral",
    sample: r#"[TOOL_CALLS]get_weather[ARGS]{"city": "¤"}"#,
    openers: &[
        Opener { mark: MARK, then: Lookahead::Json, grammar: Grammar::Json(&ARRAY) },
        Opener {
            mark: MARK,
            then: Lookahead::Name(&["[ARGS]", "[CALL_ID]", "{"]),
            grammar: Grammar::Framed(&NAMED),
        },
    ],
    reasoning: &[reasoning::think_mistral::MARKS[0], reasoning::think::MARKS[0]],
    strays: &["[CALL_ID]", "[ARGS]", "[/TOOL_CALLS]"],
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[
                (
                    r#"Hm. [TOOL_CALLS] [{"name": "search", "arguments": {"query": "]"}}, {"name": "time"}][/TOOL_CALLS]"#,
                    r#"say Hm.  | call search {"query": "]"} | call time {}"#,
                ),
                (
                    r#"[TOOL_CALLS]search[ARGS]{"query": "[TOOL_CALLS]"}[TOOL_CALLS]time[ARGS]{}</s>"#,
                    r#"call search {"query": "[TOOL_CALLS]"} | call time {}"#,
                ),
                (r#"[TOOL_CALLS]search{"query": "a"} So."#, r#"call search {"query": "a"} | say So."#),
                (
                    r#"[TOOL_CALLS]search[CALL_ID]abcdefghi[ARGS]{"query": "a"}"#,
                    r#"call search#abcdefghi {"query": "a"}"#,
                ),
                (r#"[THINK]hm[/THINK][TOOL_CALLS]time[ARGS]{}"#, "think hm | call time {}"),
                (r#"[TOOL_CALLS]search[ARGS]{"query": "ha"#, "cut search"),
                ("[TOOL_CALLS] is the mark.", "say [TOOL_CALLS] is the mark."),
                // Each mark is judged anew.
                (
                    r#"[TOOL_CALLS]time[ARGS]{}[TOOL_CALLS][{"name": "search", "arguments": {"query": "x"}}]"#,
                    r#"call time {} | call search {"query": "x"}"#,
                ),
                (
                    r#"[TOOL_CALLS]time{}[TOOL_CALLS]{"name": "search", "arguments": {"query": "x"}}"#,
                    r#"call time {} | call search {"query": "x"}"#,
                ),
                (
                    r#"[TOOL_CALLS]search[ARGS]{"query": "x"[TOOL_CALLS]time[ARGS]{}"#,
                    r#"call search {"query": "x"} (Closers) | call time {}"#,
                ),
                // What follows a name instead of arguments is read, too.
                (
                    "I will use the [TOOL_CALLS]search[ARGS] syntax.",
                    "say I will use the [TOOL_CALLS]search[ARGS] syntax.",
                ),
                ("First [TOOL_CALLS]search[ARGS], then.", "say First [TOOL_CALLS]search[ARGS], then."),
                (
                    r#"[TOOL_CALLS]time[ARGS][TOOL_CALLS]search[ARGS]{"query": "x"}"#,
                    r#"call time {} | call search {"query": "x"}"#,
                ),
                (
                    r#"[TOOL_CALLS]f[CALL_ID]a[TOOL_CALLS]search[ARGS]{"query": "x"}"#,
                    r#"say [TOOL_CALLS]f[CALL_ID]a | call search {"query": "x"}"#,
                ),
                ("[TOOL_CALLS]time[ARGS]</s>", "broken time"),
                // The mark of another call may be missing.
                (
                    r#"[TOOL_CALLS]time[ARGS]{}search[ARGS]{"query": "x"} time[ARGS]{}"#,
                    r#"call time {} | call search {"query": "x"} | call time {}"#,
                ),
                ("[TOOL_CALLS]time[ARGS]{} time", "call time {} | say time"),
                ("[TOOL_CALLS]time[ARGS]{} [", "call time {} | say ["),
                ("[TOOL_CALLS]time[ARGS]{}time flies", "call time {} | say time flies"),
                ("[TOOL_CALLS]time[ARGS]{}f[ARGS]{}", "call time {} | say f{}"),
                ("[TOOL_CALLS]time[ARGS]{}f[TOOL_CALLS]time[ARGS]{}", "call time {} | say f | call time {}"),
                (
                    "[THINK]So [TOOL_CALLS]time[ARGS]{}time[/THINK]It is noon.",
                    "think So [TOOL_CALLS]time[ARGS]{}time | say It is noon.",
                ),
                ("[THINK]So [TOOL_CALLS]time[ARGS]{}time", "think So  | call time {} | say time"),
                ("[TOOL_CALLS]time[ARGS] <b>So.</b>", "broken time | say <b>So.</b>"),
                ("[TOOL_CALLS]search[ARGS] [1]", "call search [1]"),
                (r#"[TOOL_CALLS]"search"[ARGS]{"query": "x"}"#, r#"call search {"query": "x"}"#),
            ],
        );
    }
}
