//! Asks a model a few cheap questions, once, and writes down what it can do.
//!
//! The order matters: whether it calls natively decides what else is worth asking. What an answer means is said
//! in `judge`, without asking the model. Nothing here runs a tool.

mod ask;
mod judge;
mod tools;

use crate::{Model, ModelError, ModelErrorKind, ModelRequest, Needs, Turn, TurnCall};
use helve_dialect::Profile;
use helve_types::{Finding, ModelProfile, Timestamp, ToolChoice, ToolSpec};

use self::ask::{ProbeAnswer, Reply};
use super::prompt_mode;

/// A model that is being asked.
pub struct Probe<'a> {
    pub model: &'a dyn Model,
    /// What is told to those who watch, question by question.
    pub progress: &'a mut (dyn FnMut(&str) + Send),
    /// The prompt profiles to try where there are no native calls, in this order.
    pub profiles: Vec<&'a Profile>,
    pub profile: ModelProfile,
}

/// What is asked, with the way of calling left to the vendor.
struct Question<'a> {
    turns: Vec<Turn<'a>>,
    tools: Vec<&'a ToolSpec>,
    choice: ToolChoice,
    needs: Needs,
}

impl<'a> Question<'a> {
    fn new(turns: Vec<Turn<'a>>, tools: Vec<&'a ToolSpec>) -> Self {
        Self { turns, tools, choice: ToolChoice::Auto, needs: Needs::default() }
    }
}

const NATIVE: &str = "What time is it in Tokyo now? Use the tool `time`.";
const AGAIN: &str = "Read the clock in Asia/Tokyo with the tool `time`, and tell me what it says.";
const PARALLEL: &str =
    "What time is it in Tokyo, and what time is it in London? Ask for both at once: call `time` twice.";
const GREETING: &str = "Good morning!";

impl<'a> Probe<'a> {
    pub fn new(
        model: &'a dyn Model,
        subject: &str,
        at: Timestamp,
        profiles: Vec<&'a Profile>,
        progress: &'a mut (dyn FnMut(&str) + Send),
    ) -> Self {
        Self { model, progress, profiles, profile: ModelProfile::unknown(at, subject) }
    }

    /// Asks everything that is worth asking. Fails only if the model cannot be asked at all.
    pub async fn run(mut self) -> Result<ModelProfile, ModelError> {
        let clock = tools::clock_tool();
        match self.probe_native_calls(&clock).await? {
            Some(said) => {
                self.probe_parallel_calls(&clock).await;
                self.probe_required_choice(&clock).await;
                self.probe_reasoning_back(&clock, &said).await;
                self.probe_schema_keywords(&clock).await;
            }
            None => self.probe_prompt_profiles(&clock).await,
        }
        Ok(self.profile)
    }

    /// Whether it calls a tool at all. Gives the message in which it did.
    async fn probe_native_calls(&mut self, clock: &ToolSpec) -> Result<Option<ProbeAnswer>, ModelError> {
        (self.progress)("does it call tools natively?");
        for question in [NATIVE, AGAIN] {
            match self.ask_with_tool(question, clock, ToolChoice::Auto).await {
                Reply::Answer(said) => {
                    let heard = judge::judge_native_call(&said, clock);
                    self.profile.native = heard.finding;
                    self.profile.calls_in_text = heard.in_text;
                    self.profile.dialect = heard.dialect.map(str::to_owned).or(self.profile.dialect.take());
                    self.profile.reasons = judge::judge_reasoning(&said);
                    self.profile.reasoning_open = judge::judge_reasoning_opened_by_prompt(&said);
                    if self.profile.native.is_unknown() {
                        return Ok(None);
                    }
                    if self.profile.native.is_yes() {
                        self.profile.streams_arguments = judge::judge_argument_streaming(&said);
                        self.profile.names_its_end = judge::judge_stop_reason(&said);
                        return Ok(Some(said));
                    }
                }
                Reply::Refused(error) if error.kind == ModelErrorKind::NoTools => {
                    self.profile.native = Finding::no(judge::shorten(&error.message));
                    return Ok(None);
                }
                Reply::Refused(error) => return self.check_refusal_without_tools(error).await,
            }
        }
        Ok(None)
    }

