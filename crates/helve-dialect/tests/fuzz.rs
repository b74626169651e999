//! Hostile text, made by chance: no panic, no dependence on the pieces, no growth beyond the input.
//!
//! A few thousand texts in every test run; `make fuzz ARGS=3600` for as many seconds, `FUZZ_SEED` for another start. What ever failed is kept in `tests/crashes`, and tried in every dialect in every run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use helve_dialect::{Dialect, End, Parser, Piece, ReadResult, Reading, Tools, dialects, read};
use helve_json::repair;
use serde_json::json;

/// A small generator of its own, so that a seed means the same text for ever.
struct Chance(u64);

impl Chance {
    fn from_environment() -> Self {
        let seed = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok());
        Self(seed.unwrap_or(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Messages in which something is odd. What is tried is made of these and of the dialects' samples, by tearing them apart.
const SEEDS: &[&str] = &[
    "<think>hm</think>So:\n<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"a \\\"b\\\"\"}}\n</tool_call> ok",
    "{\"tool\": \"search\", \"query\": \"x\"}",
    "```json\n[{\"name\": \"search\", \"arguments\": \"{\\\"query\\\": 1}\"}]\n```",
    "<tool_call>{'name': 'search', 'arguments': {'query': True, 'limit': None,}}</tool_call>",
    "<tool_call>\n<function=search>\n<parameter=query>\n</parameter> x\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
    "<tool_calls:a><tool_call:a>search<tool_sep:a><arg_key:a>query</arg_key:a><arg_value:a>x</arg_value:a></tool_call:a></tool_calls:a>",
    "<minimax:tool_call>\n<invoke name=\"search\">\n<parameter name=\"limit\">3</parameter>\n</invoke>\n</minimax:tool_call>",
    "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"search\">]<]minimax[>[<query>]<]minimax[>[<item>1]<]minimax[>[</item>]<]minimax[>[</query>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
    "<function name=\"search\"><param name=\"query\"><![CDATA[</param>]]></param></function>",
    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"search\">\n<｜DSML｜parameter name=\"query\" string=\"true\">x</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    "<function_calls><invoke><tool_name>search</tool_name><parameters><query>x</query></parameters></invoke></function_calls>",
    "[TOOL_CALLS]search[CALL_ID]abcdefghi[ARGS]{\"query\": \"x\"}[TOOL_CALLS] [{\"name\": \"search\"}]",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{\"query\": \"x\"}<|tool_call_end|><|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{\"query\": \"x\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<|channel>thought\nplan<channel|><|tool_call>call:search{query:<|\"|>x<|\"|>,limit:[1,{a:b}]}<tool_call|>",
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.search <|constrain|>json<|message|>{\"query\": \"x\"}<|call|>",
    " to=self<|message|>hm<|eom|><|start|>assistant to=search<|message|><atem:function_calls>\n<atem:invoke name=\"search\">\n<atem:parameter name=\"query\">x</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>",
    "<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool=\"search\"<|sep|><|open|>argument key=\"query\" type=\"string\"<|sep|>x<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    "<|message_model|>search<|content_invoke_tool_json|>{\"name\": \"search\", \"args\": {}}<|end_message|>",
    "[search(query='it\\'s', limit=-1), search(query=\"\"\"a\nb\"\"\")]",
    "Thought: hm\nAction: search\nAction Input: {\"query\": \"x\"}\nObservation: y",
    "<|tools_prefix|>[{\"search\": {\"query\": \"x\"}}]<|tools_suffix|>",
    "<|tools_prefix|>[{\"search\": {\"query\": \"x\"}, \"search\": {}}, {\"name\": \"search\", \"arguments\": {}}]<|tools_suffix|>",
    "<tool_call>\\n{{\"name\": \"search\", \"arguments\": {\"query\": \"x\"}}}\\n</tool_call></s>",
    "So: {'name': 'search', 'arguments': {'query': 'it\\'s'}}<|endoftext|>",
    "functools[{\"name\": \"search\", \"arguments\": {}},], [1] and {x}; [{\"name\": \"search\"}]",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>\"{\\\"query\\\": 1}\"<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "Here is my thought process: hm\nHere's my response: <|tool_call|>[{\"name\": \"search\"}] Here is my response:",
    "So:\n~~~~xml\n<tool_call>{\"name\": \"search\"}</tool_call>\n~~~~\n~ ~~x~~",
    "<tool_response>{\"r\": \"<tool_call>{\\\"name\\\": \\\"search\\\"}</tool_call>\"}</tool_response> So.<s>a</s> b</s>",
    "[TOOL_CALLS]search[ARGS]{\"query\": \"x\"}search[ARGS]{}[TOOL_CALLS][{\"name\": \"search\"}][ARGS]x",
    "<tool_calls>\n<tool_call>\n{{\"name\": \"search\", \"arguments\": {{\"query\": (\"x\")}}}}\n</tool_call>\n</tool_calls>",
    "<|tool_call>call:search{query:<|\"|>abc}<tool_call|>\nSo.<|tool_call>call:search{{limit:2,,a:'b'}}<tool_call|><turn|>",
    "<tool_call>\n<function=search>\n<parameter=query>\na <parameter=limit> b </parameter> <param=limit>2</param>\n</function>",
    "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"search\"><steptml:parameter name=\"query\">x</steptml:invoke>",
    "<tool_call:a>search<arg_key:a>query</arg_key:a><arg_value:a>x</arg_value></tool_call><tool_call>search</tool_call>",
    "all\nshift x >>> y>>>search\n{\"query\": \"x\"}>>>all\nSo `>>>search`.<|eot_id|>",
    "The mark <|channel|> is one.\n<|open|>response<|sep|>`<|open|>call tool=\"search\"<|sep|>` <|close|>response<|sep|>",
    "Action: search\nAction Input: \"x\nThought: A Thought: so\nFinal Answer: 4<|im_end|>",
    "So. ```tool_code\nprint(search(query=(\"x\"))) # now\n```\nmore [search().x, search(\"a\", query=\"b\")]",
    "Some `code`, > a quotation,\n> <tool_call>{}</tool_call>\n```\n<tool_call>\n```\n日本 😀",
];

/// The seeds that do not hang on the shared corpus.
fn own_seeds() -> &'static [String] {
    static OWN: OnceLock<Vec<String>> = OnceLock::new();
    OWN.get_or_init(|| {
        let sample =
            |dialect: &&Dialect| dialect.sample.replace("get_weather", "search").replace("city", "query");
        let samples = dialects().iter().map(|dialect| sample(dialect).replace('¤', "x < y"));
        SEEDS.iter().map(|seed| (*seed).to_owned()).chain(samples).collect()
    })
}

/// The seeds, the samples of all dialects, and the texts of the shared corpus where it is there.
fn seeds() -> &'static [String] {
    static ALL: OnceLock<Vec<String>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut seeds = own_seeds().to_vec();
        let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
        for file in ["dev-cases.jsonl", "edge-cases.jsonl"] {
            let Ok(lines) = std::fs::read_to_string(corpus.join(file)) else {
                let reason =
                    "the corpus is not beside the repository, in `../shared/corpus`; fuzzed without it";
                helve_test_support::skip_test(file, reason);
                continue;
            };
            let cases = lines.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
            let texts = cases.filter_map(|case| Some(case["text"].as_str()?.to_owned()));
            seeds.extend(texts.filter(|text| (1..2000).contains(&text.len())));
        }
        seeds
    })
}

/// Pieces of seeds, cut at characters and put together anew, with repetitions.
fn hostile(chance: &mut Chance) -> String {
    let mut text = String::new();
    for _ in 0..1 + chance.below(6) {
        let own = chance.below(2) == 0;
        let seed = chance.pick(if own { own_seeds() } else { seeds() });
        let chars: Vec<char> = seed.chars().collect();
        let from = chance.below(chars.len());
        let to = from + chance.below(chars.len() - from + 1);
        let piece: String =
            if chance.below(3) == 0 { chars.iter().collect() } else { chars[from..to].iter().collect() };
        let times = if chance.below(12) == 0 { 1 + chance.below(40) } else { 1 };
        for _ in 0..times {
            text.push_str(&piece);
        }
        if chance.below(4) == 0 {
            text.push(char::from_u32(chance.below(0x300) as u32).unwrap_or('x'));
        }
    }
    text
}

fn reading(chance: &mut Chance) -> Reading {
    let all: &[&'static Dialect] = dialects();
    let dialect = if chance.below(3) == 0 { Some(*chance.pick(all)) } else { None };
    let tools = if chance.below(2) == 0 { Tools::unknown() } else { declared() };
    Reading::new(dialect, tools).reasoning_open(chance.below(4) == 0)
}

fn declared() -> Tools {
    let schema = json!({"properties": {"query": {"type": "string"}, "limit": {"type": ["integer", "null"]}}});
    Tools::new([("search".to_owned(), schema)])
}

/// Reads the text whole and in pieces, and checks what must hold.
fn try_reading(text: &str, reading: &Reading, chunk: usize) {
    let whole = read(text, reading.clone(), None);
    for chunk in [chunk, text.len()] {
        let cut = read(text, reading.clone(), Some(chunk));
        assert_eq!(cut, whole, "in pieces of {chunk}");
    }
    let said = whole.content.len() + whole.reasoning.len();
    assert!(said <= text.len(), "more came out than went in");
    for call in &whole.calls {
        assert!(serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok(), "{}", call.arguments);
    }
    let broken_off = read_cut(text, reading, text.len());
    assert!(broken_off.calls.len() <= whole.calls.len(), "a cut stream has more calls than a whole one");
    assert_eq!(read_cut(text, reading, chunk), broken_off, "cut off, in pieces of {chunk}");
}

/// What comes of a stream that breaks off behind the text.
fn read_cut(text: &str, reading: &Reading, chunk: usize) -> ReadResult {
    let mut result = ReadResult::default();
    let mut take = |piece: Piece<'_>| match piece {
        Piece::Text(text) => result.content.push_str(text),
        Piece::Reasoning(text) => result.reasoning.push_str(text),
        Piece::CallFinished { call, .. } => result.calls.push(call),
        _ => {}
    };
    let mut parser = Parser::new(reading.clone());
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(chunk.max(1)) {
        parser.feed(&String::from_iter(piece), &mut take);
    }
    let finding = parser.finish(End::Cut, &mut take);
    result.dialect = finding.dialect;
    result
}

fn crashes() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/crashes")
}

/// So many texts in every test run, whatever the machine; for as long as `FUZZ_SECONDS` says where it says so, with a word
/// on how it goes every minute, and a look at whether memory grows.
fn rounds(what: &'static str) -> impl Iterator<Item = usize> {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let (mut told, mut first) = (Instant::now(), None);
    (0..).take_while(move |round| {
        let Some(until) = until else { return *round < ROUNDS };
        let now = Instant::now();
        if now.duration_since(told) >= Duration::from_secs(60) {
            told = now;
            let resident = resident_kilobytes();
            let left = until.saturating_duration_since(now).as_secs();
            println!("{what}: {round} texts, {left} s left, {resident:?} KB resident");
            // The first minute fills every buffer and table that is kept.
            if let (Some(first), Some(resident)) = (*first.get_or_insert(resident), resident) {
                assert!(resident < first + 65_536, "memory grew from {first} to {resident} KB");
            }
        }
        now < until
    })
}

/// How much memory the process has, where the system tells.
fn resident_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

const ROUNDS: usize = 4_000;

/// What ever failed: a file for each text that the fuzzer found, and those that the properties in `src` were shrunk to.
fn kept() -> std::io::Result<Vec<String>> {
    let mut paths = vec![];
    for entry in std::fs::read_dir(crashes())? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut texts = vec![];
    for path in paths {
        let file = std::fs::read_to_string(&path)?;
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("txt") => texts.push(file),
            Some("jsonl") => {
                for line in file.lines() {
                    texts.push(serde_json::from_str(line)?);
                }
            }
            _ => {}
        }
    }
    Ok(texts)
}

