//! `<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>`: gpt-oss.
//!
//! Odd here: the prompt holds the first `<|start|>assistant`. The recipient stands before the channel or behind it, on
//! any channel; heads come doubled and with junk in them; `<|call|>` is a stop token and often missing. A server may
//! have deleted all marks: `analysis…assistantcommentary to=functions.f json{…}`. What is left are words, so it is read so
//! only where the dialect is given.

use super::body::find_recipient;
use super::{ChannelGrammar, HeadRoute, HeadSign};
use crate::body::{ChannelScope, ChannelTurn};
use crate::dialect::{GivenMarks, Grammar, Lookahead, Mark, Opener, is_name_char};
use crate::families::framed::{FramedGrammar, FramedSign, TextGrammar};
use crate::{Dialect, Tools};

static HEAD: ChannelGrammar = ChannelGrammar {
    signs: &[
        ("<|message|>", HeadSign::Message("")),
        ("<|start|>", HeadSign::Again),
        ("<|end|>", HeadSign::Over),
        ("<|call|>", HeadSign::Over),
        ("<|return|>", HeadSign::Over),
    ],
    route: route_head,
};

static ARGUMENTS: FramedGrammar = FramedGrammar {
    signs: &[
        ("<|call|>", FramedSign::Close),
        ("<|end|>", FramedSign::Close),
        ("<|return|>", FramedSign::Close),
        ("<|start|>", FramedSign::Beyond),
        ("<|channel|>", FramedSign::Beyond),
    ],
    closers: &["<|call|>", "<|end|>"],
    bracket_ends_head: true,
    ..FramedGrammar::PLAIN
};

/// The built-in `python` takes code.
static CODE: FramedGrammar = FramedGrammar {
    text: TextGrammar { signs: ARGUMENTS.signs, code: true, ..TextGrammar::NONE },
    ..FramedGrammar::PLAIN
};

const SCOPE: &ChannelScope =
    &ChannelScope { opens: &["<|start|>", "<|channel|>"], closes: &["<|end|>", "<|call|>", "<|return|>"] };

const fn opener(mark: Mark, then: Lookahead) -> Opener {
    Opener { mark, then, grammar: Grammar::Channel(&HEAD) }
}

/// A head without its marks that says who is called. The bracket of the arguments ends it.
static BARE_CALL: ChannelGrammar =
    ChannelGrammar { signs: &[("{", HeadSign::Body(""))], route: route_bare_call };

/// A channel without its marks: its name, glued to the message.
static BARE: ChannelGrammar = ChannelGrammar {
    signs: &[
        ("assistantanalysis", HeadSign::Message("analysis")),
        ("assistantcommentary", HeadSign::Message("")),
        ("assistantfinal", HeadSign::Message("")),
        ("analysis", HeadSign::Message("analysis")),
        ("commentary", HeadSign::Message("")),
        ("final", HeadSign::Message("")),
    ],
    route: |_, kind, _| {
        HeadRoute::to_turn(if kind.is_empty() {
            ChannelTurn::Answer(BARE_SCOPE)
        } else {
            ChannelTurn::Reasoning(BARE_SCOPE)
        })
    },
};

static BARE_ARGUMENTS: FramedGrammar = FramedGrammar { bracket_ends_head: true, ..FramedGrammar::PLAIN };

const BARE_SCOPE: &ChannelScope = &ChannelScope {
    opens: &["assistantanalysis", "assistantcommentary", "assistantfinal", "assistant to=functions."],
    closes: &[],
};

const fn bare_opener(mark: Mark, then: Lookahead, grammar: &'static ChannelGrammar) -> Opener {
    Opener { mark, then, grammar: Grammar::Channel(grammar) }
}

const BARE_OPENERS: &[Opener] = &[
    bare_opener(Mark::Tag("assistant to=functions."), Lookahead::Anything, &BARE_CALL),
    bare_opener(Mark::Tag("assistantanalysis"), Lookahead::Words(&["to="]), &BARE_CALL),
    bare_opener(Mark::Tag("assistantanalysis"), Lookahead::Anything, &BARE),
    bare_opener(Mark::Tag("assistantcommentary"), Lookahead::Words(&["to="]), &BARE_CALL),
    bare_opener(Mark::Tag("assistantcommentary"), Lookahead::Anything, &BARE),
    bare_opener(Mark::Tag("assistantfinal"), Lookahead::Anything, &BARE),
    bare_opener(
        Mark::Start,
        Lookahead::Words(&["analysisto=", "commentaryto=", "to=functions."]),
        &BARE_CALL,
    ),
    bare_opener(Mark::Start, Lookahead::Glued(&["analysis", "commentary", "final"]), &BARE),
];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "harmony",
    models: "gpt-oss",
    sample: r#"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "¤"}<|call|>"#,
    openers: &[
        opener(Mark::Tag("<|start|>"), Lookahead::Anything),
        opener(Mark::Tag("<|channel|>"), Lookahead::Anything),
        opener(Mark::Start, Lookahead::Recipient(&["<|channel|>", "<|constrain|>", "<|message|>"])),
    ],
    given: GivenMarks { openers: BARE_OPENERS, ..GivenMarks::NOTHING },
    reasoning: &[],
    over: &["<|end|>", "<|call|>", "<|return|>"],
    strays: &["<|constrain|>", "<|message|>"],
    ..Dialect::PLAIN
};

