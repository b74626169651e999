//! `Thought: …⏎Action: f⏎Action Input: {…}⏎Observation:`: ReAct, and `✿FUNCTION✿: f⏎✿ARGS✿: {…}`: Qwen 1.
//!
//! Odd here: plain words are the marks, so they are not looked for unasked, and what follows them shows whether they are
//! only said: an action is one word, and its input follows. The action `None` calls no tool.
//!
//! The model is to stop at `Observation:`; what it writes behind it is made up, and dropped. An input that is no object is the value of the tool's only
//! required parameter. LangChain's agents write both in a fence, `{"action": "f", "action_input": {…}}`; the action
//! `Final Answer` is none, and stays text.

use super::{FramedGrammar, FramedSign, HeadMeaning, TextGrammar};
use crate::dialect::{Grammar, Lookahead, Mark, Opener, Reasoning};
use crate::families::json_tags::JsonGrammar;
use crate::families::reasoning;
use crate::{Dialect, Tools};

static GRAMMAR: FramedGrammar = FramedGrammar {
    signs: &[
        ("Action:", FramedSign::Call),
        ("Action Input:", FramedSign::Arguments),
        ("✿FUNCTION✿:", FramedSign::Call),
        ("✿ARGS✿:", FramedSign::Arguments),
        ("Final Answer:", FramedSign::Answer),
    ],
    text: TextGrammar {
        signs: &[
            ("Observation:", FramedSign::Beyond),
            ("\nThought:", FramedSign::Beyond),
            ("\nAction:", FramedSign::Beyond),
            ("\nFinal Answer:", FramedSign::Beyond),
            ("✿RESULT✿", FramedSign::Beyond),
            ("✿FUNCTION✿:", FramedSign::Beyond),
            ("<|im_end|>", FramedSign::Beyond),
            ("<|eot_id|>", FramedSign::Beyond),
            ("<|eom_id|>", FramedSign::Beyond),
            ("<|end_of_text|>", FramedSign::Beyond),
            ("<|endoftext|>", FramedSign::Beyond),
            ("<|end|>", FramedSign::Beyond),
            ("<end_of_turn>", FramedSign::Beyond),
            ("<｜end▁of▁sentence｜>", FramedSign::Beyond),
        ],
        ..TextGrammar::NONE
    },
    wordy: true,
    read_name,
    ..FramedGrammar::PLAIN
};

/// The fence is part of the mark.
static FENCED: JsonGrammar =
    JsonGrammar { led: true, close: &["```"], answers: &["Final Answer"], ..JsonGrammar::PLAIN };

/// A fence that holds objects.
pub(crate) const FENCES: Lookahead =
    Lookahead::Words(&["```{", "```[{", "```json{", "```json[{", "```JSON{", "```JSON[{"]);

const fn opener(mark: &'static str) -> Opener {
    Opener { mark: Mark::Tag(mark), then: Lookahead::Anything, grammar: Grammar::Framed(&GRAMMAR) }
}

pub(crate) static DIALECT: Dialect = Dialect {
    name: "react",
    models: "ReAct, and Qwen 1",
    sample: "Action: get_weather\nAction Input: {\"city\": \"¤\"}\nObservation:",
    openers: &[
        Opener { mark: Mark::Tag("Action:"), then: FENCES, grammar: Grammar::Json(&FENCED) },
        opener("Action:"),
        opener("✿FUNCTION✿:"),
    ],
    reasoning: &[Reasoning { open: "Thought:", close: "Final Answer:" }, reasoning::think::MARKS[0]],
    ends_output: &["Observation:", "✿RESULT✿"],
    found: false,
    ..Dialect::PLAIN
};

