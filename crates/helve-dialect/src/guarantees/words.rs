//! Every word that a model writes comes out exactly once: as text, as reasoning, in a call, or in what is told of a call
//! that was dropped. Only markup vanishes: tags, and the heads of messages.

use super::forms::{CHANNELS, FORMS};
use super::*;

/// A word that stands nowhere else.
const WORD: &str = "zqw";

/// How often it comes out. The id of a call repeats its name.
fn times(outcome: &Outcome) -> usize {
    let said = outcome.said.iter().map(|(_, text)| text.as_str());
    let called = outcome.calls.iter().flat_map(|call| [call.name.as_str(), call.arguments.as_str()]);
    let dropped = outcome.dropped.iter().map(|(_, _, text)| text.as_str());
    said.chain(called).chain(dropped).map(|text| text.matches(WORD).count()).sum()
}

/// Marks that begin a head, and those that end it. A head is markup, whatever it says.
const HEADS: &[(&str, &str)] = &[
    ("<|channel|>", "<|message|>"),
    ("<|start|>", "<|message|>"),
    ("<|message_model|>", "<|content_invoke_tool_json|>"),
    ("<|open|>", "<|sep|>"),
    ("<|close|>", "<|sep|>"),
    ("<｜tool▁call▁begin｜>function", "<｜tool▁sep｜>"),
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

/// One or two calls of a dialect, with a word put in between two tokens, and perhaps one of its tokens left out or said twice.
fn strewn() -> impl Strategy<Value = (&'static str, String)> {
    let forms: Vec<(&str, &str)> = FORMS.iter().chain(CHANNELS).copied().collect();
    let word = prop::sample::select(vec![" zqw", "zqw ", "zqw", "\nzqw\n", "<zqw>", "zqw: a, b."]);
    let place = any::<prop::sample::Index>;
    (prop::sample::select(forms), any::<bool>(), place(), word, 0usize..6, place()).prop_map(
        |((name, form), twice, at, word, change, change_at)| {
            let mut text = form.replace('¤', "Rome");
            if twice {
                text += &form.replace('¤', "Oslo");
            }
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_word_comes_out_once((name, text) in strewn(), given in any::<bool>(), end in any_end()) {
        let dialect = if given { dialect(name) } else { None };
        let outcome = run(&[&text], Reading::new(dialect, tools()), end);
        prop_assert_eq!(times(&outcome), 1, "{}: {:?}", text, outcome);
    }
}

/// TODO: throw-away. All that the property finds, by dialect.
#[test]
fn explore() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use std::collections::BTreeMap;
    let mut runner = TestRunner::deterministic();
    let strategy = (strewn(), any::<bool>(), any_end());
    let mut found: BTreeMap<(&str, usize), (usize, BTreeMap<usize, String>)> = BTreeMap::new();
    for _ in 0..300_000 {
        let ((name, text), given, end) = strategy.new_tree(&mut runner).expect("a tree").current();
        let outcome = run(&[&text], Reading::new(if given { dialect(name) } else { None }, tools()), end);
        let count = times(&outcome);
        if count != 1 {
            let entry = found.entry((name, count)).or_default();
            entry.0 += 1;
            let calls: Vec<_> = outcome.calls.iter().map(|c| format!("{} {}", c.name, c.arguments)).collect();
            let example = format!(
                "{text:?} given={given} {end:?}\n      => said {:?} calls {calls:?} dropped {:?}",
                outcome.said, outcome.dropped
            );
            entry.1.entry(text.find(WORD).unwrap_or(0)).or_insert(example);
        }
    }
    for ((name, count), (times, examples)) in &found {
        println!("{name} x{count}: {times}");
        for e in examples.values() {
            println!("    {e}");
        }
    }
}
