//! Whether a definition of an agent can be kept, and what it means: pure.

use std::collections::BTreeMap;

use helve_rows::DefinitionError;
use helve_tool::{Action, Rule, read_json};
use helve_types::{
    AgentBudget, AgentDefinition, AgentSubagent, AgentTexts, AgentToolConfig, Notice, PermissionAction,
    subagent_tool_name,
};
use serde_json::{Value, json};

use super::AgentSettings;
use crate::budget::Limits;

/// Addresses under `/api/agents/` that are no agents, and names that calls without an agent are recorded under.
const RESERVED_NAMES: [&str; 4] = ["export", "import", "api", "command line"];
/// Stands for all tools in the list of an agent's tools.
pub(super) const ALL_TOOLS: &str = "*";

const NAME_CHARS_MAX: usize = 64;
const ID_CHARS_MAX: usize = 100;
const LABEL_CHARS_MAX: usize = 100;
const DESCRIPTION_CHARS_MAX: usize = 4_000;
const SYSTEM_CHARS_MAX: usize = 100_000;
const QUESTION_CHARS_MAX: usize = 1_000;
const PATTERN_CHARS_MAX: usize = 1_000;
const TOOLS_MAX: usize = 500;
const SKILLS_MAX: usize = 500;
const SUBAGENTS_MAX: usize = 50;
const PERMISSIONS_MAX: usize = 200;
const ARGUMENTS_MAX: usize = 50;
const QUESTIONS_MAX: usize = 50;
const MODELS_MAX: usize = 10;
const USERS_MAX: usize = 1_000;
const TRANSLATIONS_MAX: usize = 50;
const STOPS_MAX: usize = 16;
const STEPS_MAX: u32 = 1_000;
/// Of the parameters that are sent to the vendor as they stand, and of what an argument must be.
const JSON_BYTES_MAX: usize = 16_000;

const NANOS: f64 = 1e9;
const MINUTE_MS: f64 = 60_000.0;
/// The largest amount that the store keeps exactly.
const AMOUNT_MAX: f64 = 9e15;

type Checked<T = ()> = Result<T, DefinitionError>;

/// A definition as a person wrote it; an error names the field.
pub fn read_agent(given: Value) -> Checked<AgentDefinition> {
    read_json(given)
}

/// What a definition means, if it can be kept.
pub(super) fn build_settings(definition: &AgentDefinition) -> Checked<AgentSettings> {
    let AgentDefinition { name, tools, .. } = definition;
    check_name("name", name, NAME_CHARS_MAX)?;
    if let Some(id) = &definition.id {
        check_name("id", id, ID_CHARS_MAX)?;
    }
    let texts = AgentTexts {
        display_name: definition.display_name.clone(),
        description: definition.description.clone(),
        example_questions: definition.example_questions.clone(),
    };
    check_texts("", &texts)?;
    check_translations(definition)?;
    check_list("users", &definition.users, USERS_MAX, |at, user| check_label(at, user))?;
    check_list("groups", &definition.groups, USERS_MAX, |at, group| check_label(at, group))?;
    check_text("system_prompt", &definition.system_prompt, SYSTEM_CHARS_MAX)?;
    for (field, label) in [("language", &definition.language), ("model", &definition.model)] {
        label.iter().try_for_each(|label| check_label(field, label))?;
    }
    check_list("fallback_models", &definition.fallback_models, MODELS_MAX, |at, model| {
        check_label(at, model)
    })?;
    if !(1..=STEPS_MAX).contains(&definition.max_steps) {
        return Err(DefinitionError::new(
            "max_steps",
            Notice::definition_number_needed(1, &STEPS_MAX.to_string()),
        ));
    }
    check_params(definition)?;
    check_list("tools", tools, TOOLS_MAX, |at, tool| check_label(at, &tool.name))?;
    for (number, tool) in tools.iter().enumerate() {
        if tools.iter().take(number).any(|other| other.name == tool.name) {
            let problem = Notice::definition_tool_twice(&tool.name);
            return Err(DefinitionError::new(format!("tools.{number}"), problem));
        }
    }
    check_links(definition)?;
    check_list("skills", &definition.skills, SKILLS_MAX, |at, skill| check_label(at, skill))?;
    check_subagents(definition)?;
    let enabled = || tools.iter().filter(|tool| tool.enabled);
    let has_all = enabled().any(|tool| tool.name == ALL_TOOLS);
    Ok(AgentSettings {
        name: name.clone(),
        model: definition.model.clone(),
        fallback_models: definition.fallback_models.clone(),
        system: definition.system_prompt.clone(),
        max_steps: definition.max_steps,
        tools: (!has_all).then(|| enabled().map(|tool| tool.name.clone()).collect()),
        without_tools: tools.iter().filter(|tool| !tool.enabled).map(|tool| tool.name.clone()).collect(),
        skills: definition.skills.clone(),
        subagents: definition.subagents.clone(),
        params: definition.params.clone(),
        pre_search: definition.pre_search,
        permissions: build_permission_rules(definition)?,
        end_when_refused: definition.end_when_refused,
        budget: build_limits(&definition.budget)?,
        links: links(definition),
        users: definition.users.clone(),
        groups: definition.groups.clone(),
        language: definition.language.clone(),
        texts,
        translations: definition.translations.clone(),
    })
}

