//! `Thought: …⏎Action: f⏎Action Input: {…}⏎Observation:`: ReAct, and `✿FUNCTION✿: f⏎✿ARGS✿: {…}`: Qwen 1.
//!
//! Odd here: plain words are the marks, so they are not looked for unasked. The model is to stop at `Observation:`;
//! what it writes behind it is made up, and dropped.

use super::{Called, FramedGrammar, Sign};
use crate::dialect::{Grammar, Mark, Opener, Reasoning, Then};
use crate::{Dialect, Tools};

static GRAMMAR: FramedGrammar = FramedGrammar {
    signs: &[
        ("Action:", Sign::Call),
        ("Action Input:", Sign::Arguments),
        ("✿FUNCTION✿:", Sign::Call),
        ("✿ARGS✿:", Sign::Arguments),
    ],
    closers: &[],
    bracket_ends_head: false,
    noisy: false,
    name,
};

const fn opener(mark: &'static str) -> Opener {
    Opener { mark: Mark::Tag(mark), then: Then::Anything, grammar: Grammar::Framed(&GRAMMAR) }
}

pub(crate) static DIALECT: Dialect = Dialect {
    name: "react",
    openers: &[opener("Action:"), opener("✿FUNCTION✿:")],
    reasoning: &[Reasoning { open: "Thought:", close: "Final Answer:" }],
    hush: &["Observation:", "✿RESULT✿"],
    found: false,
    ..Dialect::PLAIN
};

fn name(head: &str, _: &Tools) -> Called {
    let name = head.trim().trim_matches(['`', '"', '*']);
    match name.is_empty() || name.contains(char::is_whitespace) {
        true => Called::Nobody,
        false => Called::Tool { name: name.to_owned(), id: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check_given;

    #[test]
    fn cases() {
        check_given(
            &DIALECT,
            &[
                (
                    "Thought: I must look.\nAction: search\nAction Input: {\"query\": \"x\"}\nObservation: made up",
                    r#"think I must look. | call search {"query": "x"}"#,
                ),
                ("Thought: I know.\nFinal Answer: 42", "think I know. | say 42"),
                ("✿FUNCTION✿: time\n✿ARGS✿: {}\n✿RESULT✿: 12:00", "call time {}"),
            ],
        );
    }
}
