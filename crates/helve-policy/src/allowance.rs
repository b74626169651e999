//! A person's standing consent, and which calls it covers.
//!
//! It stands in for a question and for nothing else: what a rule forbids stays forbidden, and whoever has a reason to ask
//! whatever was said before does not look at it.

use std::collections::BTreeMap;

use helve_types::{Always, ApprovalId, ConversationId, RunId, Timestamp};
use serde_json::Value;

use crate::rule::fit_all_conditions;
use crate::{CallAccess, Pattern};

/// The most conditions of one allowance.
const CONDITIONS_MAX: usize = 32;

/// What a person said once for all calls like one that they were asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    pub id: ApprovalId,
    pub user: String,
    pub agent: String,
    pub tool: String,
    /// Of the tool's definition; another version is another tool.
    pub version: String,
    pub reach: AllowanceScope,
    /// By its path, what an argument must be like.
    pub arguments: BTreeMap<String, Pattern>,
    pub expires_at: Timestamp,
}

/// How far it goes, besides the user and the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowanceScope {
    Run(RunId),
    Conversation(ConversationId),
    Agent,
}

/// Where and when a call is made.
#[derive(Debug, Clone, Copy)]
pub struct CallOccasion<'a> {
    pub version: &'a str,
    pub run: RunId,
    pub conversation: Option<ConversationId>,
    pub now: Timestamp,
}

impl Allowance {
    pub fn covers(&self, access: &CallAccess<'_>, on: &CallOccasion<'_>) -> bool {
        self.user == access.user
            && self.agent == access.agent
            && self.tool == access.tool
            && self.version == on.version
            && on.now < self.expires_at
            && match self.reach {
                AllowanceScope::Run(run) => run == on.run,
                AllowanceScope::Conversation(conversation) => on.conversation == Some(conversation),
                AllowanceScope::Agent => true,
            }
            && fit_all_conditions(&self.arguments, access.arguments)
    }
}

/// The conditions of a consent, or what is wrong with it. The call that the person was asked about must be one of those
/// that it speaks of, since they said it about calls like that one.
pub fn build_conditions(always: &Always, arguments: &Value) -> Result<BTreeMap<String, Pattern>, String> {
    let days_max = Always::DAYS_MAX;
    if let Some(days) = always.days.filter(|days| !(1..=days_max).contains(days)) {
        return Err(format!("`days` is {days}, and must be between 1 and {days_max}"));
    }
    let patterns = parse_patterns(&always.arguments)?;
    match patterns.iter().find(|(path, pattern)| !condition_fits(path, pattern, arguments)) {
        None => Ok(patterns),
        Some((path, pattern)) => Err(format!(
            "`arguments.{path}` is {pattern}, which the call that you approve does not fit; write what calls like it have"
        )),
    }
}

/// What conditions say, as rules write it.
pub fn parse_patterns(written: &BTreeMap<String, Value>) -> Result<BTreeMap<String, Pattern>, String> {
    if written.len() > CONDITIONS_MAX {
        return Err(format!("`arguments` has {} members, and at most {CONDITIONS_MAX} fit", written.len()));
    }
    let read = |(path, value): (&String, &Value)| {
        let pattern = serde_json::from_value(value.clone());
        pattern.map(|pattern| (path.clone(), pattern)).map_err(|error| format!("`arguments.{path}`: {error}"))
    };
    written.iter().map(read).collect()
}

/// Whether arguments are as conditions want them. What cannot be read as conditions fits nothing.
pub fn fits_all(written: &BTreeMap<String, Value>, arguments: &Value) -> bool {
    parse_patterns(written).is_ok_and(|conditions| fit_all_conditions(&conditions, arguments))
}

fn condition_fits(path: &str, pattern: &Pattern, arguments: &Value) -> bool {
    fit_all_conditions(&[(path.to_owned(), pattern.clone())].into(), arguments)
}

#[cfg(test)]
mod tests {
    use helve_types::{Effect, Within};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    static NO_GROUPS: std::collections::BTreeSet<String> = std::collections::BTreeSet::new();

    fn run(number: u128) -> RunId {
        RunId(Uuid::from_u128(number))
    }

    fn talk(number: u128) -> ConversationId {
        ConversationId(Uuid::from_u128(number))
    }

    fn allowance(reach: AllowanceScope, arguments: Value) -> Allowance {
        Allowance {
            id: ApprovalId(Uuid::from_u128(7)),
            user: "mei".into(),
            agent: "clerk".into(),
            tool: "send".into(),
            version: "v1".into(),
            reach,
            arguments: serde_json::from_value(arguments).unwrap(),
            expires_at: Timestamp(1_000),
        }
    }

