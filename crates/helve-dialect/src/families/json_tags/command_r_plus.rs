//! `Action:` and a fenced array of `{"tool_name", "parameters"}`: Command R+.
//!
//! Odd here: the tool `directly_answer` means that none is called. The word before the fence is too plain to be looked
//! for unasked.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::framed::react::FENCES;

static GRAMMAR: JsonGrammar = JsonGrammar { names_of_no_tool: NAMES_OF_NO_TOOL, ..JsonGrammar::PLAIN };

/// The fence is part of the mark.
static MARKED: JsonGrammar =
    JsonGrammar { led: true, close: &["```"], names_of_no_tool: NAMES_OF_NO_TOOL, ..JsonGrammar::PLAIN };

const NAMES_OF_NO_TOOL: &[&str] = &["directly_answer", "directly-answer"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "command_r_plus",
    models: "Command R+",
    sample: "Action:\n```json\n[{\"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"¤\"}}]\n```",
    openers: &[
        Opener { mark: Mark::Tag("Action:"), then: FENCES, grammar: Grammar::Json(&MARKED) },
        Opener { mark: Mark::Fence(&["json", ""]), then: Lookahead::Json, grammar: Grammar::Json(&GRAMMAR) },
    ],
    silent: &["<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"],
    found: false,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check_given;

    #[test]
    fn cases() {
        check_given(
            &DIALECT,
            &[
                ("Action:\n```json\n[{\"tool_name\": \"time\", \"parameters\": {}}]\n```", "call time {}"),
                ("Action: ```json\n[\n{\"tool_name\": \"directly_answer\", \"parameters\": {}}\n]```", ""),
                ("Action: ```json [{\"tool_name\": \"time\", \"parameters\": {}}]\n```\n", "call time {}"),
                ("```json\n[{\"tool_name\": \"time\", \"parameters\": {}}]\n```", "call time {}"),
            ],
        );
    }
}
