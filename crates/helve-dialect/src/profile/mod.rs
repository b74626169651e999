//! Prompt profiles: how a model without native calling is told about tools, and what its history looks like.
//!
//! A profile is a file of templates, ours and a user's alike: introduction, tool definition, call, result. It names the
//! dialect in which answers are read, and is refused unless that dialect reads back the calls it writes.

mod check;
mod choose;
mod constraint;
mod examples;
mod generated_example;
mod marks;
mod search;
mod shipped;
mod views;

use helve_types::{ToolChoice, ToolSpec};
use minijinja::value::{Serde, Value as Template};
use minijinja::{Environment, UndefinedBehavior};
use serde::{Deserialize, Serialize};

pub use constraint::AnswerForm;
pub use examples::{ExampleOrder, ExampleTurn, TurnRole};
pub use helve_types::{Language, language_of};
pub use search::{SEARCH_RESULTS_MARK, search_reference};
pub use views::{CallView, ResultView};

use crate::{Dialect, dialect};
use choose::Detail;
use constraint::Shape;
use marks::Marks;
use views::{Call, Outcome, Tool};

/// How tools are put into words for one kind of model.
pub struct Profile {
    name: String,
    dialect: &'static Dialect,
    templates: Environment<'static>,
    constrained: bool,
    stops: Vec<String>,
    /// How the template writes calls, as far as it can be understood.
    shape: Option<Shape>,
    /// What a result must not be able to say.
    marks: Marks,
    /// Results stand in the prompt as they are, and not as JSON.
    results_as_text: bool,
}

/// The keys of a profile file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    dialect: String,
    tool: String,
    call: String,
    constraint: Option<String>,
    /// What its results begin with, at which the model's server stops it.
    #[serde(default)]
    stop: Vec<String>,
    introduction: Texts,
    result: Texts,
}

/// A template in the languages people and models read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Texts {
    en: String,
    /// English where it is missing.
    zh: Option<String>,
}

