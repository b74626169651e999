//! What people are told: a code and what varies in it. The reader's side makes the sentence, in the reader's language.
//!
//! What a model is told is another text, which stands beside the notice: it may say what to do next, which is nothing to
//! tell a person. The sentences are in `fixtures/codes.json`, for every code and in both languages; a test of the server
//! compares the list with the codes here and with those of problem documents. `definition` has the codes of those who
//! make tools and agents, with a list of their own.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::FailureKind;

/// A code with its parameters. The end of a parameter's name says how it is written: `_ms` is a duration, `_at` a time,
/// `_bytes` a size, `_any` a list of notices of which one is enough; anything else is a number, a text, another notice, or
/// a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    pub code: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
}

/// What a text among the parameters may have of characters: some of them are a model's.
const TEXT_CHARS_MAX: usize = 300;

impl Notice {
    fn new<const N: usize>(code: &str, params: [(&str, Value); N]) -> Self {
        let params = params.into_iter().map(|(name, value)| (name.to_owned(), shorten_value(value)));
        Self { code: code.to_owned(), params: params.collect() }
    }

    /// What is told of a failure of which only the kind is known.
    pub fn from_failure_kind(kind: FailureKind) -> Self {
        Self::new(kind.as_str(), [])
    }
}

/// Why something is done or not: in words for models and the log, as a notice for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub text: String,
    pub notice: Notice,
}

