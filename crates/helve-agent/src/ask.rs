//! From a run to a request: what the model is told, in the way it calls tools.

mod demand;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use helve_dialect::{
    CallView, Language, Profile, Quotable, Reading, ResultView, TurnRole, escape_output, escape_user_text,
};
use helve_model::{Form, FormSupport, ModelRequest, Needs, Turn, TurnCall};
use helve_types::{CallId, Message, Mode, ModelParams, ToolChoice, ToolSpec};

use crate::agents::Kit;
use crate::forms;
use crate::run::{Run, Tools};
use crate::transcript::{Reader, transcript};

/// Everything a request is made of.
pub(crate) struct Asking<'a> {
    pub(crate) run: &'a Run,
    /// The system prompt, before tools and demands are added to it.
    pub(crate) system: &'a str,
    pub(crate) reader: Reader<'a>,
    pub(crate) history: &'a [Message],
    pub(crate) kit: &'a Kit,
    pub(crate) tools: Tools,
    pub(crate) params: &'a ModelParams,
    pub(crate) needs: Needs,
    /// The profile of prompt mode; none in native mode.
    pub(crate) profile: Option<&'a Profile>,
    /// What it is to do about tools in this step.
    pub(crate) choice: &'a ToolChoice,
    /// Whether its server can be told so.
    pub(crate) takes_choice: bool,
    /// What it has just said in place of a call that was required.
    pub(crate) words: Option<&'a str>,
    /// What the model's server can hold it to.
    pub(crate) holds: FormSupport,
    /// Whether its answer begins inside reasoning that its prompt has opened.
    pub(crate) reasoning_open: bool,
    /// Whether its server leaves native calls in the text.
    pub(crate) calls_in_text: bool,
}

const NO_CHOICE: ToolChoice = ToolChoice::None;

impl<'a> Asking<'a> {
    pub(crate) fn request(&self) -> ModelRequest<'a> {
        let mut turns = transcript(self.history, self.run, self.reader);
        without_special_tokens(&mut turns, self.profile.is_none());
        let setup = self.run.setup();
        let specs: Vec<&'a ToolSpec> = match self.tools {
            Tools::Withheld => vec![],
            Tools::Offered => self.kit.toolbox.specs().map(|spec| &**spec).collect(),
        };
        let demand = self.demand(&specs);
        self.remind(&specs, &mut turns);
        let header = stable_header(&setup.system, self.system);
        match self.profile {
            None => ModelRequest {
                system: match demand {
                    None => Cow::Borrowed(self.system),
                    Some(demand) => Cow::Owned(joined(self.system, &demand)),
                },
                stable: header,
                turns,
                tool_choice: match self.choice {
                    _ if specs.is_empty() => &NO_CHOICE,
                    choice if self.takes_choice => choice,
                    _ => &ToolChoice::Auto,
                },
                tools: specs,
                params: self.params,
                form: None,
                needs: self.needs,
                stop: &[],
                stream: setup.stream,
            },
            Some(profile) => {
                // The tools are the same in every step, so they stand before what hooks add.
                let whole = header == setup.system.len();
                let (kept, changing) = self.system.split_at(if whole { header } else { self.system.len() });
                let system = system_with_tools(kept, profile, &specs, self.run.text(), self.language());
                let stable = if whole { system.len() } else { header };
                let changing = Some(changing.trim_start()).filter(|changing| !changing.is_empty());
                let more = changing.into_iter().chain(demand.as_deref());
                ModelRequest {
                    system: Cow::Owned(more.fold(system, |system, more| joined(&system, more))),
                    stable,
                    turns: in_text(turns, profile, &specs, self.run.text(), self.language()),
                    tools: vec![],
                    tool_choice: &NO_CHOICE,
                    params: self.params,
                    form: self.form(profile, &specs, self.choice),
                    needs: self.needs,
                    stop: profile.stops(),
                    stream: setup.stream,
                }
            }
        }
    }

    /// Whether the model's text is read for calls. Where it calls natively, its text is text.
    pub(crate) fn reads_calls(&self) -> bool {
        self.profile.is_some() || self.calls_in_text
    }

    /// How the answer is to be read: in whatever dialect it is written, since a model that was told one may answer in
    /// another. What the model was told by users and tools it may quote.
    pub(crate) fn reading(&self) -> Reading {
        let tools = match self.tools {
            Tools::Withheld => helve_dialect::Tools::new([]),
            Tools::Offered => self.kit.words.clone(),
        };
        if !self.reads_calls() {
            return Reading::without_calls(tools).reasoning_open(self.reasoning_open);
        }
        let turns = transcript(self.history, self.run, self.reader);
        let quotable = Quotable::new(turns.iter().filter_map(|turn| match turn {
            Turn::User(text) | Turn::Result { text, .. } => Some(&**text),
            Turn::Assistant { .. } => None,
        }));
        Reading::expecting(self.profile.map(Profile::dialect), tools)
            .strict(Arc::new(quotable), self.profile)
            .reasoning_open(self.reasoning_open)
    }

    /// What a model begins a result with that it makes up.
    pub(crate) fn results(&self) -> Vec<String> {
        let own = self.profile.map_or(&[][..], Profile::stops);
        let marks = helve_dialect::RESULT_MARKS.into_iter().chain([helve_dialect::SEARCH_RESULTS_MARK]);
        own.iter().cloned().chain(marks.map(str::to_owned)).collect()
    }

    /// That a call is required, where words are the way to say it.
    fn demand(&self, specs: &[&ToolSpec]) -> Option<String> {
        let in_words = self.profile.is_some() || !self.takes_choice || self.words.is_some();
        (in_words && !specs.is_empty()).then(|| demand::sentence(self.choice, self.language())).flatten()
    }

    /// Shows the model its own words, and that they are no call.
    fn remind(&self, specs: &[&ToolSpec], turns: &mut Vec<Turn<'a>>) {
        // A turn without words would be refused, and two turns of one side by some.
        if let Some(words) = self.words.filter(|words| !words.trim().is_empty() && !specs.is_empty())
            && let Some(reminder) = demand::reminder(self.choice, self.language())
        {
            turns.push(said(Cow::Borrowed(words)));
            turns.push(Turn::User(Cow::Owned(reminder)));
        }
    }

    /// What the answer has to look like, where the server can make use of it.
    fn form(&self, profile: &Profile, specs: &[&ToolSpec], choice: &ToolChoice) -> Option<Form> {
        useful(self.holds, || self.kit.forms.get(profile, specs, choice))
    }

    fn language(&self) -> Language {
        self.run.language()
    }
}

