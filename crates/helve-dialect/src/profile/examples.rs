//! Worked examples as turns: small models follow what they see done, not what they are told.

use helve_types::{Example, ToolSpec};

use super::{CallView, Language, Profile, ResultView, language_of};

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

/// Six make a small model reliable; more only cost.
const EXAMPLES_MAX: usize = 6;

/// Question, call, result, answer for each example. Every tool has its turn before any has a second one; a tool
/// without examples is left out, since an invented one would teach the model something untrue. Examples in the
/// language of the conversation are taken where a tool has them.
pub(super) fn turns(profile: &Profile, tools: &[&ToolSpec], language: Language) -> Vec<ExampleTurn> {
    let fitting: Vec<(&ToolSpec, Vec<&Example>)> =
        tools.iter().map(|&tool| (tool, in_language(&tool.examples, language))).collect();
    let most = fitting.iter().map(|(_, examples)| examples.len()).max().unwrap_or(0);
    let rounds = (0..most).flat_map(|round| {
        let of_round = move |(tool, examples): &(_, Vec<_>)| Some((*tool, *examples.get(round)?));
        fitting.iter().filter_map(of_round)
    });
    let chosen: Vec<(&ToolSpec, &Example)> = rounds.take(EXAMPLES_MAX).collect();
    let mut turns = Vec::with_capacity(4 * chosen.len());
    for (number, (tool, example)) in chosen.into_iter().enumerate() {
        let id = format!("call_{}", number + 1);
        let arguments = example.arguments.to_string();
        let call = profile.call(&[CallView { id: &id, name: &tool.name, arguments: &arguments }]);
        let result = ResultView { id: &id, name: &tool.name, text: &example.result, is_error: false };
        let result = profile.result(&[result], language);
        for (role, text) in [
            (TurnRole::User, example.question.clone()),
            (TurnRole::Assistant, call),
            (TurnRole::User, result),
            (TurnRole::Assistant, example.answer.clone()),
        ] {
            turns.push(ExampleTurn { role, text });
        }
    }
    turns
}

fn in_language(examples: &[Example], language: Language) -> Vec<&Example> {
    let fitting: Vec<_> =
        examples.iter().filter(|example| language_of(&example.question) == language).collect();
    if fitting.is_empty() { examples.iter().collect() } else { fitting }
}
