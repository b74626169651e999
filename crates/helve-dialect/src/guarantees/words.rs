//! Every word that a model writes comes out exactly once: as text, as reasoning, in a call, or in what is told of a call
//! that was dropped. Only markup vanishes: tags, and the heads of messages.

use super::forms::all_forms;
use super::*;

/// A word that stands nowhere else.
const WORD: &str = "zqw";

/// Marks that begin a head, and those that end it. A head is markup, whatever it says, and so is a tag: that of Kimi K3
/// stands between two tokens, and may vanish with what is written there. The word behind a fence is markup too.
const HEADS: &[(&str, &str)] = &[
    ("<|channel|>", "<|message|>"),
    ("<|start|>", "<|message|>"),
    ("<|message_model|>", "<|content_invoke_tool_json|>"),
    ("<|open|>", "<|sep|>"),
    ("<|close|>", "<|sep|>"),
    ("<｜tool▁call▁begin｜>function", "<｜tool▁sep｜>"),
    ("```json", "\n"),
    ("]<]minimax[>[", ">"),
    ("[", "]"),
    ("<", ">"),
];

/// The text in tokens: heads and tags, and what stands between them, character by character.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let head = HEADS.iter().find_map(|(begin, end)| {
            let behind = rest.strip_prefix(begin)?;
            Some(begin.len() + behind.find(end)? + end.len())
        });
        let is_tag = |len: &usize| !rest[..*len].contains(['{', '(', '"']) || rest.starts_with('<');
        let (token, behind) = rest.split_at(head.filter(is_tag).unwrap_or(first.len_utf8()));
        tokens.push(token);
        rest = behind;
    }
    tokens
}

/// One or two calls of a dialect, perhaps with prose about them, a word put in between two tokens, and perhaps one of the
/// tokens left out or said twice.
fn strewn() -> impl Strategy<Value = (&'static str, String)> {
    let forms: Vec<(&str, &str)> = all_forms().collect();
    let word = prop::sample::select(vec![" zqw", "zqw ", "zqw", "\nzqw\n", "<zqw>", "zqw: a, b."]);
    let before = prop::sample::select(vec!["", "", "So.\n", "<think>Hm.\n", "<think>Hm.</think>\n"]);
    let behind = prop::sample::select(vec!["", "", "\nDone.", " I <3 it"]);
    let place = any::<prop::sample::Index>;
    let calls = (prop::sample::select(forms), any::<bool>(), before, behind);
    (calls, place(), word, 0usize..6, place()).prop_map(
        |(((name, form), twice, before, behind), at, word, change, change_at)| {
            let mut text = before.to_owned() + &form.replace('¤', "Rome");
            if twice {
                text += &form.replace('¤', "Oslo");
            }
            text += behind;
            let mut tokens = tokens(&text);
            tokens.insert(at.index(tokens.len() + 1), word);
            let changed = change_at.index(tokens.len());
            match change {
                0 if tokens[changed] != word => _ = tokens.remove(changed),
                1 if tokens[changed] != word => tokens.insert(changed, tokens[changed]),
                _ => {}
            }
            (name, tokens.concat())
        },
    )
}

fn any_tools() -> impl Strategy<Value = Tools> {
    prop_oneof![3 => Just(tools()), 1 => Just(Tools::unknown())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_word_comes_out_once(
        (name, text) in strewn(),
        given in any::<bool>(),
        tools in any_tools(),
        reasoning_open in prop::bool::weighted(0.2),
        end in any_end(),
    ) {
        let dialect = if given { dialect(name) } else { None };
        let reading = Reading::new(dialect, tools).reasoning_open(reasoning_open);
        let outcome = run(&[&text], reading, end);
        prop_assert_eq!(outcome.times(WORD), 1, "{}: {:?}", text, outcome);
    }
}