impl Reason {
    pub fn new(text: impl Into<String>, notice: Notice) -> Self {
        Self { text: text.into(), notice }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Notice> for Value {
    fn from(notice: Notice) -> Self {
        serde_json::json!(notice)
    }
}

fn shorten_value(value: Value) -> Value {
    match value {
        Value::String(text) if text.chars().nth(TEXT_CHARS_MAX).is_some() => {
            let kept: String = text.chars().take(TEXT_CHARS_MAX).collect();
            Value::String(kept + "…")
        }
        other => other,
    }
}

/// A constructor for each code, and a list of the codes with the names of their parameters.
macro_rules! notices {
    ($list:ident, $about:literal; $($(#[$doc:meta])* $code:ident($($param:ident: $type:ty),*);)*) => {
        impl Notice {
            $($(#[$doc])* pub fn $code($($param: $type),*) -> Self {
                Self::new(stringify!($code), [$((stringify!($param), Value::from($param))),*])
            })*

            #[doc = $about]
            pub const $list: &[(&str, &[&str])] = &[$((stringify!($code), &[$(stringify!($param)),*])),*];
        }
    };
}

mod definition;

notices! {
    ALL,
    "Every code that a notice can have, but those about definitions, with the names of its parameters.";
    // Calls that were not made.
    /// No tool of the run has this name.
    no_such_tool(tool: &str);
    call_without_tool();
    tool_switched_off(tool: &str);
    /// A tool from outside has changed and the change is not agreed to.
    tool_not_agreed(tool: &str);
    arguments_too_large();
    arguments_not_json();
    arguments_uncheckable();
    /// The arguments name a key twice, with different values.
    arguments_ambiguous(key: &str);
    arguments_do_not_fit(problems: Vec<Notice>);
    /// The call gives an argument that its agent decides about.
    argument_decided_by_agent(name: &str);
    call_cut_off();
    call_unreadable();
    forbidden_by_rule();
    /// A rule forbids the call and says why.
    forbidden_because(reason: &str);
    forbidden_by_hook(reason: &str);
    /// A hook that is asked first gave no answer.
    forbidden_without_check();
    rejected_by_person();
    rejected_with_reason(reason: &str);
    approval_unanswered();
    declined_by_person();
    declined_with_reason(reason: &str);
    question_unanswered();
    /// The model asks in a way that cannot be shown to a person.
    question_not_shown();
    client_did_not_run(tool: &str);
    too_many_calls_in_step(max: u64);
    stopped_before_sent();
    stopped_while_running();

    // What does not fit in arguments.
    misfit_in_field(field: &str, problem: Notice);
    misfit_missing(field: &str);
    misfit_unexpected(fields: &str);
    misfit_type(types_any: Vec<Notice>);
    misfit_options(options: &str);
    misfit_maximum(limit: Value);
    misfit_minimum(limit: Value);
    misfit_below(limit: Value);
    misfit_above(limit: Value);
    misfit_multiple(unit: f64);
    misfit_longest(limit: u64);
    misfit_shortest(limit: u64);
    misfit_most_items(limit: u64);
    misfit_fewest_items(limit: u64);
    misfit_most_fields(limit: u64);
    misfit_fewest_fields(limit: u64);
    misfit_repeated();
    misfit_pattern(pattern: &str);
    misfit_format(format: &str);
    misfit_alternatives();
    misfit_otherwise();
    misfit_somewhere();
    misfit_one_line();
    misfit_more();
    type_null();
    type_boolean();
    type_integer();
    type_number();
    type_string();
    type_array();
    type_object();

    // What does not fit in a reply.
    misfit_reply(problem: Notice);
    reply_missing();
    reply_too_large(limit_bytes: u64);
    reply_misfits(problems: Vec<Notice>);
    decline_too_long(limit: u64);

    // Limits and breakers.
    limited_by_concurrency();
    limited_by_rate();
    limited_by_queue();
    limited_by_wait();
    limited_by_callers();
    tool_cooling_down();
    tool_being_probed();
    tool_asked_for_pause();

    // Calls that failed.
    tool_declined();
    tool_unwell();
    tool_not_reached();
    host_not_reached(host: &str);
    host_lost(host: &str);
    tool_busy();
    tool_lost();
    tool_timed_out(limit_ms: u64);
    search_not_configured();
    search_key_refused(status: u64);
    search_refused(status: u64);
    search_failed();
    search_busy();
    search_not_reached();
    search_without_query();
    image_key_refused(status: u64);
    image_refused(status: u64);
    image_failed();
    not_calculable(expression: &str);
    divided_by_zero(expression: &str);
    time_not_readable();
    not_a_time(text: &str);
    no_such_zone(zone: &str);
    query_refused(database: &str);
    query_too_slow(limit_ms: u64);
    notes_full();
    note_not_saved();
    note_in_doubt();
    plan_not_found();
    plan_changed();
    plans_full();
    output_not_kept();
    output_not_readable();
    no_such_skill(skill: &str);
    no_such_skill_file(skill: &str, path: &str);
    skill_file_no_text(path: &str);
    http_status(host: &str, status: u64);
    http_answer_too_large();
    http_answer_unusable();
    egress_refused();
    program_failed();
    /// In the program's words.
    program_failed_because(words: &str);
    /// In the words of a program or of a service.
    tool_declined_because(words: &str);
    /// `command` lets the operator confirm it.
    secret_not_bound(tool: &str, command: &str);
    secret_without_value(tool: &str, variable: &str);
    secret_too_short(tool: &str, variable: &str);
    /// The operator has taken back what the tool was allowed.
    tool_grant_revoked(tool: &str);

    // Outputs in one line.
    time_in(time: &str, place: &str);
    results_found(count: u64, query: &str);
    output_part(start: u64, end: u64, whole_bytes: u64);
    places_found(count: u64, words: &str);
    note_saved(count: u64);
    rows_read(database: &str, count: u64);
    tables_listed(database: &str, count: u64);
    plans_listed(count: u64);
    skill_loaded(skill: &str);
    skill_file_read(skill: &str, path: &str);
    answered_by_person();
    output_withheld();

    // Why no person is asked.
    allowed_by_rule();
    allowed_for_reading();
    allowed_on_users_side();
    allowed_before();

    // Why a person is asked.
    asks_for_answer();
    asks_by_rule();
    /// In the operator's words.
    asks_because(reason: &str);
    asks_for_change();
    asks_for_lasting_change();
    asks_after_rewrite();
    asks_for_leak();
    asks_after_repeats(tool: &str, count: u64);
    asks_after_failures(tool: &str, count: u64);
    asks_after_same_words();
    asks_after_same_results(tool: &str);
    asks_after_circle();
    asks_after_unknown(tool: &str);
    call_cannot_be_made(why: Notice);
    call_outcome_unknown();

    // What a person should know before they agree.
    leak_private(sources: &str);
    leak_untrusted(sources: &str);
    leak_to_host(host: &str);
    leak_to_client();
    leak_to_elsewhere();

    // Hooks around a step.
    step_hook_failed(hook: &str);
    step_hook_timed_out(hook: &str, limit_ms: u64);

    // Subagents.
    /// The agent asks itself, or one that asked for it.
    subagent_in_circle(agent: &str);
    subagent_too_deep(max: u64);
    subagents_too_many(max: u64);
    subagents_too_many_in_tree(max: u64);
    subagent_without_budget();
    /// A run that belongs to no conversation cannot be told of the result later.
    subagent_not_in_background();
    subagent_not_started(agent: &str, detail: &str);
    subagent_run_unknown(run: &str);
    subagent_stopped(agent: &str, by: &str);
    subagent_stopped_with_run(agent: &str);
    subagent_failed(agent: &str);
    subagent_answered(agent: &str);
    subagent_in_background(agent: &str);

    // Budgets.
    budget_used_up(account: Notice, used: Notice, limit: Notice);
    budget_not_extended(account: Notice, used: Notice, limit: Notice);
    budget_nearly_used(account: Notice, used: Notice, limit: Notice);
    budget_of_run();
    budget_of_user_day();
    budget_of_agent_day();
    budget_of_day();
    amount_money(amount: &str, currency: &str);
    amount_tokens(count: u64);
    amount_calls(count: u64);
    amount_time(worked_ms: u64);

    // Models that cannot be asked.
    model_without_key(variable: &str);
    model_server_silent(address: &str);
    model_server_empty(address: &str, command: &str);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_a_code_with_its_parameters() {
        let notice = Notice::call_cannot_be_made(Notice::no_such_tool("serch"));
        let json = serde_json::json!({
            "code": "call_cannot_be_made",
            "params": {"why": {"code": "no_such_tool", "params": {"tool": "serch"}}},
        });
        assert_eq!(serde_json::json!(notice), json);
        assert_eq!(serde_json::json!(Notice::tool_busy()), serde_json::json!({"code": "tool_busy"}));
    }

    #[test]
    fn a_text_among_the_parameters_is_cut() {
        let notice = Notice::no_such_tool(&"工".repeat(10_000));
        let text = notice.params["tool"].as_str().unwrap();
        assert_eq!(text.chars().count(), TEXT_CHARS_MAX + 1);
        assert!(text.ends_with('…'));
    }
}
