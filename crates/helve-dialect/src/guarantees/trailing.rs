//! What stands behind a call that no tag closes is said, whatever it is, unless it is a call's.

use super::*;

const CALLS: &[(&str, &str)] = &[
    ("phi4_mini", r#"functools[{"name": "get_weather", "arguments": {"city": "Rome"}}]"#),
    ("hermes", r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}"#),
    ("lfm2", r#"<|tool_call_start|>[get_weather(city="Rome")]"#),
    ("tool_code", r#"<tool_code>get_weather(city="Rome")"#),
    ("tool_code", r#"<tool_code>print(get_weather(city="Rome"))"#),
    ("pythonic", r#"[get_weather(city="Rome")]"#),
    ("pythonic", r#"get_weather(city="Rome")"#),
    ("json_bare", r#"{"name": "get_weather", "arguments": {"city": "Rome"}}"#),
];

fn nonblank(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_stands_behind_a_call_is_said(
        (name, call) in prop::sample::select(CALLS), tail in "[,;\\[ =\n]{0,4}[,;\\[ =\na1é.\\\\]{0,6}", given in any::<bool>(),
    ) {
        let text = format!("{call}\n{tail}");
        let [known, found] = forms::readings(name);
        let reading = if given { known } else { found };
        let outcome = run(&[&text], reading.clone(), End::Normal);
        let told: String = outcome.dropped.iter().map(|(_, _, text)| text.as_str()).collect();
        prop_assert!(nonblank(&(outcome.content() + &told)).ends_with(&nonblank(&tail)), "{:?}: {:?}", text, outcome);
        let mut cut = run(&cut(&text, &[1]), reading.clone(), End::Normal);
        cut.steps = outcome.steps;
        prop_assert_eq!(&cut, &outcome);
        let mut whole = run_whole(&text, &reading, End::Normal);
        whole.steps = outcome.steps;
        prop_assert_eq!(whole, outcome);
    }
}
