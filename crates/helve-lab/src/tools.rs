//! Tools whose effects can be counted: each tells the ledger what it does, under the call's id.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use helve::assemble::ExtraTool;
use helve_guard::LimitSettings;
use helve_tool::{
    CachePolicy, CacheScope, CallContext, Guards, Limits, Request, Tool, ToolError, ToolFuture, schema_of,
};
use helve_types::{Effect, Flow, OnUnknown, ToolOutput, ToolSpec};
use reqwest::{Client, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::ledger::EffectRequest;
use crate::mutants::SeededBug;

/// A tool of the lab, as it truly is.
#[derive(Debug, Clone, Copy)]
pub struct ToolKind {
    pub name: &'static str,
    pub class: Effect,
    pub on_unknown: OnUnknown,
    pub guards: fn() -> Guards,
    pub flow: DataFlow,
    /// How many calls of it may be at work at once.
    pub at_once_max: Option<u32>,
    /// Clients declare it and run it.
    pub client: bool,
}

/// What a tool brings in or carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFlow {
    Nothing,
    /// Private data, in the words of strangers.
    In,
    /// What it is given leaves.
    Out,
}

const fn kind_of(
    name: &'static str,
    class: Effect,
    on_unknown: OnUnknown,
    guards: fn() -> Guards,
) -> ToolKind {
    ToolKind { name, class, on_unknown, guards, flow: DataFlow::Nothing, at_once_max: None, client: false }
}

/// The tool that clients run.
pub const CLIENT_TOOL: &str = "effect_client";

/// How many calls of `effect_put` may be at work at once.
const PUTS_MAX: u32 = 2;

/// Those whose names begin with `effect_ask` need a person's consent; all others are allowed.
pub const KINDS: &[ToolKind] = &[
    kind_of("effect_read", Effect::Read, OnUnknown::TellModel, calm_guards),
    kind_of("effect_look", Effect::Read, OnUnknown::TellModel, cached_guards),
    ToolKind {
        at_once_max: Some(PUTS_MAX),
        ..kind_of("effect_put", Effect::Idempotent, OnUnknown::TellModel, tight_guards)
    },
    kind_of("effect_send", Effect::NonIdempotent, OnUnknown::AskUser, calm_guards),
    kind_of("effect_tell", Effect::NonIdempotent, OnUnknown::TellModel, retrying_guards),
    kind_of("effect_ask", Effect::NonIdempotent, OnUnknown::FailRun, calm_guards),
    kind_of("effect_ask_put", Effect::Idempotent, OnUnknown::AskUser, calm_guards),
    ToolKind {
        flow: DataFlow::In,
        ..kind_of("effect_inbox", Effect::Read, OnUnknown::TellModel, calm_guards)
    },
    ToolKind {
        flow: DataFlow::Out,
        ..kind_of("effect_mail", Effect::NonIdempotent, OnUnknown::AskUser, calm_guards)
    },
    ToolKind { client: true, ..kind_of(CLIENT_TOOL, Effect::NonIdempotent, OnUnknown::AskUser, calm_guards) },
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

/// Whether `PERMISSIONS` have a person decide about calls of this tool.
pub fn asks(name: &str) -> bool {
    name.starts_with("effect_ask")
}

pub fn find_kind(name: &str) -> Option<&'static ToolKind> {
    KINDS.iter().find(|kind| kind.name == name)
}

fn calm_guards() -> Guards {
    Guards { timeout: Duration::from_secs(5), attempts: 2, ..Guards::default() }
}

/// Gives up sooner than the ledger sometimes answers.
fn retrying_guards() -> Guards {
    Guards { timeout: Duration::from_millis(150), attempts: 3, ..Guards::default() }
}

/// Gives a user the answer that the user has had before.
fn cached_guards() -> Guards {
    let cache = CachePolicy { ttl: Duration::from_secs(600), scope: CacheScope::User };
    Guards { cache: Some(cache), ..calm_guards() }
}

/// Refuses when too many want it at once, also between two attempts of one call.
fn tight_guards() -> Guards {
    let limit = LimitSettings {
        concurrent: Some(PUTS_MAX),
        wait: Duration::from_millis(5),
        ..LimitSettings::default()
    };
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
    kind: &'static ToolKind,
    client: Client,
    ledger: String,
    at_work: Arc<AtomicU32>,
    flaw: Option<SeededBug>,
}

