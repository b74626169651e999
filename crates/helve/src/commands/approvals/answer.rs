//! Answers, as they are written on the command line.

use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use helve_types::{Always, Answer, OutcomeAnswer, Within, canonical_json};
use serde_json::Value;

#[derive(Debug, Subcommand)]
pub(crate) enum GivenAnswer {
    /// Yes: the call runs, the run may spend more
    Approve {
        /// Other arguments than the model's: a JSON object, or `@` and the file that holds it
        #[arg(long, value_name = "JSON|@FILE")]
        arguments: Option<String>,
        /// Do not ask again about this tool, for as long as this run, in this conversation, or whatever the agent does
        #[arg(long, value_name = "WITHIN")]
        always: Option<AlwaysWithin>,
    },
    /// No: the call does not run
    Reject {
        /// What the model is told
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Answer in the tool's place: the model takes it for the call's result
    Respond { text: String },
    /// The call whose outcome is unknown did take effect
    Happened,
    /// It did not take effect
    DidNotHappen,
    /// Run it again, as a new call
    RunAgain,
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
    pub(crate) fn answer(self) -> anyhow::Result<Answer> {
        let outcome = |answer| Answer::Outcome { answer };
        Ok(match self {
            Self::Approve { arguments, always } => Answer::Approve {
                arguments: arguments.as_deref().map(read).transpose()?,
                always: always.map(AlwaysWithin::always),
            },
            Self::Reject { reason } => Answer::Reject { reason },
            Self::Respond { text } => Answer::Respond { text },
            Self::Happened => outcome(OutcomeAnswer::Happened),
            Self::DidNotHappen => outcome(OutcomeAnswer::DidNotHappen),
            Self::RunAgain => outcome(OutcomeAnswer::RunAgain),
        })
    }
}

fn read(given: &str) -> anyhow::Result<String> {
    match given.strip_prefix('@') {
        None => object(given),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("the arguments in `{path}` cannot be read"))?;
            object(&text)
        }
    }
}

/// Arguments that a person wrote, if they can be sent, as they are sent.
pub(crate) fn object(text: &str) -> anyhow::Result<String> {
    match serde_json::from_str::<Value>(text) {
        Ok(object @ Value::Object(_)) => Ok(canonical_json(&object)),
        Ok(_) => bail!("the arguments must be a JSON object, such as {{\"text\": \"milk\"}}"),
        Err(error) => bail!("the arguments are no JSON: {error}"),
    }
}