    const HERE: CallOccasion<'static> = CallOccasion {
        version: "v1",
        run: RunId(Uuid::from_u128(1)),
        conversation: Some(ConversationId(Uuid::from_u128(2))),
        now: Timestamp(999),
    };

    fn access(arguments: &Value) -> CallAccess<'_> {
        CallAccess {
            tool: "send",
            leads_to: None,
            tags: &[],
            effect: Effect::NonIdempotent,
            client: false,
            agent: "clerk",
            user: "mei",
            groups: &NO_GROUPS,
            arguments,
        }
    }

    #[test]
    fn it_covers_calls_of_its_user_agent_tool_and_version_until_its_time_is_up() {
        let any = allowance(AllowanceScope::Agent, json!({}));
        let nothing = json!({});
        let call = access(&nothing);
        assert!(any.covers(&call, &HERE));
        assert!(!any.covers(&CallAccess { user: "li", ..call }, &HERE));
        assert!(!any.covers(&CallAccess { agent: "default", ..call }, &HERE));
        assert!(!any.covers(&CallAccess { tool: "send_all", ..call }, &HERE));
        assert!(!any.covers(&call, &CallOccasion { version: "v2", ..HERE }));
        assert!(!any.covers(&call, &CallOccasion { now: Timestamp(1_000), ..HERE }));
    }

    #[test]
    fn it_reaches_as_far_as_was_said() {
        let nothing = json!({});
        let call = access(&nothing);
        let elsewhere = CallOccasion { run: run(9), conversation: Some(talk(9)), ..HERE };
        let next_run = CallOccasion { run: run(9), ..HERE };
        let nowhere = CallOccasion { run: run(9), conversation: None, ..HERE };
        let cases = [
            (AllowanceScope::Run(run(1)), [true, false, false, false]),
            (AllowanceScope::Conversation(talk(2)), [true, true, false, false]),
            (AllowanceScope::Agent, [true, true, true, true]),
        ];
        for (reach, covered) in cases {
            let allowance = allowance(reach, json!({}));
            let found = [HERE, next_run, elsewhere, nowhere].map(|on| allowance.covers(&call, &on));
            assert_eq!(found, covered, "{reach:?}");
        }
    }

    #[test]
    fn every_condition_must_hold_for_every_item() {
        let ours = allowance(AllowanceScope::Agent, json!({"to": "*@example.com", "count": {"max": 3}}));
        let cases = [
            (json!({"to": "li@example.com", "count": 3}), true),
            (json!({"to": ["li@example.com", "mei@example.com"], "count": 1}), true),
            (json!({"to": ["li@example.com", "eve@evil.test"], "count": 1}), false),
            (json!({"to": "li@example.com", "count": 4}), false),
            (json!({"to": "li@example.com"}), false),
            (json!({"to": [], "count": 1}), false),
            (json!({}), false),
        ];
        for (arguments, covered) in cases {
            assert_eq!(ours.covers(&access(&arguments), &HERE), covered, "{arguments}");
        }
    }

    fn always(arguments: Value, days: Option<u32>) -> Always {
        Always { within: Within::Agent, arguments: serde_json::from_value(arguments).unwrap(), days }
    }

    #[test]
    fn what_cannot_be_meant_is_told_so() {
        let said = json!({"to": "li@example.com"});
        let wrong = |given: Always| build_conditions(&given, &said).unwrap_err();
        assert_eq!(wrong(always(json!({}), Some(31))), "`days` is 31, and must be between 1 and 30");
        assert_eq!(wrong(always(json!({}), Some(0))), "`days` is 0, and must be between 1 and 30");
        assert_eq!(wrong(always(json!({"to": []}), None)), "`arguments.to`: an empty list fits nothing");
        assert_eq!(
            wrong(always(json!({"to": "*@evil.test"}), None)),
            "`arguments.to` is \"*@evil.test\", which the call that you approve does not fit; write what calls like it have"
        );
        let many: serde_json::Map<_, _> = (0..33).map(|n| (format!("a{n}"), json!("*"))).collect();
        assert!(wrong(always(many.into(), None)).contains("33 members"));
        assert!(build_conditions(&always(json!({"to": "*@example.com"}), Some(1)), &said).is_ok());
        assert!(build_conditions(&always(json!({}), None), &said).is_ok());
    }
}
