//! Promises that hold for any text at all, tried on bits of markup thrown together.

use super::forms::{all_forms, readings};
use super::*;
use crate::envelope::holds_arguments;
use helve_json::repair::{self, Closing, Expected};

/// Bits that mean something to some part of the parser, besides the marks and the samples of the dialects.
const BITS: &[&str] = &[
    "<tool_",
    "</",
    "<",
    ">",
    "<|im_end|>",
    "```",
    "`",
    "``",
    "```json\n",
    "```tool_code\n",
    "\n",
    "\n\n",
    " ",
    "  ",
    "\t",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    "\\\"",
    "\\n",
    "\\u00e9",
    ":",
    ",",
    ";",
    "(",
    ")",
    "=",
    "#",
    "> ",
    "“",
    "”",
    "：",
    "｛",
    "é",
    "日本",
    "😀",
    "1",
    "-0.5",
    "true",
    "None",
    "null",
    "word",
    "it's",
    "\"name\": ",
    "\"name\": \"get_weather\"",
    "\"tool\": \"search\"",
    "\"arguments\": {",
    "\"parameters\": {",
    "\"tool_calls\": [",
    "\"function\": {",
    "\"city\": \"Rome\"",
    "\"query\": \"x\"",
    "\"id\": \"1\"",
    "'name': 'f'",
    "{'name': 'get_weather', 'arguments': {'city': 'Rome'}}",
    "{{\"name\": \"get_weather\"}}",
    "{{",
    "</s>",
    "{\"get_weather\": {}, \"search\": {\"query\": \"x\"}}",
    "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}",
    "{\"name\": \"nope\", \"arguments\": {}}",
    "{\"tool\": \"search\", \"query\": \"a\"}",
    "get_weather(city=\"Rome\")",
    "print(",
    "default_api.",
    "search(",
    "<tool_call>{\"name\": \"search\", \"arguments\": {}}</tool_call>",
    "\"arguments\": \"{\\\"a\\\": 1}\"",
    // Every family's marks, and what stands between them.
    "<function=search>",
    "<parameter=query>",
    "<tool_call>search<arg_key>query</arg_key><arg_value>",
    "<tool_calls:a>",
    "<tool_call:a>",
    "<tool_calls:a><tool_call:a>search<arg_key:a>query</arg_key:a><arg_value:a>",
    "</arg_value:a>",
    "<tool_call >",
    "Ċ",
    "<minimax:tool_call><invoke name=\"search\">",
    "<parameter name=\"query\">",
    "<function name=\"search\">",
    "<param name=\"limit\">",
    "<parameter=limit>",
    "<arg_key>limit</arg_key>",
    "<parameter name=\"limit\">",
    "<tool_call:a>search",
    "<![CDATA[",
    "]]>",
    "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"search\">",
    "]<]minimax[>[<query>",
    "]<]minimax[>[</query>",
    "<｜DSML｜invoke name=\"search\">",
    "<｜DSML｜parameter name=\"query\" string=\"true\">",
    "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"search\">",
    "<invoke name=\"search\">",
    "<tool_name>",
    "[TOOL_CALLS]search",
    "<|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>",
    "<|tool_call>call:search{",
    "<start_function_call>call:search{query:<escape>",
    "<|channel|>analysis<|message|>",
    "<|channel|>commentary to=functions.search<|message|>",
    "<|start|>assistant",
    "analysis",
    " to=functions.search json",
    " to=search<|message|>",
    "<atem:invoke name=\"search\">",
    "<|open|>think<|sep|>",
    "<|open|>response<|sep|>",
    "<|close|>think<|sep|>",
    "<|close|>response<|sep|>",
    "<|close|>call<|sep|>",
    "<|open|>tools<|sep|><|open|>call tool=\"search\"<|sep|>",
    "<|open|>argument key=\"query\" type=\"string\"<|sep|>",
    "<|close|>argument<|sep|>",
    "<|message_model|>search",
    "<co: 0:[1,2]>",
    "[{'name': 'search', 'arguments': {",
    "[{\"search\": {",
    "<|tool_call_start|>[",
    "<|action_start|><|plugin|>",
    "<|action_start|><|interpreter|>",
    "<|eom_id|>",
    "<|channel|>analysis to=python code<|message|>",
    "<|message_sep|>\n\nfunction call<|role_sep|>\n",
    ">>>search\n",
    "python\n",
    "Action: search\nAction Input: ",
    "Action:\n```json\n{\"action\": \"search\", \"action_input\": ",
    "\nThought:",
    "</think:a>",
    "<think:a>",
];