    /// A question with tools was refused: was it because of the tools?
    async fn check_refusal_without_tools(
        &mut self,
        error: ModelError,
    ) -> Result<Option<ProbeAnswer>, ModelError> {
        // Only a server that says no has said anything about tools; one that is down has not.
        if error.kind != ModelErrorKind::Refused {
            return Err(error);
        }
        match self.ask_question(Question::new(vec![user_turn(GREETING)], vec![])).await {
            Reply::Answer(_) => {
                self.profile.native = Finding::no(format!(
                    "a question with tools is refused: {}",
                    judge::shorten(&error.message)
                ));
                Ok(None)
            }
            Reply::Refused(_) => Err(error),
        }
    }

    async fn probe_parallel_calls(&mut self, clock: &ToolSpec) {
        (self.progress)("does it ask for two calls at once?");
        self.profile.parallel = match self.ask_with_tool(PARALLEL, clock, ToolChoice::Auto).await {
            Reply::Answer(said) => judge::judge_parallel_calls(&said),
            Reply::Refused(error) => Finding::unknown(judge::shorten(&error.message)),
        };
    }

    async fn probe_required_choice(&mut self, clock: &ToolSpec) {
        (self.progress)("does it call a tool because it must?");
        self.profile.required = match self.ask_with_tool(GREETING, clock, ToolChoice::Required).await {
            Reply::Answer(said) => judge::judge_required_choice(&said),
            Reply::Refused(error) if error.kind == ModelErrorKind::Refused => {
                Finding::no(judge::shorten(&error.message))
            }
            Reply::Refused(error) => Finding::unknown(judge::shorten(&error.message)),
        };
    }

    /// Whether the conversation may go on without what the model thought before its call.
    async fn probe_reasoning_back(&mut self, clock: &ToolSpec, said: &ProbeAnswer) {
        if !self.profile.reasons.is_yes() {
            self.profile.wants_reasoning_back = Finding::no("it shows no reasoning");
            return;
        }
        (self.progress)("does it want its reasoning back?");
        let without = self.ask_question(question_after_call(clock, said, ReturnedReasoning::Nothing)).await;
        let with = match &without {
            Reply::Answer(_) => None,
            Reply::Refused(_) => {
                Some(self.ask_question(question_after_call(clock, said, ReturnedReasoning::Reasoning)).await)
            }
        };
        self.profile.wants_reasoning_back = judge::judge_reasoning_back(&without, with.as_ref());
    }

    async fn probe_schema_keywords(&mut self, clock: &ToolSpec) {
        (self.progress)("which words of JSON Schema does its server take?");
        let all = tools::tool_with_all_keywords();
        let Reply::Refused(error) = self.ask_with_tool(GREETING, &all, ToolChoice::Auto).await else {
            self.profile.rich_schemas = Finding::yes("a tool with every keyword was taken");
            return;
        };
        // Some servers say no, others break over it; so does one that is down for a while. A server that takes a plain tool
        // and then refuses the rich one again means it.
        let plain = self.ask_with_tool(GREETING, clock, ToolChoice::Auto).await;
        let again = self.ask_with_tool(GREETING, &all, ToolChoice::Auto).await;
        if !matches!((plain, again), (Reply::Answer(_), Reply::Refused(_))) {
            self.profile.rich_schemas = Finding::unknown(judge::shorten(&error.message));
            return;
        }
        self.profile.rich_schemas = Finding::no(judge::shorten(&error.message));
        for keyword in tools::KEYWORDS {
            let one = tools::tool_with_keyword(keyword);
            if let Reply::Refused(_) = self.ask_with_tool(GREETING, &one, ToolChoice::Auto).await {
                self.profile.rejects.push((*keyword.name).to_owned());
            }
        }
    }

