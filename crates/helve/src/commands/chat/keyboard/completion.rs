//! What the Tab key offers: commands, models, agents and tools. Pure, except for the names that are shared.

use std::sync::{Arc, Mutex, PoisonError};

use crate::commands::chat::slash::COMMANDS;

/// More than this of one kind are not offered.
const NAMES_MAX: usize = 2_000;
/// A longer name is not offered.
const NAME_CHARS_MAX: usize = 200;
/// A shorter word of a message fits too many tools.
const TOOL_PREFIX_CHARS_MIN: usize = 2;

/// The names that the server knows, shared with the line editor.
#[derive(Debug, Clone, Default)]
pub(in crate::commands::chat) struct Names(Arc<Mutex<KnownNames>>);

#[derive(Debug, Default)]
pub(in crate::commands::chat) struct KnownNames {
    pub(in crate::commands::chat) models: Vec<String>,
    pub(in crate::commands::chat) agents: Vec<String>,
    pub(in crate::commands::chat) tools: Vec<String>,
}

impl Names {
    /// Replaces what is known. Names that a terminal could not show as they are, and too many or too long ones, are left
    /// out.
    pub(in crate::commands::chat) fn set(&self, mut names: KnownNames) {
        for list in [&mut names.models, &mut names.agents, &mut names.tools] {
            list.retain(|name| name.chars().count() <= NAME_CHARS_MAX && crate::client::line(name) == *name);
            list.truncate(NAMES_MAX);
            list.sort();
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Where the word before the cursor begins, and what could stand in its place.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only terminals of Unix have the line editor"))]
    pub(super) fn complete(&self, line: &str, cursor: usize) -> (usize, Vec<String>) {
        let before = line.get(..cursor).unwrap_or(line);
        let start = before
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let word = &before[start..];
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let command = before[..start].trim();
        let found = match command {
            "" if word.starts_with('/') => beginning(word, COMMANDS.iter().copied()),
            "/model" => beginning(word, known.models.iter().map(String::as_str)),
            "/agent" => beginning(word, known.agents.iter().map(String::as_str)),
            "/tools" => beginning(word, known.tools.iter().map(String::as_str)),
            _ if command.starts_with('/') || word.chars().count() < TOOL_PREFIX_CHARS_MIN => vec![],
            _ => beginning(word, known.tools.iter().map(String::as_str)),
        };
        (start, with_blank(found, line.len() == before.len()))
    }
}

/// A name that is the only one and is not followed by anything gets a blank behind it.
fn with_blank(mut found: Vec<String>, is_at_end: bool) -> Vec<String> {
    if let ([only], true) = (&mut found[..], is_at_end) {
        only.push(' ');
    }
    found
}

fn beginning<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    names.filter(|name| name.starts_with(word)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let names = Names::default();
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        names.set(KnownNames {
            models: list(&["house", "demo", "house:high"]),
            agents: list(&["clerk", "default"]),
            tools: list(&["search_web", "search_notes", "bad\u{1b}[2J"]),
        });
        names
    }

    #[test]
    fn tab_offers_what_fits_where_the_cursor_is() {
        let cases: &[(&str, usize, &[&str])] = &[
            ("/mo", 0, &["/model "]),
            ("/model ho", 7, &["house", "house:high"]),
            ("/agent ", 7, &["clerk", "default"]),
            ("/tools search_w", 7, &["search_web "]),
            ("用 sea", 4, &["search_notes", "search_web"]),
            ("s", 0, &[]),
            ("/new sea", 5, &[]),
            ("what /mo", 5, &[]),
            ("bad", 0, &[]),
        ];
        for (line, start, found) in cases {
            assert_eq!(
                names().complete(line, line.len()),
                (*start, found.iter().map(|&n| n.into()).collect()),
                "{line}"
            );
        }
        assert_eq!(names().complete("/model demo", 3), (0, vec!["/model".to_owned()]));
    }

    #[test]
    fn names_that_are_too_many_or_too_long_are_left_out() {
        let names = Names::default();
        let tools = (0..NAMES_MAX + 10).map(|n| format!("tool_{n}")).chain(["t".repeat(NAME_CHARS_MAX + 1)]);
        names.set(KnownNames { tools: tools.collect(), ..KnownNames::default() });
        assert_eq!(names.complete("to", 2).1.len(), NAMES_MAX);
        assert_eq!(names.complete("ttt", 3).1, Vec::<String>::new());
    }
}