fn soup() -> impl Strategy<Value = String> {
    soup_of(0..24)
}

fn soup_of(count: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    bits_of(count).prop_map(|bits| bits.concat())
}

fn bits() -> impl Strategy<Value = Vec<String>> {
    bits_of(0..24)
}

fn bits_of(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    let marks: Vec<&str> = crate::dialects().iter().flat_map(|dialect| dialect.marks()).collect();
    let samples: Vec<&str> = crate::dialects().iter().map(|dialect| dialect.sample).collect();
    let bit = prop_oneof![
        16 => prop::sample::select(BITS).prop_map(str::to_owned),
        8 => prop::sample::select(marks).prop_map(str::to_owned),
        1 => prop::sample::select(samples).prop_map(|sample| sample.replace('¤', "Rome")),
        1 => "[a-z ]{1,8}",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(bit, count)
}

/// So often is a byte looked at, at most: by the place through which it passes, by the look-ahead and the line before it,
/// by the search for the end of a string; and in what is not quite JSON by a look for its end, four attempts to repair it,
/// of which two look ahead at each quote and each name, and a reading of what was repaired. Nothing has all of this: of
/// half a million texts the worst had eleven.
const LOOKS_MAX: u64 = 16;

/// How a text comes to the parser.
#[derive(Debug, Clone, Copy)]
enum Feeding {
    /// As one that is all there.
    Whole,
    /// In one piece, which others may follow.
    OnePiece,
    Pieces(usize),
}

impl Feeding {
    fn read(self, text: &str, reading: Reading, end: End) -> ParseOutcome {
        match self {
            Self::Whole => run_whole(text, &reading, end),
            Self::OnePiece => run(&[text], reading, end),
            Self::Pieces(length) => run(&cut(text, &[length]), reading, end),
        }
    }
}

fn any_feeding() -> impl Strategy<Value = Feeding> {
    prop_oneof![Just(Feeding::Whole), Just(Feeding::OnePiece), (1usize..9).prop_map(Feeding::Pieces)]
}

fn has_markup_outside_calls(text: &str, dialect: Option<&'static crate::Dialect>) -> bool {
    let live = crate::registry::ActiveMarks::for_dialect(dialect);
    let mut start = live.start.iter();
    let glued = start.any(|choice| match choice.then {
        crate::dialect::Lookahead::Glued(words) => {
            words.iter().any(|word| text.trim_start().starts_with(word))
        }
        _ => false,
    });
    let mut marks = live.roles.iter().enumerate();
    glued
        || marks.any(|(marker, role)| {
            let is_markup = live.may_be_head(marker) || !matches!(role, crate::registry::MarkerRole::Call(_));
            is_markup && text.contains(live.markers.text(marker))
        })
}

fn is_subsequence(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|c| rest.any(|w| w == c))
}

