//! `<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>`: gpt-oss.
//!
//! Odd here: the prompt holds the first `<|start|>assistant`. The recipient stands before the channel or behind it, on
//! any channel; heads come doubled and with junk in them; `<|call|>` is a stop token and often missing.

use super::{ChannelGrammar, Part, Route, recipient};
use crate::body::{Scope, Turn};
use crate::dialect::{Grammar, Mark, Opener, Then};
use crate::framed::{Called, FramedGrammar, Sign};
use crate::{Dialect, Tools};

static HEAD: ChannelGrammar = ChannelGrammar {
    signs: &[
        ("<|message|>", Part::Message("")),
        ("<|start|>", Part::Again),
        ("<|end|>", Part::Over),
        ("<|call|>", Part::Over),
        ("<|return|>", Part::Over),
    ],
    route,
};

static ARGUMENTS: FramedGrammar = FramedGrammar {
    signs: &[
        ("<|call|>", Sign::Close),
        ("<|end|>", Sign::Close),
        ("<|return|>", Sign::Close),
        ("<|start|>", Sign::Beyond("<|start|>".len())),
        ("<|channel|>", Sign::Beyond("<|channel|>".len())),
    ],
    closers: &["<|call|>", "<|end|>"],
    bracket_ends_head: true,
    noisy: true,
    name: |_, _| Called::Nobody,
};

const SCOPE: Scope = &["<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"];

const fn opener(mark: Mark, then: Then) -> Opener {
    Opener { mark, then, grammar: Grammar::Channel(&HEAD) }
}

pub(crate) static DIALECT: Dialect = Dialect {
    name: "harmony",
    openers: &[
        opener(Mark::Tag("<|start|>"), Then::Anything),
        opener(Mark::Tag("<|channel|>"), Then::Anything),
        opener(Mark::Start, Then::Recipient(&["<|channel|>", "<|constrain|>", "<|message|>"])),
    ],
    reasoning: &[],
    over: &["<|end|>", "<|call|>", "<|return|>"],
    ..Dialect::PLAIN
};

fn route(head: &str, _: &'static str, _: &Tools) -> Option<Route> {
    if let Some(name) = recipient(head) {
        let name = name.strip_prefix("functions.").unwrap_or(name);
        return Route::call(name, Grammar::Framed(&ARGUMENTS));
    }
    let channel = head.rsplit("<|channel|>").find(|part| !part.trim().is_empty()).unwrap_or(head).trim();
    Route::to(if channel.starts_with("analysis") { Turn::Reasoning(SCOPE) } else { Turn::Answer(SCOPE) })
}

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
                    r#"<|channel|>analysis<|message|>Look, `so<|end|><|start|>assistant<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"query": "x"}<|call|>"#,
                    r#"think Look, `so | call search {"query": "x"}"#,
                ),
                ("<|channel|>final<|message|>Hi.<|return|>", "say Hi."),
                (
                    r#"<|channel|>commentary<|message|>First.<|end|><|start|>assistant to=functions.search<|channel|>analysis code<|message|>{"query": "<|call|>"}"#,
                    r#"say First. | call search {"query": "<|call|>"}"#,
                ),
                (
                    r#" to=functions.time<|channel|>commentary json<|message|>{}<|start|>assistant<|channel|>final<|message|>Ok."#,
                    "call time {} | say Ok.",
                ),
                (
                    r#"<|channel|>commentary<|channel|>commentary to=functions.time <|constrain|>json<|message|>{}<|call|>"#,
                    "call time {}",
                ),
                (
                    r#"<|channel|>analysis<|message|>Maybe <tool_call>{"name": "time"}</tool_call>?<|end|><|start|>assistant<|channel|>final<|message|>No."#,
                    r#"think Maybe <tool_call>{"name": "time"}</tool_call>? | say No."#,
                ),
                (r#"<|channel|>commentary to=functions.search<|message|>{"query": "ha"#, "cut search"),
                ("<|channel|>commentary to=container.exec<|message|>ls -la<|call|>", "broken container.exec"),
                ("Plain.", "say Plain."),
            ],
        );
    }
}
