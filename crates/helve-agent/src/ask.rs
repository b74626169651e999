//! From a run to a request: what the model is told, in the way it calls tools.

mod demand;

use std::borrow::Cow;
use std::sync::Arc;

use helve_dialect::{Language, Profile, Quotable, Reading, escape_output, escape_user_text};
use helve_model::fleet::prompt_mode::{
    add_tools_to_system, assistant_turn, build_form_if_supported, join_prompts, turns_as_text,
};
use helve_model::{Form, FormSupport, ModelRequest, Needs, Turn};
use helve_tool::Toolbox;
use helve_types::{Message, ModelParams, ToolChoice, ToolSpec};

use crate::agents::RunTools;
use crate::run::{Run, Tools};
use crate::transcript::{Reader, transcript};

/// Everything a request is made of.
pub(crate) struct RequestBuilder<'a> {
    pub(crate) run: &'a Run,
    /// The system prompt, before tools and demands are added to it.
    pub(crate) system: &'a str,
    pub(crate) reader: Reader<'a>,
    pub(crate) history: &'a [Message],
    pub(crate) run_tools: &'a RunTools,
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

impl<'a> RequestBuilder<'a> {
    pub(crate) fn build_request(&self) -> ModelRequest<'a> {
        let mut turns = transcript(self.history, self.run, self.reader);
        hide_agents_arguments(&mut turns, &self.run_tools.toolbox);
        escape_special_tokens(&mut turns, self.profile.is_none());
        let setup = self.run.setup();
        let specs: Vec<&'a ToolSpec> = match self.tools {
            Tools::Withheld => vec![],
            Tools::Offered => self.run_tools.toolbox.specs().map(|spec| &**spec).collect(),
        };
        let demand = self.build_call_demand(&specs);
        self.add_call_reminder(&specs, &mut turns);
        let header = unchanged_prompt_bytes(&setup.system, self.system);
        match self.profile {
            None => ModelRequest {
                system: match demand {
                    None => Cow::Borrowed(self.system),
                    Some(demand) => Cow::Owned(join_prompts(self.system, &demand)),
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
                let system =
                    add_tools_to_system(kept, profile, &specs, self.run.input_text(), self.language());
                let stable = if whole { system.len() } else { header };
                let changing = Some(changing.trim_start()).filter(|changing| !changing.is_empty());
                let more = changing.into_iter().chain(demand.as_deref());
                let form = self.build_form(profile, &specs, self.choice);
                let (question, language) = (self.run.input_text(), self.language());
                ModelRequest {
                    system: Cow::Owned(more.fold(system, |system, more| join_prompts(&system, more))),
                    stable,
                    turns: turns_as_text(turns, profile, &specs, question, language, form.as_ref()),
                    tools: vec![],
                    tool_choice: &NO_CHOICE,
                    params: self.params,
                    form,
                    needs: self.needs,
                    stop: profile.stops(),
                    stream: setup.stream,
                }
            }
        }
    }

    /// Whether the model's text is read for calls. Where it calls natively, its text is text.
    pub(crate) fn reads_calls_in_text(&self) -> bool {
        self.profile.is_some() || self.calls_in_text
    }

    /// How the answer is to be read: in whatever dialect it is written, since a model that was told one may answer in
    /// another. What the model was told by users and tools it may quote.
    pub(crate) fn build_reading(&self) -> Reading {
        let tools = match self.tools {
            Tools::Withheld => helve_dialect::Tools::new([]),
            Tools::Offered => self.run_tools.words.clone(),
        };
        if !self.reads_calls_in_text() {
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
    pub(crate) fn invented_result_beginnings(&self) -> Vec<String> {
        let own = self.profile.map_or(&[][..], Profile::stops);
        let marks = helve_dialect::RESULT_MARKS.into_iter().chain([helve_dialect::SEARCH_RESULTS_MARK]);
        own.iter().cloned().chain(marks.map(str::to_owned)).collect()
    }

    /// That a call is required, where words are the way to say it.
    fn build_call_demand(&self, specs: &[&ToolSpec]) -> Option<String> {
        let in_words = self.profile.is_some() || !self.takes_choice || self.words.is_some();
        (in_words && !specs.is_empty()).then(|| demand::write_demand(self.choice, self.language())).flatten()
    }

    /// Shows the model its own words, and that they are no call.
    fn add_call_reminder(&self, specs: &[&ToolSpec], turns: &mut Vec<Turn<'a>>) {
        // A turn without words would be refused, and two turns of one side by some.
        if let Some(words) = self.words.filter(|words| !words.trim().is_empty() && !specs.is_empty())
            && let Some(reminder) = demand::write_reminder(self.choice, self.language())
        {
            turns.push(assistant_turn(Cow::Borrowed(words)));
            turns.push(Turn::User(Cow::Owned(reminder)));
        }
    }

    /// What the answer has to look like, where the server can make use of it.
    fn build_form(&self, profile: &Profile, specs: &[&ToolSpec], choice: &ToolChoice) -> Option<Form> {
        build_form_if_supported(self.holds, || self.run_tools.forms.get_or_build(profile, specs, choice))
    }

    fn language(&self) -> Language {
        self.run.language()
    }
}

/// What the agent adds to calls is not the model's: it sees its calls as it wrote them.
pub(crate) fn hide_agents_arguments<'t, 'a: 't>(
    turns: impl IntoIterator<Item = &'t mut Turn<'a>>,
    toolbox: &Toolbox,
) {
    for turn in turns {
        let Turn::Assistant { calls, .. } = turn else { continue };
        for call in calls {
            let tool = toolbox.find(&call.tool);
            if let Some(arguments) = tool.and_then(|tool| tool.arguments_for_model(&call.arguments)) {
                call.arguments = Cow::Owned(arguments);
            }
        }
    }
}

/// What people say and what tools give back is sent without the tokens of models' own templates. Results in a prompt are the
/// profile's to write.
fn escape_special_tokens(turns: &mut [Turn<'_>], native: bool) {
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
fn unchanged_prompt_bytes(own: &str, hooked: &str) -> usize {
    if hooked.starts_with(own) {
        return own.len();
    }
    let same = own.bytes().zip(hooked.bytes()).take_while(|(own, hooked)| own == hooked).count();
    own.as_bytes()[..same].iter().rposition(|byte| *byte == b'\n').unwrap_or(0)
}
