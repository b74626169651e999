//! Tools whose effects can be counted: each tells the ledger what it does, under the call's id.

use std::sync::Arc;
use std::time::Duration;

use helve::assemble::ExtraTool;
use helve_guard::LimitSettings;
use helve_tool::{CallContext, Guards, Limits, Request, Tool, ToolError, ToolFuture, schema_of};
use helve_types::{Effect, OnUnknown, ToolOutput, ToolSpec};
use reqwest::{Client, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::ledger::Order;

/// A tool of the lab, as it truly is.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub class: Effect,
    pub on_unknown: OnUnknown,
    pub guards: fn() -> Guards,
}

/// Those whose names begin with `effect_ask` need a person's consent; all others are allowed.
pub const KINDS: &[Kind] = &[
    Kind { name: "effect_read", class: Effect::Read, on_unknown: OnUnknown::TellModel, guards: calm },
    Kind { name: "effect_put", class: Effect::Idempotent, on_unknown: OnUnknown::TellModel, guards: tight },
    Kind { name: "effect_send", class: Effect::NonIdempotent, on_unknown: OnUnknown::AskUser, guards: calm },
    Kind {
        name: "effect_tell",
        class: Effect::NonIdempotent,
        on_unknown: OnUnknown::TellModel,
        guards: hasty,
    },
    Kind { name: "effect_ask", class: Effect::NonIdempotent, on_unknown: OnUnknown::FailRun, guards: calm },
    Kind { name: "effect_ask_put", class: Effect::Idempotent, on_unknown: OnUnknown::AskUser, guards: calm },
];

/// The rules that go with them, for a configuration file.
pub const PERMISSIONS: &str = "\
[[permissions]]
tool = \"effect_ask*\"
action = \"ask\"

[[permissions]]
tool = \"effect_*\"
action = \"allow\"
";

pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

fn calm() -> Guards {
    Guards { timeout: Duration::from_secs(5), attempts: 2, ..Guards::default() }
}

/// Gives up sooner than the ledger sometimes answers.
fn hasty() -> Guards {
    Guards { timeout: Duration::from_millis(150), attempts: 3, ..Guards::default() }
}

/// Refuses when too many want it at once, also between two attempts of one call.
fn tight() -> Guards {
    let limit =
        LimitSettings { concurrent: Some(2), wait: Duration::from_millis(5), ..LimitSettings::default() };
    Guards {
        timeout: Duration::from_millis(500),
        attempts: 3,
        limits: Limits { tool: Some(limit), user: None },
        ..Guards::default()
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Anything at all.
    note: String,
    /// How the ledger is to carry it out.
    #[serde(default)]
    then: Option<String>,
}

pub struct EffectTool {
    spec: ToolSpec,
    kind: &'static Kind,
    client: Client,
    ledger: String,
}

/// All tools of the lab. `declared` is what each says its class is: the truth, except in a mutant.
pub fn lab_tools(ledger: &str, declared: fn(&Kind) -> Effect) -> Result<Vec<ExtraTool>, reqwest::Error> {
    #[expect(clippy::disallowed_methods, reason = "the ledger is the lab's own, on this machine")]
    let client = Client::builder().retry(reqwest::retry::never()).no_proxy().build()?;
    Ok(KINDS
        .iter()
        .map(|kind| {
            let tool = EffectTool {
                spec: spec(kind, declared(kind)),
                kind,
                client: client.clone(),
                ledger: ledger.to_owned(),
            };
            (Arc::new(tool) as Arc<dyn Tool>, (kind.guards)())
        })
        .collect())
}

fn spec(kind: &Kind, effect: Effect) -> ToolSpec {
    ToolSpec {
        tags: vec!["lab".into()],
        on_unknown: kind.on_unknown,
        ..ToolSpec::new(
            kind.name,
            "Does something that the ledger writes down.",
            schema_of::<Arguments>(),
            effect,
        )
    }
}

impl Tool for EffectTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments: Arguments = request.parse()?;
            let order = Order {
                call: cx.call.to_string(),
                tool: self.kind.name.into(),
                class: self.kind.class,
                payload: request.arguments.clone(),
            };
            let Arguments { note, then } = arguments;
            cx.progress.report(&format!("sending {note} {}", then.unwrap_or_default()));
            let sent = self.client.post(&self.ledger).header("Idempotency-Key", cx.call.as_str());
            let answer = sent.json(&order).send().await.map_err(|error| unsent_or_lost(&error))?;
            let status = answer.status();
            let retry_after = retry_after(answer.headers());
            // The head of the answer is not the answer.
            let text = answer.text().await.map_err(|error| ToolError::Lost(error.to_string()))?;
            cx.progress.report(", answered");
            match status {
                StatusCode::OK => Ok(ToolOutput::text(text)),
                StatusCode::TOO_MANY_REQUESTS => Err(ToolError::Busy { message: text, retry_after }),
                StatusCode::SERVICE_UNAVAILABLE if retry_after.is_some() => {
                    Err(ToolError::Busy { message: text, retry_after })
                }
                status if status.is_client_error() => Err(ToolError::Declined(text)),
                status => Err(ToolError::Lost(format!("{status}: {text}"))),
            }
        })
    }
}

/// Whatever fails after the connection stands may have been carried out.
fn unsent_or_lost(error: &reqwest::Error) -> ToolError {
    if error.is_connect() || error.is_builder() {
        ToolError::NotSent(error.to_string())
    } else {
        ToolError::Lost(error.to_string())
    }
}

fn retry_after(headers: &header::HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}