/// Why a profile was refused.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// Not TOML, or a key is missing, unknown or of the wrong type.
    #[error("{0}")]
    File(#[from] toml::de::Error),
    #[error("`dialect`: there is no dialect `{0}`")]
    NoDialect(String),
    /// A template has a fault in it.
    #[error("`{key}`: {fault}")]
    Template { key: &'static str, fault: String },
    /// What the profile asks for would not be understood.
    #[error("`call`: the dialect `{dialect}` does not read back what it writes: {written}")]
    NotReadBack { dialect: &'static str, written: String },
    /// A model must be stopped before a result that it makes up, and nowhere else.
    #[error("`stop`: {stop:?} {fault}")]
    Stop { stop: String, fault: &'static str },
}

/// Small models lose the thread of longer prompts, and everybody pays for them with every step.
const INTRODUCTION_CHARS_MAX: usize = 3_800;
/// Kept free for the headings of the lists.
const LISTS_CHARS: usize = 100;

/// Enough for thousands of tools, and an end to a template that would run for ever.
const FUEL: u64 = 50_000_000;

impl Profile {
    /// The profile of this name among those that come with Helve; `JSON_Strict` and `XML_Tag` name theirs too.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = shipped::canonical_name(name);
        shipped::profiles().iter().find(|profile| profile.name == name)
    }

    /// The names of the profiles that come with Helve; the first is the default.
    pub fn names() -> impl Iterator<Item = &'static str> {
        shipped::profiles().iter().map(|profile| profile.name.as_str())
    }

    /// Reads a profile file.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let file: File = toml::from_str(text)?;
        let dialect = dialect(&file.dialect).ok_or(ProfileError::NoDialect(file.dialect))?;
        let mut templates = Environment::new();
        templates.set_undefined_behavior(UndefinedBehavior::Strict);
        templates.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        templates.set_fuel(Some(FUEL));
        templates.add_filter("json", |text: String| helve_json::coerce::quote_text(&text));
        let constrained = file.constraint.is_some();
        let sources = [
            ("tool", Some(file.tool)),
            ("call", Some(file.call)),
            ("constraint", file.constraint),
            ("introduction.zh", file.introduction.zh.or_else(|| Some(file.introduction.en.clone()))),
            ("introduction.en", Some(file.introduction.en)),
            ("result.zh", file.result.zh.or_else(|| Some(file.result.en.clone()))),
            ("result.en", Some(file.result.en)),
        ];
        for (key, source) in sources {
            if let Some(source) = source {
                let added = templates.add_template_owned(key, source.trim().to_owned());
                added.map_err(|error| ProfileError::Template {
                    key,
                    fault: describe_template_error(&error),
                })?;
            }
        }
        let mut profile = Self {
            name: file.name,
            dialect,
            templates,
            constrained,
            stops: file.stop,
            shape: None,
            marks: Marks::default(),
            results_as_text: false,
        };
        profile.check()?;
        profile.shape = Shape::from_profile(&profile);
        profile.marks = Marks::from_profile(&profile);
        profile.results_as_text = profile.writes_results_as_text();
        Ok(profile)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The dialect in which answers are read.
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// What results begin with: a model that writes it makes one up, and is to be stopped there.
    pub fn stops(&self) -> &[String] {
        &self.stops
    }

    /// What the model is told before anything else: how to call, how to read results, which tools there are. It has a bound:
    /// where there are more tools than fit, those that the question is likely to need are described, the others are listed.
    pub fn introduction(&self, tools: &[&ToolSpec], question: &str, language: Language) -> String {
        self.or_failure_note(self.bounded_introduction(tools, question, language))
    }

    /// Worked examples as turns of the conversation, of the tools that the question is likely to need.
    pub fn examples(
        &self,
        tools: &[&ToolSpec],
        question: &str,
        language: Language,
        order: ExampleOrder,
    ) -> Vec<ExampleTurn> {
        examples::example_turns(self, tools, question, language, order)
    }

    /// What the model wrote, or should have written, to make these calls.
    pub fn call(&self, calls: &[CallView<'_>]) -> String {
        self.or_failure_note(self.try_call(calls))
    }

    /// What calls begin with as this profile writes them, without blanks: the first member of an object, or all that stands
    /// before the name.
    pub(crate) fn call_beginning(&self) -> String {
        const NAME: &str = "name_70717";
        let written = self.call(&[CallView { id: NAME, name: NAME, arguments: "{}" }]);
        let before = written.split(NAME).next().unwrap_or_default();
        let beginning: String = before.chars().filter(|c| !c.is_whitespace()).collect();
        let member = beginning.strip_prefix("{\"").and_then(|rest| rest.find('"'));
        match member {
            Some(end) => beginning[..end + 3].to_owned(),
            None => beginning,
        }
    }

    /// The message that brings the model its results. Whatever they say, they stay results.
    pub fn result(&self, results: &[ResultView<'_>], language: Language) -> String {
        self.or_failure_note(self.try_results(results, language))
    }

    /// What an answer has to look like, for servers that can hold a model to a form; `None` where tools must not
    /// be called, or where nothing can be said.
    pub fn form(&self, tools: &[&ToolSpec], choice: &ToolChoice) -> Option<AnswerForm> {
        constraint::build_form(self, tools, choice)
    }

    /// A JSON Schema of an answer that calls one of these tools, for servers that can constrain what a model
    /// writes. `None` where the profile's calls are not JSON.
    pub fn constraint(&self, tools: &[&ToolSpec]) -> Option<serde_json::Value> {
        serde_json::from_str(&self.try_constraint(tools)?.ok()?).ok()
    }

    fn bounded_introduction(
        &self,
        tools: &[&ToolSpec],
        question: &str,
        language: Language,
    ) -> Result<String, ProfileError> {
        let whole = self.try_introduction(tools, language)?;
        if count_chars(&whole) <= INTRODUCTION_CHARS_MAX {
            return Ok(whole);
        }
        let ranked = choose::rank_tools(tools, question);
        let mut costs = vec![];
        for tool in &ranked {
            let (full, brief) =
                (count_chars(&self.render_tool(tool)?) + 2, count_chars(&choose::format_brief(tool)) + 1);
            costs.push(choose::Cost { full, brief, name: count_chars(&tool.name) + 2 });
        }
        let frame = count_chars(&self.try_introduction(&[], language)?) + LISTS_CHARS;
        let details = choose::choose_details(&costs, INTRODUCTION_CHARS_MAX.saturating_sub(frame));
        let with = |wanted| {
            // In the order in which the tools came, so that it changes as little as it can.
            let chosen = |tool: &&&ToolSpec| {
                let at = ranked.iter().position(|other| std::ptr::eq(*other, **tool));
                at.and_then(|at| details.get(at)) == Some(&wanted)
            };
            tools.iter().filter(chosen).copied().collect::<Vec<&ToolSpec>>()
        };
        let mut text = self.try_introduction(&with(Detail::Full), language)?;
        let (more, by_name) = match language {
            Language::English => ("More tools, with their parameters:", "Further tools, by name:"),
            Language::Chinese => ("其他工具及其参数：", "还有这些工具，只列出名称："),
        };
        let brief = with(Detail::Brief);
        if !brief.is_empty() {
            let lines: Vec<String> = brief.into_iter().map(choose::format_brief).collect();
            text += &format!("\n\n{more}\n{}", lines.join("\n"));
        }
        let named: Vec<&str> = with(Detail::Name).into_iter().map(|tool| tool.name.as_str()).collect();
        if !named.is_empty() {
            text += &format!("\n\n{by_name} {}", named.join(", "));
        }
        let left = with(Detail::Nothing).len();
        if left > 0 {
            text += &format!(" … (+{left})");
        }
        Ok(text)
    }

    fn try_introduction(&self, tools: &[&ToolSpec], language: Language) -> Result<String, ProfileError> {
        #[derive(Serialize)]
        struct Context {
            tools: Vec<String>,
        }
        let tools = tools.iter().map(|tool| self.render_tool(tool)).collect::<Result<_, _>>()?;
        let key = match language {
            Language::English => "introduction.en",
            Language::Chinese => "introduction.zh",
        };
        self.render(key, Context { tools })
    }

    fn render_tool(&self, tool: &ToolSpec) -> Result<String, ProfileError> {
        #[derive(Serialize)]
        struct Context<'a> {
            tool: Tool<'a>,
        }
        let examples = tool.examples.iter().map(|example| {
            let arguments = examples::spaced_json(&example.arguments);
            let call = CallView { id: "call_1", name: &tool.name, arguments: &arguments };
            Ok((example, self.try_call(&[call])?))
        });
        let examples = examples.collect::<Result<Vec<_>, ProfileError>>()?;
        self.render("tool", Context { tool: Tool::new(tool, examples) })
    }

    fn try_call(&self, calls: &[CallView<'_>]) -> Result<String, ProfileError> {
        #[derive(Serialize)]
        struct Context<'a> {
            calls: Vec<Call<'a>>,
        }
        self.render("call", Context { calls: calls.iter().map(Call::new).collect() })
    }

    fn try_result(&self, results: &[ResultView<'_>], language: Language) -> Result<String, ProfileError> {
        #[derive(Serialize)]
        struct Context<'a> {
            results: Vec<Outcome<'a>>,
        }
        let key = match language {
            Language::English => "result.en",
            Language::Chinese => "result.zh",
        };
        let names: Vec<&str> = results.iter().map(|result| result.name).collect();
        let results = results.iter().map(|result| Outcome::new(result, &self.marks, &names)).collect();
        self.render(key, Context { results })
    }

    fn try_constraint(&self, tools: &[&ToolSpec]) -> Option<Result<String, ProfileError>> {
        #[derive(Serialize)]
        struct Context<'a> {
            tools: Vec<Tool<'a>>,
        }
        let tools = tools.iter().map(|tool| Tool::new(tool, Vec::new())).collect();
        self.constrained.then(|| self.render("constraint", Context { tools }))
    }

    fn render(&self, key: &'static str, context: impl Serialize) -> Result<String, ProfileError> {
        let rendered =
            self.templates.get_template(key).and_then(|t| t.render(Template::from(Serde(context))));
        rendered.map_err(|error| ProfileError::Template { key, fault: describe_template_error(&error) })
    }

    /// Parsing has tried every template, so only a template that ran out of fuel can fail here. It says so in its
    /// place, where its author will find it.
    fn or_failure_note(&self, rendered: Result<String, ProfileError>) -> String {
        rendered.unwrap_or_else(|error| format!("(profile `{}` failed: {error})", self.name))
    }
}

fn count_chars(text: &str) -> usize {
    text.chars().count()
}

/// What is wrong in a template, and in which of its lines.
fn describe_template_error(error: &minijinja::Error) -> String {
    let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    match error.line() {
        Some(line) => format!("line {line}: {what}"),
        None => what,
    }
}

#[cfg(test)]
mod tests;
