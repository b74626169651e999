//! One rule: which calls it is about and what it says of them.

use std::collections::{BTreeMap, BTreeSet};

use helve_types::{Approvers, Effect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pattern::{ListMode, list_values_at};
use crate::{CallAccess, Pattern};

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
    /// Members of a group with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Users who are in no group with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_group: Option<String>,
    /// By its path, such as `to` or `options.urgent`, what an argument must be. An argument that is not there fits
    /// nothing. Of a list all items must fit for a rule that allows, and any for one that asks or denies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, Pattern>,
    pub action: Action,
    /// Told to the person who is asked and to the model that is refused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Who is asked, where the rule asks; without them it is the user whose run it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvers: Option<Box<Approvers>>,
    /// Calls that the rule is about, and calls that it is not; checked when the rule is loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<RuleExample>,
}

/// A call that a rule must, or must not, be about. What is left out is as the rule's own conditions have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleExample {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The user's groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<BTreeSet<String>>,
    #[serde(default)]
    pub arguments: Value,
    #[serde(default = "default_true")]
    pub applies: bool,
}

fn default_true() -> bool {
    true
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
    /// A rule about every call.
    pub fn new(action: Action) -> Self {
        Self {
            tool: None,
            tag: None,
            effect: None,
            agent: None,
            user: None,
            group: None,
            not_group: None,
            arguments: BTreeMap::new(),
            action,
            because: String::new(),
            approvers: None,
            examples: vec![],
        }
    }

    pub(crate) fn matches(&self, access: &CallAccess<'_>) -> bool {
        self.applies_to(access) && self.fits_arguments(access.arguments)
    }

    /// Whether the rule can speak of calls like this one, whatever their arguments.
    pub(crate) fn applies_to(&self, access: &CallAccess<'_>) -> bool {
        let holds = |condition: &Option<String>, value: &str| {
            condition.as_ref().is_none_or(|pattern| matches_wildcard(pattern, value))
        };
        holds(&self.tool, access.tool)
            && holds(&self.agent, access.agent)
            && holds(&self.user, access.user)
            && self.group.as_ref().is_none_or(|pattern| access.is_in_group(pattern))
            && self.not_group.as_ref().is_none_or(|pattern| !access.is_in_group(pattern))
            && self.tag.as_ref().is_none_or(|tag| access.tags.contains(tag))
            && self.effect.is_none_or(|effect| effect == access.effect)
    }

    fn fits_arguments(&self, arguments: &Value) -> bool {
        conditions_hold(
            &self.arguments,
            arguments,
            if self.action == Action::Allow { ListMode::All } else { ListMode::Any },
        )
    }

    /// What is wrong with whom it names, if anything.
    pub fn find_approvers_problem(&self) -> Option<String> {
        let approvers = self.approvers.as_ref()?;
        if self.action != Action::Ask {
            return Some("only a rule with `action = \"ask\"` has `approvers`".into());
        }
        approvers.find_problem()
    }

    /// What is wrong with the rule by its own examples.
    pub fn find_example_problem(&self) -> Option<String> {
        (1..).zip(&self.examples).find_map(|(number, example): (usize, _)| {
            let groups = example.list_groups(self);
            if self.matches(&example.to_call_access(self, &groups)) == example.applies {
                return None;
            }
            let found = if example.applies { "does not speak of" } else { "speaks of" };
            Some(format!(
                "the rule {found} its example {number} ({}); correct one of them",
                example.describe()
            ))
        })
    }
}

/// Whether all conditions hold, each for all that it is about, as something that is allowed must have it.
pub(crate) fn fit_all_conditions(conditions: &BTreeMap<String, Pattern>, arguments: &Value) -> bool {
    conditions_hold(conditions, arguments, ListMode::All)
}

fn conditions_hold(conditions: &BTreeMap<String, Pattern>, arguments: &Value, of: ListMode) -> bool {
    conditions.iter().all(|(path, pattern)| {
        let values = list_values_at(arguments, path);
        let mut fit = values.iter().map(|value| value.is_some_and(|value| pattern.fits(value, of)));
        match of {
            ListMode::All => !values.is_empty() && fit.all(|fits| fits),
            ListMode::Any => fit.any(|fits| fits),
        }
    })
}

