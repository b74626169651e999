//! The language that is chosen, and that every text of the command line has its Chinese.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use super::*;
use crate::commands::Cli;

#[test]
fn the_language_is_what_is_said_and_else_what_the_environment_says() {
    use Language::{Chinese, English};
    type Case = (&'static [&'static str], &'static [(&'static str, &'static str)], Language);
    let cases: &[Case] = &[
        (&[], &[], English),
        (&[], &[("LANG", "zh_CN.UTF-8")], Chinese),
        (&[], &[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C")], English),
        (&[], &[("LANG", "en_GB.UTF-8"), ("LC_MESSAGES", "zh_TW")], Chinese),
        (&[], &[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "")], Chinese),
        (&[], &[("LC_ALL", "zh_CN.UTF-8"), ("HELVE_LANG", "en")], English),
        (&["--lang", "zh"], &[("HELVE_LANG", "en")], Chinese),
        (&["chat", "--lang=en"], &[("HELVE_LANG", "zh")], English),
        (&["chat", "--lang", "de"], &[("HELVE_LANG", "zh")], English),
        (&["--", "--lang=zh"], &[], English),
        (&["--lang"], &[("LANG", "zh-Hans")], Chinese),
        (&["--language=zh"], &[], English),
    ];
    for (arguments, variables, expected) in cases {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let variable = |wanted: &str| {
            variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(Language::choose(&arguments, variable), *expected, "{arguments:?} {variables:?}");
    }
}

#[test]
fn values_are_filled_in_and_are_no_patterns_themselves() {
    let values: &[(&str, &dyn Display)] = &[("what", &"{what} {other}"), ("other", &1)];
    assert_eq!(fill_in(Language::English, "error: {what}", values), "error: {what} {other}");
    assert_eq!(fill_in(Language::Chinese, "error: {what}", values), "错误：{what} {other}");
    assert_eq!(fill_in(Language::Chinese, "{a} not in the table {", values), "{a} not in the table {");
}

/// Every text of the tree of commands, with where it stands.
fn help_texts(command: &Command, path: &str, found: &mut BTreeMap<String, String>) {
    let path = format!("{path} {}", command.get_name());
    let texts = [command.get_about(), command.get_long_about(), command.get_after_help()];
    let arguments =
        command.get_arguments().flat_map(|argument| [argument.get_help(), argument.get_long_help()]);
    for text in texts.into_iter().chain(arguments).flatten() {
        found.entry(text.to_string()).or_insert_with(|| path.clone());
    }
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        help_texts(subcommand, &path, found);
    }
}

fn all_help() -> BTreeMap<String, String> {
    let mut command = Cli::command();
    command.build();
    let mut found = BTreeMap::new();
    help_texts(&command, "", &mut found);
    found
}

#[test]
fn every_text_of_help_is_in_the_table() {
    let missing: Vec<String> = all_help()
        .into_iter()
        .filter(|(text, _)| chinese(text).is_none())
        .map(|(text, path)| format!("{path}: {text:?}"))
        .collect();
    assert!(missing.is_empty(), "no Chinese for:\n{}", missing.join("\n"));
}

#[test]
fn help_in_chinese_has_no_english_sentence_left() {
    fn check(command: &mut Command) {
        for help in [command.render_help(), command.render_long_help()] {
            let shown = help.to_string();
            let prose: Vec<&str> = shown.lines().filter(|line| !line.starts_with("用法：")).collect();
            let prose = prose.join("\n");
            assert_eq!(english_sentence(&prose), None, "{}: {shown}", command.get_name());
            for heading in ["Usage:", "Options:", "Commands:", "Arguments:", "[default", "[env", "[possible"]
            {
                assert!(!shown.contains(heading), "{heading} {}: {shown}", command.get_name());
            }
        }
        command.get_subcommands_mut().filter(|subcommand| !subcommand.is_hide_set()).for_each(check);
    }
    check(&mut help::in_language(Cli::command(), Language::Chinese));
}

/// Four English words in a row are a sentence that was forgotten, unless they are quoted as code.
fn english_sentence(text: &str) -> Option<String> {
    let is_word = |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    for (number, part) in text.split('`').enumerate() {
        // Between two marks is code; lines that begin with blanks and a program are examples.
        if number % 2 == 1 {
            continue;
        }
        for line in part.lines().filter(|line| !line.trim_start().starts_with(['{', '$'])) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let Some(found) = words.windows(4).find(|words| words.iter().all(|word| is_word(word))) {
                return Some(found.join(" "));
            }
        }
    }
    None
}

#[test]
fn a_forgotten_sentence_is_found() {
    assert_eq!(english_sentence("列出 the tools that are there"), Some("the tools that are".into()));
    assert_eq!(english_sentence("列出工具，用 `helve tools list that are` 和 --json"), None);
}

#[test]
fn both_texts_name_the_same_values_and_the_chinese_is_chinese() {
    let names = |text: &str| -> BTreeSet<String> {
        text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0.to_owned())).collect()
    };
    let mut seen = BTreeSet::new();
    for (english, chinese) in texts::ALL.iter().copied().flatten() {
        assert!(seen.insert(*english), "twice: {english}");
        assert_eq!(names(english), names(chinese), "{english}");
        assert!(
            chinese
                .chars()
                .any(|c| ('\u{4e00}'..'\u{9fff}').contains(&c) || ('\u{ff00}'..'\u{ffef}').contains(&c)),
            "{chinese}"
        );
        assert_eq!(english_sentence(chinese), None, "{chinese}");
        // The page says 你, and so does the terminal.
        assert!(!chinese.contains('您'), "{chinese}");
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            false => {}
        }
    }
}

/// The code of this crate without its tests.
fn code() -> Vec<(String, String)> {
    let mut paths = vec![];
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut paths);
    let is_test = |path: &PathBuf| path.file_name().is_some_and(|name| name == "tests.rs");
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
        (path.to_string_lossy().into_owned(), text)
    };
    paths.into_iter().filter(|path| !is_test(path)).map(read).collect()
}

/// The literal at the beginning of the code, as the compiler reads it.
fn literal(code: &str) -> Option<String> {
    let body = code.trim_start().strip_prefix('"')?;
    let (mut text, mut chars) = (String::new(), body.chars().peekable());
    loop {
        match chars.next()? {
            '"' => return Some(text),
            '\\' => match chars.next()? {
                'n' => text.push('\n'),
                '\n' => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}

fn texts_in_code() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (path, text) in code() {
        for (at, _) in
            text.match_indices("tr!(").filter(|(at, _)| text[..*at].ends_with([' ', '(', '\n', '!', '&']))
        {
            if let Some(literal) = literal(&text[at + 4..]) {
                found.insert(literal, path.clone());
            }
        }
    }
    found
}

#[test]
fn every_text_in_the_code_is_in_the_table() {
    let missing: Vec<String> = texts_in_code()
        .into_iter()
        .filter(|(text, _)| chinese(text).is_none())
        .map(|(text, path)| format!("{path}: {text:?}"))
        .collect();
    assert!(missing.is_empty(), "no Chinese for:\n{}", missing.join("\n"));
}

#[test]
fn what_a_list_says_of_each_tool_that_comes_with_helve_has_its_chinese() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../helve-tool-builtin/src");
    let pages = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let pages: Vec<_> = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    assert!(pages.len() > 10, "{pages:?}");
    for page in pages {
        let said = crate::commands::tools::about(&fs::read_to_string(&page).unwrap());
        assert!(foreign::chinese(&said).is_some(), "no Chinese in i18n/texts/foreign.rs for: {said}");
    }
}
