//! Files, functions and tests that documents name exist.

use std::fs;
use std::path::PathBuf;

use super::{none, with_ending};
use crate::step::root;

const PAGE: &str = "docs/reference/security.md";

/// The texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a text could be the name of a test, and not a header or a tool.
fn is_test_name(text: &str) -> bool {
    text.matches('_').count() >= 3 && text.chars().all(|char| char.is_ascii_lowercase() || char == '_')
}

#[test]
fn files_and_tests_that_the_page_about_security_names_exist() {
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let sources = with_ending("rs");
    let mut wrong = vec![];
    for name in page.lines().filter(|line| line.starts_with("| ")).flat_map(quoted) {
        let is_path = name.contains('/') && (name.ends_with(".rs") || name.ends_with(".ts"));
        let file =
            if name.starts_with("web/") { root().join(name) } else { root().join("crates").join(name) };
        let is_below_a_crate = name.starts_with("helve") || name.starts_with("web/");
        if is_path && is_below_a_crate && !file.exists() {
            wrong.push(format!("{PAGE}: there is no file `{name}`"));
        }
        if is_test_name(name) && !sources.iter().any(|(_, text)| text.contains(&format!("fn {name}("))) {
            wrong.push(format!("{PAGE}: there is no test `{name}`"));
        }
    }
    none(wrong);
}

/// The file that `agent/run.rs` means: `crates/helve-agent/src/run.rs`, or `run/mod.rs`.
fn source_file(name: &str) -> Option<PathBuf> {
    let (folder, file) = name.strip_suffix(".rs")?.split_once('/')?;
    let folder = if folder == "helve" { folder.to_owned() } else { format!("helve-{folder}") };
    let place = root().join("crates").join(folder).join("src");
    place.exists().then(|| {
        let whole = place.join(format!("{file}.rs"));
        if whole.exists() { whole } else { place.join(file).join("mod.rs") }
    })
}

#[test]
fn files_and_functions_that_the_architecture_names_exist() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut wrong = vec![];
    let mut compared = 0;
    for line in page.lines() {
        let mut last: Option<PathBuf> = None;
        for name in quoted(line) {
            if let Some(file) = source_file(name) {
                compared += 1;
                if !file.exists() {
                    wrong.push(format!("ARCHITECTURE.md: there is no file `{name}`"));
                }
                last = file.exists().then_some(file);
                continue;
            }
            // In the table of questions the function stands right behind its file.
            let is_function =
                name.contains('_') && name.chars().all(|char| char.is_ascii_lowercase() || char == '_');
            if line.starts_with("| ")
                && is_function
                && let Some(file) = last.take()
            {
                compared += 1;
                if !fs::read_to_string(&file).unwrap().contains(&format!("fn {name}")) {
                    wrong.push(format!("ARCHITECTURE.md: no function `{name}` in {}", file.display()));
                }
            }
        }
    }
    assert!(compared > 50, "{compared}");
    none(wrong);
}