/// How the agent has its tools, where that is not as they are.
fn links(definition: &AgentDefinition) -> BTreeMap<String, AgentToolConfig> {
    let changed = definition.tools.iter().filter(|tool| tool.config.changes_calls());
    changed.map(|tool| (tool.name.clone(), tool.config.clone())).collect()
}

/// What can be said about links without their tools.
fn check_links(definition: &AgentDefinition) -> Checked {
    for (number, tool) in definition.tools.iter().enumerate() {
        let at = |field: &str| format!("tools.{number}.config{field}");
        if tool.name == ALL_TOOLS && tool.config != AgentToolConfig::default() {
            return Err(DefinitionError::new(at(""), Notice::definition_agent_link_of_all()));
        }
        let (fixed, hidden) = (&tool.config.arguments, &tool.config.hidden_arguments);
        if fixed.len() > ARGUMENTS_MAX || hidden.len() > ARGUMENTS_MAX {
            return Err(DefinitionError::new(
                at(""),
                Notice::definition_members_too_many(ARGUMENTS_MAX as u64),
            ));
        }
        check_json(&at(".arguments"), &json!(fixed))?;
        for (field, name) in fixed
            .keys()
            .map(|name| (".arguments", name))
            .chain(hidden.iter().map(|name| (".hidden_arguments", name)))
        {
            check_label(&at(field), name)?;
        }
    }
    Ok(())
}

fn check_subagents(definition: &AgentDefinition) -> Checked {
    let subagents = &definition.subagents;
    check_list("subagents", subagents, SUBAGENTS_MAX, |at, link| {
        check_name(at, &link.agent, ID_CHARS_MAX)?;
        let description = link.config.description.as_deref().unwrap_or_default();
        check_text(&format!("{at}.description"), description, DESCRIPTION_CHARS_MAX)?;
        match link.config.budget_share {
            Some(share) if !(share > 0.0 && share <= 1.0) => {
                let problem = Notice::definition_number_needed(0, "1");
                Err(DefinitionError::new(format!("{at}.budget_share"), problem))
            }
            _ => Ok(()),
        }
    })?;
    for (number, link) in subagents.iter().enumerate() {
        let earlier = &subagents[..number];
        if earlier.iter().any(|other| other.agent == link.agent) {
            let problem = Notice::definition_tool_twice(&link.agent);
            return Err(DefinitionError::new(format!("subagents.{number}"), problem));
        }
    }
    Ok(())
}

/// What becomes of calls of subagents, below all other rules of the agent.
pub(super) fn subagent_rules(subagents: &[AgentSubagent]) -> Vec<Rule> {
    let rule = |link: &AgentSubagent| {
        let action = rule_action(link.config.permission.unwrap_or(PermissionAction::Allow));
        Rule { tool: Some(subagent_tool_name(&link.agent)), ..Rule::new(action) }
    };
    subagents.iter().map(rule).collect()
}

fn rule_action(permission: PermissionAction) -> Action {
    match permission {
        PermissionAction::Allow => Action::Allow,
        PermissionAction::Ask => Action::Ask,
        PermissionAction::Deny => Action::Deny,
    }
}

