//! Tidy is a test: what every file has to look like.

mod links;
mod log_lines;
mod named_files;
mod sizes;
mod translations;
mod type_names;

use std::fs;
use std::path::{Path, PathBuf};

use crate::step::{output, root};

const BLOB_BYTES_MAX: u64 = 512 << 10;

/// The files that git knows or would take.
fn files() -> Vec<PathBuf> {
    let listed = output("", &["git", "ls-files", "--cached", "--others", "--exclude-standard"]).unwrap();
    listed.lines().map(PathBuf::from).filter(|path| root().join(path).exists()).collect()
}

fn with_ending(ending: &str) -> Vec<(PathBuf, String)> {
    let fits = |path: &PathBuf| path.extension().is_some_and(|held| held == ending);
    files()
        .into_iter()
        .filter(fits)
        .map(|path| {
            let text = fs::read_to_string(root().join(&path)).unwrap();
            (path, text)
        })
        .collect()
}

fn none(found: Vec<String>) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_rust_file_begins_by_saying_what_it_is() {
    let silent = with_ending("rs").into_iter().filter(|(_, text)| !text.starts_with("//!"));
    none(silent.map(|(path, _)| path.display().to_string()).collect());
}

#[test]
fn nothing_is_left_unfinished() {
    // Put together from pieces, so that this file does not find itself.
    let marks = [["FIX", "ME"], ["XX", "X:"], ["todo", "!("], ["unimplemented", "!("], ["#[ign", "ore"]];
    let marks = marks.map(|pieces| pieces.concat());
    let mut found = vec![];
    for (path, text) in ["rs", "ts", "tsx"].into_iter().flat_map(with_ending) {
        for mark in marks.iter().filter(|mark| text.contains(mark.as_str())) {
            found.push(format!("{}: {mark}", path.display()));
        }
    }
    none(found);
}

#[test]
fn tests_are_named_by_the_sentence_that_their_failure_disproves() {
    let prefix = ["fn te", "st_"].concat();
    let found = with_ending("rs").into_iter().filter(|(_, text)| text.contains(&prefix));
    none(found.map(|(path, _)| path.display().to_string()).collect());
}

#[test]
fn no_file_is_a_blob() {
    let large = files().into_iter().filter(|path| {
        let size = fs::metadata(root().join(path)).map_or(0, |file| file.len());
        size > BLOB_BYTES_MAX && path.file_name().is_none_or(|name| name != "package-lock.json")
    });
    none(large.map(|path| path.display().to_string()).collect());
}

#[test]
fn no_file_knows_a_machine_or_a_registry() {
    let marks = [["/wo", "rk/main"], ["/ro", "ot/"], ["registry.npm", "js.org"], ["/home/", "runner"]];
    let marks = marks.map(|pieces| pieces.concat());
    let mut found = vec![];
    for path in files() {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for mark in marks.iter().filter(|mark| text.contains(mark.as_str())) {
            found.push(format!("{}: {mark}", path.display()));
        }
    }
    none(found);
}

#[test]
fn every_protocol_has_the_same_files() {
    let protocols = root().join("crates/helve-model-http/src");
    let mut compared = 0;
    for entry in fs::read_dir(protocols).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() || !path.join("wire.rs").exists() {
            continue;
        }
        compared += 1;
        for name in ["mod.rs", "wire.rs", "encode.rs", "decode.rs", "fixtures"] {
            assert!(path.join(name).exists(), "{} has no {name}", path.display());
        }
    }
    assert!(compared > 0);
}

#[test]
fn every_family_of_dialects_has_the_same_files() {
    let families = root().join("crates/helve-dialect/src/families");
    let registry = fs::read_to_string(families.with_file_name("registry.rs")).unwrap();
    let mut wrong = vec![];
    let mut dialects = 0;
    for entry in fs::read_dir(&families).unwrap() {
        let family = entry.unwrap().path();
        let name = family.file_name().unwrap().to_str().unwrap().to_owned();
        // Reasoning is told by its marks alone, so nothing reads the inside of it.
        let common = if name == "reasoning" { &["mod.rs"][..] } else { &["mod.rs", "body.rs"] };
        let missing = common.iter().filter(|file| !family.join(file).exists());
        wrong.extend(missing.map(|file| format!("{name} has no {file}")));
        for entry in fs::read_dir(&family).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            let Some(dialect) = file.strip_suffix(".rs").filter(|_| !common.contains(&file.as_str())) else {
                if path.is_dir() && file != "body" {
                    wrong.push(format!("{name}/{file}: what belongs to the body stands in `body`"));
                }
                continue;
            };
            dialects += 1;
            let text = fs::read_to_string(&path).unwrap();
            if text.matches("static DIALECT: Dialect").count() != 1
                || !text.contains(&format!("name: \"{dialect}\""))
            {
                wrong.push(format!("{name}/{file} does not define the dialect `{dialect}`"));
            }
            if !registry.contains(&format!("&{name}::{dialect}::DIALECT")) {
                wrong.push(format!("`{dialect}` has no row in the registry"));
            }
        }
    }
    assert!(dialects > 0);
    none(wrong);
}

#[test]
fn every_shipped_tool_is_a_file_and_a_page() {
    for entry in fs::read_dir(root().join("crates/helve-tool-builtin/src")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "md") {
            assert!(path.with_extension("rs").exists(), "{}", path.display());
        }
    }
}

/// Columns of a terminal: a Chinese character takes two.
fn columns(line: &str) -> usize {
    let wide = |char: char| matches!(char, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3fffd}');
    line.chars().map(|char| if wide(char) { 2 } else { 1 }).sum()
}

/// The lines of running text that are too long, by their numbers. Tables and code are as wide as they need to be.
fn long_lines(text: &str) -> Vec<usize> {
    let mut in_code = false;
    let mut long = vec![];
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !line.trim_start().starts_with('|') && columns(line) > 120 {
            long.push(at + 1);
        }
    }
    long
}

#[test]
fn lines_of_documents_fit_into_120_columns() {
    let (fits, chinese) = ("a".repeat(120), "请".repeat(60));
    assert_eq!(long_lines(&format!("{fits}\n{chinese}\n| {fits}\n```\n{fits}{fits}\n```\n")), [0usize; 0]);
    assert_eq!(long_lines(&format!("{fits}a\n{chinese}a\n")), [1, 2]);
    // The pages beside the code are what models are told, where a line break is part of the text.
    let is_document = |path: &Path| !path.components().any(|part| part.as_os_str() == "src");
    let mut found = vec![];
    for (path, text) in with_ending("md").into_iter().filter(|(path, _)| is_document(path)) {
        found.extend(long_lines(&text).into_iter().map(|line| format!("{}:{line}", path.display())));
    }
    none(found);
}

#[test]
fn both_readmes_say_the_same_in_the_same_order() {
    let shape = |name: &str| {
        let text = fs::read_to_string(root().join(name)).unwrap();
        let count = |mark: &str| text.lines().filter(|line| line.starts_with(mark)).count();
        (count("## "), count("```"), count("!["))
    };
    assert_eq!(shape("README.md"), shape("README.zh-CN.md"));
}