/// What the tools of one server are made with.
#[derive(Debug, Clone)]
pub struct ToolParts {
    pub ledger: String,
    /// Tools that ask for consent are described in other words when this is another number.
    pub wording: u32,
    /// What is wrong with them: nothing, except in a mutant.
    pub flaw: Option<SeededBug>,
}

/// All tools of the lab that the server runs.
pub fn lab_tools(bench: &ToolParts) -> Result<Vec<ExtraTool>, reqwest::Error> {
    #[expect(clippy::disallowed_methods, reason = "the ledger is the lab's own, on this machine")]
    let client = Client::builder().retry(reqwest::retry::never()).no_proxy().build()?;
    let made = |kind: &'static ToolKind| {
        let tool = EffectTool {
            spec: spec(kind, bench),
            kind,
            client: client.clone(),
            ledger: bench.ledger.clone(),
            at_work: Arc::default(),
            flaw: bench.flaw,
        };
        (Arc::new(tool) as Arc<dyn Tool>, guards(kind, bench.flaw))
    };
    Ok(KINDS.iter().filter(|kind| !kind.client).map(made).collect())
}

/// The definition of a tool as a server has it.
pub(crate) fn spec(kind: &ToolKind, bench: &ToolParts) -> ToolSpec {
    let effect = match (bench.flaw, kind.class) {
        (Some(SeededBug::CallsItselfIdempotent), Effect::NonIdempotent) => Effect::Idempotent,
        (Some(SeededBug::CallsItselfRead), Effect::NonIdempotent) => Effect::Read,
        (_, honest) => honest,
    };
    let described = if kind.name.starts_with("effect_ask") {
        format!("Does something that the ledger writes down, in edition {}.", bench.wording)
    } else {
        "Does something that the ledger writes down.".to_owned()
    };
    let flow = Flow {
        private: kind.flow == DataFlow::In,
        untrusted: kind.flow == DataFlow::In,
        outward: kind.flow == DataFlow::Out,
        place: None,
    };
    ToolSpec {
        tags: vec!["lab".into()],
        on_unknown: kind.on_unknown,
        flow,
        ..ToolSpec::new(kind.name, described, schema_of::<Arguments>(), effect)
    }
}

fn guards(kind: &ToolKind, flaw: Option<SeededBug>) -> Guards {
    let mut guards = (kind.guards)();
    if flaw == Some(SeededBug::AnswersEverybodyAlike)
        && let Some(cache) = &mut guards.cache
    {
        cache.scope = CacheScope::Everyone;
    }
    guards
}

/// One more at work, for as long as this is held.
struct RunningCall(Arc<AtomicU32>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl EffectTool {
    fn begin(&self) -> (RunningCall, u32) {
        let before = self.at_work.fetch_add(1, Ordering::SeqCst);
        (RunningCall(self.at_work.clone()), before + 1)
    }
}

impl Tool for EffectTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Arguments { note, then } = request.parse()?;
            let (at_work, at_once) = self.begin();
            let order = EffectRequest {
                call: cx.call.to_string(),
                tool: self.kind.name.into(),
                class: self.kind.class,
                user: cx.user.0.clone(),
                at_once,
                payload: request.arguments.clone(),
            };
            cx.progress.report(&format!("sending {note} {}", then.unwrap_or_default()));
            let (client, ledger) = (self.client.clone(), self.ledger.clone());
            let work = async move {
                let _at_work = at_work;
                ask_ledger(&client, &ledger, &order).await
            };
            let output = match self.flaw {
                None => work.await?,
                Some(flaw) => flaw.wrap_call(work).await?,
            };
            cx.progress.report(", answered");
            Ok(output)
        })
    }
}

async fn ask_ledger(client: &Client, ledger: &str, order: &EffectRequest) -> Result<ToolOutput, ToolError> {
    let sent = client.post(ledger).header("Idempotency-Key", &order.call);
    let answer = sent.json(order).send().await.map_err(|error| unsent_or_lost(&error))?;
    let status = answer.status();
    let retry_after = retry_after(answer.headers());
    // The head of the answer is not the answer.
    let text = answer.text().await.map_err(|error| ToolError::Lost(error.to_string()))?;
    match status {
        StatusCode::OK => Ok(ToolOutput::text(text)),
        StatusCode::TOO_MANY_REQUESTS => Err(ToolError::Busy { message: text, retry_after }),
        StatusCode::SERVICE_UNAVAILABLE if retry_after.is_some() => {
            Err(ToolError::Busy { message: text, retry_after })
        }
        status if status.is_client_error() => Err(ToolError::Declined(text)),
        status => Err(ToolError::Lost(format!("{status}: {text}"))),
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