proptest! {
    // `PROPTEST_CASES` makes it as long as one likes.
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn the_result_does_not_depend_on_the_chunks(
        text in soup(), lengths in proptest::collection::vec(1usize..9, 1..5), reading in any_reading(), end in any_end(),
    ) {
        let whole = run(&[&text], reading.clone(), end);
        let mut cut = run(&cut(&text, &lengths), reading.clone(), end);
        cut.steps = whole.steps;
        prop_assert_eq!(&cut, &whole);
        let mut all = run_whole(&text, &reading, end);
        all.steps = whole.steps;
        prop_assert_eq!(all, whole);
    }

    #[test]
    fn the_result_does_not_depend_on_chunks_that_end_where_calls_do(
        bits in bits(), reading in any_reading(), end in any_end(),
    ) {
        let whole = run(&[&bits.concat()], reading.clone(), end);
        let pieces: Vec<&str> = bits.iter().map(String::as_str).collect();
        let mut cut = run(&pieces, reading, end);
        cut.steps = whole.steps;
        prop_assert_eq!(cut, whole);
    }

    #[test]
    fn what_comes_out_was_there_in_this_order(text in soup(), reading in any_reading(), end in any_end()) {
        let outcome = run(&[&text], reading.clone(), end);
        let said: String = outcome.said.iter().map(|(_, text)| text.as_str()).collect();
        prop_assert!(is_subsequence(&said, &text), "{:?} not in {:?}", said, text);
        let untouched = outcome.calls.is_empty() && outcome.dropped.iter().all(|(_, why, _)| *why == Dropped::Quoted);
        if untouched && !reading.reasoning_open && !has_markup_outside_calls(&text, reading.dialect) {
            prop_assert_eq!(outcome.content(), text);
        }
    }

    #[test]
    fn the_cost_is_linear(text in soup(), times in 1usize..40, reading in any_reading(), feeding in any_feeding(), end in any_end()) {
        let text = text.repeat(times);
        let outcome = feeding.read(&text, reading, end);
        prop_assert!(outcome.steps <= LOOKS_MAX * text.len() as u64 + 64, "{} steps for {} bytes", outcome.steps, text.len());
        let told: usize = outcome.dropped.iter().map(|(_, _, text)| text.len()).sum();
        prop_assert!(told <= 2 * text.len(), "{} bytes of {} were told about what was dropped", told, text.len());
    }

    #[test]
    fn no_bytes_whatever_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), reading in any_reading()) {
        let text = String::from_utf8_lossy(&bytes);
        run(&cut(&text, &[1, 3]), reading, End::Normal);
    }

    #[test]
    fn a_cut_stream_never_finishes_more_calls_than_a_whole_one(text in soup(), reading in any_reading()) {
        let cut = run(&[&text], reading.clone(), End::Cut);
        let whole = run(&[&text], reading, End::Normal);
        prop_assert!(cut.calls.iter().all(|call| whole.calls.contains(call)));
        prop_assert!(cut.calls.len() <= whole.calls.len());
    }
}

/// Texts that cost a careless parser a look at all that came before, when they are repeated.
const HOSTILE: &[&str] = &[
    "{",
    "[",
    "[ ",
    "{\"",
    "{\"name\":",
    "{\"name\":\"search\",",
    "{\"tool\":\"search\",\"a\":[",
    "[{",
    "<",
    "<tool_call>",
    "<tool_call>{",
    "<tool_call>{'",
    "<tool_call>{\"name\":\"a\"",
    "<think><tool_call>{\"name\":\"</think>",
    "<think><tool_call>{\"name\":\"x\"}</tool_call>",
    "`",
    "` ",
    "`<tool_call>{\"name\":\"x\"}</tool_call>",
    "```\n",
    "```json\n{\"name\":",
    "\"",
    "\\",
    "<tool_code>f(",
    "<tool_code>f(a=",
    "<tool_code>f(a='",
    "<tool_code>[",
    "<tool_call>{\"name\":\"a\",\"arguments\":{\"b\":\"c\"d\"",
    "<tool_call>{\"name\":\"a\", \"b\": \"\", \"}</tool_call>",
    "<tool_call>{\"tool_calls\":[{\"name\":\"x\"},",
    "{\"name\":\"search\",\"arguments\":\"{\\\"",
    "<function=",
    "<tool_call><function=f><parameter=a>",
    "<tool_call><function=f><parameter=a></parameter>",
    "<tool_call>f<arg_key>",
    "<tool_call>f<arg_key>a</arg_key><arg_value></arg_value>",
    "<tool_call>f<arg_key>a</arg_key><arg_value>b<arg_key>c</arg_key><arg_value>",
    "<tool_call><function=f><parameter=a>b\n<parameter=c>",
    "<tool_call:a>f</tool_call:a></arg_value:a>",
    "<｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"true\"><",
    "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<a>",
    "[TOOL_CALLS]a",
    "[TOOL_CALLS]a[ARGS]{",
    "<|tool_call_begin|>a<|tool_call_argument_begin|>{\"",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
    "<|tool_call>call:f{a:<|\"|>",
    "<|tool_call>call:f{a:{",
    "<|channel|>analysis<|message|>",
    "<|channel|>commentary to=functions.f<|message|>{\"a\":",
    "<|open|>call tool=\"f\"<|sep|><|open|>argument key=\"a\"<|sep|>",
    "<|open|>think<|sep|><|open|>call tool=\"f\"<|sep|><|close|>think<|sep|>",
    "<|open|>response<|sep|><|open|>call tool=\"f\"<|sep|><|close|>call<|sep|>",
    "<|open|>call<|",
    "<tool_call>f<arg_key>a</arg_key><arg_value><tool_call>f<arg_key>a</arg_key><arg_value></tool_call>",
    "<|message_model|>",
    "<|message_model|>search",
    "functools[",
    "[f(",
    "[search(query='x'), ",
    "<tool_code>time()\n#",
    "<tool_code>[time() # <tool_code>[time()\n# and so it goes on for a while\n# x y z",
    "<tool_code>time(); ",
    "print(}[",
    "<![CDATA[print(",
    "{\"n",
    "[{'name': 'search', 'arguments': {",
    "<tool_call>{'query': b c, ",
    "<tool_call>{\"arguments\": {query: x, y, ",
    "<tool_call>{\"name\": \"search\", \"arguments\": {\"query\": a: ",
    "<tool_call>{\"name\":\"a\",\"b\":\"x\", 'y\", 'z\"",
    "{\"name\": \"search\", \"arguments\": {}}; ",
    "<tool_call>{\"name\": \"search\", \"arguments\": {}}, ",
    "<|python_tag|>{\"name\": \"search\", \"parameters\": {}};",
    "{\"name\": \"search\", \"arguments\": {\"a\": [[[[1, ",
    "<tool_call>search<arg_key>limit</arg_key><arg_value>",
    "<tool_call><function=search><parameter=limit>{'a': (((1), ",
    "<function name=\"search\"><param name=\"query\"><![CDATA[]]",
    "<tool_response><tool_call>{\"name\":\"x\"",
    "<co: [ [ 1 ",
    "Action: search\nAction Input: \"x\nThought: ",
    "[search(1, 2, ",
    "[search(query=(((1), ",
];

