//! Strict reading, as the messages of a run are read: a call counts by its place, and never if it repeats what was said.

use std::sync::Arc;

use super::forms::all_forms;
use super::*;
use crate::{Profile, Quotable};

fn strict(quoted: &[&str], profile: Option<&str>) -> Reading {
    let profile = profile.map(|name| Profile::named(name).expect("is shipped"));
    let dialect = profile.map(Profile::dialect);
    Reading::expecting(dialect, tools()).strict(Arc::new(Quotable::new(quoted.iter().copied())), profile)
}

/// What comes out, in pieces of several sizes alike: the calls and the text.
fn read(text: &str, reading: &Reading) -> (usize, String) {
    let read = |size: usize| {
        let (mut calls, mut said) = (0, String::new());
        let mut parser = Parser::new(reading.clone());
        let mut take = |piece: Piece<'_>| match piece {
            Piece::CallFinished { .. } => calls += 1,
            Piece::Text(text) | Piece::Reasoning(text) => said += text,
            Piece::CallDropped { why, .. } => assert_eq!(why, Dropped::Quoted, "{text}"),
            _ => {}
        };
        cut(text, &[size]).iter().for_each(|piece| parser.feed(piece, &mut take));
        parser.finish(End::Normal, &mut take);
        (calls, said)
    };
    let whole = read(text.len());
    for size in [1, 2, 3, 7] {
        assert_eq!(read(size), whole, "{text:?} in pieces of {size}");
    }
    whole
}

fn forms() -> impl Iterator<Item = (&'static str, String)> {
    let dialects = all_forms();
    dialects.map(|(name, form)| (name, form.replace('¤', "Rome")))
}

#[test]
fn a_call_in_a_sentence_that_goes_on_is_text_in_every_dialect() {
    for (name, call) in forms() {
        for text in [
            format!("You write {call} to call it."),
            format!("The manual says: {call}\n\nThat is the form."),
            format!("First {call} and then {call} again."),
            format!("- {call}: the form"),
        ] {
            assert_eq!(read(&text, &strict(&[], None)), (0, text.clone()), "{name}");
        }
    }
}

#[test]
fn a_call_that_begins_a_line_or_ends_the_message_counts_in_every_dialect() {
    for (name, call) in forms() {
        for (text, calls) in [
            (call.clone(), 1),
            (format!("Let me look. {call}"), 1),
            (format!("Let me look.\n{call}"), 1),
            (format!("Let me look. {call}\n{call}\n"), 2),
            (format!("Let me look.\n  {call}\nNow we wait."), 1),
        ] {
            let (read, said) = read(&text, &strict(&[], None));
            // Words right behind a call without a closing mark may be a part of it.
            if !text.ends_with("wait.") || said.contains("wait") {
                assert_eq!(read, calls, "{name}: {text} {said}");
            }
            assert!(!said.contains("Rome"), "{name}: {text} {said}");
        }
    }
}

#[test]
fn a_call_that_repeats_what_was_said_is_text_in_every_dialect() {
    for (name, call) in forms() {
        let page = format!("The page says:\n{call}\nSo much for that.");
        let in_json = json!({ "body": page }).to_string();
        for said in [&page, &in_json] {
            for text in [
                call.clone(),
                format!("Let me look.\n{call}"),
                format!("Let me look. {call}"),
                format!("It says:\n{call}\nand no more."),
                format!("{call}\n{call}"),
            ] {
                assert_eq!(read(&text, &strict(&["hello", said], None)), (0, text.clone()), "{name}");
            }
            let thought = format!("It says\n{call}");
            let (calls, rest) = read(&thought, &strict(&[said], None).reasoning_open(true));
            // The line break before the head of a message belongs to neither.
            assert_eq!((calls, rest.replace('\n', "")), (0, thought.replace('\n', "")), "{name}");
        }
        let other = call.replace("Rome", "Oslo");
        let (calls, rest) = read(&other, &strict(&[&page], None));
        assert_eq!((calls, &*rest), (1, ""), "{name}: another call is none of what was said");
    }
}

#[test]
fn a_call_in_reasoning_counts_by_its_place_too() {
    let call = r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>"#;
    let open = |text: &str| read(text, &strict(&[], None).reasoning_open(true));
    assert_eq!(open(&format!("I look. {call}")), (1, "I look. ".into()));
    assert_eq!(open(&format!("I look.\n{call}\nand wait")).0, 1);
    let text = format!("I could write {call} but I do not.");
    assert_eq!(open(&text), (0, text.clone()));
    let text = format!("I could write {call} but\n{call}");
    assert_eq!(open(&text).0, 1);
}

#[test]
fn a_call_without_marks_counts_as_the_profile_shows_it_whatever_follows() {
    let strict_json = r#"{"tool_calls": [{"id": "c", "type": "function", "function": {"name": "search", "arguments": "{\"query\": \"x\"}"}}]}"#;
    let llama = r#"{"name": "search", "parameters": {"query": "x"}}"#;
    for (profile, call) in
        [("json_strict", strict_json), ("llama3_json", llama), ("pythonic", "[search(query=\"x\")]")]
    {
        let reading = strict(&[], Some(profile));
        for behind in
            ["", ".", "\n\n请等待执行结果。", "\n{\"tool_call_result\": {\"result\": 99}}", " is how."]
        {
            for before in ["", "Let me look.\n", "\n"] {
                let text = format!("{before}{call}{behind}");
                assert_eq!(read(&text, &reading).0, 1, "{profile}: {text}");
            }
        }
        let text = format!("{call} and\n{call}.");
        assert_eq!(read(&text, &reading).0, 2, "{profile}");
        let text = format!("As in {call} here.");
        assert_eq!(read(&text, &reading), (0, text.clone()), "{profile}");
        let text = call.replace("search", "no_tool") + " is none.";
        assert_eq!(read(&text, &reading), (0, text.clone()), "{profile}");
        let text = format!("```\n{call}\n```\nThat is the form.");
        assert_eq!(read(&text, &reading), (0, text.clone()), "{profile}");
    }
    let text = r#"{"tool": "search", "query": "x"} is a call."#;
    assert_eq!(read(text, &strict(&[], Some("json_strict"))), (0, text.into()));
}

