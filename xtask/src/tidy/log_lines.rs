//! A log message has fixed text, so that it can be searched for; what varies is in fields.

use super::{none, with_ending};

/// The macros whose message is a log line.
const LEVELS: [&str; 5] = ["trace!(", "debug!(", "info!(", "warn!(", "error!("];

/// The text between the parenthesis at the start of `text`, which was opened, and the one that closes it.
fn inside(text: &str) -> &str {
    let (mut depth, mut in_text, mut escaped) = (1, false, false);
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '(' | '[' | '{' if !in_text => depth += 1,
            ')' | ']' | '}' if !in_text => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// The last argument of a call, that is what stands behind its last comma on the outside.
fn last_argument(arguments: &str) -> &str {
    let (mut depth, mut in_text, mut escaped, mut start) = (0, false, false, 0);
    let arguments = arguments.trim_end().trim_end_matches(',');
    for (at, char) in arguments.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '(' | '[' | '{' if !in_text => depth += 1,
            ')' | ']' | '}' if !in_text => depth -= 1,
            ',' if !in_text && depth == 0 => start = at + 1,
            _ => {}
        }
    }
    arguments[start..].trim()
}

/// The log lines of a file whose last argument is no text without placeholders, by line.
fn variable_messages(text: &str) -> Vec<usize> {
    let mut found = vec![];
    for level in LEVELS {
        for (at, mark) in text.match_indices(level) {
            let named =
                text[..at].chars().next_back().is_some_and(|char| char.is_alphanumeric() || char == '_');
            let line = text[..at].matches('\n').count() + 1;
            let comment = text[..at].rsplit('\n').next().is_some_and(|start| start.contains("//"));
            if named || comment {
                continue;
            }
            let message = last_argument(inside(&text[at + mark.len()..]));
            if !(message.starts_with('"') && message.ends_with('"')) || message.contains(['{', '}']) {
                found.push(line);
            }
        }
    }
    found
}

#[test]
fn log_messages_have_fixed_text() {
    let fixed = [
        "tracing::info!(%run, why = f(\"{a}\", b), \"run (re)started, \\\"so\\\"\");",
        "warn!(\"x\");",
        "// warn!(x)",
    ];
    for line in fixed {
        assert_eq!(variable_messages(line), [0usize; 0], "{line}");
    }
    for line in [
        "tracing::warn!(\"{warning}\");",
        "info!(\"{}\", a);",
        "error!(%run, \"run {run} ended\")",
        "info!(text)",
    ] {
        assert_eq!(variable_messages(line), [1], "{line}");
    }
    let mut found = vec![];
    for (path, text) in with_ending("rs").into_iter().filter(|(path, _)| path.starts_with("crates")) {
        found.extend(variable_messages(&text).into_iter().map(|line| format!("{}:{line}", path.display())));
    }
    none(found);
}
