//! One finding of `helve doctor`: what was seen, what it means, and the command that helps.

use serde::Serialize;

use crate::i18n::tr;
use crate::output::padded;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    /// Works without, but something will be missing.
    Note,
    /// Must be put right.
    Bad,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    pub(super) level: Level,
    pub(super) text: String,
    /// A command to paste that helps, or shows more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<String>,
}

impl Finding {
    fn new(level: Level, text: impl Into<String>) -> Self {
        Self { level, text: text.into(), run: None }
    }

    pub(super) fn good(text: impl Into<String>) -> Self {
        Self::new(Level::Ok, text)
    }

    pub(super) fn note(text: impl Into<String>) -> Self {
        Self::new(Level::Note, text)
    }

    pub(super) fn bad(text: impl Into<String>) -> Self {
        Self::new(Level::Bad, text)
    }

    /// With the command that helps.
    pub(super) fn run(self, command: impl Into<String>) -> Self {
        Self { run: Some(command.into()), ..self }
    }

    /// As people read it: the command on a line of its own, so that it can be pasted.
    pub(super) fn lines(&self) -> String {
        let level = match self.level {
            Level::Ok => tr!("ok"),
            Level::Note => tr!("note"),
            Level::Bad => tr!("BAD"),
        };
        let level = padded(&level, 4);
        let run = self.run.as_ref().map(|command| format!("\n        {command}"));
        format!("{level}  {}{}", self.text, run.unwrap_or_default())
    }
}

/// A word of a command, quoted where a shell would read it otherwise.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_chose_cannot_become_a_part_of_the_command() {
        assert_eq!(quoted("qwen3:8b"), "qwen3:8b");
        assert_eq!(quoted("x; rm -rf ~"), "'x; rm -rf ~'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn the_command_stands_on_a_line_of_its_own() {
        let finding = Finding::bad("model `m`: not there").run("ollama pull m");
        assert_eq!(finding.lines(), "BAD   model `m`: not there\n        ollama pull m");
        assert_eq!(
            serde_json::to_value(&finding).unwrap(),
            serde_json::json!({"level": "bad", "text": "model `m`: not there", "run": "ollama pull m"})
        );
    }
}
