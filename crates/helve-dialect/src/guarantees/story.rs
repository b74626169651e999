//! Promises about messages whose meaning is known: prose, reasoning and calls put together on purpose.

use serde_json::Value;

use super::*;

fn words() -> impl Strategy<Value = String> {
    "[A-Za-z,.!?é日 ]{0,20}[a-z.]"
}

fn any_value() -> impl Strategy<Value = Value> {
    let nasty = prop::sample::select(vec![
        "</tool_call>",
        "<tool_call>{\"name\":\"x\"}</tool_call>",
        "</think>",
        "```",
        "`",
        "it's",
        "\"quoted\"",
        "\\",
        "\n",
        "{\"name\": \"search\"}",
        "</tool_code>",
        "”",
        "a, b) c(",
        "# no",
    ]);
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        nasty.prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-z ]{1,6}", inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A call and its JSON text.
#[derive(Debug, Clone)]
struct WrittenCall {
    name: &'static str,
    arguments: Value,
}

impl WrittenCall {
    fn is(&self, call: &ParsedCall) -> bool {
        let arguments: Value = serde_json::from_str(&call.arguments).expect("arguments are JSON");
        call.name == self.name && arguments == self.arguments
    }

    /// How much of the JSON in this shape comes after the call's own.
    fn after(shape: usize) -> usize {
        match shape % 6 {
            4 => "]}".len(),
            5 => "]".len(),
            _ => 0,
        }
    }

