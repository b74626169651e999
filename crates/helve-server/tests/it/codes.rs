//! Every code that people may be told of is in `fixtures/codes.json` or, if it is about a definition, in
//! `fixtures/definition-codes.json`, with a sentence in both languages, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use helve_types::{FailureKind, Notice, load_sentences};
use regex::Regex;

/// Said by the page when no server answers.
const OF_THE_PAGE: [&str; 1] = ["unreachable"];

/// Those of a run that ended without an answer, which are kept with its message.
const OF_MESSAGES: [&str; 1] = ["unheard"];

#[test]
fn the_list_has_every_code_that_the_server_can_send_and_no_other() {
    let mut sent: BTreeMap<String, String> = BTreeMap::new();
    let mut add = |code: &str, from: &str| _ = sent.insert(code.to_owned(), from.to_owned());
    Notice::ALL.iter().chain(Notice::OF_DEFINITIONS).for_each(|(code, _)| add(code, "a notice"));
    FailureKind::ALL.iter().for_each(|kind| add(kind.as_str(), "a kind of failure"));
    OF_THE_PAGE.iter().chain(&OF_MESSAGES).for_each(|code| add(code, "the page"));
    for (code, file) in codes_in_sources() {
        add(&code, &file);
    }
    let listed: BTreeSet<&str> = load_sentences().keys().map(String::as_str).collect();
    for (code, params) in Notice::ALL.iter().chain(Notice::OF_DEFINITIONS) {
        assert_eq!(
            load_sentences().get(*code).map(|sentence| &*sentence.params),
            Some(&owned(params)[..]),
            "{code}"
        );
    }
    for (code, from) in &sent {
        assert!(listed.contains(&**code), "`{code}` ({from}) is not in fixtures/codes.json");
    }
    for code in &listed {
        assert!(sent.contains_key(*code), "`{code}` is in fixtures/codes.json and nothing sends it");
    }
}

#[test]
fn no_sentence_is_empty_or_in_the_wrong_language() {
    let latin = Regex::new(r"[A-Za-z]{2,}").unwrap();
    let han = Regex::new(r"\p{Han}").unwrap();
    // What stands between backticks is code.
    let names = Regex::new(
        r#"`[^`]*`|\{[^}]*\}|\["python3", "tool\.py"\]|/openapi\.json|Helve|JSON|HTTP|API|GET|HEAD|PUT|POST|PATCH|DELETE|TAVILY_API_KEY|tavily\.com|\[images\]|\b(?:id|null|true|false)\b"#,
    )
    .unwrap();
    for (code, sentence) in load_sentences() {
        let only_names = |text: &str| names.replace_all(text, "").into_owned();
        assert!(!han.is_match(&sentence.en), "{code}: {}", sentence.en);
        let chinese = only_names(&sentence.zh);
        assert!(!latin.is_match(&chinese), "{code}: {}", sentence.zh);
        assert!(!chinese.contains('您'), "{code}: {}", sentence.zh);
        assert!(!sentence.en.is_empty() && !sentence.zh.is_empty(), "{code}");
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The codes of problem documents and of failed runs, where the sources name them.
fn codes_in_sources() -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let of_problems =
        Regex::new(r#"(?s)(?:Problem|Self)::(?:new|bad_request)\(\s*(?:[\w:]+,\s*)?"([a-z_]+)""#).unwrap();
    let of_others = Regex::new(
        r#"(?:unknown_field\(|AccessError::\w+(?: \{[^}]*\})? => (?:\{\s*)?\(\s*|bad\(|StatusCode::\w+, )"([a-z_]+)""#,
    )
    .unwrap();
    let of_runs =
        Regex::new(r#"(?s)(?:\.fail(?:ed|_after|ure_facts)?\(|fail(?:_run)?\(driver,|code: )\s*"([a-z_]+)""#)
            .unwrap();
    let of_models = Regex::new(r#"ModelErrorKind::\w+ => "([a-z_]+)""#).unwrap();
    let mut found = vec![];
    for (folder, patterns) in [
        ("helve-server/src", vec![&of_problems, &of_others]),
        ("helve-agent/src", vec![&of_runs]),
        ("helve-model/src", vec![&of_models]),
    ] {
        let before = found.len();
        for file in rust_files(&crates.join(folder)) {
            // Tests make up codes of their own.
            let text = fs::read_to_string(&file).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for pattern in &patterns {
                let codes = pattern.captures_iter(text).map(|found| found[1].to_owned());
                found.extend(codes.map(|code| (code, file.display().to_string())));
            }
        }
        assert!(found.len() > before, "no code was found in {folder}: the pattern does not fit the sources");
    }
    found
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_test {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") && !is_test {
            files.push(path);
        }
    }
    files
}
