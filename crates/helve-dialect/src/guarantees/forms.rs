//! The same promises for one call in every dialect: read whole wherever it is split, never run when it is cut, and
//! text when it is quoted.

use super::*;

/// A call of `get_weather` with one text, as a dialect writes it; `¤` stands for the text.
pub(super) const FORMS: &[(&str, &str)] = &[
    ("hermes", r#"<tool_call>{"name": "get_weather", "arguments": {"city": "¤"}}</tool_call>"#),
    (
        "longcat",
        r#"<longcat_tool_call>{"name": "get_weather", "arguments": {"city": "¤"}}</longcat_tool_call>"#,
    ),
    ("jamba", r#"<tool_calls>[{"name": "get_weather", "arguments": {"city": "¤"}}]</tool_calls>"#),
    ("nemotron_deci", r#"<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "¤"}}]</TOOLCALL>"#),
    ("granite", r#"<|tool_call|>[{"name": "get_weather", "arguments": {"city": "¤"}}]"#),
    ("granite_20b_fc", r#"<function_call> {"name": "get_weather", "arguments": {"city": "¤"}}"#),
    (
        "cohere_cmd",
        r#"<|START_ACTION|>[{"tool_name": "get_weather", "parameters": {"city": "¤"}}]<|END_ACTION|>"#,
    ),
    ("apertus", r#"<|tools_prefix|>[{"get_weather": {"city": "¤"}}]<|tools_suffix|>"#),
    ("phi4_mini", r#"functools[{"name": "get_weather", "arguments": {"city": "¤"}}]"#),
    ("llama3_json", r#"<|python_tag|>{"name": "get_weather", "parameters": {"city": "¤"}}"#),
    ("sarashina", r#"<|tool_calls|>[{"name": "get_weather", "arguments": {"city": "¤"}}]"#),
    ("gigachat3", r#"<|function_call|>{"name": "get_weather", "arguments": {"city": "¤"}}"#),
    (
        "internlm",
        "<|action_start|><|plugin|>\n{\"name\": \"get_weather\", \"parameters\": {\"city\": \"¤\"}}<|action_end|>",
    ),
    (
        "gigachat3",
        "<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"¤\"}}",
    ),
    (
        "qwen3_coder",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\n¤\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "seed_oss",
        "<seed:tool_call>\n<function=get_weather>\n<parameter=city>¤</parameter>\n</function>\n</seed:tool_call>",
    ),
    ("glm45", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>¤</arg_value>\n</tool_call>"),
    ("glm47", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>¤</arg_value></tool_call>"),
    (
        "hy_v3",
        "<tool_calls:a><tool_call:a>get_weather<tool_sep:a><arg_key:a>city</arg_key:a><arg_value:a>¤</arg_value:a></tool_call:a></tool_calls:a>",
    ),
    (
        "hy_v4",
        "<tool_calls:a><tool_call:a>get_weather<arg_key:a>city</arg_key:a><arg_value:a>¤</arg_value:a></tool_call:a></tool_calls:a>",
    ),
    (
        "minimax_m2",
        "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">¤</parameter>\n</invoke>\n</minimax:tool_call>",
    ),
    (
        "minimax_m3",
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"get_weather\">]<]minimax[>[<city>¤]<]minimax[>[</city>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    ),
    (
        "claude_xml",
        "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">¤</parameter>\n</invoke>\n</function_calls>",
    ),
    ("minicpm5", "<function name=\"get_weather\"><param name=\"city\">¤</param></function>"),
    (
        "dots",
        "<dots_function_call><invoke name=\"get_weather\"><parameter name=\"city\">¤</parameter></invoke></dots_function_call>",
    ),
    (
        "step3",
        "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"get_weather\">\n<steptml:parameter name=\"city\">¤</steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>",
    ),
    (
        "deepseek_v32",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">¤</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    (
        "deepseek_v4",
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">¤</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    (
        "deepseek_v41",
        "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"get_weather\">\n<｜DSML｜ parameter name=\"city\" string=\"true\">¤</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
    ),
    ("mistral", r#"[TOOL_CALLS]get_weather[ARGS]{"city": "¤"}"#),
    (
        "kimi_k2",
        r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "¤"}<|tool_call_end|><|tool_calls_section_end|>"#,
    ),
    (
        "deepseek_v3",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"¤\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "deepseek_v31",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"¤\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    ("llama31_function_tag", r#"<function=get_weather>{"city": "¤"}</function>"#),
    ("gemma4", "<|tool_call>call:get_weather{city:<|\"|>¤<|\"|>}<tool_call|>"),
    ("functiongemma", "<start_function_call>call:get_weather{city:<escape>¤<escape>}<end_function_call>"),
    ("lfm2", "<|tool_call_start|>[get_weather(city=\"¤\")]<|tool_call_end|>"),
    ("olmo3", "<function_calls>\nget_weather(city=\"¤\")\n</function_calls>"),
    ("tool_code", "<tool_code>get_weather(city=\"¤\")</tool_code>"),
];

/// Calls in channels; a head is markup wherever it stands.
pub(super) const CHANNELS: &[(&str, &str)] = &[
    (
        "harmony",
        r#"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "¤"}<|call|>"#,
    ),
    (
        "muse_glimmer",
        "<|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name=\"get_weather\">\n<atem:parameter name=\"city\">¤</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>",
    ),
    (
        "beam",
        "<|start|>assistant to=get_weather<|message|><rfl:parameter name=\"city\">¤</rfl:parameter><|eot|>",
    ),
    (
        "kimi_k3",
        "<|open|>tools<|sep|><|open|>call tool=\"get_weather\" index=\"1\"<|sep|><|open|>argument key=\"city\" type=\"string\"<|sep|>¤<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    ),
    (
        "inkling",
        r#"<|message_model|>get_weather<|content_invoke_tool_json|>{"name": "get_weather", "args": {"city": "¤"}}<|end_message|>"#,
    ),
];

pub(super) fn readings(name: &str) -> [Reading; 2] {
    let given = dialect(name).unwrap_or_else(|| panic!("no dialect `{name}`"));
    [Reading::of(given, tools()), Reading::any(tools())]
}

fn is_weather(call: &ParsedCall, city: &str) -> bool {
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).expect("is JSON");
    call.name == "get_weather" && arguments == json!({"city": city})
}

#[test]
fn a_call_is_read_wherever_it_is_split() {
    for (name, form) in FORMS.iter().chain(CHANNELS) {
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
    for (name, form) in FORMS.iter().chain(CHANNELS) {
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
    for (name, form) in FORMS {
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
    for (name, form) in CHANNELS {
        let text = format!("So:\n```\n{}\n```\nThat is the form.", form.replace('¤', "Rome"));
        let outcome = run(&[&text], Reading::any(tools()), End::Normal);
        assert!(outcome.calls.is_empty(), "{name}: {outcome:?}");
    }
}

#[test]
fn a_call_ends_reasoning_that_the_prompt_has_opened() {
    for (name, form) in FORMS.iter().chain(CHANNELS) {
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
    for (name, form) in FORMS.iter().chain(CHANNELS) {
        let call = form.replace('¤', "Rome");
        let channel = CHANNELS.iter().any(|(channel, _)| channel == name);
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
                    let live = crate::registry::Live::of(dialect(name));
                    let marks = live.markers.texts().iter().filter(|mark| said.contains(*mark)).count();
                    assert!(!begun || marks == 0, "{name}: {text:?} {outcome:?}");
                }
            }
        }
    }
}
