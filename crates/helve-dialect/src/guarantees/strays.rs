//! Markup is no text where it opens and closes nothing either: behind a call, whatever marks of its dialect come.

use super::forms::{all_forms, forms, readings};
use super::*;
use crate::registry::is_words;

/// The tags in a text, each with its brackets.
fn tags(text: &str) -> Vec<&str> {
    let begins = text.match_indices(['<', '[']).map(|(at, _)| &text[at..]);
    let ends = |tag: &&str| tag.find(['>', ']']);
    let tags = begins.filter_map(|tag| ends(&tag).map(|end| &tag[..=end]));
    // What begins a tag of Kimi K3 is none yet.
    tags.filter(|tag| tag.len() > 2 && *tag != "<|close|>" && !tag.contains([' ', '{', '='])).collect()
}

/// What may follow a call: the marks of its end and those of its beginning, alone and with text about them.
fn tails(call: &str) -> Vec<(String, String)> {
    let (_, after) = call.rsplit_once('¤').expect("a form has a place for its text");
    let marks = match after.contains("minimax[") {
        // An element of any name may be a parameter's.
        true => vec!["]<]minimax[>[</invoke>", "]<]minimax[>[</tool_call>"],
        false => {
            let whole = after.trim_start_matches(['"', '}', ')', ']', '\n', '`']);
            tags(after).into_iter().chain([whole]).collect()
        }
    };
    let tails = marks.iter().filter(|mark| !mark.is_empty()).flat_map(|mark| {
        let tails = [
            mark.to_string(),
            format!("\n{mark}\n"),
            format!(" Done. {mark}"),
            format!("{mark} Done."),
            format!("{mark}{mark} Done. {mark}"),
        ];
        tails.map(|tail| (mark.to_string(), tail))
    });
    tails.collect()
}

#[test]
fn marks_behind_a_call_that_belong_to_none_are_no_text() {
    for (name, form) in all_forms() {
        for (mark, tail) in tails(form) {
            let text = form.replace('¤', "Rome") + &tail;
            for reading in readings(name) {
                let whole = run(&[&text], reading.clone(), End::Normal);
                let how = format!("{name}, {:?}: {text:?} {whole:?}", reading.dialect);
                assert_eq!(whole.calls.len(), 1, "{how}");
                let said: String = whole.said.iter().map(|(_, text)| text.as_str()).collect();
                assert!(!said.contains(mark.trim()), "{how}");
                // Brackets that a mark leaves behind are the model's own.
                let done = if tail.contains("Done.") { "Done." } else { "" };
                assert_eq!(said.trim_matches(['`', '}', '\n', ' ']), done, "{how}");
                for size in [1, 3] {
                    let mut cut = run(&cut(&text, &[size]), reading.clone(), End::Normal);
                    cut.steps = whole.steps;
                    assert_eq!(cut, whole, "{how} in pieces of {size}");
                }
            }
        }
    }
}

#[test]
fn an_opener_behind_a_call_that_opens_nothing_is_no_text_unless_people_write_it_too() {
    for (name, form) in forms() {
        let call = form.replace('¤', "Rome");
        let dialect = dialect(name).expect("is there");
        for opener in dialect.openers {
            let crate::dialect::Mark::Tag(mark) = opener.mark else { continue };
            if !call.starts_with(mark) {
                continue;
            }
            let text = format!("{call}\n{mark}. Done.");
            for reading in readings(name) {
                let outcome = run(&cut(&text, &[2]), reading, End::Normal);
                assert_eq!(outcome.content().contains(mark), is_words(mark), "{name}: {text:?} {outcome:?}");
            }
        }
    }
}

