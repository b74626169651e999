//! `<|tool_call>call:f{k:<|"|>text<|"|>,n:42}<tool_call|>`: Gemma 4.
//!
//! Odd here: reasoning is a channel with a label, `<|channel>thought⏎…<channel|>`, which a call may end. Where the prompt
//! has opened it, the label may be all that is left of it.

use super::GemmaGrammar;
use crate::Dialect;
use crate::body::ChannelTurn;
use crate::dialect::{GivenMarks, Grammar, Lookahead, Mark, Opener, Reasoning};
use crate::families::channels::{ChannelGrammar, HeadRoute, HeadSign};

pub(super) static GRAMMAR: GemmaGrammar = GemmaGrammar {
    quote: "<|\"|>",
    close: "<tool_call|>",
    next: &["<|tool_call>", "<|tool_response>", "<|channel>", "<turn|>", "<eos>"],
    decodes: false,
};

/// The label of a channel that the prompt has opened, alone on the first line.
const LABEL: Grammar = Grammar::Channel(&ChannelGrammar {
    signs: &[("\n", HeadSign::Message("label")), (" ", HeadSign::Body("")), ("<", HeadSign::Body(""))],
    route: |head, kind, _| {
        HeadRoute::to_turn(ChannelTurn::On).filter(|_| kind == "label" && head.trim() == "thought")
    },
});

const fn reasoning_channel(open: &'static str) -> Reasoning {
    Reasoning { open, close: "<channel|>" }
}