    fn json(&self, shape: usize) -> String {
        let (name, arguments) = (self.name, &self.arguments);
        match shape % 6 {
            0 => json!({"name": name, "arguments": arguments}).to_string(),
            1 => format!("{{\n  \"arguments\": {arguments:#},\n  \"name\": \"{name}\"\n}}"),
            2 => json!({"tool_name": name, "parameters": arguments}).to_string(),
            3 => json!({"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
                .to_string(),
            4 => json!({"tool_calls": [{"name": name, "arguments": arguments}]}).to_string(),
            _ => json!([{"name": name, "arguments": arguments.to_string()}]).to_string(),
        }
    }
}

fn any_call() -> impl Strategy<Value = WrittenCall> {
    let names = prop::sample::select(vec!["get_weather", "search"]);
    let arguments = proptest::collection::btree_map("[a-z_]{1,8}", any_value(), 0..4);
    (names, arguments).prop_map(|(name, arguments)| WrittenCall {
        name,
        arguments: Value::Object(arguments.into_iter().collect()),
    })
}

/// Every finished call is one of those told, in their order.
fn in_order(calls: &[ParsedCall], told: &[WrittenCall]) -> bool {
    calls.len() <= told.len() && calls.iter().zip(told).all(|(call, told)| told.is(call))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn calls_come_out_whole_and_their_markup_does_not(
        parts in proptest::collection::vec((words(), any_call(), 0usize..6, any::<bool>()), 1..4), last in words(),
        lengths in proptest::collection::vec(1usize..9, 1..4),
    ) {
        let mut text = String::new();
        let mut content = String::new();
        for (prose, call, shape, thinks) in &parts {
            text += prose;
            content += prose;
            if *thinks {
                text += "<think>Hm, let me see.</think>";
            }
            text += &format!("<tool_call>{}</tool_call>", call.json(*shape));
        }
        text += &last;
        content += &last;
        let told: Vec<WrittenCall> = parts.into_iter().map(|(_, call, ..)| call).collect();
        for reading in [Reading::any(tools()), Reading::new(hermes(), Tools::unknown())] {
            let outcome = run(&cut(&text, &lengths), reading, End::Normal);
            prop_assert_eq!(outcome.calls.len(), told.len());
            prop_assert!(in_order(&outcome.calls, &told), "{:?}", outcome.calls);
            // Blanks beside markup are framing.
            let nonblank = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(nonblank(&outcome.content()), nonblank(&content));
        }
    }

    #[test]
    fn a_cut_call_is_reported_and_never_run(
        prose in words(), calls in proptest::collection::vec((any_call(), 0usize..6), 1..3), at in any::<prop::sample::Index>(),
        end in any_end(),
    ) {
        let mut text = prose;
        let mut closed_at = vec![];
        for (call, shape) in &calls {
            text += &format!("\n<tool_call>\n{}", call.json(*shape));
            closed_at.push(text.len() - WrittenCall::after(*shape));
            text += "\n</tool_call>";
        }
        let told: Vec<WrittenCall> = calls.into_iter().map(|(call, _)| call).collect();
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = ends[at.index(ends.len())];
        let outcome = run(&[&text[..at]], Reading::any(tools()), end);
        prop_assert!(in_order(&outcome.calls, &told), "{:?}", outcome.calls);
        // Only JSON that is whole counts, and where the stream was cut only if something follows it.
        let whole = closed_at.iter().filter(|closed| **closed < at || end == End::Normal && **closed == at).count();
        prop_assert!(outcome.calls.len() <= whole, "{} of {whole} in {:?}", outcome.calls.len(), &text[..at]);
        prop_assert!(!outcome.content().contains("<tool_call>"));
        let begun = text[..at].matches("<tool_call>\n").count();
        if begun > outcome.calls.len() {
            prop_assert_eq!(outcome.finding.map(|f| f.complete), Some(false));
        }
    }

    #[test]
    fn an_unclosed_tag_counts_only_when_the_stream_ended_normally(call in any_call(), shape in 0usize..4) {
        let text = format!("<tool_call>{}", call.json(shape));
        let whole = run(&[&text], Reading::any(tools()), End::Normal);
        prop_assert!(whole.calls.len() == 1 && call.is(&whole.calls[0]));
        let cut = run(&[&text], Reading::any(tools()), End::Cut);
        prop_assert!(cut.calls.is_empty() && cut.finding.is_some_and(|f| !f.complete));
    }

    #[test]
    fn unmarked_json_is_a_call_only_at_the_end_and_of_a_declared_tool(
        before in words(), call in any_call(), shape in 0usize..6, after in words(), fenced in any::<bool>(),
    ) {
        let json = match fenced {
            true => format!("\n```json\n{}\n```\n", call.json(shape)),
            false => format!(" {} ", call.json(shape)),
        };
        for text in [json.clone(), format!("{before}{json}")] {
            let outcome = run(&[&text], Reading::any(tools()), End::Normal);
            prop_assert!(outcome.calls.len() == 1 && call.is(&outcome.calls[0]), "{:?} in {:?}", outcome, text);
            prop_assert!(before.trim().starts_with(outcome.content().trim()));
            let cut = run(&[&text], Reading::any(tools()), End::Cut);
            prop_assert!(cut.calls.is_empty());
            let others = Tools::new([("other".to_owned(), json!({}))]);
            let outcome = run(&[&text], Reading::any(others), End::Normal);
            prop_assert!(outcome.calls.is_empty());
            prop_assert_eq!(outcome.content(), text);
        }
        let text = format!("{before}{json}{after}");
        let outcome = run(&[&text], Reading::any(tools()), End::Normal);
        prop_assert!(outcome.calls.is_empty(), "{:?}", outcome);
        prop_assert_eq!(outcome.content(), text);
    }

    #[test]
    fn a_quoted_call_is_text(before in words(), call in any_call(), shape in 0usize..6, after in words()) {
        let call = format!("<tool_call>{}</tool_call>", call.json(shape));
        // A fence or a run of backticks inside the call would end the quotation early.
        if call.contains('`') || call.contains("</think>") {
            return Ok(());
        }
        let quotations = [
            format!("{before} `{call}` {after}"),
            format!("{before}\n```\n{call}\n```\n{after}"),
            format!("{before}\n```xml\n{call}\n```\n\n{after}"),
            format!("{before}\n> {} {after}", call.replace('\n', " ")),
        ];
        for text in &quotations {
            let outcome = run(&[text], Reading::any(tools()), End::Normal);
            prop_assert!(outcome.calls.is_empty(), "{:?} in {:?}", outcome, text);
            prop_assert_eq!(&outcome.content(), text);
        }
        let text = format!("<think>{before} {call} {after}</think>Done.");
        let outcome = run(&[&text], Reading::any(tools()), End::Normal);
        prop_assert!(outcome.calls.is_empty());
        prop_assert_eq!(outcome.content(), "Done.");
        let quoted = format!("{before} {call} {after}");
        prop_assert_eq!(outcome.reasoning(), quoted.trim());
    }

    #[test]
    fn a_call_ends_reasoning_that_nothing_else_ends(thought in words(), call in any_call(), shape in 0usize..6) {
        let text = format!("{thought}\n<tool_call>{}</tool_call>\n", call.json(shape));
        let reading = Reading::any(tools()).reasoning_open(true);
        let outcome = run(&[&text], reading.clone(), End::Normal);
        prop_assert!(outcome.calls.len() == 1 && call.is(&outcome.calls[0]));
        prop_assert_eq!(outcome.reasoning(), thought.trim());
        prop_assert_eq!(outcome.content(), "");
        prop_assert!(run(&[&text], reading, End::Cut).calls.is_empty());
    }

    #[test]
    fn every_split_in_two_gives_the_same(prose in words(), call in any_call(), shape in 0usize..6) {
        let text = format!("{prose}<think>x</think>\n<tool_call>{}</tool_call>\n{prose}", call.json(shape));
        let whole = run(&[&text], Reading::any(tools()), End::Normal);
        for (at, _) in text.char_indices() {
            let mut split = run(&[&text[..at], &text[at..]], Reading::any(tools()), End::Normal);
            split.steps = whole.steps;
            prop_assert_eq!(&split, &whole, "at {}", at);
        }
    }
}