impl RuleExample {
    fn list_groups(&self, rule: &Rule) -> BTreeSet<String> {
        self.groups.clone().unwrap_or_else(|| rule.group.iter().cloned().collect())
    }

    fn to_call_access<'a>(&'a self, rule: &'a Rule, groups: &'a BTreeSet<String>) -> CallAccess<'a> {
        // A condition with a star in it names no single tool or user; what it stands for has to be said.
        let own = |said: &'a Option<String>, condition: &'a Option<String>| {
            said.as_deref().or(condition.as_deref()).unwrap_or_default()
        };
        CallAccess {
            tool: own(&self.tool, &rule.tool),
            leads_to: None,
            tags: self.tags.as_deref().unwrap_or(rule.tag.as_slice()),
            effect: self.effect.or(rule.effect).unwrap_or(Effect::NonIdempotent),
            client: false,
            agent: own(&self.agent, &rule.agent),
            user: own(&self.user, &rule.user),
            groups,
            arguments: &self.arguments,
        }
    }

    fn describe(&self) -> String {
        let tool = self.tool.as_deref().unwrap_or("the tool");
        format!("{tool} with {}", self.arguments)
    }
}

/// Whether `text` fits `pattern`, in which only `*` is special. Linear: it never goes back past a star.
pub fn matches_wildcard(pattern: &str, text: &str) -> bool {
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
    use serde_json::json;

    use super::*;

    fn rule(given: Value) -> Rule {
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn a_rule_that_does_not_do_what_its_examples_say_is_told_so() {
        let mut allow = rule(json!({
            "tool": "send_mail", "action": "allow", "arguments": {"to": "*@example.com"},
            "examples": [
                {"arguments": {"to": ["mei@example.com", "li@example.com"]}},
                {"arguments": {"to": ["mei@example.com", "eve@evil.test"]}, "applies": false},
                {"arguments": {"subject": "hi"}, "applies": false},
                {"tool": "read_mail", "arguments": {"to": "mei@example.com"}, "applies": false}
            ]
        }));
        assert_eq!(allow.find_example_problem(), None);
        allow.arguments.insert("to".into(), Pattern::Text("*".into()));
        assert_eq!(
            allow.find_example_problem().unwrap(),
            "the rule speaks of its example 2 (the tool with {\"to\":[\"mei@example.com\",\"eve@evil.test\"]}); \
             correct one of them"
        );
    }

    #[test]
    fn one_bad_item_of_a_list_is_enough_to_be_denied() {
        let deny = rule(json!({
            "action": "deny", "arguments": {"files.path": "/etc/*"},
            "examples": [
                {"arguments": {"files": [{"path": "/tmp/a"}, {"path": "/etc/passwd"}]}},
                {"arguments": {"files": [{"path": "/tmp/a"}]}, "applies": false}
            ]
        }));
        assert_eq!(deny.find_example_problem(), None);
        let allow = rule(json!({
            "action": "allow", "arguments": {"files.path": "/tmp/*"},
            "examples": [
                {"arguments": {"files": [{"path": "/tmp/a"}]}},
                {"arguments": {"files": [{"path": "/tmp/a"}, {"folder": "/etc"}]}, "applies": false},
                {"arguments": {"files": []}, "applies": false}
            ]
        }));
        assert_eq!(allow.find_example_problem(), None);
    }

    #[test]
    fn a_rule_about_a_group_is_about_its_members_or_about_the_others() {
        let members = rule(json!({
            "tool": "mail", "group": "sales*", "action": "allow",
            "examples": [
                {},
                {"groups": ["ops", "sales-eu"]},
                {"groups": ["ops"], "applies": false},
                {"groups": [], "applies": false}
            ]
        }));
        assert_eq!(members.find_example_problem(), None);
        let others = rule(json!({
            "tool": "mail", "not_group": "sales", "action": "deny",
            "examples": [{}, {"groups": ["ops"]}, {"groups": ["ops", "sales"], "applies": false}]
        }));
        assert_eq!(others.find_example_problem(), None);
    }

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
            assert_eq!(matches_wildcard(pattern, text), expected, "{pattern} {text}");
        }
    }
}
