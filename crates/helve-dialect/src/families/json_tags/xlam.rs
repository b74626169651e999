//! Calls of xLAM: an array of `{"name", "arguments"}`, bare, fenced, in tags or after `[TOOL_CALLS]`.
//!
//! Odd here: all of that by one model; xLAM 1 writes `{"tool_calls": […]}`.

use super::{JsonGrammar, hermes, json_bare, json_fenced};
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static TAGGED: JsonGrammar = JsonGrammar { close: &["[/TOOL_CALLS]"], ..JsonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "xlam",
    models: "xLAM",
    sample: r#"[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "¤"}}]"#,
    openers: &[
        hermes::OPENER,
        Opener { mark: Mark::Tag("[TOOL_CALLS]"), then: Lookahead::Json, grammar: Grammar::Json(&TAGGED) },
        json_bare::OPENER,
        json_fenced::OPENER,
    ],
    given: json_bare::GIVEN,
    strays: &["</tool_call>", "[/TOOL_CALLS]"],
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
                (r#"So.[TOOL_CALLS][{"name": "time", "arguments": {}}]"#, "say So. | call time {}"),
                (r#"{"tool_calls": [{"name": "time", "arguments": {}}]}"#, "call time {}"),
                ("</think>\n[{\"name\": \"time\", \"arguments\": {}}]", "call time {}"),
            ],
        );
    }
}
