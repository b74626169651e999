//! With which tools and under which rules a direct call is made.
//!
//! The server's own people order what is there. Other users have a tool only where some agent would offer it to them,
//! and on that agent's terms: what it may not do for them they cannot order either.

use std::sync::Arc;

use helve_agent::{Agent, AgentSettings};
use helve_tool::{Action, CallAccess, Registered, Rule, Rules, Toolbox, Verdict, matches_wildcard};
use helve_types::{RunSetup, ToolCall, UserId};
use serde_json::Value;

use crate::Shared;

/// Who orders a call. To order it is the consent it needs, as far as that is theirs to give.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallOrigin {
    /// A person at the server's own machine.
    #[default]
    CommandLine,
    /// A caller with all rights.
    Admin,
    /// Any other caller: where the operator's rules ask a person, one is asked.
    User,
}

impl CallOrigin {
    /// Whose order made a run that is one call, as far as its record tells: of those who called over HTTP it does not
    /// say what they may.
    pub(super) fn from_setup(setup: &RunSetup) -> Self {
        if setup.agent == Self::CommandLine.agent_name() { Self::CommandLine } else { Self::User }
    }

    /// What rules call it; there is no agent.
    pub(super) fn agent_name(self) -> &'static str {
        match self {
            Self::CommandLine => "command line",
            Self::Admin | Self::User => "api",
        }
    }
}

/// What a call is made with.
pub(super) struct CallPermissions {
    pub(super) toolbox: Toolbox,
    pub(super) rules: Rules,
    /// For what stands in: consent to a call is none to another.
    pub(super) stand_ins: Rules,
}

impl CallPermissions {
    pub(super) fn for_call(shared: &Shared, origin: CallOrigin, user: &UserId, call: &ToolCall) -> Self {
        let all = shared.env().catalogue.registry().list();
        let operator = &shared.env().settings.rules;
        let agent = match origin {
            CallOrigin::CommandLine | CallOrigin::Admin => {
                let stand_ins = Rules::new().with_layer("operator", operator.clone());
                return Self {
                    toolbox: Toolbox::new(all).with_exact_names(),
                    rules: rules_of_caller(operator, None, origin),
                    stand_ins,
                };
            }
            CallOrigin::User => choose_agent(shared, user, call),
        };
        let permissions = agent.as_ref().map(|agent| own_permissions(&agent.settings)).unwrap_or_default();
        let offered =
            |tool: &Arc<Registered>| agent.as_ref().is_some_and(|agent| agent.may_use(tool.spec(), user));
        Self {
            toolbox: Toolbox::new(
                all.into_iter().filter(offered).filter_map(|tool| agent.as_ref()?.link(&tool, true)),
            )
            .with_exact_names(),
            rules: rules_of_caller(operator, Some(&permissions), origin),
            stand_ins: Rules::new().with_layer("operator", operator.clone()).with_layer("agent", permissions),
        }
    }
}

/// The agent on whose terms the call is made: the first that allows it, else the first that has the tool. A name
/// that no agent has may be a misspelling of one of the first agent's.
fn choose_agent(shared: &Shared, user: &UserId, call: &ToolCall) -> Option<Arc<Agent>> {
    let tool = shared.env().catalogue.registry().get(&call.name);
    let Some(tool) = tool else { return shared.env().agents.default_agent() };
    let spec = tool.spec();
    let arguments = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
    let access = CallAccess {
        tool: &spec.name,
        leads_to: spec.leads_to.as_deref(),
        tags: &spec.tags,
        effect: spec.effect,
        client: spec.client,
        agent: CallOrigin::User.agent_name(),
        user: &user.0,
        groups: &shared.env().people.current().groups_of(user),
        arguments: &arguments,
    };
    let allows = |agent: &&Arc<Agent>| {
        let rules = rules_of_caller(
            &shared.env().settings.rules,
            Some(&own_permissions(&agent.settings)),
            CallOrigin::User,
        );
        rules.judge(&access).verdict == Verdict::Allow
    };
    let agents = shared.env().agents.enabled_agents();
    let having = || agents.iter().filter(|agent| agent.may_use(spec, user));
    having().find(allows).or_else(|| having().next()).cloned()
}

/// The agent's own rules, for a call that is not in its name.
fn own_permissions(agent: &AgentSettings) -> Vec<Rule> {
    let is_meant =
        |rule: &&Rule| rule.agent.as_ref().is_none_or(|pattern| matches_wildcard(pattern, &agent.name));
    agent.permissions.iter().filter(is_meant).map(|rule| Rule { agent: None, ..rule.clone() }).collect()
}

/// The rules for a caller who has decided already. What is forbidden stays forbidden. Where a rule asks, an operator
/// has answered with the order; a user has not, and is told who can. Where no rule speaks, the caller is the person who
/// would be asked.
fn rules_of_caller(operator: &[Rule], agent: Option<&[Rule]>, origin: CallOrigin) -> Rules {
    let decided = |rules: &[Rule]| rules.iter().map(|rule| resolve_ask_rule(rule, origin)).collect();
    let allow = Rule { because: "ordered by a person".into(), ..Rule::new(Action::Allow) };
    let rules = Rules::new().with_layer("operator", decided(operator)).with_layer("order", vec![allow]);
    match agent {
        Some(agent) => rules.with_layer("agent", decided(agent)),
        None => rules,
    }
}

fn resolve_ask_rule(rule: &Rule, origin: CallOrigin) -> Rule {
    match (rule.action, origin) {
        // Whoever orders the call is not the people who must agree to it, operators included.
        (Action::Ask, _) if rule.approvers.is_some() => {
            let because = "a rule names approvers who must agree; have it called in a conversation".into();
            Rule { action: Action::Deny, because, approvers: None, ..rule.clone() }
        }
        (Action::Ask, CallOrigin::CommandLine | CallOrigin::Admin) => {
            Rule { action: Action::Allow, ..rule.clone() }
        }
        (Action::Ask, CallOrigin::User) => {
            let asks = "a rule wants a person asked first";
            let because =
                if rule.because.is_empty() { asks.into() } else { format!("{asks}: {}", rule.because) };
            let because = format!("{because}; have it called in a conversation, where you can approve it");
            Rule { action: Action::Deny, because, ..rule.clone() }
        }
        (Action::Allow | Action::Deny, _) => rule.clone(),
    }
}
