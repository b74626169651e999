//! From a run to a request: what the model is told, in the way it calls tools.

use std::borrow::Cow;
use std::sync::Arc;

use helve_dialect::{CallView, Language, Profile, Reading, ResultView, TurnRole};
use helve_model::{Form, Holds, ModelRequest, Turn};
use helve_types::{Message, Mode, ModelParams, ToolChoice, ToolSpec};

use crate::agents::Kit;
use crate::run::{Run, Tools};
use crate::transcript::transcript;

/// Everything a request is made of.
pub(crate) struct Asking<'a> {
    pub(crate) run: &'a Run,
    /// The configured name of the model that is asked.
    pub(crate) model: &'a str,
    pub(crate) history: &'a [Message],
    pub(crate) kit: &'a Kit,
    pub(crate) tools: Tools,
    pub(crate) params: &'a ModelParams,
    /// The profile of prompt mode; none in native mode.
    pub(crate) profile: Option<&'a Profile>,
    /// What the model's server can hold it to.
    pub(crate) holds: Holds,
}

const NO_CHOICE: ToolChoice = ToolChoice::None;

impl<'a> Asking<'a> {
    pub(crate) fn request(&self) -> ModelRequest<'a> {
        let turns = transcript(self.history, self.run, self.model);
        let setup = self.run.setup();
        let specs: Vec<&'a ToolSpec> = match self.tools {
            Tools::Withheld => vec![],
            Tools::Offered => self.kit.toolbox.specs().map(|spec| &**spec).collect(),
        };
        match self.profile {
            None => ModelRequest {
                system: Cow::Borrowed(&setup.system),
                turns,
                tool_choice: if specs.is_empty() { &NO_CHOICE } else { &setup.tool_choice },
                tools: specs,
                params: self.params,
                form: None,
                stream: setup.stream,
            },
            Some(profile) => ModelRequest {
                system: Cow::Owned(system_with_tools(&setup.system, profile, &specs, self.language())),
                turns: in_text(turns, profile, &specs, self.language()),
                tools: vec![],
                tool_choice: &NO_CHOICE,
                params: self.params,
                form: self.form(profile, &specs, &setup.tool_choice),
                stream: setup.stream,
            },
        }
    }

    /// How the answer is to be read: in whatever dialect it is written. A model that was told one may answer in
    /// another, and a server may leave a native call in the text. Only what begins with ordinary words has to be
    /// expected to be noticed.
    pub(crate) fn reading(&self) -> Reading {
        match (self.tools, self.profile.map(Profile::dialect)) {
            (Tools::Withheld, _) => Reading::any(helve_dialect::Tools::new([])),
            (Tools::Offered, Some(dialect)) if !dialect.is_found() => {
                Reading::of(dialect, self.kit.words.clone())
            }
            (Tools::Offered, _) => Reading::any(self.kit.words.clone()),
        }
    }

    /// What the answer has to look like, where the server can make use of it.
    fn form(&self, profile: &Profile, specs: &[&ToolSpec], choice: &ToolChoice) -> Option<Form> {
        let form = match self.holds {
            Holds::Nothing => return None,
            Holds::Schema | Holds::Grammar => self.kit.forms.get(profile, specs, choice)?,
        };
        (self.holds == Holds::Grammar || form.schema.is_some()).then_some(form)
    }

    fn language(&self) -> Language {
        helve_dialect::language_of(self.run.text())
    }
}

fn system_with_tools(system: &str, profile: &Profile, specs: &[&ToolSpec], language: Language) -> String {
    if specs.is_empty() {
        return system.to_owned();
    }
    let introduction = profile.introduction(specs, language);
    if system.is_empty() { introduction } else { format!("{system}\n\n{introduction}") }
}

/// The same conversation with calls and results as text, after a few worked examples.
fn in_text<'a>(
    turns: Vec<Turn<'a>>,
    profile: &Profile,
    specs: &[&ToolSpec],
    language: Language,
) -> Vec<Turn<'a>> {
    let mut text: Vec<Turn<'a>> = profile
        .examples(specs, language)
        .into_iter()
        .map(|example| match example.role {
            TurnRole::User => Turn::User(Cow::Owned(example.text)),
            TurnRole::Assistant => said(Cow::Owned(example.text)),
        })
        .collect();
    let mut turns = turns.into_iter().peekable();
    while let Some(turn) = turns.next() {
        match turn {
            Turn::User(words) => text.push(Turn::User(words)),
            Turn::Assistant { text: words, calls, .. } if calls.is_empty() => text.push(said(words)),
            Turn::Assistant { text: words, calls, .. } => {
                let views: Vec<_> = calls
                    .iter()
                    .map(|call| CallView { id: &call.id, name: &call.tool, arguments: &call.arguments })
                    .collect();
                let written = profile.call(&views);
                let words = if words.is_empty() { written } else { format!("{words}\n{written}") };
                text.push(said(Cow::Owned(words)));
            }
            Turn::Result { .. } => {
                let mut results = vec![turn];
                while let Some(more) = turns.next_if(|next| matches!(next, Turn::Result { .. })) {
                    results.push(more);
                }
                text.push(Turn::User(Cow::Owned(results_in_text(&results, profile, language))));
            }
        }
    }
    text
}

fn said(text: Cow<'_, str>) -> Turn<'_> {
    Turn::Assistant { text, reasoning: Cow::Borrowed(""), echo: None, calls: vec![] }
}

fn results_in_text(results: &[Turn<'_>], profile: &Profile, language: Language) -> String {
    let views: Vec<_> = results
        .iter()
        .filter_map(|turn| match turn {
            Turn::Result { id, tool, text, is_error } => {
                Some(ResultView { id, name: tool, text, is_error: *is_error })
            }
            Turn::User(_) | Turn::Assistant { .. } => None,
        })
        .collect();
    profile.result(&views, language)
}

/// The profile that a mode needs, if it is one of prompt mode.
pub(crate) fn profile_of<'a>(mode: &Mode, own: &'a [Arc<Profile>]) -> Option<&'a Profile> {
    let Mode::Prompt(name) = mode else { return None };
    let own = own.iter().find(|profile| profile.name() == name).map(|profile| &**profile);
    own.or_else(|| Profile::named(name))
}
