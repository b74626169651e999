//! From rules and a described call to a verdict.

use std::collections::BTreeSet;

use helve_types::{Approvers, Effect, Notice, Reason};
use serde_json::Value;

use crate::rule::matches_wildcard;
use crate::{Action, DataLeak, Rule};

/// A call as far as rules are concerned.
#[derive(Debug, Clone, Copy)]
pub struct CallAccess<'a> {
    /// The tool that will run, after its name was repaired.
    pub tool: &'a str,
    /// The tool inside Helve that it leads to, if it is another name for one: what a rule says of that holds for it too.
    pub leads_to: Option<&'a str>,
    pub tags: &'a [String],
    pub effect: Effect,
    /// Runs on the user's side, where a click of the user's starts it.
    pub client: bool,
    pub agent: &'a str,
    pub user: &'a str,
    /// The user's groups at this moment.
    pub groups: &'a BTreeSet<String>,
    /// As they will be sent; null where the tool is judged and not a call of it.
    pub arguments: &'a Value,
}

impl CallAccess<'_> {
    pub(crate) fn is_in_group(&self, pattern: &str) -> bool {
        self.groups.iter().any(|group| matches_wildcard(pattern, group))
    }
}

/// From the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// A verdict and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// Why this verdict.
    pub because: Reason,
    /// Which rule spoke, as `layer.number`; none if the effect class decided.
    pub rule: Option<String>,
    /// Why a person must be asked whatever allows the call: no rule and no consent to other calls is enough.
    pub must_ask: Option<DataLeak>,
    /// Who is asked, if a rule names them.
    pub approvers: Option<Box<Approvers>>,
}

/// All rules that apply, in named layers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    layers: Vec<(String, Vec<Rule>)>,
}

impl Rules {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a layer; the order of layers does not matter, the strictest wins.
    #[must_use]
    pub fn with_layer(mut self, name: impl Into<String>, rules: Vec<Rule>) -> Self {
        self.layers.push((name.into(), rules));
        self
    }

    /// Under both names of a tool that leads to another, and the stricter verdict wins.
    pub fn judge(&self, access: &CallAccess<'_>) -> Judgement {
        let own = self.judge_named(access);
        let Some(target) = access.leads_to else { return own };
        let targets = self.judge_named(&CallAccess { tool: target, ..*access });
        // The effect class says the same of both: only rules know names.
        let is_stricter = targets.rule.is_some() && targets.verdict > own.verdict;
        let (chosen, other) = if is_stricter { (targets, own) } else { (own, targets) };
        // Approvers of either name hold.
        let approvers = chosen.approvers.clone().or(other.approvers);
        Judgement { approvers: approvers.filter(|_| chosen.verdict == Verdict::Ask), ..chosen }
    }

    fn judge_named(&self, access: &CallAccess<'_>) -> Judgement {
        let spoken = self.layers.iter().filter_map(|(layer, rules)| {
            let (number, rule) = (1..).zip(rules).find(|(_, rule)| rule.matches(access))?;
            Some((rule, layer, number))
        });
        let spoken: Vec<_> = spoken.collect();
        // The first layer that names approvers is the operator's, and the others cannot take them away.
        let asks = spoken.iter().filter(|(rule, ..)| rule.action == Action::Ask);
        let approvers = asks.filter_map(|(rule, ..)| rule.approvers.clone()).next();
        let Some((rule, layer, number)) = spoken.into_iter().max_by_key(|(rule, ..)| rule.action) else {
            return by_effect(access);
        };
        Judgement {
            verdict: match rule.action {
                Action::Allow => Verdict::Allow,
                Action::Ask => Verdict::Ask,
                Action::Deny => Verdict::Deny,
            },
            because: rule_reason(rule),
            rule: Some(format!("{layer}.{number}")),
            must_ask: None,
            approvers: approvers.filter(|_| rule.action == Action::Ask),
        }
    }

    /// Whether any rule is about single users or groups.
    pub fn mention_users(&self) -> bool {
        let mentions = |rule: &Rule| rule.user.is_some() || rule.group.is_some() || rule.not_group.is_some();
        self.layers.iter().flat_map(|(_, rules)| rules).any(mentions)
    }

