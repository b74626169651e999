//! One finding of `helve doctor` as people read it, and the commands beside findings.

use helve_server::{Finding, FindingLevel};

use crate::client::{line, text};
use crate::i18n::tr;
use crate::output::padded;

/// The finding with its command on a line of its own, so that it can be pasted.
pub(super) fn lines(finding: &Finding) -> String {
    let level = match finding.level {
        FindingLevel::Ok => tr!("ok"),
        FindingLevel::Note => tr!("note"),
        FindingLevel::Bad => tr!("BAD"),
    };
    let run = finding.run.as_deref().map(|command| format!("\n        {}", line(command)));
    format!("{}  {}{}", padded(&level, 4), text(&finding.text), run.unwrap_or_default())
}

/// A command that asks for the value of a variable without showing it, and gives it to the programs that follow.
pub(super) fn ask_for_variable(name: &str) -> String {
    format!("printf '{name}: '; read -rs {name} && export {name}")
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
        assert_eq!(lines(&finding), "BAD   model `m`: not there\n        ollama pull m");
        assert_eq!(
            serde_json::to_value(&finding).unwrap(),
            serde_json::json!({"level": "bad", "text": "model `m`: not there", "run": "ollama pull m"})
        );
    }
}
