//! `<|tool_call>call:f{k:<|"|>text<|"|>,n:42}<tool_call|>`: Gemma 4.
//!
//! Odd here: reasoning is a channel with a label, `<|channel>thought⏎…<channel|>`, which a call may end.

use super::GemmaGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Reasoning, Then};

pub(super) static GRAMMAR: GemmaGrammar = GemmaGrammar {
    quote: "<|\"|>",
    close: "<tool_call|>",
    next: &["<|tool_call>", "<|tool_response>", "<|channel>", "<turn|>", "<eos>"],
    ending: "<|\"|>}<tool_call|>",
    decodes: false,
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "gemma4",
    openers: &[Opener {
        mark: Mark::Tag("<|tool_call>"),
        then: Then::Words(&["call:", ":"]),
        grammar: Grammar::Gemma(&GRAMMAR),
    }],
    reasoning: &[Reasoning { open: "<|channel>thought", close: "<channel|>" }],
    silent: &["<turn|>", "<|tool_response>", "<eos>"],
    strays: &["<|\"|>", "<tool_call|>"],
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
            ],
        );
    }
}