/// The same inside of something: what stands before, what is repeated, and what stands behind.
const HOSTILE_INSIDE: &[(&str, &str, &str)] = &[
    ("<tool_call>{\"name\": \"search\", \"arguments\": {", "query: ", "[</tool_call>"),
    ("<tool_call>{\"name\": \"search\", \"arguments\": {\"query\": \"", "\", 'x", "\"}}</tool_call>"),
    ("<tool_call>{\"name\": \"search\", \"arguments\": {\"query\": ", "a, b\" ", "}}</tool_call>"),
    ("<think><tool_call>{\"name\": \"search\"}</tool_call>", "<tool_call>{]x", "</think>"),
    ("<tool_response><tool_call>{\"name\": \"search\"}</tool_call>", "<tool_call>{]x", "</tool_response>"),
    ("`<tool_call>{\"name\": \"search\"}</tool_call>", "<tool_call>{]x", "`"),
    ("", "{\"name\": \"search\", \"arguments\": {}} ", "x"),
    ("<tool_call>", "{\"name\": \"search\", \"arguments\": {}}, ", "x"),
    ("{\"name\": \"search\", \"arguments\": ", "{\"a\": [1, {\"b\": 2}], \"c\": ", "x"),
    ("{\"name\": \"search\", \"arguments\": {\"a\": [[[[[[[[[[[[[[[[", "1, ", "x"),
    (
        "<tool_call><function=search><parameter=limit>",
        "{'a': (1), 'b': ",
        "</parameter></function></tool_call>",
    ),
    ("<tool_call><function=search><parameter=limit>", "1", "</parameter></function></tool_call>"),
    ("<tool_call>search<arg_key>", "key", "</arg_key><arg_value>x</arg_value></tool_call>"),
    ("[search(query=", "(((('a', ", ")]"),
    ("[search(", "limit=1, ", "limit=2)] x"),
    ("<|tool_call>call:search{query:", "{a:[<|\"|>x<|\"|>,", "}<tool_call|>"),
];

fn costs_no_more(text: &str, pattern: &dyn std::fmt::Debug, reading: &Reading, feeding: Feeding) {
    let outcome = feeding.read(text, reading.clone(), End::Normal);
    let per_byte = outcome.steps as f64 / text.len() as f64;
    assert!(
        per_byte < LOOKS_MAX as f64,
        "{pattern:?}: {per_byte:.1} steps per byte, {reading:?}, {feeding:?}"
    );
    let told: usize = outcome.dropped.iter().map(|(_, _, text)| text.len()).sum();
    assert!(told <= 2 * text.len(), "{pattern:?}: {told} bytes told about what was dropped");
}

#[test]
fn hostile_text_costs_no_more_than_harmless_text() {
    let repeated = HOSTILE.iter().map(|pattern| ("", *pattern, ""));
    for (before, again, behind) in repeated.chain(HOSTILE_INSIDE.iter().copied()) {
        let text = format!("{before}{}{behind}", again.repeat(65_536 / again.len()));
        let reading = Reading::any(tools());
        let open = reading.clone().reasoning_open(true);
        costs_no_more(&text, &(before, again, behind), &reading, Feeding::Whole);
        costs_no_more(&text, &(before, again, behind), &reading, Feeding::Pieces(4));
        costs_no_more(&text, &(before, again, behind), &open, Feeding::Pieces(4));
    }
}