    /// Which of the prompt profiles makes it write a call that can be read.
    async fn probe_prompt_profiles(&mut self, clock: &ToolSpec) {
        for profile in self.profiles.clone() {
            (self.progress)(&format!("does it write calls as `{}` shows?", profile.name()));
            let specs = [clock];
            let form = prompt_mode::build_form(self.model.form_support(), profile, &specs, &ToolChoice::Auto);
            let (system, turns) =
                prompt_mode::describe_tools_in_prompt(profile, &specs, AGAIN, form.as_ref());
            let params = ask::probe_params(self.model);
            let request = ModelRequest {
                stable: system.len(),
                system: system.into(),
                turns,
                tools: vec![],
                tool_choice: &ToolChoice::None,
                params: &params,
                form,
                needs: Needs::default(),
                stop: profile.stops(),
                stream: true,
            };
            let reply = ask::ask_with_retries(self.model, &request).await;
            self.count_reply(&reply);
            if let Reply::Answer(said) = reply
                && let Some(dialect) = judge::dialect_of_written_call(&said, clock, Some(profile))
            {
                self.profile.prompt = Some(profile.name().to_owned());
                self.profile.dialect = Some(dialect.to_owned());
                return;
            }
        }
    }

    async fn ask_with_tool(&mut self, words: &str, tool: &ToolSpec, choice: ToolChoice) -> Reply {
        self.ask_question(Question { choice, ..Question::new(vec![user_turn(words)], vec![tool]) }).await
    }

    async fn ask_question(&mut self, question: Question<'_>) -> Reply {
        let Question { turns, tools, choice, needs } = question;
        let params = ask::probe_params(self.model);
        let request = ModelRequest {
            system: "".into(),
            stable: 0,
            turns,
            tools,
            tool_choice: &choice,
            params: &params,
            form: None,
            needs,
            stop: &[],
            stream: true,
        };
        let reply = ask::ask_with_retries(self.model, &request).await;
        self.count_reply(&reply);
        reply
    }

    fn count_reply(&mut self, reply: &Reply) {
        self.profile.questions += 1;
        if let Reply::Answer(said) = reply {
            self.profile.usage = self.profile.usage.plus(said.usage);
        }
    }
}

fn user_turn(words: &str) -> Turn<'_> {
    Turn::User(words.into())
}

/// What goes back with the message that made the call.
enum ReturnedReasoning {
    Nothing,
    Reasoning,
}

/// The same conversation one step later: the call was made, here is the result.
fn question_after_call<'a>(
    clock: &'a ToolSpec,
    said: &'a ProbeAnswer,
    back: ReturnedReasoning,
) -> Question<'a> {
    let (reasoning, echo) = match &back {
        ReturnedReasoning::Nothing => ("", None),
        ReturnedReasoning::Reasoning => (&*said.reasoning, said.echo.as_ref()),
    };
    let id = |at: usize, call: &ask::AnswerCall| call.id.clone().unwrap_or_else(|| format!("call_{at}"));
    let calls = said.calls.iter().enumerate().map(|(at, call)| TurnCall {
        id: id(at, call).into(),
        tool: (&*call.tool).into(),
        arguments: (&*call.arguments).into(),
    });
    let asked = Turn::Assistant {
        text: (&*said.text).into(),
        reasoning: reasoning.into(),
        echo,
        calls: calls.collect(),
    };
    let results = said.calls.iter().enumerate().map(|(at, call)| Turn::Result {
        id: id(at, call).into(),
        tool: (&*call.tool).into(),
        text: "09:41".into(),
        is_error: false,
    });
    let turns = [user_turn(NATIVE), asked].into_iter().chain(results).collect();
    let needs = Needs { reasoning_back: matches!(back, ReturnedReasoning::Reasoning), ..Needs::default() };
    Question { needs, ..Question::new(turns, vec![clock]) }
}

#[cfg(test)]
mod tests;