fn read_name(head: &str, _: &Tools) -> HeadMeaning {
    let name = head.trim().trim_matches(['`', '"', '*']);
    match name {
        "" => HeadMeaning::NotACall,
        "None" | "none" | "N/A" => HeadMeaning::NoTool,
        _ if name.contains(char::is_whitespace) => HeadMeaning::NotACall,
        _ => HeadMeaning::Tool { name: name.to_owned(), id: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check_given;

    #[test]
    fn tokens_that_end_the_turn_end_an_input() {
        for token in
            crate::dialect::END_TOKENS.iter().filter(|token| **token != crate::dialect::HTML_END_TOKEN)
        {
            assert!(GRAMMAR.text.signs.iter().any(|(end, _)| end == token), "{token}");
        }
    }

    #[test]
    fn cases() {
        check_given(
            &DIALECT,
            &[
                ("A Thought: hello", "say A Thought: hello"),
                (
                    "Thought: I must look.\nAction: search\nAction Input: {\"query\": \"x\"}\nObservation: made up",
                    r#"think I must look. | call search {"query": "x"}"#,
                ),
                ("Thought: I know.\nFinal Answer: 42", "think I know. | say 42"),
                ("✿FUNCTION✿: time\n✿ARGS✿: {}\n✿RESULT✿: 12:00", "call time {}"),
                (
                    "Action: search\nAction Input: rain in Rome: \"when?\"\nObservation: made up",
                    r#"call search {"query": "rain in Rome: \"when?\""}"#,
                ),
                ("Action: search\nAction Input: \"rain\"", r#"call search {"query": "rain"}"#),
                (
                    "Action: search\nAction Input: Class Action: the film\nThought: Now the time.\nAction: time\nAction Input: None\n",
                    r#"call search {"query": "Class Action: the film"} | think Now the time. | call time {}"#,
                ),
                ("Action: time\nAction Input: now\nObservation: made up", "broken time"),
                ("Action: search\nAction Input:\nObservation: made up", "broken search"),
                // A label that somebody only says is text.
                (
                    "The next Action: do it now. Then rest.\nBye.",
                    "say The next Action: do it now. Then rest.\nBye.",
                ),
                ("Action: take a walk\nthen sleep.", "say Action: take a walk\nthen sleep."),
                (
                    "Action: sleep\nActually, Action: search\nAction Input: x",
                    r#"say Action: sleep
Actually,  | call search {"query": "x"}"#,
                ),
                ("My next Action: rest", "say My next Action: rest"),
                ("My Final Answer: is 4", "say My Final Answer: is 4"),
                ("Action: search", "cut"),
                ("Action: search\nAction In", "cut"),
                ("Action: None\nFinal Answer: x", "say x"),
                ("Thought: I know.\nAction: None\nFinal Answer: x", "think I know. | say x"),
                // What was cut off is no text.
                ("Action: search\nAction Input:\n```json\n{\"query\": \"Par", "cut search"),
                ("Action: search\nAction Input: \"Par", "cut search"),
                ("Action: search\nAction Input:", "cut search"),
                ("Action: time\nAction Input:", "call time {}"),
                ("Action: search\nAction Input: ls -la\nObserv", r#"call search {"query": "ls -la"}"#),
                ("Action: search\nAction Input: FOO", r#"call search {"query": "FOO"}"#),
                ("✿FUNCTION✿: search\n✿ARGS✿: ls\n✿", r#"call search {"query": "ls"}"#),
                ("Action: search\nAction Input: ls<|im_end|>", r#"call search {"query": "ls"}"#),
                ("Action: search\nAction Input: ls</s>", r#"call search {"query": "ls"}"#),
                ("Action: search\nAction Input: <s>ls</s> x", r#"call search {"query": "<s>ls</s> x"}"#),
                (
                    "<think>Hm.</think>Thought: So.\nAction: time\nAction Input: {}",
                    "think Hm.So. | call time {}",
                ),
                ("✿FUNCTION✿: search\n✿ARGS✿: rain\n✿RESULT✿: dry", r#"call search {"query": "rain"}"#),
                (
                    "Thought: So.\nAction:\n```json\n{\"action\": \"search\", \"action_input\": {\"query\": \"```\"}}\n```\nObservation: made up",
                    r#"think So. | call search {"query": "```"}"#,
                ),
                ("Action:\n```\n{\"action\": \"time\", \"action_input\": {}}\n```\n", "call time {}"),
                (
                    "Action: ```json{\"action\": \"time\", \"action_input\": {}}\n{\"action\": \"time\", \"action_input\": {}}```",
                    "call time {} | call time {}",
                ),
                (
                    "Action:\n```\n{\"action\": \"Final Answer\", \"action_input\": \"Dry.\"}\n```",
                    "say Action:\n```\n{\"action\": \"Final Answer\", \"action_input\": \"Dry.\"}\n```",
                ),
            ],
        );
    }
}