#[test]
fn a_repair_costs_no_more_however_long_it_is() {
    let patterns = [
        "\"\", 'x",
        "\"a\"b\", ",
        "'a' \"b\", ",
        "x: ",
        "x, y, ",
        "x: 1, ",
        "\"x\": y z, ",
        "[{",
        "\"\\",
        "(1), ",
        "{1}, ",
        "\"a\": \"b\" ",
        "\",   ",
        "# \n",
        "/* ",
        "“a”：",
        "1_",
        "0x",
    ];
    let expected = Expected { is_text: &|_| true, holds_parameters: holds_arguments };
    for again in patterns {
        for (open, close) in [("{\"query\": ", "}"), ("{\"query\": \"", "\"}"), ("{", "]"), ("[", "")] {
            let text = format!("{open}{}{close}", again.repeat(LONG / again.len()));
            let (_, steps) =
                work::measure_work(|| repair::read_with_repairs(&text, Closing::ByTag, expected));
            let per_byte = steps as f64 / text.len() as f64;
            assert!(per_byte < LOOKS_MAX as f64, "{open}{again}{close}: {per_byte:.1} steps per byte");
        }
    }
}

#[test]
fn no_more_is_kept_than_came_in() {
    for again in HOSTILE {
        let text = again.repeat(LONG / again.len());
        for reasoning_open in [false, true] {
            let mut parser = Parser::new(Reading::any(tools()).reasoning_open(reasoning_open));
            let mut fed = 0;
            for piece in cut(&text, &[64]) {
                parser.feed(piece, &mut |_| {});
                fed += piece.len();
                let kept = parser.held_bytes();
                assert!(kept <= 3 * fed + 64, "{again:?}: {kept} bytes of {fed} are kept");
            }
        }
    }
}

#[test]
fn a_call_of_any_dialect_costs_no_more_however_it_goes_on() {
    for (name, form) in all_forms() {
        let (open, close) = form.split_once('¤').expect("has a place for the value");
        let most = &close[..close.floor_char_boundary(close.len() - 1)];
        let long = |text: &str| text.repeat(LONG.div_ceil(text.len()));
        let texts = [
            long(&form.replace('¤', "Rome")),
            // Never closed, and opened again and again.
            long(open),
            // A value that may be over at any moment.
            format!("{open}{}{close}", long(most)),
            format!("{open}{}{close}", long(close)),
            format!("{open}{}{close}", long(&format!("{most}{open}"))),
            format!("{open}{}{close}", long("\\\"[{'(<")),
        ];
        for (text, reading) in texts.iter().flat_map(|text| readings(name).map(|reading| (text, reading))) {
            for feeding in [Feeding::Whole, Feeding::Pieces(7)] {
                costs_no_more(text, &(name, &text[..text.floor_char_boundary(200)]), &reading, feeding);
            }
        }
    }
}

#[test]
fn what_is_no_call_is_not_read_again_and_again() {
    for pattern in ["print(}[", "<![CDATA[print("] {
        let text = pattern.repeat(200);
        for feeding in [Feeding::Whole, Feeding::OnePiece, Feeding::Pieces(1), Feeding::Pieces(4)] {
            let outcome = feeding.read(&text, Reading::any(tools()), End::Normal);
            let per_byte = outcome.steps as f64 / text.len() as f64;
            assert!(per_byte < 5.0, "{pattern:?}: {per_byte:.1} steps per byte, {feeding:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Long enough that a look at all that came before, however rare, shows.
    #[test]
    fn a_long_text_costs_no_more_for_each_byte(
        before in soup_of(0..3), again in soup_of(1..5), behind in soup_of(0..3),
        reading in any_reading(), feeding in any_feeding(), end in any_end(),
    ) {
        let text = format!("{before}{}{behind}", again.repeat(LONG.div_ceil(again.len().max(1))));
        let outcome = feeding.read(&text, reading, end);
        let per_byte = outcome.steps as f64 / text.len() as f64;
        prop_assert!(per_byte < LOOKS_MAX as f64, "{:.1} steps per byte", per_byte);
    }
}

const LONG: usize = 16_384;
