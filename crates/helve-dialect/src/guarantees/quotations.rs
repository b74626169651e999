//! Text that only looks like markup comes out as it was written, and runs nothing: marks people talk about, code, results
//! that a model repeats.

use super::forms::{self, forms};
use super::*;

/// With the dialect given, and found where it is looked for.
fn readings(name: &str) -> Vec<Reading> {
    let mut readings = Vec::from(forms::readings(name));
    if !dialect(name).expect("is there").is_found_by_marks() {
        readings.truncate(1);
    }
    readings
}

/// The text is nothing but text, whole and in pieces, with the dialect given and found.
fn is_text(name: &str, text: &str) {
    for reading in readings(name) {
        for size in [1, 2, text.len()] {
            let outcome = run(&cut(text, &[size]), reading.clone(), End::Normal);
            assert!(outcome.calls.is_empty(), "{name}: {text:?} {outcome:?}");
            let complete = outcome.finding.as_ref().is_some_and(|finding| finding.complete);
            assert!(complete, "{name}: {text:?} {outcome:?}");
            assert_eq!(outcome.content(), text, "{name}");
        }
    }
}

#[test]
fn a_call_between_lines_of_tildes_is_text() {
    for (name, form) in forms() {
        let call = form.replace('¤', "Rome");
        is_text(name, &format!("So:\n~~~xml\n{call}\n~~~\nThat is it."));
        is_text(name, &format!("So:\n~~~~\n~~~\n{call}\n~~~~~\nThat is it."));
    }
    let text = "A ~ b, ~~c~~.\n~~~\nx\n~~~\n<tool_call>{\"name\": \"time\"}</tool_call>";
    let outcome = run(&cut(text, &[1]), Reading::any(tools()), End::Normal);
    assert_eq!((outcome.calls.len(), outcome.content().as_str()), (1, "A ~ b, ~~c~~.\n~~~\nx\n~~~\n"));
}

#[test]
fn a_call_in_a_result_that_the_model_writes_is_text() {
    for (name, form) in forms() {
        let call = form.replace('¤', "Rome");
        for (open, close) in crate::dialect::RESULTS {
            is_text(name, &format!("{open}\n{call}\n{close}\nSo."));
            is_text(name, &format!("{open}{{\"r\": \"{call} and {call}\"}}{close} So."));
        }
    }
    let call = r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>"#;
    let outcome =
        run(&[&format!("<tool_response>x</tool_response>{call}")], Reading::any(tools()), End::Normal);
    assert_eq!((outcome.calls.len(), outcome.content().as_str()), (1, "<tool_response>x</tool_response>"));
    // One that does not end was no result.
    let outcome = run(&[&format!("The <tool_response> tag. {call}")], Reading::any(tools()), End::Normal);
    assert_eq!((outcome.calls.len(), outcome.content().as_str()), (1, "The <tool_response> tag. "));
}

#[test]
fn a_mark_that_heads_no_message_is_text() {
    for (name, text) in [
        ("harmony", "The mark <|channel|> is special."),
        ("harmony", "Tokens like <|start|> are special.\nAnd so on."),
        ("kimi_k3", "a <|open|> b"),
        ("kimi_k3", "An <|open|> mark.\n\nAnd its <|close|> mark."),
    ] {
        is_text(name, text);
    }
    let call = r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>"#;
    let outcome =
        run(&[&format!("The mark <|channel|> is special.\n{call}")], Reading::any(tools()), End::Normal);
    assert_eq!((outcome.calls.len(), outcome.content().as_str()), (1, "The mark <|channel|> is special.\n"));
}

#[test]
fn what_is_quoted_in_an_answer_channel_is_text() {
    let kimi_k3 = "<|open|>call tool=\"search\"<|sep|><|close|>call<|sep|>";
    let harmony = "<|channel|>commentary to=functions.search<|message|>{}";
    let inkling = "<|content_invoke_tool_json|>{\"name\": \"search\", \"args\": {}}";
    for (name, head, call, foot) in [
        ("kimi_k3", "<|open|>response<|sep|>", kimi_k3, "<|end_of_msg|>"),
        ("harmony", "<|channel|>final<|message|>", harmony, "<|return|>"),
        ("harmony", "<|channel|>final<|message|>", "<|channel|>", "<|return|>"),
        ("inkling", "<|content_text|>", inkling, "<|end_message|>"),
        ("functionary_v32", "all\n", ">>>search\n{}", "<|eot_id|>"),
    ] {
        for said in
            [format!("Ex:\n```\n{call}\n```\nok"), format!("Write `{call}` so."), format!("> {call}\nso")]
        {
            let quoted_line = said.starts_with('>');
            if call.contains('\n') && !said.starts_with("Ex") {
                continue;
            }
            let text = format!("{head}{said}{foot}");
            for reading in readings(name) {
                for size in [1, text.len()] {
                    let outcome = run(&cut(&text, &[size]), reading.clone(), End::Normal);
                    assert!(outcome.calls.is_empty(), "{name}: {text:?} {outcome:?}");
                    // A closing mark closes the channel wherever it stands.
                    let whole = !quoted_line || !call.contains("<|close|>");
                    if whole && name != "kimi_k3" {
                        assert_eq!(outcome.content(), said, "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_end_token_in_a_channel_is_no_text() {
    for (name, head) in [
        ("harmony", "<|channel|>final<|message|>"),
        ("kimi_k3", "<|open|>response<|sep|>"),
        ("inkling", "<|content_text|>"),
        ("muse_glimmer", " to=user<|message|>"),
        ("functionary_v32", "all\n"),
    ] {
        for token in crate::dialect::END_TOKENS {
            for reading in readings(name) {
                let outcome = run(&cut(&format!("{head}So.{token}"), &[3]), reading, End::Normal);
                assert_eq!(outcome.content(), "So.", "{name} {token}");
            }
        }
    }
}

#[test]
fn a_closing_tag_of_html_is_text_where_text_follows_it() {
    is_text("hermes", "Use <s>old</s> new.");
    is_text("mistral", "<s>old</s>\n\nnew");
    for text in ["So.</s>", "So.</s>\n", "So.</s><|im_end|>"] {
        for reading in readings("hermes") {
            let outcome = run(&cut(text, &[1]), reading, End::Normal);
            assert_eq!(outcome.content(), "So.", "{text}");
        }
    }
}

#[test]
fn words_that_are_marks_too_are_kept() {
    for (name, text, said) in [
        ("functionary_v32", "search\n{}>>>all\nshift x >>> y, ok", "shift x >>> y, ok"),
        ("functionary_v32", "search\n{}>>>nobody\nknows", ">>>nobody\nknows"),
        ("think_granite", "I often write Here is my response: x", "I often write Here is my response: x"),
        ("think_granite", "Here is my response: b Here is my response: c", "b Here is my response: c"),
    ] {
        let reading = Reading::for_dialect(dialect(name).expect("is there"), tools());
        for size in [1, text.len()] {
            let outcome = run(&cut(text, &[size]), reading.clone(), End::Normal);
            assert_eq!(outcome.content(), said, "{name}: {outcome:?}");
        }
    }
}
