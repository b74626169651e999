//! The same promises for one call in every dialect: read whole wherever it is split, never run when it is cut, and
//! text when it is quoted.

use super::*;

pub(super) use super::samples::{all_forms, channels, forms};

pub(super) fn readings(name: &str) -> [Reading; 2] {
    let given = dialect(name).unwrap_or_else(|| panic!("no dialect `{name}`"));
    [Reading::for_dialect(given, tools()), Reading::any(tools())]
}

pub(super) fn is_weather(call: &ParsedCall, city: &str) -> bool {
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).expect("is JSON");
    call.name == "get_weather" && arguments == json!({"city": city})
}

#[test]
fn a_call_is_read_wherever_it_is_split() {
    for (name, form) in all_forms() {
        for city in ["New York", "São Paulo 日本", "5", "{a: [b]}", "x < y, z > w"] {
            let text = form.replace('¤', city);
            for reading in readings(name) {
                let whole = run(&[&text], reading.clone(), End::Normal);
                assert!(
                    whole.calls.len() == 1 && is_weather(&whole.calls[0], city),
                    "{name}: {text} {whole:?}"
                );
                assert_eq!(whole.content().trim(), "", "{name}: {text}");
                for (at, _) in text.char_indices() {
                    let mut split = run(&[&text[..at], &text[at..]], reading.clone(), End::Normal);
                    split.steps = whole.steps;
                    assert_eq!(split, whole, "{name}: {text} at {at}");
                }
            }
        }
    }
}

#[test]
fn a_call_that_is_cut_never_runs_with_less_than_it_says() {
    for (name, form) in all_forms() {
        let city = "New York";
        let text = form.replace('¤', city);
        let value_ends = text.find(city).expect("is there") + city.len();
        for reading in readings(name) {
            for (at, _) in text.char_indices() {
                for end in [End::Normal, End::Cut] {
                    let cut = run(&[&text[..at]], reading.clone(), end);
                    assert!(cut.calls.iter().all(|call| is_weather(call, city)), "{name} {at}: {cut:?}");
                    assert!(at > value_ends || cut.calls.is_empty(), "{name} {at}: {cut:?}");
                    assert!(!cut.content().contains(city), "{name} {at}: {cut:?}");
                }
            }
        }
    }
}

#[test]
fn a_call_that_is_quoted_is_text() {
    for (name, form) in forms() {
        let call = form.replace('¤', "Rome");
        let mut quotations = vec![format!("<think>Perhaps {call} then?</think>Done.")];
        // A fence inside the call would end the quotation.
        if !call.contains("```") {
            quotations.push(format!("So:\n```\n{call}\n```\nThat is the form."));
        }
        if !call.contains('\n') {
            quotations.push(format!("Write `{call}` to call it."));
        }
        for text in &quotations {
            let outcome = run(&[text], Reading::any(tools()), End::Normal);
            assert!(outcome.calls.is_empty(), "{name}: {text} {outcome:?}");
            let said: String = outcome.said.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(said, text.replace("<think>", "").replace("</think>", ""), "{name}");
        }
    }
}

#[test]
fn a_head_in_code_is_text() {
    for (name, form) in channels() {
        let text = format!("So:\n```\n{}\n```\nThat is the form.", form.replace('¤', "Rome"));
        let outcome = run(&[&text], Reading::any(tools()), End::Normal);
        assert!(outcome.calls.is_empty(), "{name}: {outcome:?}");
    }
}

#[test]
fn a_call_ends_reasoning_that_the_prompt_has_opened() {
    for (name, form) in all_forms() {
        let text = format!("I must look.\n{}", form.replace('¤', "Rome"));
        for reading in readings(name) {
            let outcome = run(&[&text], reading.reasoning_open(true), End::Normal);
            assert!(outcome.calls.len() == 1 && is_weather(&outcome.calls[0], "Rome"), "{name}: {outcome:?}");
            assert_eq!(outcome.reasoning(), "I must look.", "{name}");
        }
    }
}

#[test]
fn a_call_that_is_cut_behind_its_mark_is_no_text() {
    for (name, form) in all_forms() {
        let call = form.replace('¤', "Rome");
        let channel = channels().any(|(channel, _)| channel == name);
        let prose = if channel { "" } else { "So. " };
        for before in [prose.to_owned(), format!("{prose}{call}")] {
            for (at, _) in call.char_indices().skip(1) {
                let text = format!("{before}{}", &call[..at]);
                for reading in readings(name) {
                    let outcome = run(&cut(&text, &[3]), reading, End::Normal);
                    // What is not yet a mark is text.
                    let said = outcome.content() + &outcome.reasoning();
                    let said = said.trim_start_matches("So.").trim();
                    assert!(call.contains(said), "{name}: {text:?} {outcome:?}");
                    let begun = said.len() >= 2 && outcome.calls.len() <= before.matches(&call).count();
                    let live = crate::registry::ActiveMarks::for_dialect(dialect(name));
                    let marks = live.markers.texts().iter().filter(|mark| said.contains(*mark)).count();
                    assert!(!begun || marks == 0, "{name}: {text:?} {outcome:?}");
                }
            }
        }
    }
}