fn route_head(head: &str, _: &'static str, tools: &Tools) -> Option<HeadRoute> {
    if let Some(name) = find_recipient(head) {
        let name = name.strip_prefix("functions.").unwrap_or(name);
        let name = find_glued_name(name, tools).unwrap_or(name);
        let body = if name == "python" { &CODE } else { &ARGUMENTS };
        return HeadRoute::to_call(name, Grammar::Framed(body));
    }
    let channel = head.rsplit("<|channel|>").find(|part| !part.trim().is_empty()).unwrap_or(head).trim();
    HeadRoute::to_turn(if channel.starts_with("analysis") {
        ChannelTurn::Reasoning(SCOPE)
    } else {
        ChannelTurn::Answer(SCOPE)
    })
}

/// The name behind `to=`, and nothing after it but words. What followed it may have been glued to it.
fn route_bare_call(head: &str, _: &'static str, tools: &Tools) -> Option<HeadRoute> {
    let recipient = head.rsplit_once("to=").map_or(head, |(_, recipient)| recipient);
    let mut words = recipient.split_whitespace();
    let written = words.next()?;
    let written = written.strip_prefix("functions.").unwrap_or(written);
    if !written.chars().all(is_name_char) || !words.all(|word| word.chars().all(char::is_alphabetic)) {
        return None;
    }
    // Without tools to go by, only a channel's name is surely none of the tool's.
    let channel = || ["commentary", "analysis"].iter().find_map(|word| written.strip_suffix(word));
    let name = find_glued_name(written, tools).or_else(channel).unwrap_or(written);
    HeadRoute::to_call(name, Grammar::Framed(&BARE_ARGUMENTS)).filter(|_| !name.is_empty())
}

/// The declared tool to whose name such words were glued.
fn find_glued_name<'n>(written: &'n str, tools: &Tools) -> Option<&'n str> {
    let mut name = written;
    while tools.resolve(name).is_none() {
        let glued = ["json", "code", "commentary", "analysis", "final"];
        let shorter = glued.iter().find_map(|word| name.strip_suffix(word))?;
        name = shorter.trim_end_matches('.');
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{check, check_given};

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[
                ("<|channel|>commentary to=functions.time<|message|>\" \"<|call|>", "call time {} (Blanks)"),
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
                ("<|channel|>commentary to=container.exec<|message|>ls -la", "broken container.exec"),
                // A message for a tool that goes on behind the arguments says the rest to the user.
                (
                    "<|channel|>commentary to=functions.time<|message|>{} So.<|call|><|start|>assistant<|channel|>final<|message|>Ok.",
                    "call time {} | say So.Ok.",
                ),
                (
                    r#"<|channel|>commentary to=functions.search<|message|>"query": "x"}<|call|>"#,
                    "broken search",
                ),
                (
                    "<|channel|>analysis to=python code<|message|>print({'a': 1})<|call|>",
                    r#"call python {"code": "print({'a': 1})"}"#,
                ),
                ("Plain.", "say Plain."),
                // A mark that is talked about swallows nothing.
                (
                    "<|channel|>analysis<|message|>Use `<|channel|>`.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
                    "think Use `<|channel|>`. | say Yes.",
                ),
                (
                    "<|channel|>analysis<|message|>Use `<|channel|>` before the <|message|> mark.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
                    "think Use `<|channel|>` before the <|message|> mark. | say Yes.",
                ),
                ("<|channel|>analysis<|message|>Use `<|channel|>`", "think Use `<|channel|>`"),
                (
                    r#"<|channel|>commentary to=functions.search.json<|message|>{"query": "x"}<|call|>"#,
                    r#"call search {"query": "x"}"#,
                ),
                ("<|channel|>commentary to=functions.read.json<|message|>{}<|call|>", "call read.json {}"),
            ],
        );
    }

    #[test]
    fn without_marks() {
        check_given(
            &DIALECT,
            &[
                (
                    r#"analysisLook.assistantcommentary to=functions.search json{"query": "assistantfinal"}"#,
                    r#"think Look. | call search {"query": "assistantfinal"}"#,
                ),
                ("analysisI know.assistantfinalIt is `so`.", "think I know. | say It is `so`."),
                (
                    "commentaryFirst.assistant to=functions.timecommentary json{}assistantfinalOk.",
                    "say First. | call time {} | say Ok.",
                ),
                (
                    r#"analysis to=functions.searchcode{"query": "x"}assistantanalysisHm.assistantcommentarySo."#,
                    r#"call search {"query": "x"} | think Hm. | say So."#,
                ),
                (r#" to=functions.timecommentary json{}"#, "call time {}"),
                (
                    r#"analysisA.assistantcommentary to=functions.search json{"query": "ha"#,
                    "think A. | cut search",
                ),
                ("analysisA.assistantcommentary to=functions.sea", "think A. | cut"),
                ("finalYes.", "say Yes."),
                ("analysis of it shows", "say analysis of it shows"),
                ("commentary to=someone else: {", "say commentary to=someone else: {"),
            ],
        );
    }
}
