//! Requests in prompt mode: tools, calls and results as text, written as a prompt profile shows them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use helve_dialect::{CallView, ExampleOrder, Language, Profile, ResultView, TurnRole};
use helve_types::{CallId, Mode, ToolChoice, ToolSpec};

use super::forms::build_form as form_of;
use crate::{Form, FormSupport, Turn, TurnCall};

pub fn add_tools_to_system(
    system: &str,
    profile: &Profile,
    specs: &[&ToolSpec],
    question: &str,
    language: Language,
) -> String {
    if specs.is_empty() {
        return system.to_owned();
    }
    let introduction = profile.introduction(specs, question, language);
    join_prompts(system, &introduction)
}

/// Two parts of a system prompt as one; an empty part leaves no blank lines.
pub fn join_prompts(system: &str, more: &str) -> String {
    match (system, more) {
        (only, "") | ("", only) => only.to_owned(),
        (system, more) => format!("{system}\n\n{more}"),
    }
}

/// A form, if a server that holds its model to so much can make use of it.
pub fn build_form_if_supported(holds: FormSupport, form: impl FnOnce() -> Option<Form>) -> Option<Form> {
    match holds {
        FormSupport::None => None,
        FormSupport::Schema => form().filter(|form| form.schema.is_some()),
        FormSupport::Grammar => form(),
    }
}

/// The form of an answer to a question outside of any run.
pub(super) fn build_form(
    holds: FormSupport,
    profile: &Profile,
    specs: &[&ToolSpec],
    choice: &ToolChoice,
) -> Option<Form> {
    build_form_if_supported(holds, || form_of(profile, specs, choice))
}

/// A question with the tools described in the prompt, outside of any run: the system prompt and the turns.
pub(super) fn describe_tools_in_prompt<'a>(
    profile: &Profile,
    specs: &[&ToolSpec],
    question: &'a str,
    form: Option<&Form>,
) -> (String, Vec<Turn<'a>>) {
    let language = helve_dialect::language_of(question);
    let turns = vec![Turn::User(Cow::Borrowed(question))];
    let turns = turns_as_text(turns, profile, specs, question, language, form);
    (add_tools_to_system("", profile, specs, question, language), turns)
}

/// The same conversation with calls and results as text, after a few worked examples.
pub fn turns_as_text<'a>(
    turns: Vec<Turn<'a>>,
    profile: &Profile,
    specs: &[&ToolSpec],
    question: &str,
    language: Language,
    form: Option<&Form>,
) -> Vec<Turn<'a>> {
    let order = if form.is_some() { ExampleOrder::OfTools } else { ExampleOrder::LikeliestLast };
    let mut text: Vec<Turn<'a>> = profile
        .examples(specs, question, language, order)
        .into_iter()
        .map(|example| match example.role {
            TurnRole::User => Turn::User(Cow::Owned(example.text)),
            TurnRole::Assistant => assistant_turn(Cow::Owned(example.text)),
        })
        .collect();
    // Ids that the model has never seen: its way of writing calls has none, and it gave none itself.
    let mut unseen: HashSet<String> = HashSet::new();
    let mut turns = turns.into_iter().peekable();
    while let Some(turn) = turns.next() {
        match turn {
            Turn::User(words) => text.push(Turn::User(words)),
            Turn::Assistant { text: words, calls, .. } if calls.is_empty() => {
                text.push(assistant_turn(words))
            }
            Turn::Assistant { text: words, calls, .. } => {
                let views: Vec<_> = calls
                    .iter()
                    .map(|call| CallView { id: &call.id, name: &call.tool, arguments: &call.arguments })
                    .collect();
                let written = profile.call(&views);
                let own =
                    |call: &&TurnCall<'_>| call.id.parse::<CallId>().is_ok() && !written.contains(&*call.id);
                unseen.extend(calls.iter().filter(own).map(|call| call.id.to_string()));
                let words = if words.is_empty() { written } else { format!("{words}\n{written}") };
                text.push(assistant_turn(Cow::Owned(words)));
            }
            Turn::Result { .. } => {
                let mut results = vec![turn];
                while let Some(more) = turns.next_if(|next| matches!(next, Turn::Result { .. })) {
                    results.push(more);
                }
                text.push(Turn::User(Cow::Owned(results_as_text(&results, &unseen, profile, language))));
            }
        }
    }
    text
}

pub fn assistant_turn(text: Cow<'_, str>) -> Turn<'_> {
    Turn::Assistant { text, reasoning: Cow::Borrowed(""), echo: None, calls: vec![] }
}

/// Results as the profile writes them, each under an id that the model knows: its own, or one made of the tool's name.
fn results_as_text(
    results: &[Turn<'_>],
    unseen: &HashSet<String>,
    profile: &Profile,
    language: Language,
) -> String {
    let ids: Vec<Cow<'_, str>> = results
        .iter()
        .map(|turn| match turn {
            Turn::Result { id, tool, .. } if unseen.contains(&**id) => Cow::Owned(format!("{tool}_result")),
            Turn::Result { id, .. } => Cow::Borrowed(&**id),
            Turn::User(_) | Turn::Assistant { .. } => Cow::Borrowed(""),
        })
        .collect();
    let views: Vec<_> = results
        .iter()
        .zip(&ids)
        .filter_map(|(turn, id)| match turn {
            Turn::Result { tool, text, is_error, .. } => {
                // The template says itself that it is one.
                let text = text.strip_prefix("Error: ").filter(|_| *is_error).unwrap_or(text);
                Some(ResultView { id, name: tool, text, is_error: *is_error })
            }
            Turn::User(_) | Turn::Assistant { .. } => None,
        })
        .collect();
    profile.result(&views, language)
}

/// The profile that a mode needs, if it is one of prompt mode.
pub fn find_profile<'a>(mode: &Mode, own: &'a [Arc<Profile>]) -> Option<&'a Profile> {
    let Mode::Prompt(name) = mode else { return None };
    let own = own.iter().find(|profile| profile.name() == name).map(|profile| &**profile);
    own.or_else(|| Profile::named(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of one call, as the profile shows it after the call was written.
    fn result(profile: &str, id: &str) -> String {
        let call = TurnCall { id: id.to_owned().into(), tool: "look".into(), arguments: "{}".into() };
        let turns = vec![
            Turn::Assistant { text: "".into(), reasoning: "".into(), echo: None, calls: vec![call] },
            Turn::Result {
                id: id.to_owned().into(),
                tool: "look".into(),
                text: "found".into(),
                is_error: false,
            },
        ];
        let profile = Profile::named(profile).expect("is shipped");
        match turns_as_text(turns, profile, &[], "", Language::English, None).pop() {
            Some(Turn::User(text)) => text.into_owned(),
            _ => panic!("the result is the last turn"),
        }
    }

    #[test]
    fn a_result_has_the_id_that_the_model_knows() {
        let ours = "01a1b2c3-0000-7000-8000-000000000001:1:0";
        assert!(result("xml_tag", ours).contains("<id>look_result</id>"));
        assert!(result("xml_tag", "my1").contains("<id>my1</id>"));
        assert!(result("json_strict", ours).contains(ours), "the call was shown with it");
    }
}