fn check_translations(definition: &AgentDefinition) -> Checked {
    if definition.translations.len() > TRANSLATIONS_MAX {
        let problem = Notice::definition_members_too_many(TRANSLATIONS_MAX as u64);
        return Err(DefinitionError::new("translations", problem));
    }
    for (language, texts) in &definition.translations {
        let at = format!("translations.{language}");
        check_label(&at, language)?;
        check_texts(&format!("{at}."), texts)?;
    }
    Ok(())
}

/// `at` is the path of their object, with a dot behind it.
fn check_texts(at: &str, texts: &AgentTexts) -> Checked {
    let AgentTexts { display_name, description, example_questions } = texts;
    display_name.iter().try_for_each(|name| check_label(&format!("{at}display_name"), name))?;
    check_text(&format!("{at}description"), description, DESCRIPTION_CHARS_MAX)?;
    check_list(&format!("{at}example_questions"), example_questions, QUESTIONS_MAX, |at, question| {
        if question.trim().is_empty() {
            return Err(DefinitionError::new(at, Notice::definition_question_empty()));
        }
        check_text(at, question, QUESTION_CHARS_MAX)
    })
}

/// Names and ids are written into addresses and headers.
fn check_name(field: &str, name: &str, chars_max: usize) -> Checked {
    if RESERVED_NAMES.contains(&name) || matches!(name, "." | "..") {
        return Err(DefinitionError::new(field, Notice::definition_agent_name_reserved(name)));
    }
    let is_plain =
        |c: char| !c.is_control() && !c.is_whitespace() && !matches!(c, '/' | '*' | '?' | '#' | '%');
    if name.is_empty() || name.chars().count() > chars_max || !name.chars().all(is_plain) {
        return Err(DefinitionError::new(field, Notice::definition_agent_name_unfit(chars_max as u64)));
    }
    Ok(())
}

fn check_label(field: &str, label: &str) -> Checked {
    let count = label.chars().count();
    if label.trim().is_empty() || count > LABEL_CHARS_MAX || label.chars().any(char::is_control) {
        return Err(DefinitionError::new(field, Notice::definition_label_unfit(LABEL_CHARS_MAX as u64)));
    }
    Ok(())
}

fn check_text(field: &str, text: &str, chars_max: usize) -> Checked {
    match text.chars().count() <= chars_max {
        true => Ok(()),
        false => Err(DefinitionError::new(field, Notice::definition_text_too_long(chars_max as u64))),
    }
}

fn check_list<T>(field: &str, items: &[T], max: usize, check: impl Fn(&str, &T) -> Checked) -> Checked {
    if items.len() > max {
        return Err(DefinitionError::new(field, Notice::definition_items_too_many(max as u64)));
    }
    items.iter().enumerate().try_for_each(|(number, item)| check(&format!("{field}.{number}"), item))
}

fn check_params(definition: &AgentDefinition) -> Checked {
    let params = &definition.params;
    let in_range = |field: &str, value: Option<f64>, max: f64| match value {
        Some(value) if !(0.0..=max).contains(&value) => {
            Err(DefinitionError::new(field, Notice::definition_number_needed(0, &max.to_string())))
        }
        _ => Ok(()),
    };
    in_range("params.temperature", params.temperature, 2.0)?;
    in_range("params.top_p", params.top_p, 1.0)?;
    in_range("params.retries", params.retries.map(f64::from), 10.0)?;
    check_list("params.stop", &params.stop, STOPS_MAX, |at, stop| check_text(at, stop, LABEL_CHARS_MAX))?;
    check_json("params.extra", &json!(params.extra))
}

fn check_json(field: &str, value: &Value) -> Checked {
    match value.to_string().len() <= JSON_BYTES_MAX {
        true => Ok(()),
        false => Err(DefinitionError::new(field, Notice::definition_json_too_long(JSON_BYTES_MAX as u64))),
    }
}

