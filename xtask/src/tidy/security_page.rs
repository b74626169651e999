//! The page about security names tests that exist.

use std::fs;

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