/// What people say and what tools give back is sent without the tokens of models' own templates. Results in a prompt are the
/// profile's to write.
fn without_special_tokens(turns: &mut [Turn<'_>], native: bool) {
    for turn in turns {
        let (Turn::User(text) | Turn::Result { text, .. }) = &*turn else { continue };
        let sent = match turn {
            Turn::User(_) => escape_user_text(text),
            _ if native => escape_output(text),
            _ => continue,
        };
        if let Cow::Owned(sent) = sent
            && let Turn::User(text) | Turn::Result { text, .. } = turn
        {
            *text = Cow::Owned(sent);
        }
    }
}

/// How many bytes of what hooks have made of the system prompt stay the same: the agent's own prompt, where it stands
/// before what they add, and else its lines up to the first that they changed.
fn stable_header(own: &str, hooked: &str) -> usize {
    if hooked.starts_with(own) {
        return own.len();
    }
    let same = own.bytes().zip(hooked.bytes()).take_while(|(own, hooked)| own == hooked).count();
    own.as_bytes()[..same].iter().rposition(|byte| *byte == b'\n').unwrap_or(0)
}

fn system_with_tools(
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
    joined(system, &introduction)
}

pub(crate) fn joined(system: &str, more: &str) -> String {
    match (system, more) {
        (only, "") | ("", only) => only.to_owned(),
        (system, more) => format!("{system}\n\n{more}"),
    }
}

/// A form, if a server that holds its model to so much can make use of it.
fn useful(holds: FormSupport, form: impl FnOnce() -> Option<Form>) -> Option<Form> {
    match holds {
        FormSupport::None => None,
        FormSupport::Schema => form().filter(|form| form.schema.is_some()),
        FormSupport::Grammar => form(),
    }
}

/// The form of an answer to a question outside of any run.
pub(crate) fn form(
    holds: FormSupport,
    profile: &Profile,
    specs: &[&ToolSpec],
    choice: &ToolChoice,
) -> Option<Form> {
    useful(holds, || forms::form(profile, specs, choice))
}

/// A question with the tools described in the prompt, outside of any run: the system prompt and the turns.
pub(crate) fn described<'a>(
    profile: &Profile,
    specs: &[&ToolSpec],
    question: &'a str,
) -> (String, Vec<Turn<'a>>) {
    let language = helve_dialect::language_of(question);
    let turns = in_text(vec![Turn::User(Cow::Borrowed(question))], profile, specs, question, language);
    (system_with_tools("", profile, specs, question, language), turns)
}

/// The same conversation with calls and results as text, after a few worked examples.
fn in_text<'a>(
    turns: Vec<Turn<'a>>,
    profile: &Profile,
    specs: &[&ToolSpec],
    question: &str,
    language: Language,
) -> Vec<Turn<'a>> {
    let mut text: Vec<Turn<'a>> = profile
        .examples(specs, question, language)
        .into_iter()
        .map(|example| match example.role {
            TurnRole::User => Turn::User(Cow::Owned(example.text)),
            TurnRole::Assistant => said(Cow::Owned(example.text)),
        })
        .collect();
    // Ids that the model has never seen: its way of writing calls has none, and it gave none itself.
    let mut unseen: HashSet<String> = HashSet::new();
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
                let own =
                    |call: &&TurnCall<'_>| call.id.parse::<CallId>().is_ok() && !written.contains(&*call.id);
                unseen.extend(calls.iter().filter(own).map(|call| call.id.to_string()));
                let words = if words.is_empty() { written } else { format!("{words}\n{written}") };
                text.push(said(Cow::Owned(words)));
            }
            Turn::Result { .. } => {
                let mut results = vec![turn];
                while let Some(more) = turns.next_if(|next| matches!(next, Turn::Result { .. })) {
                    results.push(more);
                }
                text.push(Turn::User(Cow::Owned(results_in_text(&results, &unseen, profile, language))));
            }
        }
    }
    text
}

fn said(text: Cow<'_, str>) -> Turn<'_> {
    Turn::Assistant { text, reasoning: Cow::Borrowed(""), echo: None, calls: vec![] }
}

/// Results as the profile writes them, each under an id that the model knows: its own, or one made of the tool's name.
fn results_in_text(
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
pub(crate) fn profile_of<'a>(mode: &Mode, own: &'a [Arc<Profile>]) -> Option<&'a Profile> {
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
        match in_text(turns, profile, &[], "", Language::English).pop() {
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