#[test]
fn what_is_more_likely_a_quotation_is_not_shown_as_a_call() {
    let call = r#"<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>"#;
    let shown = |text: &str, profile| {
        let mut shown = 0;
        let mut parser = Parser::new(strict(&[], profile));
        let mut take = |piece: Piece<'_>| shown += usize::from(matches!(piece, Piece::CallStarted { .. }));
        cut(text, &[3]).iter().for_each(|piece| parser.feed(piece, &mut take));
        parser.finish(End::Normal, &mut take);
        shown
    };
    assert_eq!(shown(&format!("Write {call} so."), None), 0);
    assert_eq!(shown(r#"JSON: {"tool": "search", "query": "1"} is a call."#, Some("json_strict")), 0);
    assert_eq!(shown(&format!("Let me look. {call}"), None), 1);
    assert_eq!(shown(call, None), 1);
}

#[test]
fn without_calls_all_is_text_but_the_reasoning() {
    let reading = Reading::without_calls(tools());
    for (_, call) in forms().chain([("json_bare", r#"{"name": "search", "arguments": {}}"#.to_owned())]) {
        for text in [call.clone(), format!("So: {call} it is."), format!("```json\n{call}\n```")] {
            let outcome = run(&cut(&text, &[3]), reading.clone(), End::Normal);
            assert!(outcome.calls.is_empty() && outcome.dropped.is_empty(), "{text}");
            // The tokens that end a turn are left out.
            let ends =
                crate::dialect::END_TOKENS.iter().fold(text.clone(), |text, token| text.replace(token, ""));
            assert_eq!(outcome.content(), ends);
        }
    }
    let outcome = run(&["<think>hm</think>So."], reading, End::Normal);
    assert_eq!((&*outcome.reasoning(), &*outcome.content()), ("hm", "So."));
}

#[test]
fn no_word_of_an_answer_waits() {
    let answers = [
        "今 天 北 京 的 天 气 很 好 。",
        "今日は天気がいいですね。",
        "12345678901234",
        "Certainly, it is nice.",
        "Naïve",
        "Привет",
        "Hello",
        "```python\nprint(1)\n```",
    ];
    for (reading, native) in [
        (Reading::without_calls(tools()), true),
        (strict(&[], Some("json_strict")), false),
        (strict(&[], None), false),
    ] {
        for answer in answers.iter().filter(|answer| native || !answer.starts_with('`')) {
            let mut parser = Parser::new(reading.clone());
            for (at, c) in answer.char_indices().filter(|(_, c)| *c != '`') {
                let mut said = String::new();
                let piece = &answer[at..at + c.len_utf8()];
                parser.feed(piece, &mut |piece: Piece<'_>| match piece {
                    Piece::Text(text) => said += text,
                    piece => panic!("{piece:?}"),
                });
                assert_eq!(said, piece, "{answer}");
            }
        }
    }
}

#[test]
fn without_calls_what_went_out_and_what_is_known_to_wait_are_all_that_came() {
    let answers = [
        "<div>今天</div>",
        "< 5, <= 5, <think, </thin",
        "[1] a link, [THIN] no mark, [THINK",
        "`a` ``b`` ```c```",
        "```python\nprint('<')\n```\n~~~\n`\n~~~",
        "\n\n <b>",
        "{\"tool\": \"search\"} <tool_call>{}</tool_call>",
        "|<|x|> ◁thi",
    ];
    for answer in answers {
        let mut parser = Parser::new(Reading::without_calls(tools()));
        let mut said = String::new();
        for (at, c) in answer.char_indices() {
            let fed = &answer[..at + c.len_utf8()];
            parser.feed(&answer[at..fed.len()], &mut |piece: Piece<'_>| match piece {
                Piece::Text(text) => said += text,
                piece => panic!("{piece:?}"),
            });
            let waiting = parser.waiting().map(|waiting| {
                assert!(!waiting.in_reasoning, "{answer}");
                format!("{}{}", waiting.blanks, waiting.beginning)
            });
            let seen = said.clone() + waiting.as_deref().unwrap_or_default();
            // Blanks alone show nothing.
            assert_eq!(seen, if fed.trim().is_empty() { "" } else { fed }, "{answer}");
        }
    }
}

#[test]
fn what_waits_in_reasoning_is_the_reasonings_and_where_calls_may_come_nothing_is_known() {
    let mut parser = Parser::new(Reading::without_calls(tools()));
    parser.feed("<think>a\n<", &mut |_: Piece<'_>| {});
    let waiting = parser.waiting().map(|waiting| (waiting.in_reasoning, waiting.blanks, waiting.beginning));
    assert_eq!(waiting, Some((true, "\n", "<")));
    let mut parser = Parser::new(strict(&[], None));
    parser.feed("so <", &mut |_: Piece<'_>| {});
    assert_eq!(parser.waiting(), None);
}
