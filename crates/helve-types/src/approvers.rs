//! Who answers a question where that is not the user whose run it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Answer, Timestamp, canonical_json};

const MINUTE_MS: i64 = 60 * 1_000;

/// The people who may answer, and how many of them must agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approvers {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// Names of groups; every member may answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// How many people must agree.
    #[serde(default = "default_one")]
    pub approvals: u32,
    /// Whether the user whose run it is may be one of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requester_may_approve: bool,
    /// After so long those who have not answered are reminded, once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind_after_minutes: Option<u32>,
    /// Who else may answer if nobody did for long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalate: Option<Escalation>,
}

/// More people, who may answer from a certain time on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    pub after_minutes: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

fn default_one() -> u32 {
    1
}

impl Approvers {
    /// More names than this are not read.
    pub const NAMES_MAX: usize = 50;
    const NAME_CHARS_MAX: usize = 100;
    /// A question stays open for seven days.
    const MINUTES_MAX: u32 = 7 * 24 * 60;

    /// What is wrong with them, if anything.
    pub fn find_problem(&self) -> Option<String> {
        let escalate = self.escalate.as_ref();
        let lists = [
            Some(&self.users),
            Some(&self.groups),
            escalate.map(|more| &more.users),
            escalate.map(|more| &more.groups),
        ];
        let names: Vec<&String> = lists.into_iter().flatten().flatten().collect();
        if self.users.is_empty() && self.groups.is_empty() {
            return Some("`approvers` names nobody; give `users` or `groups`".into());
        }
        if names.len() > Self::NAMES_MAX {
            return Some(format!("`approvers` has more than {} names; use a group", Self::NAMES_MAX));
        }
        if names.iter().any(|name| name.is_empty() || name.chars().count() > Self::NAME_CHARS_MAX) {
            return Some("a name in `approvers` is empty or too long".into());
        }
        if self.approvals == 0 || self.approvals as usize > Self::NAMES_MAX {
            return Some(format!("`approvals` of `approvers` is a number from 1 to {}", Self::NAMES_MAX));
        }
        if self.groups.is_empty() && (self.approvals as usize) > self.users.len() {
            return Some("`approvals` of `approvers` is more than there are `users`".into());
        }
        if escalate.is_some_and(|more| more.users.is_empty() && more.groups.is_empty()) {
            return Some("`escalate` of `approvers` names nobody; give `users` or `groups`".into());
        }
        let minutes = self.remind_after_minutes.into_iter().chain(escalate.map(|more| more.after_minutes));
        let is_wrong = |minutes: u32| minutes == 0 || minutes > Self::MINUTES_MAX;
        minutes.into_iter().any(is_wrong).then(|| {
            format!(
                "`remind_after_minutes` and `after_minutes` are from 1 to {}: a question stays open for 7 days",
                Self::MINUTES_MAX
            )
        })
    }

    pub fn remind_at(&self, asked_at: Timestamp) -> Option<Timestamp> {
        self.remind_after_minutes.map(|minutes| asked_at.plus_ms(i64::from(minutes) * MINUTE_MS))
    }

    pub fn escalate_at(&self, asked_at: Timestamp) -> Option<Timestamp> {
        let minutes = self.escalate.as_ref()?.after_minutes;
        Some(asked_at.plus_ms(i64::from(minutes) * MINUTE_MS))
    }
}

/// One person's answer to a question that needs more than one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vote {
    pub by: String,
    pub answer: Answer,
    pub at: Timestamp,
}

impl Answer {
    /// Whether both have the same thing done: with the same arguments, and in the same words.
    pub fn is_same_decision(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Approve { arguments: one, .. }, Self::Approve { arguments: other, .. }) => {
                let canonical = |text: &String| {
                    serde_json::from_str(text).map_or_else(|_| text.clone(), |value| canonical_json(&value))
                };
                one.as_ref().map(canonical) == other.as_ref().map(canonical)
            }
            (Self::Reject { .. }, Self::Reject { .. }) | (Self::Decline { .. }, Self::Decline { .. }) => true,
            (one, other) => one == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: serde_json::Value) -> Option<String> {
        serde_json::from_value::<Approvers>(value).unwrap().find_problem()
    }

    #[test]
    fn approvers_who_could_never_agree_are_refused() {
        assert_eq!(read(json!({"groups": ["finance"], "approvals": 2})), None);
        assert_eq!(read(json!({"users": ["mei", "li"], "approvals": 2, "remind_after_minutes": 5})), None);
        let many: Vec<String> = (0..51).map(|number| format!("u{number}")).collect();
        for (wrong, part) in [
            (json!({}), "names nobody"),
            (json!({"users": ["mei"], "approvals": 2}), "more than there are"),
            (json!({"users": ["mei"], "approvals": 0}), "from 1 to"),
            (json!({"users": many}), "more than 50"),
            (json!({"users": [""]}), "empty"),
            (json!({"users": ["mei"], "remind_after_minutes": 0}), "7 days"),
            (json!({"users": ["mei"], "escalate": {"after_minutes": 20000, "users": ["li"]}}), "7 days"),
            (json!({"users": ["mei"], "escalate": {"after_minutes": 5}}), "`escalate`"),
        ] {
            let problem = read(wrong.clone()).unwrap_or_default();
            assert!(problem.contains(part), "{wrong}: {problem}");
        }
    }

    #[test]
    fn edits_are_the_same_decision_if_they_are_the_same_json() {
        let edit = |text: &str| Answer::Approve { arguments: Some(text.into()), always: None };
        assert!(edit(r#"{"a":1,"b":2}"#).is_same_decision(&edit(r#"{ "b": 2, "a": 1 }"#)));
        assert!(!edit(r#"{"a":1}"#).is_same_decision(&edit(r#"{"a":2}"#)));
        assert!(!edit("{}").is_same_decision(&Answer::approve()));
        let no = |reason: &str| Answer::Reject { reason: reason.into() };
        assert!(no("a").is_same_decision(&no("b")) && !no("a").is_same_decision(&Answer::approve()));
    }
}
