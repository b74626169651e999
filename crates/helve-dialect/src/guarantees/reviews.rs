//! What reviews found, so that it stays found: each text with what must come of it.

use super::*;

fn tools() -> Tools {
    let search = json!({"properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}});
    Tools::new([("search".to_owned(), search), ("time".to_owned(), json!({}))])
}

/// Calls as `name arguments`, and what is said, whole and in pieces.
fn check(name: &str, text: &str, calls: &[&str], said: &str) {
    for end in [End::Normal, End::Cut] {
        for open in [false, true] {
            let reading = Reading::new(dialect(name), tools()).reasoning_open(open);
            let whole = run(&[text], reading.clone(), end);
            if end == End::Normal && !open {
                let written = whole.calls.iter().map(|call| format!("{} {}", call.name, call.arguments));
                assert_eq!(written.collect::<Vec<_>>(), calls, "{name}: {text:?} {whole:?}");
                assert_eq!(whole.content(), said, "{name}: {text:?}");
            }
            // Nothing comes out twice.
            let told: usize = whole.said.iter().map(|(_, text)| text.len()).sum();
            let called: usize = whole.calls.iter().map(|call| call.name.len()).sum();
            assert!(told + called <= text.len(), "{name}: {text:?} {whole:?}");
            for size in [1, 2, 3, 7] {
                let mut cut = run(&cut(text, &[size]), reading.clone(), end);
                cut.steps = whole.steps;
                assert_eq!(cut, whole, "{name}: {text:?} in pieces of {size}");
            }
        }
    }
}

#[test]
fn a_quotation_is_read_again_once() {
    for close in ["</tool_response>", "</tool_result>"] {
        let text =
            format!("<tool_response><|open|>response<|sep|><|open|>call tool=\"search\"<|sep|>{close}");
        check("kimi_k3", &text, &[], &text.replace("<|open|>response<|sep|>", ""));
        check("", &text, &[], &text.replace("<|open|>response<|sep|>", ""));
    }
}

#[test]
fn a_call_that_was_told_is_not_told_again_when_its_object_is_repaired() {
    check(
        "hermes",
        r#"<tool_call>{"tool_calls": [{"name": "search", "arguments": {"query": "b"}}], 'x': 1}</tool_call><tool_call>{"tool_calls": []}</tool_call>"#,
        &[r#"search {"query": "b"}"#],
        "",
    );
    check(
        "hermes",
        r#"<tool_call>{"tool_calls": [{"name": "search", "arguments": {"query": "b"}}, {'name': 'time'}]}</tool_call>"#,
        &[r#"search {"query": "b"}"#, "time {}"],
        "",
    );
    for tail in ["}", "}, 'note': 'x'}"] {
        check(
            "apertus",
            &format!("<|tools_prefix|>[{{\"search\": {{\"query\": \"b\"{tail}]<|tools_suffix|>"),
            &[r#"search {"query": "b"}"#],
            "",
        );
    }
    check(
        "apertus",
        r#"<|tools_prefix|>[{"search": {"query": "b"}]<|tools_suffix|> <|tools_prefix|>[{"tool_calls": []}]<|tools_suffix|>"#,
        &[r#"search {"query": "b"}"#],
        "",
    );
}

#[test]
fn signs_alone_are_no_name() {
    let text = "<|python_tag|>- (\"a\" \"b\")time()";
    check("", text, &[], text);
    check("deepseek_v31", "<｜tool▁call▁begin｜>\"<\n", &[], "<｜tool▁call▁begin｜>\"<\n");
}

#[test]
fn a_blank_behind_a_quote_is_in_no_name() {
    for before in ["{\" ", "a {\" ", "{\"x\":{\" "] {
        let text = format!("{before}functools[{{\"name\":\"time\",\"arguments\":{{}}}}]");
        check("", &text, &["time {}"], before);
    }
}

#[test]
fn what_follows_the_calls_of_a_section_makes_no_text_of_them() {
    let call = "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"time\">]<]minimax[>[</invoke>";
    check("minimax_m3", &format!("{call}]<]minimax[>[</b> so"), &["time {}"], "</b> so");
    check(
        "hy_v4",
        "<tool_calls:a><tool_call:a>time</tool_call:a><tool_call:a>run</tool_call:a]<]x></tool_calls:a>tail",
        &["time {}"],
        "a>run</tool_call:a]<]x>tail",
    );
}

#[test]
fn an_argument_whose_tag_went_wrong_breaks_its_call() {
    for wrong in
        ["<parameter=query</parameter>", "<parameter=a<b>x</parameter>", "<parameter=que</b>ry>x</parameter>"]
    {
        let text = format!(
            "<tool_call><function=search>{wrong}<parameter=limit>3</parameter></function></tool_call>"
        );
        check("qwen3_coder", &text, &[], "");
    }
}

#[test]
fn words_between_the_marks_of_kimi_k3_are_text() {
    for text in [
        "The <|close|> mark and the <|sep|> mark.",
        "<|close|>hello world<|sep|>",
        "An <|open|> here and <|sep|>.",
    ] {
        check("kimi_k3", text, &[], text);
    }
}

#[test]
fn no_name_swallows_what_follows_it() {
    check(
        "hermes",
        r#"<tool_call>{"name": "search"me": "time", "ar, "arguments": "{\"query\": \"x\"}"}</tool_call>"#,
        &[],
        "",
    );
}

#[test]
fn what_waits_is_told_once_whether_it_is_meant_or_cut() {
    let call = |word: &str| format!(r#"{{"name": "search", "arguments": {{"query": "{word}"}}}}"#);
    let (one, two) = (call("one"), call("two"));
    for (name, text) in [
        ("json_bare", format!("{one}{two}")),
        ("gigachat3", format!(r#"{one}<|function_call|>{{"two": 2}}"#)),
        ("pythonic", "search(query=\"one\")\nsearch(query=\"two\")".to_owned()),
        ("pythonic", "[search(query=\"one\"), search(query=\"two\"".to_owned()),
        ("react", "Thought: So.\nAction: search\nAction Input: {\"query\": \"one\"}\ntwo".to_owned()),
        ("hermes", format!("<think><tool_call>{one}, {{\"two\": 2}}</tool_call>")),
        ("hermes", format!("<tool_call>{{\"tool_calls\": [{one}, {{\"two\": 2}}]}}</tool_call>")),
        ("hermes", format!("```\n<tool_call>{one}</tool_call><tool_call>{{\"two\": 2}}</tool_call>\n```")),
        ("hermes", format!("```\ntwo <tool_call>{one}</tool_call>\n```")),
        ("raven", "Call: search(query=\"one\") two.".to_owned()),
        (
            "",
            format!(
                "<tool_call>{one}</tool_call><|channel|>commentary to=functions.search<|message|>{{\"query\": \"two\"}}<|call|>"
            ),
        ),
    ] {
        for (dialect, open) in [(dialect(name), false), (dialect(name), true), (None, false), (None, true)] {
            for end in [End::Normal, End::Cut] {
                let reading = Reading::new(dialect, tools()).reasoning_open(open);
                let outcome = run(&[&text], reading.clone(), end);
                let counts = ["one", "two"].map(|word| outcome.times(word));
                assert_eq!(counts, [1, 1], "{name}: {text:?} {end:?} {outcome:?}");
                let mut whole = run_whole(&text, &reading, end);
                whole.steps = outcome.steps;
                assert_eq!(whole, outcome, "{name}: {text:?}");
            }
        }
    }
}

#[test]
fn words_in_a_fence_before_a_call_are_text() {
    let call = "<tool_call><function=time></function></tool_call>";
    for words in ["So", "f.g", "{\"a"] {
        let text = format!("```\n{words}\n{call}\n```\n");
        check("qwen3_coder", &text, &[], &text);
        check("", &text, &[], &text);
    }
    for begun in ["```json\n[", "```json\n{\"", "```\n<tool_", "```json\n`"] {
        check("", begun, &[], begun);
    }
    let head = "<|open|>response<|sep|>";
    check("kimi_k3", &format!("```\n{head}So.<|close|>response<|sep|>"), &[], "```\nSo.");
}

#[test]
fn what_waits_on_trial_is_told_once_when_the_stream_is_cut() {
    let call = "<tool_call><function=time>x</function><function=search><limit>2</function></tool_call>";
    let second = call.find("<function=search").expect("is there");
    let end = call.find("</tool_call>").expect("is there");
    let outcome = run(&[&format!("<think>{call} So.")], Reading::any(tools()), End::Cut);
    let dropped: Vec<_> = outcome.dropped.into_iter().map(|(_, why, text)| (why, text)).collect();
    let first = format!("{}{}", &call[..second], &call[end..]);
    assert_eq!(dropped, [(Dropped::Cut, first), (Dropped::Broken, call[second..end].to_owned())]);
    assert_eq!(outcome.said, [(SaidAs::Reasoning, "So.".to_owned())]);
}

#[test]
fn a_call_that_swallowed_the_end_of_its_reasoning_is_quoted() {
    let call = "<tool_call><function=time></function></tool_call>";
    let text = format!("<think>Like <tool_call><function=f> or so.</think>Ok. {call}");
    let outcome = run(&[&text], Reading::any(tools()), End::Normal);
    assert_eq!(outcome.reasoning(), "Like <tool_call><function=f> or so.");
    assert_eq!((outcome.calls.len(), outcome.content().as_str()), (1, "Ok. "));
    check("qwen3_coder", &text, &["time {}"], "Ok. ");
}

/// What stands in a call of elements beside its parameters, in the dialects whose tags are plain.
#[test]
fn what_can_be_no_argument_breaks_no_call() {
    for (name, open, limit, query, close) in [
        (
            "qwen3_coder",
            "<tool_call>\n<function=search>\n",
            "<parameter=limit>2</parameter>\n",
            "<parameter=query>a</parameter>\n",
            "</function>\n</tool_call>",
        ),
        (
            "minimax_m2",
            "<minimax:tool_call>\n<invoke name=\"search\">\n",
            "<parameter name=\"limit\">2</parameter>\n",
            "<parameter name=\"query\">a</parameter>\n",
            "</invoke>\n</minimax:tool_call>",
        ),
    ] {
        let both = [r#"search {"limit": 2, "query": "a"}"#];
        let whole = |aside: &str| format!("{open}{aside}{limit}{query}{close}");
        check(name, &whole("<!-- the limit first -->\n"), &both, "\n<!-- the limit first -->\n");
        check(name, &whole("<think>Hm.</think>\n"), &both, "Hm.");
        check(name, &whole("</think>"), &both, "");
        check(name, &whole("<|im_end|>"), &both, "");
        check(name, &format!("{open}<parameters>\n{limit}{query}</parameters>\n{close}"), &both, "");
        check(name, &format!("{open}<arguments>\n{limit}{query}{close}"), &both, "");
        let json = format!("{open}<arguments>{{\"limit\": 2, \"query\": \"a\"}}</arguments>\n{close}");
        check(name, &json, &both, "");
        check(name, &format!("{open}{limit}{query}<|im_end|>"), &both, "");
        let time = |inside: &str| format!("{open}{inside}{close}").replace("search", "time");
        for nothing in ["</parameter>\n", "<parameters>\n</parameters>\n", "<parameters/>\n"] {
            check(name, &time(nothing), &["time {}"], "");
        }
        // Words between two parameters, or a value that holds its own closing tag? The call must not run with either guess.
        for between in ["So:\n", "<!-- and -->\n", "<br>\n"] {
            check(name, &format!("{open}{query}{between}{limit}{close}"), &[], "");
        }
        // These may be arguments, and the call must not run without them.
        for lost in ["a</parameter>\n", "<city>Rome</city>\n", "<paramter=unit>c</paramter>\n"] {
            check(name, &whole(lost), &[], "");
        }
    }
}

#[test]
fn a_call_that_ends_before_an_argument_it_must_have_is_cut_off() {
    let must = json!({"properties": {"query": {}, "limit": {}}, "required": ["query"]});
    let tools = Tools::new([("search".to_owned(), must)]);
    for (given, counts) in [("limit", false), ("query", true)] {
        let text = format!("<tool_call>\n<function=search>\n<parameter={given}>\n2\n</parameter>\n");
        let outcome = run(&[&text], Reading::any(tools.clone()), End::Normal);
        assert_eq!(outcome.calls.len(), counts as usize, "{outcome:?}");
        assert_eq!(outcome.finding.map(|finding| finding.complete), Some(counts));
    }
}

#[test]
fn a_program_in_a_fence_is_text_as_a_whole() {
    for program in [
        "time() if os.path.exists(\"a\") else None",
        "time() or search(query=\"x\")",
        "search(query=p) for p in ps",
        "time() for p in ps",
        "r = time()\nif r:\n    search(query=r)",
        "time().foo()",
        "time() + search(query=\"b\")",
        "print(time()) if x else None",
        "print(time()).foo()",
        "time()[0]",
        "time()[\"temp\"]",
        "time() < 5",
        "time() time()",
        "time())",
        "time(), [1, 2]",
        "time()\n[",
        "[time()] + [time()]",
        "[time()] if x else []",
        "[time() for p in ps]",
        "time()\nprint(so)",
        "time()\nprint(",
        "time()\nx =",
        "time()\nx = 5",
        "time()\nSo.",
        "time()\n\"So.\"",
        "import os\ntime()",
        "# Now.\ntime()\npass",
        "print()\ntime()",
        "time()\nprint()",
        "[time(), []]",
        "time()\n[] # so",
        "time()\n[ # so",
        "time()\n[<",
    ] {
        for word in ["tool_code", "python", "py"] {
            let name = if word == "tool_code" { "tool_code" } else { "pythonic" };
            for text in [
                format!("```{word}\n{program}\n```"),
                format!("So: ```{word}\n{program}\n```\nOk."),
                format!("```{word}\n{program}"),
            ] {
                check(name, &text, &[], &text);
                check("", &text, &[], &text);
            }
        }
    }
    let cut = "```tool_code\ntime()\nsearch(query=\"a";
    let outcome = run(&[cut], Reading::any(tools()), End::Cut);
    assert!(outcome.dropped.iter().all(|(_, why, _)| *why == Dropped::Cut), "{outcome:?}");
    let json = "```tool_code\n{\"name\": \"time\", \"arguments\": {}}\nSo.\n```";
    check("tool_code", json, &[], json);
}

#[test]
fn a_call_that_is_part_of_a_statement_does_not_run() {
    for program in [
        "time() if x else y",
        "time()\tor search(query=\"x\")",
        "time().foo()",
        "time()[0]",
        "time() == 1",
        "print(time()) if x else y",
        "[time() if x else y]",
        "[time() for x in y]",
        "[time()\nif x else y]",
    ] {
        for (name, open, close) in [
            ("tool_code", "<tool_code>", "</tool_code>"),
            ("lfm2", "<|tool_call_start|>", "<|tool_call_end|>"),
            ("olmo3", "<function_calls>\n", "\n</function_calls>"),
            ("llama4_pythonic", "<|python_start|>", "<|python_end|>"),
        ] {
            let text = format!("{open}{program}{close} So.");
            check(name, &text, &[], " So.");
            let outcome = run(&[&text], Reading::any(tools()), End::Normal);
            assert!(matches!(&outcome.dropped[..], [(_, Dropped::Broken, _)]), "{text:?} {outcome:?}");
        }
        check("pythonic", program, &[], program);
        check("", program, &[], program);
    }
    check("tool_code", "<tool_code>print(time());\ntime() # so\n</tool_code>", &["time {}", "time {}"], "");
}

#[test]
fn more_than_a_word_behind_backticks_is_text() {
    let call = "<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>";
    for before in ["Use ``` there is\n", "He wrote \"x ``` and more words\"\n", "A ```` b c  \n\n"] {
        let text = format!("{before}{call}");
        for name in ["hermes", ""] {
            check(name, &text, &["time {}"], before);
        }
    }
    for before in ["```some words here\n", "```some words here about it all\n"] {
        let text = format!("{before}{call}\n```");
        check("hermes", &text, &[], &text);
        check("", &text, &[], &text);
    }
    check("hermes", &format!("So: ``` xml \n{call}\n```"), &["time {}"], "So: ");
}

/// A section of DeepSeek with these heads and arguments, and what stands behind each call.
fn deepseek(calls: &[(&str, &str)]) -> String {
    let call =
        |(inside, behind): &(&str, &str)| format!("<｜tool▁call▁begin｜>{inside}<｜tool▁call▁end｜>{behind}");
    format!("<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>", calls.iter().map(call).collect::<String>())
}

/// With the dialect given and found, and with tools known and unknown.
fn is_called(name: &str, text: &str, calls: &[&str], said: &str) {
    check(name, text, calls, said);
    check("", text, calls, said);
    let unknown = run(&[text], Reading::new(dialect(name), Tools::unknown()), End::Normal);
    assert_eq!(unknown.calls.len(), calls.len(), "{name}: {text:?} {unknown:?}");
    assert!(unknown.dropped.is_empty(), "{name}: {text:?} {unknown:?}");
}

#[test]
fn any_word_is_a_type_and_any_a_language() {
    let query = r#"{"query": "x"}"#;
    let search: &[&str] = &[r#"search {"query": "x"}"#];
    for name in ["deepseek_v3", "deepseek_v31"] {
        for language in ["", "json", "JSON", "Json", "js", "jsonc", "python"] {
            let inside = format!("function<｜tool▁sep｜>search\n```{language}\n{query}\n```");
            is_called(name, &deepseek(&[(&inside, "")]), search, "");
        }
        for kind in ["function", "tool", "type", "Function", ""] {
            let inside = format!("{kind}<｜tool▁sep｜>search\n```json\n{query}\n```");
            is_called(name, &deepseek(&[(&inside, "")]), search, "");
            let inside = format!("{kind}<｜tool▁sep｜>search{query}");
            is_called(name, &deepseek(&[(&inside, "")]), search, "");
        }
        let doubled = format!("function<｜tool▁sep｜>search\n```json\n\n```json\n{query}\n```");
        is_called(name, &deepseek(&[(&doubled, "")]), search, "");
        let noted = format!("function<｜tool▁sep｜>search\n```json\n{query} // Paris\n```");
        is_called(name, &deepseek(&[(&noted, ""), (&noted, "")]), &[search[0]; 2], "// Paris// Paris");
        check(name, &format!("<｜tool▁call▁begin｜>{noted} So"), search, "// Paris So");
        check(
            name,
            &format!("<｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```\n{query} So"),
            search,
            "So",
        );
    }
}

#[test]
fn what_is_no_call_behind_the_separator_of_deepseek_is_broken() {
    for inside in [
        "function<｜tool▁sep｜>search\n```json\nnote\n{\"query\": \"x\"}\n```",
        "function<｜tool▁sep｜>search\n```\nnote\n{\"query\": \"x\"}\n```",
        "function<｜tool▁sep｜>search\n```json so\n{\"query\": \"x\"}\n```",
        "function<｜tool▁sep｜>search it {\"query\": \"x\"}",
        "a kind<｜tool▁sep｜>search{\"query\": \"x\"}",
        "function<｜tool▁sep｜>search\n```json\nx\n```",
    ] {
        let text = deepseek(&[(inside, "")]);
        for (name, tools) in [("deepseek_v3", tools()), ("", tools()), ("deepseek_v31", Tools::unknown())] {
            let outcome = run(&cut(&text, &[3]), Reading::new(dialect(name), tools), End::Normal);
            assert_eq!((outcome.calls.len(), outcome.content().as_str()), (0, ""), "{text:?}");
            let dropped: Vec<_> =
                outcome.dropped.iter().map(|(_, why, told)| (*why, told.contains(inside))).collect();
            assert_eq!(dropped, [(Dropped::Broken, true)], "{text:?} {outcome:?}");
        }
    }
}

#[test]
fn backticks_and_quotes_in_a_section_hide_no_call_of_it() {
    let fenced = "function<｜tool▁sep｜>time\n```json\n{}\n```";
    let plain = "time<｜tool▁sep｜>{}";
    let kimi = "<|tool_call_begin|>functions.time:0<|tool_call_argument_begin|>{}<|tool_call_end|>";
    let step = "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"time\">\n</steptml:invoke><｜tool_call_end｜>";
    let two: &[&str] = &["time {}", "time {}"];
    for noise in ["```", "\n```", "\n```\n", "> ", "`", "\n~~~\n", "\n> so ```\n", "``````"] {
        let trimmed = |text: &str| text.replace(char::is_whitespace, "");
        for (name, text) in [
            ("deepseek_v3", deepseek(&[(&format!("{fenced}\n{noise}"), "\n"), (fenced, "")])),
            ("deepseek_v3", deepseek(&[(fenced, noise), (fenced, "")])),
            ("deepseek_v31", deepseek(&[(&format!("{plain}{noise}"), ""), (plain, "")])),
            ("deepseek_v31", deepseek(&[(plain, noise), (plain, "")])),
            ("deepseek_v31", deepseek(&[(plain, ""), (plain, noise)])),
            ("kimi_k2", format!("<|tool_calls_section_begin|>{kimi}{noise}{kimi}<|tool_calls_section_end|>")),
            ("kimi_k2", format!("<|tool_calls_section_begin|>{kimi}{kimi}{noise}<|tool_calls_section_end|>")),
            ("step3", format!("<｜tool_calls_begin｜>\n{step}{noise}{step}\n<｜tool_calls_end｜>")),
            ("step3", format!("<｜tool_calls_begin｜>\n{step}{step}{noise}<｜tool_calls_end｜>")),
        ] {
            let read =
                |name: &str| run(&[&text], Reading::new(dialect(name), tools()), End::Normal).content();
            // Right behind the arguments, the first fence is theirs.
            let said = match text.contains(&format!("{plain}{noise}<")) {
                true => noise.trim_start().strip_prefix("```").unwrap_or(noise),
                false => noise,
            };
            assert_eq!(trimmed(&read(name)), trimmed(said), "{name}: {text:?}");
            is_called(name, &text, two, &read(name));
            // What is quoted behind the section is a quotation.
            let quoted = format!("{}{kimi}{step}", deepseek(&[(plain, "")])).replace('\n', "");
            let example = format!("{text}\nSo:\n```\n{quoted}\n```\n> {quoted}\nDone: `{quoted}`.");
            let outcome = run(&[&example], Reading::any(tools()), End::Normal);
            assert_eq!(outcome.calls.len(), 2, "{example:?} {outcome:?}");
        }
    }
}
