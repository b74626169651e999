//! How long product files and functions may be, and how much two product files may share.
//!
//! A list may be longer, if it stands in a table here. The tables may only shrink: take a line out when its file or
//! function fits, and never raise a number.

use std::collections::BTreeMap;
use std::path::Path;

use super::{none, with_ending};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 80;

/// Two product files may share so many identical lines in a row.
const SHARED_LINES_MAX: usize = 12;

/// Files that are longer, with today's lines.
const LONG_FILES: &[(&str, usize)] = &[];

/// Functions that are longer, with today's lines. Each is a list: a `match` with an arm for every case.
const LONG_FUNCTIONS: &[(&str, &str, usize)] = &[];

/// Pairs of files that share more, with today's longest shared run.
const REPEATED: &[(&str, &str, usize)] = &[];

/// Whether a file is part of what is delivered: neither a test nor generated.
fn is_product(path: &Path) -> bool {
    let Some(path) = path.to_str() else { return false };
    let inside = ["crates/", "xtask/src/", "web/src/"].iter().any(|folder| path.starts_with(folder));
    let of_tests = ["/tests/", "/tests.rs", "/testing.rs", "/guarantees", ".test.", "/generated/"];
    inside && !of_tests.iter().any(|part| path.contains(part))
}

/// The lines of product files, without the unit tests at their end.
fn product_files(endings: &[&str]) -> Vec<(String, Vec<String>)> {
    let files = endings.iter().flat_map(|ending| with_ending(ending));
    files
        .filter(|(path, _)| is_product(path))
        .map(|(path, text)| {
            let tests = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
            (path.display().to_string(), text[..tests].lines().map(str::to_owned).collect())
        })
        .collect()
}

/// The name of the function that begins in a line.
fn function_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let is_modifier = |word: &&str| word.starts_with("pub") || ["async", "const", "default"].contains(word);
    let keyword = words.by_ref().find(|word| !is_modifier(word) && !word.ends_with(')'))?;
    let name = words.next().filter(|_| keyword == "fn")?;
    name.split(['(', '<']).next()
}

/// Name and number of lines of each function. `rustfmt` puts the closing brace below the first word.
fn functions(lines: &[String]) -> Vec<(&str, usize)> {
    let mut found = vec![];
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let (end, without_body) = (format!("{indent}}}"), format!("{indent}fn"));
        let is_last = |later: &&String| **later == end || later.ends_with(';') && is_at(later, indent);
        let length = lines[at..].iter().position(|later| is_last(&later)).map_or(0, |length| length + 1);
        if !(length == 1 && line.starts_with(&without_body)) {
            found.push((name, length));
        }
    }
    found
}

/// Whether a line begins at this indentation and no further in.
fn is_at(line: &str, indent: &str) -> bool {
    line.strip_prefix(indent).is_some_and(|rest| !rest.starts_with(' '))
}

#[test]
fn a_function_is_measured_from_its_name_to_its_closing_brace() {
    let text = "    pub(crate) async fn a(\n        b: u8,\n    ) -> u8 {\n        if b {\n        }\n    }\nfn c() {}\n    fn d();\n";
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    assert_eq!(functions(&lines)[0], ("a", 6));
    assert_eq!(function_name("// the fn of"), None);
}

#[test]
fn product_files_are_at_most_600_lines_long() {
    let mut found = vec![];
    for (path, lines) in product_files(&["rs", "ts", "tsx"]) {
        let listed = LONG_FILES.iter().find(|(held, _)| *held == path);
        if lines.len() > listed.map_or(FILE_LINES_MAX, |(_, max)| *max) {
            found.push(format!("{path}: {} lines; one idea a file", lines.len()));
        }
    }
    none(found);
}

#[test]
fn product_functions_are_at_most_80_lines_long() {
    let mut found = vec![];
    for (path, lines) in product_files(&["rs"]) {
        for (name, length) in functions(&lines) {
            let listed = LONG_FUNCTIONS.iter().find(|(file, held, _)| *file == path && *held == name);
            if length > listed.map_or(FUNCTION_LINES_MAX, |(_, _, max)| *max) {
                found.push(format!(
                    "{path}: `{name}` has {length} lines; tell it in named steps, or as a table"
                ));
            }
        }
    }
    none(found);
}

/// Lines with text, each with its number.
fn solid_lines(lines: &[String]) -> Vec<(usize, &str)> {
    let trimmed = lines.iter().enumerate().map(|(at, line)| (at + 1, line.trim()));
    trimmed.filter(|(_, line)| !line.is_empty()).collect()
}

/// The longest shared run of each pair of files that share more than `SHARED_LINES_MAX`, with its beginning in both.
fn shared_runs(files: &[(String, Vec<String>)]) -> BTreeMap<(&str, &str), (usize, usize, usize)> {
    let solid: Vec<_> = files.iter().map(|(_, lines)| solid_lines(lines)).collect();
    let window = SHARED_LINES_MAX + 1;
    let mut places: BTreeMap<Vec<&str>, Vec<(usize, usize)>> = BTreeMap::new();
    for (file, lines) in solid.iter().enumerate() {
        for (at, run) in lines.windows(window).enumerate() {
            places.entry(run.iter().map(|(_, line)| *line).collect()).or_default().push((file, at));
        }
    }
    let mut found = BTreeMap::new();
    for same in places.values().filter(|same| same.len() > 1) {
        for (at, (left, begin)) in same.iter().enumerate() {
            for (right, other) in same[at + 1..].iter().filter(|(right, _)| right != left) {
                let pairs = solid[*left][*begin..].iter().zip(&solid[*right][*other..]);
                let length = pairs.take_while(|(one, two)| one.1 == two.1).count();
                let run = (length, solid[*left][*begin].0, solid[*right][*other].0);
                let longest = found.entry((files[*left].0.as_str(), files[*right].0.as_str())).or_insert(run);
                *longest = run.max(*longest);
            }
        }
    }
    found
}

#[test]
fn a_shared_run_is_found_whatever_its_indentation() {
    let lines = |indent: &str| (0..13).map(|number| format!("{indent}line({number});")).collect::<Vec<_>>();
    let mut other = lines("    ");
    other.insert(0, "first();".into());
    let files = [("a.rs".to_owned(), lines("")), ("b.rs".to_owned(), other)];
    assert_eq!(shared_runs(&files)[&("a.rs", "b.rs")], (13, 1, 2));
    let short = [("a.rs".to_owned(), lines("")[1..].to_vec()), ("b.rs".to_owned(), lines(""))];
    assert!(shared_runs(&short).is_empty());
}

#[test]
fn two_product_files_share_at_most_12_lines_in_a_row() {
    let files = product_files(&["rs", "ts", "tsx"]);
    let mut found = vec![];
    for ((left, right), (length, at, other)) in shared_runs(&files) {
        let listed = REPEATED.iter().find(|(one, two, _)| *one == left && *two == right);
        if length > listed.map_or(SHARED_LINES_MAX, |(_, _, max)| *max) {
            found.push(format!("{left}:{at} and {right}:{other} share {length} lines; write them once"));
        }
    }
    none(found);
}