/// The rules of the agent, and last those of single tools.
fn build_permission_rules(definition: &AgentDefinition) -> Checked<Vec<Rule>> {
    check_list("permissions", &definition.permissions, PERMISSIONS_MAX, |at, rule| {
        for (name, text) in [
            ("tool", &rule.tool),
            ("tag", &rule.tag),
            ("user", &rule.user),
            ("group", &rule.group),
            ("not_group", &rule.not_group),
        ] {
            text.iter().try_for_each(|text| check_label(&format!("{at}.{name}"), text))?;
        }
        if rule.arguments.len() > ARGUMENTS_MAX {
            let problem = Notice::definition_members_too_many(ARGUMENTS_MAX as u64);
            return Err(DefinitionError::new(format!("{at}.arguments"), problem));
        }
        check_json(&format!("{at}.arguments"), &json!(rule.arguments))?;
        check_text(&format!("{at}.because"), &rule.because, PATTERN_CHARS_MAX)
    })?;
    let mut rules = vec![];
    for (number, permission) in definition.permissions.iter().enumerate() {
        let rule = read_json::<Rule>(json!(permission)).map_err(|wrong| {
            DefinitionError::new(format!("permissions.{number}.{}", wrong.field), wrong.problem)
        })?;
        rules.push(rule);
    }
    let of_tools = definition.tools.iter().filter(|tool| tool.name != ALL_TOOLS).filter_map(|tool| {
        let action = rule_action(tool.config.permission?);
        Some(Rule { tool: Some(tool.name.clone()), ..Rule::new(action) })
    });
    rules.extend(of_tools);
    Ok(rules)
}

/// Whether limits can be read.
pub fn check_budget(budget: &AgentBudget) -> Result<(), DefinitionError> {
    build_limits(budget).map(drop)
}

pub(crate) fn build_limits(budget: &AgentBudget) -> Checked<Limits> {
    let whole = |limit: Option<u64>| limit.map(|limit| if limit == 0 { Limits::LIFTED } else { limit });
    Ok(Limits {
        cost_nanos: scale_amount("budget.money", budget.money, NANOS)?,
        tokens: whole(budget.tokens),
        calls: whole(budget.calls),
        active_ms: scale_amount("budget.minutes", budget.minutes, MINUTE_MS)?,
        ask_at: budget.ask_at.map(share_to_percent).transpose()?,
    })
}

fn scale_amount(field: &str, amount: Option<f64>, unit: f64) -> Checked<Option<u64>> {
    let Some(amount) = amount else { return Ok(None) };
    let scaled = (amount * unit).round();
    if !(0.0..=AMOUNT_MAX).contains(&scaled) {
        return Err(DefinitionError::new(field, Notice::definition_limit_unfit(&amount.to_string())));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is in the range of integers"
    )]
    let scaled = scaled as u64;
    Ok(Some(if scaled == 0 { Limits::LIFTED } else { scaled }))
}

