//! The Chinese pages have the same commands and configuration as the English ones. Comments and quoted texts may be
//! translated, nothing else.

use super::{none, with_ending};

const CHINESE: &str = "docs/zh-CN/";

/// The blocks of code of a page, each with the line that it begins in and its lines.
fn blocks(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut blocks = vec![];
    let mut open: Option<(usize, Vec<&str>)> = None;
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line.starts_with("```")) {
            (None, true) => open = Some((at + 1, vec![])),
            (Some(_), true) => blocks.extend(open.take()),
            (Some((_, lines)), false) => lines.push(line),
            (None, false) => {}
        }
    }
    blocks
}

/// A line of code without the comment at its end. The definition in a script's comment is code.
fn without_comment(line: &str) -> &str {
    let mut in_text = None;
    let mut before = ' ';
    for (at, char) in line.char_indices() {
        match (in_text, char) {
            (None, '"' | '\'') => in_text = Some(char),
            (Some(quote), char) if char == quote => in_text = None,
            (None, '#') if before == ' ' && at > 0 => return line[..at].trim_end(),
            _ => {}
        }
        before = char;
    }
    line.trim_end()
}

/// Whether a line says the same as the English one: what is quoted may be in Chinese, everything else is equal.
fn is_same_line(chinese: &str, english: &str) -> bool {
    let (chinese, english) = (without_comment(chinese), without_comment(english));
    let quotes = ['"', '\''];
    let same = |(at, (chinese, english)): (usize, (&str, &str))| {
        chinese == english || at > 0 && !chinese.is_ascii() && !english.is_empty()
    };
    chinese.matches(quotes).eq(english.matches(quotes))
        && chinese.split(quotes).zip(english.split(quotes)).enumerate().all(same)
}

fn is_same_block(chinese: &[&str], english: &[&str]) -> bool {
    chinese.len() == english.len()
        && chinese.iter().zip(english).all(|(chinese, english)| is_same_line(chinese, english))
}

#[test]
fn only_comments_and_quoted_texts_of_a_command_may_be_translated() {
    for (chinese, english) in [
        ("make run   # 启动", "make run      # starts"),
        ("echo '营业时间？' | helve chat", "echo 'what are the hours?' | helve chat"),
        ("because = \"不行\"  # 原因", "because = \"no\""),
    ] {
        assert!(is_same_line(chinese, english), "{chinese} | {english}");
    }
    for (chinese, english) in [
        ("make runs   # 启动", "make run      # starts"),
        ("echo 'hours?' | helve chat", "echo 'what are the hours?' | helve chat"),
        ("echo '营业时间？' | helve talk", "echo 'what are the hours?' | helve chat"),
        ("# helve: {\"effect\": \"read\"}", "# helve: {\"effect\": \"idempotent\"}"),
        ("helve 聊天", "helve chat"),
    ] {
        assert!(!is_same_line(chinese, english), "{chinese} | {english}");
    }
}

#[test]
fn the_chinese_guide_has_the_commands_of_the_english_one() {
    let pages = with_ending("md");
    let in_english = |path: &std::path::Path| path.starts_with("docs/guide");
    let english: Vec<_> =
        pages.iter().filter(|(path, _)| in_english(path)).flat_map(|(_, text)| blocks(text)).collect();
    let mut compared = 0;
    let mut found = vec![];
    for (path, text) in pages.iter().filter(|(path, _)| path.starts_with(CHINESE)) {
        for (line, block) in blocks(text) {
            compared += 1;
            if !english.iter().any(|(_, other)| is_same_block(&block, other)) {
                found.push(format!("{}:{line}: no page of docs/guide has this block", path.display()));
            }
        }
    }
    assert!(compared > 10);
    none(found);
}

#[test]
fn the_chinese_readme_has_the_commands_of_the_english_one() {
    let page = |name: &str| {
        let (_, text) = with_ending("md").into_iter().find(|(path, _)| path.as_os_str() == name).unwrap();
        text
    };
    let (chinese, english) = (page("README.zh-CN.md"), page("README.md"));
    let (chinese, english) = (blocks(&chinese), blocks(&english));
    assert_eq!(chinese.len(), english.len());
    for ((line, chinese), (_, english)) in chinese.iter().zip(&english) {
        assert!(is_same_block(chinese, english), "README.zh-CN.md:{line} differs from README.md");
    }
}
