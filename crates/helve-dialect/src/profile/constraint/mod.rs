//! What a server that can hold its model to a form is to hold it to, so that a call is always one that can be read.
//!
//! How the profile writes calls is learned from its template (`shape`), what the arguments may be from the tools'
//! schemas (`schema`), and both become rules (`rules`) in the notation of llama.cpp, which xgrammar reads too. What
//! a grammar allows may be wider than a schema, never narrower in a way that forbids all calls of a tool; arguments
//! are checked against the schema afterwards as always.

#[cfg(test)]
mod matcher;
mod rules;
mod schema;
mod shape;
#[cfg(test)]
mod tests;
mod words;

use helve_types::{ToolChoice, ToolSpec};
use serde_json::{Value, json};

use super::Profile;
use rules::{Rules, literal};
use schema::Arguments;
pub(super) use shape::Shape;
use shape::{Body, Slot};

/// What an answer has to look like.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerForm {
    /// In the notation of llama.cpp (GBNF), beginning at `root`.
    pub grammar: String,
    /// A JSON Schema of one call, for servers that know nothing else; none where words will do as well.
    pub schema: Option<Value>,
}

/// As many calls as one message may make; a model that has lost its way writes them for ever.
const CALLS_MAX: usize = 8;

/// Longer grammars cost servers more than they help.
const GRAMMAR_BYTES_MAX: usize = 96 * 1024;

/// The form of an answer under this choice: only calls where there must be one, and else calls or words. `None`
/// where there is nothing to hold the model to, or the profile's template cannot be understood.
pub(super) fn build_form(profile: &Profile, tools: &[&ToolSpec], choice: &ToolChoice) -> Option<AnswerForm> {
    let named: Vec<&ToolSpec> = match choice {
        ToolChoice::None => return None,
        ToolChoice::Auto | ToolChoice::Required => tools.to_vec(),
        ToolChoice::Named(name) => tools.iter().filter(|tool| tool.name == *name).copied().collect(),
    };
    let shape = profile.shape.as_ref()?;
    if named.is_empty() || named.iter().any(|tool| !is_plain_name(&tool.name)) {
        return None;
    }
    let must_call = *choice != ToolChoice::Auto;
    let mut rules = Rules::new(shape.body.notation());
    let calls = calls_rule(shape, &named, matches!(choice, ToolChoice::Named(_)), &mut rules);
    let root = if must_call {
        format!("{} {calls}", literal(&shape.head))
    } else {
        words::words_or_calls_rule(shape, &named, &calls, &mut rules)
    };
    let grammar = rules.into_grammar(&root);
    let schema = must_call.then(|| profile.constraint(&named).or_else(|| bare_call_schema(profile, &named)));
    let schema = schema.flatten();
    (grammar.len() <= GRAMMAR_BYTES_MAX).then_some(AnswerForm { grammar, schema })
}

/// A rule for everything behind the head: calls of these tools.
fn calls_rule(shape: &Shape, tools: &[&ToolSpec], only_one: bool, rules: &mut Rules) -> String {
    let each = tools.iter().map(|tool| call_rule(shape, tool, rules)).collect::<Vec<_>>();
    let call = rules.add_rule("call", &each.join(" | "));
    let more = match only_one {
        true => String::new(),
        false => format!("( {} {call} ){{0,{}}} ", literal(&shape.between), CALLS_MAX - 1),
    };
    rules.add_rule("calls", &format!("{call} {more}{}", literal(&shape.tail)))
}

fn call_rule(shape: &Shape, tool: &ToolSpec, rules: &mut Rules) -> String {
    let lead = |upto: usize| {
        let slots = shape.lead.iter().enumerate().map(|(at, (slot, text))| {
            let text = if at < upto { text } else { "" };
            match slot {
                Slot::Id => format!("[a-zA-Z0-9_-]{{1,40}} {}", literal(text)),
                Slot::Name => literal(&format!("{}{text}", tool.name)),
            }
        });
        slots.collect::<Vec<_>>().join(" ")
    };
    let (filled, last) = (shape.lead.len(), shape.lead.len() - 1);
    let body = match &shape.body {
        Body::Whole(_) => {
            let object = Arguments::from_schema(&tool.parameters).object_rule(rules);
            format!("{} {object} {}", lead(filled), literal(&shape.close))
        }
        Body::Members { assign, next, empty, .. } => {
            let members =
                Arguments::from_schema(&tool.parameters).member_rules(assign, next, &shape.close, rules);
            let some = members.some.map(|some| format!("{} {some} {}", lead(filled), literal(&shape.close)));
            let none = members.none.then(|| format!("{} {}", lead(last), literal(empty)));
            [some, none].into_iter().flatten().collect::<Vec<_>>().join(" | ")
        }
    };
    rules.add_rule("tool", &body)
}

/// A call as a bare object, which is read wherever calls are looked for. Servers write members in the order of the
/// schema, which is that of the alphabet here: `parameters` stand behind the name, and `arguments` would come before it, so
/// that the model had to fill them in before it has chosen a tool.
fn bare_call_schema(profile: &Profile, tools: &[&ToolSpec]) -> Option<Value> {
    let call = |tool: &&ToolSpec| {
        json!({
            "type": "object",
            "properties": {"name": {"const": tool.name}, "parameters": tool.parameters},
            "required": ["name", "parameters"],
            "additionalProperties": false,
        })
    };
    let calls = match tools {
        [tool] => call(tool),
        several => json!({"anyOf": several.iter().map(call).collect::<Vec<_>>()}),
    };
    profile.dialect.is_found_by_marks().then_some(calls)
}

/// Whether a name stands for itself in every form of writing.
fn is_plain_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
    !name.is_empty() && name.bytes().all(fits)
}
