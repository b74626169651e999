//! Stop, wherever a run happens to be: at once, with a record that says what was sent and what was not.
//!
//! Time stands still but for timers, so a second is a second of the run's own waiting, however slow the machine is.

use std::sync::Arc;
use std::time::Duration;

use helve_model::{ModelError, ModelErrorKind, Reply, ScriptedModel};
use helve_runtime::{Budgets, Limits, RuntimeSettings, StartedRun};
use helve_store::{Scope, Views};
use helve_tool::{Hook, HookCall, HookFuture, HookPoint, HookQuestion, HookSettings, Hooks, OnFailure};
use helve_types::{ModelParams, RunState, ToolOutput, Usage};
use serde_json::Value;
use tokio::time::Instant;

use crate::lab::{Lab, mei, reply, settle, until};

/// What a stop may take at most.
const AT_ONCE: Duration = Duration::from_secs(1);
/// What everything that hangs would hang for.
const LONG: Duration = Duration::from_secs(600);

/// Never says anything, wherever it is asked.
struct Deaf;

impl Hook for Deaf {
    fn before_call<'a>(&'a self, _: &'a HookCall<'a>) -> HookFuture<'a, Value> {
        Box::pin(std::future::pending())
    }

    fn after_call<'a>(
        &'a self,
        _: &'a HookCall<'a>,
        _: &'a ToolOutput,
    ) -> HookFuture<'a, helve_tool::ChangedOutput> {
        Box::pin(std::future::pending())
    }

    fn system_prompt<'a>(&'a self, _: &'a HookQuestion<'a>, _: &'a str) -> HookFuture<'a, String> {
        Box::pin(std::future::pending())
    }

    fn params<'a>(&'a self, _: &'a HookQuestion<'a>, _: &'a ModelParams) -> HookFuture<'a, ModelParams> {
        Box::pin(std::future::pending())
    }
}

fn deaf_at(point: HookPoint) -> RuntimeSettings {
    let settings = HookSettings {
        name: "deaf".into(),
        points: vec![point],
        tools: vec![],
        agents: vec![],
        timeout: LONG,
        on_failure: OnFailure::Continue,
    };
    RuntimeSettings {
        hooks: Arc::new(Hooks::new().with_hook(settings, Arc::new(Deaf))),
        ..Default::default()
    }
}

fn lab(settings: RuntimeSettings, replies: impl IntoIterator<Item = Reply>) -> Lab {
    Lab::with_model(ScriptedModel::new(replies), settings)
}

fn busy() -> Reply {
    let error = ModelError::new(ModelErrorKind::Unavailable, "busy");
    Reply::new().fails(ModelError { retry_after: Some(Duration::from_secs(25)), ..error })
}

/// Lets everything that can go on without time going on go on.
async fn quiet() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// Stops the run and gives the states of its calls; the stop holds at once, and twice is once.
async fn stopped(lab: &Lab, started: &mut StartedRun, case: &str) -> Vec<String> {
    quiet().await;
    let began = Instant::now();
    let stop = || lab.runtime.cancel_run(Scope::User(mei()), started.run, "mei".into());
    let (first, second) = tokio::join!(stop(), stop());
    assert!(first.is_ok() && second.is_ok(), "{case}: {first:?} {second:?}");
    until(&mut started.follower, "run.cancelled").await;
    assert!(began.elapsed() < AT_ONCE, "{case}: it took {:?}", began.elapsed());
    let again = lab.runtime.cancel_run(Scope::User(mei()), started.run, "mei".into()).await;
    assert_eq!(again, Ok(RunState::Cancelled), "{case}: a run that is over says so");
    let log = lab.log(started.run).await;
    assert_eq!(log.matches("run.cancelled").count(), 1, "{case}: {log}");
    assert!(log.ends_with("run.cancelled by mei\n"), "{case}: {log}");
    assert_eq!(lab.questions().await.len(), 0, "{case}: nobody is asked any more");
    let calls = lab.store.calls(started.run).await.unwrap();
    assert!(calls.iter().all(|call| call.ended_at.is_some()), "{case}: {calls:?}");
    calls.iter().map(|call| call.state.as_str().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_model_is_stopped_however_it_keeps_one_waiting() {
    let cases = [
        ("silent", vec![Reply::new().hangs()]),
        ("talking", vec![Reply::new().text("Once upon").hangs()]),
        ("dripping", vec![Reply::new().text("Once").after(LONG).text(" upon").done()]),
        ("calling", vec![Reply::new().call("look", r#"{"q""#).hangs()]),
        ("asked again in a while", vec![busy(), reply("say Late.")]),
    ];
    for (case, replies) in cases {
        let lab = lab(RuntimeSettings::default(), replies);
        let mut started = lab.start("go").await;
        assert_eq!(stopped(&lab, &mut started, case).await, [""; 0], "{case}: no call of half a message");
    }
}

#[tokio::test(start_paused = true)]
async fn tools_are_stopped_and_what_was_not_begun_is_never_begun() {
    let allow = serde_json::from_value(serde_json::json!({"action": "allow"})).unwrap();
    let settings =
        RuntimeSettings { rules: vec![allow], parallel_calls_max: 3, ..RuntimeSettings::default() };
    let calls: Vec<String> = (0..5).map(|n| format!(r#"call hang {{"q": "{n}"}}"#)).collect();
    let lab = lab(settings, [reply(&calls.join(" | "))]);
    let mut started = lab.start("go").await;
    until(&mut started.follower, "tool.started").await;
    let states = stopped(&lab, &mut started, "five calls, three at a time").await;
    assert_eq!(states.len(), 5);
    let log = lab.log(started.run).await;
    assert_eq!(log.matches("tool.started").count(), 3, "{log}");
}

#[tokio::test(start_paused = true)]
async fn hooks_that_do_not_answer_are_not_waited_for() {
    let cases = [
        (HookPoint::SystemPrompt, "", 0),
        (HookPoint::Params, "", 0),
        (HookPoint::BeforeCall, "failed", 0),
        (HookPoint::AfterCall, "finished", 1),
    ];
    for (point, state, sent) in cases {
        let lab = lab(deaf_at(point), [reply(r#"call look {"q": "x"}"#)]);
        let mut started = lab.start("go").await;
        let states = stopped(&lab, &mut started, &format!("{point:?}")).await;
        assert_eq!(states.join(" "), state, "{point:?}");
        assert_eq!(lab.runs.load(std::sync::atomic::Ordering::Relaxed), sent, "{point:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_somebody_is_stopped_too() {
    let half = Limits { tokens: Some(1_000), ask_at: Some(50), ..Limits::default() };
    let budget =
        RuntimeSettings { budgets: Budgets { run: half, ..Budgets::default() }, ..Default::default() };
    let spent = Usage { input_tokens: 600, ..Usage::default() };
    let cases = [
        ("a person", lab(RuntimeSettings::default(), [reply(r#"call send {"q": "x"}"#)])),
        ("a budget", lab(budget, [reply(r#"call look {"q": "x"}"#).usage(spent)])),
    ];
    for (case, lab) in cases {
        let mut started = lab.start("go").await;
        assert_eq!(settle(&mut started.follower).await, "waiting_approval", "{case}");
        assert_eq!(stopped(&lab, &mut started, case).await, ["refused"], "{case}");
        assert!(!lab.log(started.run).await.contains("tool.started"), "{case}");
        assert_eq!(lab.runs.load(std::sync::atomic::Ordering::Relaxed), 0, "{case}: it was never sent");
    }
}