pub(crate) static DIALECT: Dialect = Dialect {
    name: "gemma4",
    models: "Gemma 4",
    sample: "<|tool_call>call:get_weather{city:<|\"|>¤<|\"|>}<tool_call|>",
    openers: &[Opener {
        mark: Mark::Tag("<|tool_call>"),
        then: Lookahead::Words(&["call:", ":"]),
        grammar: Grammar::Gemma(&GRAMMAR),
    }],
    given: GivenMarks {
        openers: &[Opener { mark: Mark::Start, then: Lookahead::Words(&["thought"]), grammar: LABEL }],
        ..GivenMarks::NOTHING
    },
    reasoning: &[
        reasoning_channel("<|channel>thought"),
        reasoning_channel("<|channel>analysis"),
        reasoning_channel("<|channel>thinking"),
        reasoning_channel("<|channel>reasoning"),
    ],
    silent: &["<turn|>", "<|tool_response>", "<eos>"],
    strays: &["<|\"|>", "<tool_call|>"],
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;
    use crate::{Reading, Tools, read};

    #[test]
    fn the_label_of_a_channel_that_the_prompt_opened_is_no_reasoning() {
        let reading = Reading::for_dialect(&DIALECT, Tools::unknown()).reasoning_open(true);
        for (text, reasoning) in [
            ("thought\nplan<channel|>So.", "plan"),
            ("\nthought\nplan<channel|>So.", "plan"),
            ("thoughtful\nplan<channel|>So.", "thoughtful\nplan"),
            ("thought about it<channel|>So.", "thought about it"),
            ("thought<channel|>So.", "thought"),
        ] {
            for chunk in [None, Some(1), Some(3)] {
                let read = read(text, reading.clone(), chunk);
                assert_eq!((read.reasoning.as_str(), read.content.as_str()), (reasoning, "So."), "{text}");
            }
        }
    }

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[
                (
                    "<|channel>thought\nplan<channel|>So.<|tool_call>call:f{a:<|\"|>he said \"hi\", {x:1}\n<|\"|>,n:-2.5,ok:true,o:{k:[1,<|\"|>b<|\"|>,c],e:{}},l:[]}<tool_call|>",
                    "think plan | say So. | call f {\"a\": \"he said \\\"hi\\\", {x:1}\\n\", \"n\": -2.5, \"ok\": true, \"o\": {\"k\": [1, \"b\", \"c\"], \"e\": {}}, \"l\": []}",
                ),
                (
                    "<|tool_call>call:search{query:42,limit:42}<tool_call|><|tool_call>:time{}",
                    "call search {\"query\": \"42\", \"limit\": 42} | call time {}",
                ),
                (
                    "<|tool_call>call:search{query:null,limit:null}<tool_call|>",
                    "call search {\"query\": \"null\", \"limit\": null}",
                ),
                ("<|channel>thought\nplan<|tool_call>call:time{}<tool_call|>", "think plan | call time {}"),
                (
                    "<|tool_call>call:search(query:<|\"|>x<|\"|>)<tool_call|>",
                    "call search {\"query\": \"x\"}",
                ),
                (
                    "<|tool_call>call:f{l:[1,<|\"|>b<|\"|>,],o:{k:2,},}<tool_call|>",
                    "call f {\"l\": [1, \"b\"], \"o\": {\"k\": 2}}",
                ),
                (
                    "<|tool_call>call:f{a:<|\"|>x <tool_call|> y<|\"|>,o:{b:<|\"|><tool_call|><|\"|>}}<tool_call|><|tool_response>",
                    "call f {\"a\": \"x <tool_call|> y\", \"o\": {\"b\": \"<tool_call|>\"}}",
                ),
                ("<|tool_call>call:f{a:Paris, France,n:3}<tool_call|>So.<eos>", "broken f | say So."),
                ("<|tool_call>call:search{query:<|\"|>ha", "cut search"),
                // Text that was left open does not swallow what follows its call, nor is it made one with it.
                (
                    "<|tool_call>call:search{query:<|\"|>abc}<tool_call|>\nSo.<|tool_call>call:time{}<tool_call|>",
                    "broken search | say \nSo. | call time {}",
                ),
                (
                    "<|tool_call>call:search{query:<|\"|>abc}<tool_call|><|tool_call>call:search{query:<|\"|>}<tool_call|>",
                    "broken search | broken search",
                ),
                (
                    "<|tool_call>call:search{query:<|\"|>a}<tool_call|>\n<|tool_call>call:search{query:<|\"|>b<|\"|>}<tool_call|>",
                    "broken search | call search {\"query\": \"b\"}",
                ),
                ("<|tool_call>call:search{query:<|\"|>a}<tool_call|>\nSo.", "broken search | say \nSo."),
                ("<|tool_call>call:search{query:<|\"|>a}<tool_call|> <turn|>", "broken search"),
                (
                    "<|channel>thought\nHm.<|tool_call>call:search{query:<|\"|>a}<tool_call|>So.",
                    "think Hm. | broken search | say So.",
                ),
                // But it may hold calls, and ends of calls.
                (
                    "<|tool_call>call:search{query:<|\"|><|tool_call>call:time{}<tool_call|> or <|tool_call>call:time{}<tool_call|><|\"|>}<tool_call|>",
                    "call search {\"query\": \"<|tool_call>call:time{}<tool_call|> or <|tool_call>call:time{}<tool_call|>\"}",
                ),
                (
                    "<|tool_call>call:search{query:<|\"|>ends with }<tool_call|><|\"|>}<tool_call|>\n<|tool_call>call:time{}<tool_call|>",
                    "call search {\"query\": \"ends with }<tool_call|>\"} | call time {}",
                ),
                // Elsewhere another call ends one that is broken.
                (
                    "<|tool_call>call:f{a:Paris, France,n:3<|tool_call>call:time{}<tool_call|>",
                    "broken f | call time {}",
                ),
                (
                    "<|tool_call>call:and so <|tool_call>call:time{}<tool_call|>",
                    "say <|tool_call>call:and so  | call time {}",
                ),
                (
                    "<|tool_call>call:time{}\u{a0}<tool_call|>\n<|tool_call>call:time{}\n<tool_call|>",
                    "call time {} | call time {}",
                ),
                ("The <tool_call|> mark.", "say The <tool_call|> mark."),
                ("The <|tool_call> token.", "say The <|tool_call> token."),
                // Commas too many are no part of a key.
                (
                    "<|tool_call>call:search{limit:2,,query:<|\"|>x <|\"|>}<tool_call|>",
                    "call search {\"limit\": 2, \"query\": \"x \"}",
                ),
                ("<|tool_call>call:search{,limit:2}<tool_call|>", "call search {\"limit\": 2}"),
                // Brackets may be doubled around all members, and nowhere else.
                (
                    "<|tool_call>call:search{{query:<|\"|>x<|\"|>}}<tool_call|>So.",
                    "call search {\"query\": \"x\"} | say So.",
                ),
                ("<|tool_call>call:time{{ } }<tool_call|>", "call time {}"),
                ("<|tool_call>call:search{{limit:2}<tool_call|>", "broken search"),
                ("<|tool_call>call:search{{limit:2},query:x}<tool_call|>", "broken search"),
                ("<|tool_call>call:f{a:1,{b:2}}<tool_call|>", "broken f"),
                ("<|tool_call>call:f{o:{{b:2}}}<tool_call|>", "broken f"),
                // Python's words and quotes.
                (
                    "<|tool_call>call:search{query:None,limit:None,l:[None,True]}<tool_call|>",
                    "call search {\"query\": \"None\", \"limit\": null, \"l\": [null, true]}",
                ),
                (
                    "<|tool_call>call:search{query:'Rome, \"it\\'s\"',limit:2}<tool_call|>",
                    "call search {\"query\": \"Rome, \\\"it's\\\"\", \"limit\": 2}",
                ),
                ("<|tool_call>call:search{query:it's}<tool_call|>", "call search {\"query\": \"it's\"}"),
                ("<|tool_call>call:search{query:'it's'}<tool_call|>", "broken search"),
                // Other names of the same channel.
                ("<|channel>analysis\nx<channel|>y", "think x | say y"),
            ],
        );
    }
}