#[test]
fn what_repeats_a_call_before_its_closing_mark_is_no_second_call() {
    let call = "<|tool_call_start|>[get_weather(city=\"Rome\")]<|tool_call_end|>";
    let echo = "[get_weather(city=\"Rome\")]";
    for (tail, said) in [("", ""), (" So.", " So."), ("<|im_end|>", "")] {
        let text = format!("{call}{echo}<|tool_call_end|>{tail}");
        for reading in readings("lfm2") {
            let outcome = run(&cut(&text, &[1]), reading, End::Normal);
            assert_eq!(outcome.calls.len(), 1, "{text}");
            assert_eq!(outcome.content(), format!("{echo}{said}"), "{text}");
        }
    }
    let call = r#"{"name": "search", "arguments": {"query": "a"}}"#;
    let text = format!("<tool_call>{call}</tool_call>\n{call}</tool_call>");
    for reading in readings("hermes") {
        let outcome = run(&[&text], reading, End::Normal);
        assert_eq!((outcome.calls.len(), outcome.content()), (1, format!("\n{call}")));
    }
}

#[test]
fn end_tokens_are_no_text_when_a_trial_is_rejected() {
    let call = r#"{"name": "search", "arguments": {"query": "a"}}"#;
    let quoted = [
        format!("{call}<|im_end|> Ok."),
        format!("```json\n{call}\n```\n<|im_end|> Ok."),
        format!("<think>Say <tool_call>{call}</tool_call> <|im_end|> or not.</think>Ok."),
    ];
    for text in &quoted {
        let outcome = run(&cut(text, &[3]), Reading::any(tools()), End::Normal);
        let said: String = outcome.said.iter().map(|(_, text)| text.as_str()).collect();
        let expected = text.replace("<|im_end|>", "").replace("<think>", "").replace("</think>", "");
        assert!(outcome.calls.is_empty() && said == expected, "{text:?} {outcome:?}");
    }
}

#[test]
fn marks_before_any_call_and_in_quotations_are_text() {
    let call = r#"<tool_call>{"name": "search", "arguments": {"query": "a"}}</tool_call>"#;
    for reading in readings("hermes") {
        let text = format!("A </tool_call> closes it. {call}\nBy `</tool_call>`:\n> </tool_call>\nOk.");
        let outcome = run(&[&text], reading.clone(), End::Normal);
        assert_eq!(outcome.content(), text.replace(call, ""));
        let text = format!("<think>If {call}</tool_call> then.</think>A </tool_call>.");
        let outcome = run(&[&text], reading, End::Normal);
        assert_eq!(outcome.reasoning(), format!("If {call}</tool_call> then."));
        assert_eq!(outcome.content(), "A </tool_call>.");
    }
}

/// Calls that no mark closes, or none at all marks.
const OPEN: &[(&str, &str)] = &[
    ("json_bare", r#"{"name": "get_weather", "arguments": {"city": "¤"}}"#),
    ("xlam", r#"[{"name": "get_weather", "arguments": {"city": "¤"}}]"#),
    ("json_fenced", "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"¤\"}}\n```"),
    ("tool_code", "```tool_code\nget_weather(city=\"¤\")\n```"),
    ("pythonic", "[get_weather(city=\"¤\")]"),
];

#[test]
fn any_model_may_end_with_any_end_token() {
    for (name, form) in all_forms().chain(OPEN.iter().copied()) {
        for token in crate::dialect::END_TOKENS {
            let text = format!("{}{token}", form.replace('¤', "Rome"));
            for reading in readings(name) {
                for text in [&[text.as_str()][..], &cut(&text, &[1])] {
                    let outcome = run(text, reading.clone(), End::Normal);
                    assert_eq!(outcome.calls.len(), 1, "{name}: {text:?} {outcome:?}");
                    assert_eq!(outcome.content().trim(), "", "{name}: {text:?}");
                }
            }
        }
    }
    // Inside a channel only its own marks mean anything, and Functionary begins in one.
    for dialect in crate::dialects().iter().filter(|dialect| dialect.name != "functionary_v32") {
        for token in crate::dialect::END_TOKENS {
            let text = format!("So.{token}");
            let outcome = run(&[&text], Reading::for_dialect(dialect, tools()), End::Normal);
            assert_eq!(outcome.content(), "So.", "{dialect:?}: {text}");
        }
    }
}