/// The share in percent. Zero never asks, as 100 does: the limit itself is reached first.
fn share_to_percent(share: f64) -> Checked<u8> {
    if !(0.0..1.0).contains(&share) {
        return Err(DefinitionError::new(
            "budget.ask_at",
            Notice::definition_share_unfit(&share.to_string()),
        ));
    }
    // However small a share is, it asks.
    let percent = (share * 100.0).round().max(if share > 0.0 { 1.0 } else { 0.0 });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 100")]
    let percent = percent as u8;
    Ok(if percent == 0 { 100 } else { percent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(written: Value) -> Result<AgentSettings, String> {
        let definition = read_agent(written).map_err(|wrong| wrong.to_string())?;
        build_settings(&definition).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn a_definition_becomes_the_settings_of_an_agent() {
        let settings = checked(json!({
            "name": "天气助手",
            "id": "5a1c6e0e-8f3a-4d53-9c39-0d2f8f3f2f11",
            "model": "volcano",
            "fallback_models": ["demo"],
            "system_prompt": "Be brief.",
            "tools": ["look", {"name": "send", "config": {"permission": "ask"}}, {"name": "post", "enabled": false}],
            "permissions": [{"tool": "look", "arguments": {"city": "Paris"}, "action": "allow"}],
            "budget": {"money": 0.5, "calls": 0, "minutes": 2, "ask_at": 0.8}
        }));
        let settings = settings.unwrap();
        assert_eq!(settings.tools, Some(vec!["look".to_owned(), "send".to_owned()]));
        assert_eq!(settings.without_tools, ["post"]);
        let actions: Vec<_> =
            settings.permissions.iter().map(|rule| (rule.tool.as_deref(), rule.action)).collect();
        assert_eq!(actions, [(Some("look"), Action::Allow), (Some("send"), Action::Ask)]);
        let budget = Limits {
            cost_nanos: Some(500_000_000),
            tokens: None,
            calls: Some(Limits::LIFTED),
            active_ms: Some(120_000),
            ask_at: Some(80),
        };
        assert_eq!(settings.budget, budget);
        assert_eq!(settings.max_steps, 10);
    }

    #[test]
    fn a_link_that_only_says_whether_calls_are_allowed_leaves_the_tool_as_it_is() {
        let links = checked(json!({"name": "a", "tools": [
            {"name": "look", "config": {"permission": "ask"}},
            {"name": "send", "config": {"arguments": {"to": "mei"}, "permission": "ask"}}
        ]}));
        assert_eq!(links.unwrap().links.into_keys().collect::<Vec<_>>(), ["send"]);
    }

    #[test]
    fn an_agent_has_the_tools_that_it_names_and_a_star_names_all() {
        assert_eq!(checked(json!({"name": "a"})).unwrap().tools, Some(vec![]));
        let all = checked(json!({"name": "a", "tools": ["*", {"name": "send", "enabled": false}]})).unwrap();
        assert_eq!((all.tools, all.without_tools), (None, vec!["send".to_owned()]));
    }

    #[test]
    fn what_is_wrong_with_a_definition_is_told_with_its_field() {
        let long = "x".repeat(101);
        for (more, field) in [
            (json!({"name": "a b"}), "name"),
            (json!({"name": ""}), "name"),
            (json!({"name": "export"}), "name"),
            (json!({"id": long}), "id"),
            (json!({"modle": "x"}), "modle"),
            (json!({"max_steps": 0}), "max_steps"),
            (json!({"max_steps": 1001}), "max_steps"),
            (json!({"system_prompt": "x".repeat(100_001)}), "system_prompt"),
            (json!({"description": "x".repeat(4_001)}), "description"),
            (json!({"example_questions": ["How?", " "]}), "example_questions.1"),
            (json!({"example_questions": vec!["How?"; 51]}), "example_questions"),
            (json!({"tools": ["look", "look"]}), "tools.1"),
            (json!({"tools": [{"name": "*", "config": {"permission": "ask"}}]}), "tools.0.config"),
            (json!({"tools": [{"name": "look", "config": {"cache": true}}]}), "tools.0"),
            (json!({"users": ["mei", ""]}), "users.1"),
            (json!({"groups": ["sales", ""]}), "groups.1"),
            (json!({"translations": {"zh": {"display_name": ""}}}), "translations.zh.display_name"),
            (
                json!({"translations": {"zh": {"example_questions": [" "]}}}),
                "translations.zh.example_questions.0",
            ),
            (json!({"tools": [{"name": "look", "config": {"colour": 1}}]}), "colour"),
            (json!({"tools": [{"name": "look", "arguments": 1}]}), "arguments"),
            (json!({"tools": [7]}), "tools.0"),
            (json!({"subagents": [7]}), "subagents.0"),
            (json!({"subagents": ["b", {"agent": "b"}]}), "subagents.1"),
            (json!({"subagents": [{"agent": "b", "colour": 1}]}), "colour"),
            (json!({"subagents": [{"agent": "b", "budget_share": 1.5}]}), "subagents.0.budget_share"),
            (json!({"subagents": vec!["b"; 51]}), "subagents"),
            (json!({"params": {"temperature": 9}}), "params.temperature"),
            (json!({"params": {"warmth": 1}}), "warmth"),
            (json!({"permissions": [{"action": "allow", "agent": "b"}]}), "agent"),
            (json!({"permissions": [{"action": "never"}]}), "permissions.0.action"),
            (json!({"budget": {"money": -1}}), "budget.money"),
            (json!({"budget": {"ask_at": 80}}), "budget.ask_at"),
            (json!({"budget": {"euros": 80}}), "euros"),
        ] {
            let mut written = json!({"name": "clerk"});
            helve_tool::merge_patch(&mut written, &more);
            let told = checked(written).unwrap_err();
            assert!(told.contains(&format!("{field}`")), "{more}: {told}");
        }
    }
}