    /// Whether every call of the tool is forbidden, whatever its arguments, so that models need not even hear of it.
    pub fn forbids(&self, access: &CallAccess<'_>) -> bool {
        let target = access.leads_to.map(|target| CallAccess { tool: target, ..*access });
        self.forbids_named(access) || target.is_some_and(|access| self.forbids_named(&access))
    }

    fn forbids_named(&self, access: &CallAccess<'_>) -> bool {
        self.layers.iter().any(|(_, rules)| {
            let mut about = rules.iter().filter(|rule| rule.applies_to(access));
            // A rule about certain arguments leaves the others to the next; if it lets them pass, the tool is of use.
            let decisive = about.find(|rule| rule.arguments.is_empty() || rule.action != Action::Deny);
            decisive.is_some_and(|rule| rule.action == Action::Deny)
        })
    }
}

/// In the operator's words, or in ours where the rule says nothing.
fn rule_reason(rule: &Rule) -> Reason {
    let own = (!rule.because.is_empty()).then_some(&*rule.because);
    match (rule.action, own) {
        (Action::Allow, own) => Reason::new(own.unwrap_or("a rule allows it"), Notice::allowed_by_rule()),
        (Action::Ask, None) => Reason::new("a rule wants a person to decide", Notice::asks_by_rule()),
        (Action::Ask, Some(own)) => Reason::new(own, Notice::asks_because(own)),
        (Action::Deny, None) => Reason::new("a rule forbids it", Notice::forbidden_by_rule()),
        (Action::Deny, Some(own)) => Reason::new(own, Notice::forbidden_because(own)),
    }
}

