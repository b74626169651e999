//! How much of the shared corpus is read right. The corpus is not part of the repository; without it, this is skipped.
//!
//! `cargo test -p helve-dialect --test corpus -- --nocapture` prints one table per file, format by format, and every
//! case that is read otherwise than expected. `FORMAT=name` narrows the list of cases to one format.

use std::collections::BTreeMap;
use std::path::PathBuf;

use helve_dialect::{ReadResult, Reading, Tools, dialect, read};
use serde_json::Value;

/// Cases whose calls are right, of all.
#[derive(Default, Clone, Copy)]
struct Score {
    right: usize,
    all: usize,
}

impl Score {
    fn count(&mut self, right: bool) {
        self.right += right as usize;
        self.all += 1;
    }

    fn percent(self) -> f64 {
        100.0 * self.right as f64 / self.all.max(1) as f64
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>4}/{:<4} {:>5.1} %", self.right, self.all, self.percent())
    }
}

/// One format's scores: the format given and found, calls alone and text as well.
#[derive(Default, Clone, Copy)]
struct CorpusRow {
    given: Score,
    found: Score,
    text: Score,
}

fn cases(file: &str) -> Option<Vec<Value>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        helve_test_support::skip_test(file, "the corpus is not beside the repository, in `../shared/corpus`");
        return None;
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Some(
        lines
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{file}: {error}")))
            .collect(),
    )
}

fn reading(case: &Value, given: bool) -> Reading {
    let tools = Tools::from_openai(&case["tools"]).unwrap_or_default();
    let open = case["reasoning_open"].as_bool().unwrap_or(false);
    let format = text(case, "format");
    let dialect = given.then(|| dialect(format).unwrap_or_else(|| panic!("no dialect `{format}`")));
    Reading::new(dialect, tools).reasoning_open(open)
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

/// Whether the text is right too; blanks at the ends are framing.
fn text_matches(result: &ReadResult, case: &Value) -> bool {
    let scored = case["content_scored"].as_bool().unwrap_or(true);
    let same =
        |field: &str, got: &str| case[field].as_str().is_none_or(|expected| expected.trim() == got.trim());
    (!scored || !asserts(case, "content") || same("expect_content", &result.content))
        && (!asserts(case, "reasoning") || same("expect_reasoning", &result.reasoning))
}

/// Reads one case whole and in small pieces, which must give the same.
fn read_case(case: &Value, given: bool) -> ReadResult {
    let reading = reading(case, given);
    let whole = read(text(case, "text"), reading.clone(), None);
    for chunk in [1, 4, 7] {
        let cut = read(text(case, "text"), reading.clone(), Some(chunk));
        assert_eq!(cut, whole, "{} in pieces of {chunk}", text(case, "id"));
    }
    whole
}

/// The page that tells every case that is read otherwise than expected, and why.
const PAGE: &str = include_str!("../../../docs/evidence/corpus.md");

/// Whether the page has the case among those read otherwise. Of several from one source it names the first in full.
fn is_on_page(id: &str) -> bool {
    let rows =
        PAGE.lines().skip_while(|line| !line.starts_with("| case |")).take_while(|line| !line.is_empty());
    let mut named = rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cases| {
        let first = cases.trim().split(", ").next().unwrap_or_default();
        let source = first.rfind('-').map_or("", |at| &first[..=at]);
        cases.trim().split(", ").map(move |case| match case.contains('-') {
            true => case.to_owned(),
            false => format!("{source}{case}"),
        })
    });
    named.any(|case| case == id)
}

/// Reads every case and prints the table. Gives the rows by format, and the tiers' and the sums' among them.
fn score(file: &str) -> Option<BTreeMap<String, CorpusRow>> {
    let only = std::env::var("FORMAT").ok();
    let mut rows: BTreeMap<String, CorpusRow> = BTreeMap::new();
    for case in cases(file)? {
        let results = [true, false].map(|given| read_case(&case, given));
        let right = [&results[0], &results[1]].map(|result| calls_match(result, &case));
        let text_right = text_matches(&results[0], &case);
        let id = text(&case, "id");
        let read_otherwise = right.contains(&false);
        assert_eq!(is_on_page(id), read_otherwise, "docs/evidence/corpus.md on {id}: {results:?}");
        let (format, tier) = (text(&case, "format"), text(&case, "tier"));
        for key in [format, &format!("tier {tier}"), &format!("{format}, tier {tier}"), "all"] {
            let row = rows.entry(key.to_owned()).or_default();
            row.given.count(right[0]);
            row.found.count(right[1]);
            row.text.count(text_right);
        }
        if only.as_deref().is_some_and(|only| only != text(&case, "format")) {
            continue;
        }
        for (how, (result, right)) in ["given", "found"].iter().zip(results.iter().zip(right)) {
            if !right || *how == "given" && !text_right {
                let what = if right { "text" } else { "CALLS" };
                println!("{} {how} {what}: {result:?}\n    {:?}", text(&case, "id"), text(&case, "text"));
            }
        }
    }
    println!("\n{file:<24} {:>17} {:>17} {:>17}", "given", "found", "text");
    for (key, row) in rows.iter().filter(|(key, _)| !key.contains(',')) {
        println!("{key:<24} {} {} {}", row.given, row.found, row.text);
    }
    Some(rows)
}

fn floor(score: Score, percent: f64) {
    assert!(score.percent() >= percent, "{score} is less than {percent} %");
}

#[test]
fn the_peers_cases_are_read_with_the_format_given_and_found() {
    let Some(rows) = score("dev-cases.jsonl") else { return };
    floor(rows["tier A"].given, 98.0);
    floor(rows["tier A"].found, 95.0);
    floor(rows["all"].given, 90.0);
    for key in ["hermes, tier A", "hermes, tier H", "json_bare, tier A"] {
        floor(rows[key].given, 98.0);
        floor(rows[key].found, 98.0);
    }
}

#[test]
fn real_outputs_are_read() {
    let Some(rows) = score("dev-outputs.jsonl") else { return };
    for key in ["all", "hermes", "json_bare"] {
        floor(rows[key].given, 98.0);
        floor(rows[key].found, 98.0);
    }
}

#[test]
fn the_nastiest_cases_are_read() {
    let Some(rows) = score("edge-cases.jsonl") else { return };
    floor(rows["all"].given, 100.0);
    floor(rows["all"].found, 100.0);
}
