//! Worked examples as turns: small models follow what they see done, not what they are told.

use std::rc::Rc;

use helve_types::{Example, ToolSpec};
use serde_json::Value;

use super::choose;
use super::generated_example::{self, GeneratedExample};
use super::{CallView, Language, Profile, ResultView, language_of};
use helve_json::coerce::quote_text;

/// One turn of an example conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleTurn {
    pub role: TurnRole,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnRole {
    User,
    Assistant,
}

/// Where the examples of the tool stand that the question is likely to need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExampleOrder {
    /// In the order of the tools: the same tools make the same turns, whatever is asked, so a server that keeps what it
    /// has read of a prompt reads it once. For a model whose server holds it to the form of a call.
    OfTools,
    /// Last, next to the question: a small model that is not held to a form writes what it saw last.
    LikeliestLast,
}

/// Six make a small model reliable; more only cost.
const EXAMPLES_MAX: usize = 6;

/// Question, call, result, answer for each example that a tool brings, and question and call for tools that bring none.
/// Of more tools than have room, those that the question is likely to need have theirs. Every one has its turn before any has
/// a second one. Examples in the language of the conversation are taken
/// where a tool has them.
pub(super) fn example_turns(
    profile: &Profile,
    tools: &[&ToolSpec],
    question: &str,
    language: Language,
    order: ExampleOrder,
) -> Vec<ExampleTurn> {
    let chosen = choose::rank_tools(tools, question);
    let chosen = &chosen[..chosen.len().min(EXAMPLES_MAX)];
    let is_chosen = |tool: &&&ToolSpec| chosen.iter().any(|other| std::ptr::eq(*other, **tool));
    let tools: Vec<&ToolSpec> = tools.iter().filter(is_chosen).copied().collect();
    // What is made is only made twice where nothing better comes after it: the last examples count most.
    let made_max = if tools.iter().all(|tool| tool.examples.is_empty()) { 2 } else { 1 };
    let shown: Vec<(&ToolSpec, Vec<Shown<'_>>)> =
        tools.iter().map(|&tool| (tool, examples_of_tool(tool, language, made_max))).collect();
    let most = shown.iter().map(|(_, examples)| examples.len()).max().unwrap_or(0);
    let rounds = (0..most).flat_map(|round| {
        let of_round = move |(tool, examples): &'_ (_, Vec<_>)| Some((*tool, examples.get(round).cloned()?));
        shown.iter().filter_map(of_round)
    });
    let mut examples: Vec<(&ToolSpec, Shown<'_>)> = rounds.take(EXAMPLES_MAX).collect();
    if order == ExampleOrder::LikeliestLast {
        let rank = |tool: &ToolSpec| chosen.iter().position(|other| std::ptr::eq(*other, tool));
        examples.sort_by_key(|(tool, _)| std::cmp::Reverse(rank(tool)));
    }
    let mut turns = vec![];
    for (number, (tool, example)) in examples.into_iter().enumerate() {
        let id = format!("call_{}", number + 1);
        let (question, arguments) = example.question_and_arguments();
        let call =
            profile.call(&[CallView { id: &id, name: &tool.name, arguments: &spaced_json(arguments) }]);
        turns.push(ExampleTurn { role: TurnRole::User, text: question.to_owned() });
        turns.push(ExampleTurn { role: TurnRole::Assistant, text: call });
        if let Shown::Brought(example) = &example {
            let result = ResultView { id: &id, name: &tool.name, text: &example.result, is_error: false };
            let result = profile.result(&[result], language);
            turns.push(ExampleTurn { role: TurnRole::User, text: result });
            turns.push(ExampleTurn { role: TurnRole::Assistant, text: example.answer.clone() });
        }
    }
    turns
}

#[derive(Clone)]
enum Shown<'a> {
    Brought(&'a Example),
    Made(Rc<GeneratedExample>),
}

impl Shown<'_> {
    fn question_and_arguments(&self) -> (&str, &Value) {
        match self {
            Self::Brought(example) => (&example.question, &example.arguments),
            Self::Made(made) => (&made.question, &made.arguments),
        }
    }
}

fn examples_of_tool(tool: &ToolSpec, language: Language, made_max: usize) -> Vec<Shown<'_>> {
    if tool.examples.is_empty() {
        let made = generated_example::generate_examples(tool, language).into_iter().take(made_max);
        return made.map(|made| Shown::Made(Rc::new(made))).collect();
    }
    let fits = |example: &&Example| language_of(&example.question) == language;
    let fitting: Vec<&Example> = tool.examples.iter().filter(fits).collect();
    let brought = if fitting.is_empty() { tool.examples.iter().collect() } else { fitting };
    brought.into_iter().map(Shown::Brought).collect()
}

/// JSON with a space behind each comma and colon, as models have seen most of it.
pub(super) fn spaced_json(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced_json).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members =
                members.iter().map(|(key, value)| format!("{}: {}", quote_text(key), spaced_json(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}