fn by_effect(access: &CallAccess<'_>) -> Judgement {
    let (verdict, because, notice) = match access.effect {
        Effect::Read => (Verdict::Allow, "it changes nothing", Notice::allowed_for_reading()),
        _ if access.client => (
            Verdict::Allow,
            "it runs on the user's side, when the user starts it",
            Notice::allowed_on_users_side(),
        ),
        Effect::Idempotent => (Verdict::Ask, "it changes something", Notice::asks_for_change()),
        Effect::NonIdempotent => {
            (Verdict::Ask, "it changes something and cannot be taken back", Notice::asks_for_lasting_change())
        }
    };
    Judgement { verdict, because: Reason::new(because, notice), rule: None, must_ask: None, approvers: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Pattern;

    fn rule(tool: &str, action: Action) -> Rule {
        Rule { tool: Some(tool.into()), ..Rule::new(action) }
    }

    static NO_GROUPS: BTreeSet<String> = BTreeSet::new();

    fn access(tool: &str, effect: Effect) -> CallAccess<'_> {
        CallAccess {
            tool,
            leads_to: None,
            tags: &[],
            effect,
            client: false,
            agent: "default",
            user: "mei",
            groups: &NO_GROUPS,
            arguments: &Value::Null,
        }
    }

    fn check(rules: &Rules, access: CallAccess<'_>, verdict: Verdict, rule: Option<&str>) {
        let judged = rules.judge(&access);
        assert_eq!((judged.verdict, judged.rule.as_deref()), (verdict, rule), "{access:?}");
    }

    #[test]
    fn without_rules_the_effect_decides() {
        let rules = Rules::new();
        check(&rules, access("time", Effect::Read), Verdict::Allow, None);
        check(&rules, access("put", Effect::Idempotent), Verdict::Ask, None);
        check(&rules, access("send", Effect::NonIdempotent), Verdict::Ask, None);
        let on_the_page = CallAccess { client: true, ..access("browser_js_eval", Effect::NonIdempotent) };
        check(&rules, on_the_page, Verdict::Allow, None);
    }

    #[test]
    fn the_first_matching_rule_speaks_for_its_layer() {
        let rules = Rules::new()
            .with_layer("operator", vec![rule("send_note", Action::Allow), rule("send_*", Action::Deny)]);
        check(&rules, access("send_note", Effect::NonIdempotent), Verdict::Allow, Some("operator.1"));
        check(&rules, access("send_mail", Effect::NonIdempotent), Verdict::Deny, Some("operator.2"));
        check(&rules, access("time", Effect::Read), Verdict::Allow, None);
    }

    #[test]
    fn the_strictest_layer_wins_whatever_the_order() {
        let allow = || vec![rule("*", Action::Allow)];
        let deny = || vec![rule("time", Action::Deny)];
        for rules in [
            Rules::new().with_layer("operator", allow()).with_layer("agent", deny()),
            Rules::new().with_layer("agent", deny()).with_layer("operator", allow()),
        ] {
            check(&rules, access("time", Effect::Read), Verdict::Deny, Some("agent.1"));
            assert!(rules.forbids(&access("time", Effect::Read)));
            check(&rules, access("send", Effect::NonIdempotent), Verdict::Allow, Some("operator.1"));
        }
    }

    #[test]
    fn a_tool_of_which_some_calls_may_pass_is_not_forbidden() {
        let about_drafts = |action| Rule {
            arguments: [("draft".to_owned(), Pattern::Exactly(json!(true)))].into(),
            ..rule("send", action)
        };
        let cases = [
            (vec![about_drafts(Action::Allow), rule("send", Action::Deny)], false),
            (vec![about_drafts(Action::Deny)], false),
            (vec![about_drafts(Action::Deny), rule("*", Action::Deny)], true),
            (vec![rule("send", Action::Deny), about_drafts(Action::Allow)], true),
        ];
        for (rules, forbidden) in cases {
            let rules = Rules::new().with_layer("operator", rules);
            assert_eq!(rules.forbids(&access("send", Effect::NonIdempotent)), forbidden, "{rules:?}");
        }
        let rules = Rules::new()
            .with_layer("operator", vec![about_drafts(Action::Allow), rule("send", Action::Deny)]);
        let draft = json!({"draft": true});
        let with_draft = CallAccess { arguments: &draft, ..access("send", Effect::NonIdempotent) };
        check(&rules, with_draft, Verdict::Allow, Some("operator.1"));
        check(&rules, access("send", Effect::NonIdempotent), Verdict::Deny, Some("operator.2"));
    }

    #[test]
    fn what_is_said_of_a_tool_holds_for_what_leads_to_it_if_it_is_the_stricter() {
        let judged = |rules: &[(&str, Action)], verdict, by| {
            let rules = rules.iter().map(|(tool, action)| rule(tool, *action)).collect();
            let rules = Rules::new().with_layer("operator", rules);
            let shop = CallAccess { leads_to: Some("search_web"), ..access("search_shop", Effect::Read) };
            check(&rules, shop, verdict, by);
            assert_eq!(rules.forbids(&shop), verdict == Verdict::Deny);
        };
        let (allow, ask, deny) = (Action::Allow, Action::Ask, Action::Deny);
        judged(&[], Verdict::Allow, None);
        judged(&[("search_web", deny)], Verdict::Deny, Some("operator.1"));
        judged(&[("search_shop", allow), ("search_web", deny)], Verdict::Deny, Some("operator.2"));
        judged(&[("search_shop", deny), ("search_web", allow)], Verdict::Deny, Some("operator.1"));
        judged(&[("search_shop", ask), ("search_web", allow)], Verdict::Ask, Some("operator.1"));
        judged(&[("search_web", ask)], Verdict::Ask, Some("operator.1"));
        // Leave to call the one is no leave to call the other.
        let rules = Rules::new().with_layer("operator", vec![rule("save_note", allow)]);
        let diary = CallAccess { leads_to: Some("save_note"), ..access("diary", Effect::NonIdempotent) };
        check(&rules, diary, Verdict::Ask, None);
    }

    #[test]
    fn every_condition_must_hold() {
        let narrow = Rule {
            tag: Some("mail".into()),
            agent: Some("clerk".into()),
            effect: Some(Effect::NonIdempotent),
            ..rule("send_*", Action::Deny)
        };
        let rules = Rules::new().with_layer("operator", vec![narrow]);
        let tags = ["mail".to_owned()];
        let full = CallAccess { tags: &tags, agent: "clerk", ..access("send_mail", Effect::NonIdempotent) };
        check(&rules, full, Verdict::Deny, Some("operator.1"));
        check(&rules, CallAccess { tags: &[], ..full }, Verdict::Ask, None);
        check(&rules, CallAccess { agent: "default", ..full }, Verdict::Ask, None);
        check(&rules, CallAccess { effect: Effect::Read, ..full }, Verdict::Allow, None);
    }
}
