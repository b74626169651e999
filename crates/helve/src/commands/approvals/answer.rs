//! Answers, as they are written on the command line.

use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use helve_types::{Always, Answer, OutcomeAnswer, Question, Within, canonical_json};
use serde_json::Value;

use super::card::asks;
use super::reply::read_words;
use crate::i18n::{tr, words};

#[derive(Debug, Subcommand)]
pub(crate) enum GivenAnswer {
    /// Approve: the call runs, or the run may spend more
    Approve {
        /// Replace the arguments: a JSON object, or `@` and the name of a file with it
        #[arg(long, value_name = "JSON|@FILE")]
        arguments: Option<String>,
        /// Do not ask about this tool again in this run, in this conversation, or for this agent
        #[arg(long, value_name = "WITHIN")]
        always: Option<AlwaysWithin>,
    },
    /// Reject: the call does not run
    Reject {
        /// The reason that is given to the model
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Answer instead of the tool: the model receives this text as the result of the call
    Respond { text: String },
    /// The call with an unknown outcome did take effect
    Happened,
    /// The call did not take effect
    DidNotHappen,
    /// Run the call again, as a new call
    RunAgain,
    /// Tell the model what it wants to know
    Reply {
        /// A text, options by their words or numbers, fields as `name=value`, or one JSON object
        #[arg(required = true, value_name = "ANSWER")]
        answer: Vec<String>,
    },
    /// You would rather not answer what the model wants to know
    Decline {
        /// The reason that is given to the model
        #[arg(long, default_value = "")]
        reason: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlwaysWithin {
    Run,
    Conversation,
    Agent,
}

impl AlwaysWithin {
    pub(crate) fn always(self) -> Always {
        let within = match self {
            Self::Run => Within::Run,
            Self::Conversation => Within::Conversation,
            Self::Agent => Within::Agent,
        };
        Always { within, arguments: Default::default(), days: None }
    }
}

impl GivenAnswer {
    pub(crate) fn answer(self, question: &Question) -> anyhow::Result<Answer> {
        let outcome = |answer| Answer::Outcome { answer };
        let answer = match self {
            Self::Approve { arguments, always } => Answer::Approve {
                arguments: arguments.as_deref().map(read).transpose()?,
                always: always.map(AlwaysWithin::always),
            },
            Self::Reject { reason } => Answer::Reject { reason },
            Self::Respond { text } => Answer::Respond { text },
            Self::Happened => outcome(OutcomeAnswer::Happened),
            Self::DidNotHappen => outcome(OutcomeAnswer::DidNotHappen),
            Self::RunAgain => outcome(OutcomeAnswer::RunAgain),
            Self::Reply { answer } => match question.asked_by_model() {
                Some(asked) => Answer::Reply { value: read_words(&asked.form, &answer)? },
                None => bail!(tr!("this is no question of the model's; `reply` does not answer it")),
            },
            Self::Decline { reason } => Answer::Decline { reason },
        };
        let kind = question.kind();
        match answer.fits(kind) {
            true => Ok(answer),
            false => bail!(tr!("this answer does not fit the question: {question}", question = asks(kind))),
        }
    }
}

/// Arguments as the command line has them: themselves, or `@` and the name of a file.
pub(crate) fn read(given: &str) -> anyhow::Result<String> {
    match given.strip_prefix('@') {
        None => object(given),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| tr!("the arguments in `{path}` cannot be read", path = path))?;
            object(&text)
        }
    }
}

/// Arguments that a person wrote, if they can be sent, as they are sent.
pub(crate) fn object(text: &str) -> anyhow::Result<String> {
    match serde_json::from_str::<Value>(text) {
        Ok(object @ Value::Object(_)) => Ok(canonical_json(&object)),
        Ok(_) => bail!(tr!(
            "the arguments must be a JSON object, such as {example}",
            example = r#"{"text": "milk"}"#
        )),
        Err(error) => bail!(tr!(
            "the arguments are not JSON: {error}; write an object, such as {example}",
            error = words(&error),
            example = r#"'{"text": "milk"}'"#
        )),
    }
}
