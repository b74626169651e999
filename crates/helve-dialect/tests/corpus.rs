//! How much of the shared corpus is read right. The corpus is not part of the repository; without it, this skips.

use std::collections::BTreeMap;
use std::path::PathBuf;

use helve_dialect::{ReadResult, Reading, Tools, dialect, read};
use serde_json::Value;

/// Cases whose calls are right, and whose text is right too, of all.
#[derive(Default, Clone, Copy)]
struct Score {
    calls: usize,
    text: usize,
    all: usize,
}

impl Score {
    fn percent(self) -> f64 {
        100.0 * self.calls as f64 / self.all.max(1) as f64
    }
}

fn cases(file: &str) -> Option<Vec<Value>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no {}", path.display());
        return None;
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Some(
        lines
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{file}: {error}")))
            .collect(),
    )
}

fn reading(case: &Value, given: bool) -> Option<Reading> {
    let tools = Tools::from_openai(&case["tools"]).unwrap_or_default();
    let open = case["reasoning_open"].as_bool().unwrap_or(false);
    let reading = match given {
        true => Reading::of(dialect(text(case, "format"))?, tools),
        false => Reading::any(tools),
    };
    Some(reading.reasoning_open(open))
}

fn text<'c>(case: &'c Value, field: &str) -> &'c str {
    case[field].as_str().unwrap_or("")
}

/// Names, order and arguments are those expected; `5.0` is `5`.
fn calls_match(result: &ReadResult, case: &Value) -> bool {
    let expected = case["expect_calls"].as_array().map_or(&[][..], Vec::as_slice);
    expected.len() == result.calls.len()
        && expected.iter().zip(&result.calls).all(|(expected, call)| {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
            expected["name"] == call.name.as_str() && alike(&expected["arguments"], &arguments)
        })
}

fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| alike(a, b)))
        }
        _ => a == b,
    }
}

/// Which aspects the case's source checks; edge cases check what they expect, real outputs only calls.
fn asserts(case: &Value, aspect: &str) -> bool {
    match case["asserts"].as_array() {
        Some(listed) => listed.iter().any(|a| a == aspect),
        None => case["tag"].is_string(),
    }
}

/// What is wrong with the text, if anything; blanks at the ends are framing.
fn text_complaint(result: &ReadResult, case: &Value) -> Option<String> {
    let scored = case["content_scored"].as_bool().unwrap_or(true);
    if let Some(content) = case["expect_content"].as_str()
        && scored
        && asserts(case, "content")
        && content.trim() != result.content.trim()
    {
        return Some(format!("content {:?}", result.content));
    }
    if let Some(reasoning) = case["expect_reasoning"].as_str()
        && asserts(case, "reasoning")
        && reasoning.trim() != result.reasoning.trim()
    {
        return Some(format!("reasoning {:?}", result.reasoning));
    }
    None
}

/// Reads every case whole and in small pieces, and gives the score per key.
fn score(file: &str, given: bool, key: impl Fn(&Value) -> String) -> Option<BTreeMap<String, Score>> {
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for case in cases(file)? {
        // Only formats that exist: with the format to be found, others would score by luck.
        if dialect(text(&case, "format")).is_none() {
            continue;
        }
        let Some(reading) = reading(&case, given) else { continue };
        let whole = read(text(&case, "text"), reading.clone(), None);
        for chunk in [1, 4, 7] {
            let cut = read(text(&case, "text"), reading.clone(), Some(chunk));
            assert_eq!(cut, whole, "{} in pieces of {chunk}", text(&case, "id"));
        }
        let score = scores.entry(key(&case)).or_default();
        score.all += 1;
        let calls_complaint = (!calls_match(&whole, &case)).then(|| format!("calls {:?}", whole.calls));
        let text_complaint = text_complaint(&whole, &case);
        score.calls += calls_complaint.is_none() as usize;
        score.text += text_complaint.is_none() as usize;
        for complaint in calls_complaint.iter().chain(&text_complaint) {
            println!("{} given={given}: {complaint}\n    {:?}", text(&case, "id"), text(&case, "text"));
        }
    }
    for (key, score) in &scores {
        let Score { calls, text, all } = score;
        println!(
            "{file} given={given} {key}: calls {calls}/{all} = {:.1} %, text {text}/{all}",
            score.percent()
        );
    }
    Some(scores)
}

fn by_format_and_tier(case: &Value) -> String {
    format!("{} {}", text(case, "format"), text(case, "tier"))
}

fn by_format(case: &Value) -> String {
    text(case, "format").to_owned()
}

fn floor(scores: &BTreeMap<String, Score>, key: &str, percent: f64) {
    let score = scores.get(key).copied().unwrap_or_default();
    assert!(score.percent() >= percent, "{key}: {:.1} % < {percent} %", score.percent());
}

#[test]
fn the_peers_cases_are_read_with_the_format_given_and_found() {
    for given in [true, false] {
        let Some(scores) = score("dev-cases.jsonl", given, by_format_and_tier) else { return };
        floor(&scores, "hermes A", 98.0);
        floor(&scores, "hermes H", 98.0);
        floor(&scores, "json_bare A", 98.0);
    }
}

#[test]
fn real_outputs_are_read() {
    for given in [true, false] {
        let Some(scores) = score("dev-outputs.jsonl", given, by_format) else { return };
        floor(&scores, "hermes", 98.0);
        floor(&scores, "json_bare", 98.0);
    }
}

#[test]
fn the_nastiest_cases_are_read() {
    for given in [true, false] {
        let Some(scores) = score("edge-cases.jsonl", given, by_format) else { return };
        floor(&scores, "hermes", 100.0);
        floor(&scores, "json_bare", 100.0);
    }
}