#[test]
fn what_failed_once_does_not_fail_again() {
    let texts = kept().expect("crashes can be read");
    assert!(texts.len() >= 29, "crashes are kept for ever");
    let readings = dialects().iter().map(|dialect| Some(*dialect)).chain([None]);
    for dialect in readings {
        for (tools, open) in [(false, false), (false, true), (true, false), (true, true)] {
            let tools = if tools { declared() } else { Tools::unknown() };
            let reading = Reading::new(dialect, tools).reasoning_open(open);
            for text in &texts {
                [1, 4].into_iter().for_each(|chunk| try_reading(text, &reading, chunk));
            }
        }
    }
}

#[test]
fn hostile_text_is_read_the_same_however_it_is_cut() {
    let mut chance = Chance::from_environment();
    for _ in rounds("reading") {
        let text = hostile(&mut chance);
        let reading = reading(&mut chance);
        // Long pieces hold whole calls, which are read in one go.
        let longest = *chance.pick(&[7, 120]);
        let chunk = 1 + chance.below(longest);
        try_or_keep(&text, &mut chance, || {
            let outcome = catch_unwind(AssertUnwindSafe(|| try_reading(&text, &reading, chunk)));
            assert!(outcome.is_ok(), "read by {reading:?} in pieces of {chunk}");
        });
    }
}

/// Keeps the text if it does not pass.
fn try_or_keep(text: &str, chance: &mut Chance, tried: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(tried)).is_err() {
        let path = crashes().join(format!("{:016x}.txt", chance.0));
        let kept = std::fs::write(&path, text);
        panic!("kept in {}, {kept:?}: {text:?}", path.display());
    }
}

#[test]
fn repair_never_panics_and_gives_json() {
    let mut chance = Chance::from_environment();
    for _ in rounds("repair") {
        let text = hostile(&mut chance);
        try_or_keep(&text, &mut chance, || {
            let from = text.find(['{', '[']).unwrap_or(0);
            if let Some(repaired) = repair(&text[from..]) {
                let valid = serde_json::from_str::<serde::de::IgnoredAny>(&repaired.text).is_ok();
                assert!(valid, "{:?} became {:?}", &text[from..], repaired.text);
            }
        });
    }
}
