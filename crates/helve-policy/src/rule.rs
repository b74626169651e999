//! One rule: which calls it is about and what it says of them.

use helve_types::Effect;
use serde::{Deserialize, Serialize};

use crate::Access;

/// Every condition that is given must hold; a rule without conditions speaks about every call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A tool's name; `*` stands for any run of characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    pub action: Action,
    /// Told to the person who is asked and to the model that is refused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

/// From lenient to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Allow,
    Ask,
    Deny,
}

impl Rule {
    pub(crate) fn matches(&self, access: &Access<'_>) -> bool {
        let holds = |condition: &Option<String>, value: &str| {
            condition.as_ref().is_none_or(|pattern| fits(pattern, value))
        };
        holds(&self.tool, access.tool)
            && holds(&self.agent, access.agent)
            && holds(&self.user, access.user)
            && self.tag.as_ref().is_none_or(|tag| access.tags.contains(tag))
            && self.effect.is_none_or(|effect| effect == access.effect)
    }
}

/// Whether `text` fits `pattern`, in which only `*` is special. Linear: it never goes back past a star.
pub fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|head| text.strip_prefix(head)) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(tail) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        let cases = [
            ("calc", "calc", true),
            ("calc", "calculator", false),
            ("calc*", "calculator", true),
            ("*", "", true),
            ("mail__*", "mail__send", true),
            ("mail__*", "gmail__send", false),
            ("*_file", "write_file", true),
            ("*_file", "write_files", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("", "x", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
