//! The pipeline from outside: a call goes in, a log comes out.

mod alarm;
mod bound_consent;
mod busy;
mod fallback;
mod hooks;
mod labels;
mod properties;
mod skip;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use expect_test::{Expect, expect};
use helve_guard::{BreakerSettings, LimitSettings};
use helve_policy::{Action, Rule};
use helve_store::{Log, MemoryStore, RunJournal, Views};
use helve_store_contract::Actor;
use helve_types::{Effect, Fact, FailureKind, OutputFile, RunId, Timestamp, ToolSpec, World};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{CachePolicy, CacheScope, Grant, Guards, Limits, Progress, Registry, Request, Tool, Toolbox};
use crate::{ToolError, ToolFuture};

type Behaviour = Box<dyn Fn(u32) -> ToolFuture<'static> + Send + Sync>;

/// A tool that does what the test says, given how often it was called before.
struct FakeTool {
    spec: ToolSpec,
    calls: Arc<AtomicU32>,
    behaviour: Behaviour,
}

impl Tool for FakeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        cx.progress.report("working");
        (self.behaviour)(self.calls.fetch_add(1, Ordering::Relaxed))
    }
}

/// A tool that says what it was given.
struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, request: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { Ok(ToolOutput::text(request.arguments.to_string())) })
    }
}

fn says(text: &'static str) -> Behaviour {
    Box::new(move |_| Box::pin(async move { Ok(ToolOutput::text(text)) }))
}

fn fails(error: ToolError) -> Behaviour {
    Box::new(move |_| {
        let error = error.clone();
        Box::pin(async move { Err(error) })
    })
}

/// A neutral tool's answer.
fn finished(tool: &str, text: &str) -> Outcome {
    let labels = Some(helve_types::Flow::default().labels(tool));
    Outcome::Finished(ToolOutput { labels, ..ToolOutput::text(text) })
}

fn hangs() -> Behaviour {
    Box::new(|_| Box::pin(std::future::pending()))
}

fn spec(name: &str, effect: Effect) -> ToolSpec {
    ToolSpec::new(
        name,
        "A tool for tests.",
        json!({
            "type": "object",
            "properties": {"q": {"type": "string"}},
            "required": ["q"]
        }),
        effect,
    )
}

struct Lab {
    store: Arc<MemoryStore>,
    world: World,
    run: RunId,
    journal: RunJournal,
    registry: Registry,
    rules: Rules,
    skip: crate::SkippedGuards,
    hooks: Arc<Hooks>,
    cancel: CancellationToken,
    said: Arc<Mutex<String>>,
    next: AtomicU32,
}

impl Lab {
    async fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        let world = World::deterministic();
        let actor = Actor { world: world.clone(), ..Actor::new(store.clone(), "mei") };
        let started = actor.start(actor.new_conversation(), "go").await;
        let journal =
            RunJournal::new(store.clone(), world.clone(), started.run, started.epoch, 1, Arc::new(|_| {}));
        Self {
            store,
            world,
            run: started.run,
            journal,
            registry: Registry::new(),
            rules: Rules::new(),
            skip: crate::SkippedGuards::default(),
            hooks: Arc::default(),
            cancel: CancellationToken::new(),
            said: Arc::default(),
            next: AtomicU32::new(0),
        }
    }

    /// Adds a tool and returns the counter of its runs.
    fn tool(&self, spec: ToolSpec, guards: Guards, behaviour: Behaviour) -> Arc<AtomicU32> {
        let calls = Arc::new(AtomicU32::new(0));
        let tool = FakeTool { spec, calls: calls.clone(), behaviour };
        self.registry.register(Arc::new(tool), guards, &self.world).unwrap();
        calls
    }

    fn call(&self, name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: CallId::new(self.run, 1, self.next.fetch_add(1, Ordering::Relaxed)),
            provider_id: None,
            name: name.into(),
            arguments: arguments.into(),
            repairs: vec![],
        }
    }

    fn context(&self, call: &ToolCall) -> CallContext {
        let said = self.said.clone();
        CallContext {
            run: self.run,
            conversation: None,
            message: None,
            call: call.id.clone(),
            user: helve_types::UserId("mei".into()),
            groups: Arc::default(),
            agent: "default".into(),
            request_id: None,
            language: Default::default(),
            attempts_before: 0,
            grant: None,
            taint: Arc::default(),
            subagent: None,
            asker: None,
            skip: self.skip,
            early: crate::Early::No,
            toolbox: Arc::new(Toolbox::new(self.registry.list())),
            journal: self.journal.clone(),
            cancel: self.cancel.clone(),
            progress: Progress::new(move |piece| said.lock().unwrap().push_str(piece)),
            world: self.world.clone(),
        }
    }

    fn pipeline(&self) -> Pipeline {
        Pipeline::new(self.rules.clone()).with_hooks(self.hooks.clone())
    }

    async fn execute(&self, call: &ToolCall) -> Result<Outcome, Fault> {
        let pipeline = self.pipeline();
        let requested = Fact::ToolRequested {
            step: 1,
            call: call.id.clone(),
            provider_id: None,
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            part: None,
            replaces: None,
            repairs: vec![],
        };
        self.journal.record(requested).await?;
        pipeline.execute_call(call, &self.context(call)).await
    }

    async fn run(&self, name: &str, arguments: &str) -> Outcome {
        self.execute(&self.call(name, arguments)).await.unwrap()
    }

    /// The log after `run.started`, a line for each event.
    async fn log(&self) -> String {
        let mut text = String::new();
        for recorded in self.store.events(self.run, 1, 99).await.unwrap() {
            let detail = match &recorded.event.fact {
                Fact::ToolRequested { tool, arguments, .. } => format!("{tool} {arguments}"),
                Fact::ToolStarted { tool, attempt, arguments, instead, .. } => {
                    let by = instead.as_ref().map(|by| format!("by {by} ")).unwrap_or_default();
                    format!("{tool} {by}attempt {attempt} {}", arguments.as_deref().unwrap_or_default())
                }
                Fact::ToolFinished { output, trail, .. } => format!("{} {}", output.text, words(trail)),
                Fact::ToolFailed { failure, trail, .. } | Fact::ToolRefused { failure, trail, .. } => {
                    format!("{} {}", failure.message, words(trail))
                }
                Fact::ToolUnknown { because, checked, .. } => {
                    format!("{because} {}", checked.as_deref().unwrap_or_default())
                }
                Fact::ApprovalAsked(question) => {
                    format!("{} {}", question.call().unwrap().arguments, question.because)
                }
                Fact::ToolDelegated { tool, .. } => tool.clone(),
                _ => String::new(),
            };
            let line = format!("{} {detail}", recorded.event.fact.kind());
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    async fn check(&self, expected: Expect) {
        expected.assert_eq(&self.log().await);
    }
}

fn words(trail: &Trail) -> String {
    let words: Vec<String> = trail
        .0
        .iter()
        .map(|stage| match stage {
            Stage::Resolve { repaired_from: Some(from), .. } => format!("repaired({from})"),
            Stage::Resolve { .. } => "resolved".into(),
            Stage::Check { problem: Some(_), .. } => "misfit".into(),
            Stage::Check { repairs, .. } if repairs.is_empty() => "fits".into(),
            Stage::Check { repairs, .. } => format!("fits, repaired: {}", repairs.join(", ")),
            Stage::Judge { verdict, .. } => verdict.clone(),
            Stage::Cache { found } => found.clone(),
            Stage::Limit { refused, .. } => if refused.is_some() { "limited" } else { "entered" }.into(),
            Stage::Breaker { state } => state.clone(),
            Stage::Run { attempt, .. } => format!("run({attempt})"),
            Stage::Hook { name, did } => format!("hook({name} {did})"),
            Stage::Fallback { by, .. } => format!("instead({by})"),
            Stage::Skipped { guard } => format!("without({guard})"),
            Stage::Client { name, .. } => format!("client({name})"),
            Stage::Bound { kept_bytes, whole_bytes } => format!("cut({kept_bytes}/{whole_bytes})"),
        })
        .collect();
    format!("[{}]", words.join(" "))
}

#[tokio::test]
async fn a_call_is_on_record_before_it_runs_and_after() {
    let lab = Lab::new().await;
    lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
    lab.run("look", r#"{"q": "x"}"#).await;
    assert_eq!(*lab.said.lock().unwrap(), "working");
    lab.check(expect![[r#"
        tool.requested look {"q": "x"}
        tool.started look attempt 1
        tool.finished found [resolved fits allow run(1)]
    "#]])
        .await;
}

#[tokio::test]
async fn a_slip_in_the_name_is_repaired_and_a_wrong_name_is_told_what_exists() {
    let lab = Lab::new().await;
    lab.tool(spec("look_up", Effect::Read), Guards::default(), says("found"));
    lab.run("LookUp", r#"{"q": "x"}"#).await;
    lab.run("delete_all", "{}").await;
    lab.check(expect![[r#"
        tool.requested LookUp {"q": "x"}
        tool.started look_up attempt 1
        tool.finished found [repaired(LookUp) fits allow run(1)]
        tool.requested delete_all {}
        tool.refused there is no tool `delete_all`; the tools are: `look_up` []
    "#]])
        .await;
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_tool() {
    let lab = Lab::new().await;
    let runs = lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
    lab.run("look", r#"{"q": 7}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    lab.check(expect![[r#"
        tool.requested look {"q": 7}
        tool.refused the arguments for `look` do not fit: field `q`: 7 is not of type "string"; correct them and try again [resolved misfit]
    "#]])
    .await;
}

#[tokio::test]
async fn a_denied_call_is_recorded_and_the_model_is_told_why() {
    let mut lab = Lab::new().await;
    let because = "only on weekdays".to_owned();
    let rule = Rule { tool: Some("look".into()), because, action: Action::Deny, ..anything() };
    lab.rules = Rules::new().with_layer("operator", vec![rule]);
    let runs = lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
    lab.run("look", r#"{"q": "x"}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    lab.check(expect![[r#"
        tool.requested look {"q": "x"}
        tool.refused calling `look` is not allowed: only on weekdays; go on without it [resolved fits deny]
    "#]])
        .await;
}

fn anything() -> Rule {
    Rule::new(Action::Allow)
}

#[tokio::test]
async fn a_switched_off_tool_does_not_run() {
    let lab = Lab::new().await;
    let runs = lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
    lab.registry.set_enabled("look", false).unwrap();
    let outcome = lab.run("look", r#"{"q": "x"}"#).await;
    assert!(matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

/// The question that a risky call leads to.
async fn asked(lab: &Lab, call: &ToolCall) -> helve_types::Question {
    match lab.execute(call).await.unwrap() {
        Outcome::Asked(question) => question,
        other => panic!("nobody was asked: {other:?}"),
    }
}

async fn execute_granted(lab: &Lab, call: &ToolCall, grant: Grant) -> Outcome {
    let cx = CallContext { grant: Some(grant), ..lab.context(call) };
    lab.pipeline().execute_call(call, &cx).await.unwrap()
}

#[tokio::test]
async fn a_risky_call_asks_first_and_runs_once_it_is_granted() {
    let lab = Lab::new().await;
    let runs = lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), says("sent"));
    let call = lab.call("send", r#"{"q": "x"}"#);
    let question = asked(&lab, &call).await;
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    execute_granted(&lab, &call, Grant { binding: question.binding, changed: false, edited: None }).await;
    lab.check(expect![[r#"
        tool.requested send {"q": "x"}
        approval.asked {"q":"x"} it changes something and cannot be taken back
        tool.started send attempt 1
        tool.finished sent [resolved fits approved run(1)]
    "#]])
        .await;
}

#[tokio::test]
async fn a_grant_for_another_call_asks_again() {
    let lab = Lab::new().await;
    let runs = lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), says("sent"));
    let small = asked(&lab, &lab.call("send", r#"{"q": "1 coin"}"#)).await;
    let large = lab.call("send", r#"{"q": "all coins"}"#);
    let outcome =
        execute_granted(&lab, &large, Grant { binding: small.binding, changed: false, edited: None }).await;
    assert!(matches!(outcome, Outcome::Asked(_)), "{outcome:?}");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn edited_arguments_are_what_runs_and_must_fit_too() {
    let lab = Lab::new().await;
    lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), says("sent"));
    let call = lab.call("send", r#"{"q": "x"}"#);
    let question = asked(&lab, &call).await;
    let edit =
        |text: &str| Grant { binding: question.binding.clone(), changed: false, edited: Some(text.into()) };
    let wrong = execute_granted(&lab, &call, edit(r#"{"q": 3}"#)).await;
    assert!(matches!(wrong, Outcome::Refused(_)), "{wrong:?}");
    execute_granted(&lab, &call, edit(r#"{"q": "y"}"#)).await;
    let log = lab.log().await;
    assert!(log.contains(r#"tool.started send attempt 1 {"q":"y"}"#), "{log}");
}

#[tokio::test]
async fn what_a_rule_forbids_cannot_be_edited_into_a_call() {
    let mut lab = Lab::new().await;
    let arguments = [("q".to_owned(), helve_policy::Pattern::Text("*@evil.test".into()))].into();
    let never = Rule { arguments, because: "not there".into(), ..Rule::new(Action::Deny) };
    lab.rules = Rules::new().with_layer("operator", vec![never]);
    let runs = lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), says("sent"));
    let call = lab.call("send", r#"{"q": "mei@example.com"}"#);
    let question = asked(&lab, &call).await;
    let edited = Some(r#"{"q": "eve@evil.test"}"#.to_owned());
    let outcome =
        execute_granted(&lab, &call, Grant { binding: question.binding, changed: false, edited }).await;
    assert!(
        matches!(&outcome, Outcome::Refused(failure) if failure.message.contains("not there")),
        "{outcome:?}"
    );
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_clients_tool_is_handed_to_the_client() {
    let lab = Lab::new().await;
    let theirs = Registered::for_client(spec("browser_js_eval", Effect::NonIdempotent)).unwrap();
    let call = lab.call("browser_js_eval", r#"{"q": "1+1"}"#);
    let cx = CallContext { toolbox: Arc::new(Toolbox::new([Arc::new(theirs)])), ..lab.context(&call) };
    let outcome = Pipeline::new(Rules::new()).execute_call(&call, &cx).await.unwrap();
    assert_eq!(
        outcome,
        Outcome::Delegated { tool: "browser_js_eval".into(), arguments: r#"{"q":"1+1"}"#.into() }
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_that_may_change_something_runs_that_cannot_be_put_on_record() {
    for effect in [Effect::Idempotent, Effect::NonIdempotent] {
        let mut lab = Lab::new().await;
        lab.rules = Rules::new().with_layer("operator", vec![anything()]);
        let runs = lab.tool(spec("send", effect), Guards::default(), says("sent"));
        lab.store.fail_writes(u32::MAX);
        let fault = lab.execute(&lab.call("send", r#"{"q": "x"}"#)).await;
        assert!(matches!(fault, Err(Fault::Journal(_))), "{fault:?}");
        assert_eq!(runs.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_reads_runs_no_more_once_the_record_is_known_to_fail() {
    let lab = Lab::new().await;
    let runs = lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
    lab.store.fail_writes(u32::MAX);
    _ = lab.execute(&lab.call("look", r#"{"q": "x"}"#)).await;
    tokio::task::yield_now().await;
    let before = runs.load(Ordering::Relaxed);
    let fault = lab.execute(&lab.call("look", r#"{"q": "y"}"#)).await;
    assert!(matches!(fault, Err(Fault::Journal(_))), "{fault:?}");
    lab.store.fail_writes(0);
    assert_eq!(lab.execute(&lab.call("look", r#"{"q": "z"}"#)).await, fault, "the run cannot go on");
    assert_eq!(runs.load(Ordering::Relaxed), before);
    assert_eq!(lab.log().await, "");
}

#[tokio::test]
async fn the_disk_is_waited_for_only_before_what_may_change_something() {
    for (effect, waited) in [(Effect::Read, 0), (Effect::Idempotent, 1), (Effect::NonIdempotent, 1)] {
        let mut lab = Lab::new().await;
        lab.rules = Rules::new().with_layer("operator", vec![anything()]);
        lab.tool(spec("work", effect), Guards::default(), says("done"));
        lab.store.delay_recorded_batches();
        let before = lab.store.barrier_count();
        lab.run("work", r#"{"q": "x"}"#).await;
        assert_eq!(lab.store.barrier_count() - before, waited, "{effect:?}");
    }
}

fn cached(scope: CacheScope) -> Guards {
    Guards { cache: Some(CachePolicy { ttl: Duration::from_secs(300), scope }), ..Guards::default() }
}

#[tokio::test]
async fn an_answer_from_the_cache_is_recorded_without_a_start() {
    let lab = Lab::new().await;
    let runs = lab.tool(spec("look", Effect::Read), cached(CacheScope::Everyone), says("found"));
    lab.run("look", r#"{"q": "x"}"#).await;
    lab.run("look", r#"{ "q" : "x" }"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    lab.check(expect![[r#"
        tool.requested look {"q": "x"}
        tool.started look attempt 1
        tool.finished found [resolved fits allow miss run(1)]
        tool.requested look { "q" : "x" }
        tool.finished found [resolved fits allow hit]
    "#]])
        .await;
    let metrics = lab.registry.get("look").unwrap().metrics();
    assert_eq!((metrics.calls, metrics.from_cache), (2, 1));
}

#[tokio::test]
async fn what_changes_something_is_never_answered_from_the_cache() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    let runs = lab.tool(spec("send", Effect::Idempotent), cached(CacheScope::Everyone), says("sent"));
    lab.run("send", r#"{"q": "x"}"#).await;
    lab.run("send", r#"{"q": "x"}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_failure_is_not_kept_in_the_cache() {
    let lab = Lab::new().await;
    let first_fails: Behaviour = Box::new(|n| {
        Box::pin(async move {
            if n == 0 { Err(ToolError::Declined("not now".into())) } else { Ok(ToolOutput::text("found")) }
        })
    });
    lab.tool(spec("look", Effect::Read), cached(CacheScope::User), first_fails);
    lab.run("look", r#"{"q": "x"}"#).await;
    lab.run("look", r#"{"q": "x"}"#).await;
    let log = lab.log().await;
    assert!(log.contains("tool.failed not now") && log.contains("tool.finished found"), "{log}");
}

#[tokio::test]
async fn the_limit_refuses_with_a_time_to_try_again() {
    let lab = Lab::new().await;
    let limit = LimitSettings { per_window: Some(1), ..LimitSettings::default() };
    let guards = Guards { limits: Limits { tool: Some(limit), user: None }, ..Guards::default() };
    lab.tool(spec("look", Effect::Read), guards, says("found"));
    lab.run("look", r#"{"q": "x"}"#).await;
    match lab.run("look", r#"{"q": "y"}"#).await {
        Outcome::Refused(failure) => {
            assert_eq!(failure.kind, helve_types::FailureKind::Limited);
            assert!(failure.retry_after_ms.is_some());
        }
        other => panic!("not limited: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_breaker_opens_after_failures_in_a_row_and_spares_the_tool() {
    let lab = Lab::new().await;
    let guards = Guards { breaker: Some(BreakerSettings::default()), attempts: 1, ..Guards::default() };
    let runs = lab.tool(spec("look", Effect::Read), guards, fails(ToolError::Lost("reset".into())));
    for _ in 0..7 {
        lab.run("look", r#"{"q": "x"}"#).await;
    }
    assert_eq!(runs.load(Ordering::Relaxed), 5);
    let log = lab.log().await;
    assert!(log.contains("tool.refused `look` is unavailable"), "{log}");
    lab.registry.get("look").unwrap().reset_breaker();
    lab.run("look", r#"{"q": "x"}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 6);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_hangs_is_tried_again_and_then_failed() {
    let lab = Lab::new().await;
    lab.tool(spec("look", Effect::Read), Guards::default(), hangs());
    lab.run("look", r#"{"q": "x"}"#).await;
    lab.check(expect![[r#"
        tool.requested look {"q": "x"}
        tool.started look attempt 1
        tool.started look attempt 2
        tool.failed the tool did not answer within 60 s. Answer without it and say so, or try again later [resolved fits allow run(1) run(2)]
    "#]])
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_may_have_happened_is_unknown_and_not_sent_again() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    let send = ToolSpec { check_tool: Some("sent_mail".into()), ..spec("send", Effect::NonIdempotent) };
    let runs = lab.tool(send, Guards::default(), hangs());
    lab.tool(spec("sent_mail", Effect::Read), Guards::default(), says("one mail to x"));
    lab.run("send", r#"{"q": "x"}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    lab.check(expect![[r#"
        tool.requested send {"q": "x"}
        tool.started send attempt 1
        tool.unknown the tool did not answer within 60 s one mail to x
    "#]])
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_check_tool_is_asked_about_what_was_sent() {
    let lab = Lab::new().await;
    let send = ToolSpec { check_tool: Some("sent_mail".into()), ..spec("send", Effect::NonIdempotent) };
    lab.tool(send, Guards::default(), hangs());
    let reader = Arc::new(Echo(spec("sent_mail", Effect::Read)));
    lab.registry.register(reader, Guards::default(), &lab.world).unwrap();
    let call = lab.call("send", r#"{"q": "7"}"#);
    let question = asked(&lab, &call).await;
    let edited = Some(r#"{"q": "8"}"#.to_owned());
    execute_granted(&lab, &call, Grant { binding: question.binding, changed: false, edited }).await;
    let log = lab.log().await;
    assert!(log.ends_with("tool.unknown the tool did not answer within 60 s {\"q\":\"8\"}\n"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_check_tool_is_asked_also_where_the_run_does_not_have_it_and_by_the_rules() {
    let never = Rule { tool: Some("sent_mail".into()), action: Action::Deny, ..anything() };
    for (rules, said) in [(vec![anything()], " one mail to x"), (vec![never, anything()], "")] {
        let mut lab = Lab::new().await;
        lab.rules = Rules::new().with_layer("operator", rules);
        let send = ToolSpec { check_tool: Some("sent_mail".into()), ..spec("send", Effect::NonIdempotent) };
        lab.tool(send, Guards::default(), hangs());
        let others = Lab::new().await;
        others.tool(spec("sent_mail", Effect::Read), Guards::default(), says("one mail to x"));
        let pipeline = lab.pipeline().with_stand_ins(Arc::new(others.registry), lab.rules.clone());
        let call = lab.call("send", r#"{"q": "x"}"#);
        pipeline.execute_call(&call, &lab.context(&call)).await.unwrap();
        let log = lab.log().await;
        assert!(log.ends_with(&format!("tool.unknown the tool did not answer within 60 s{said}\n")), "{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_tool_that_a_rule_forbids_is_not_asked() {
    let mut lab = Lab::new().await;
    let never = Rule { tool: Some("sent_mail".into()), action: Action::Deny, ..anything() };
    lab.rules = Rules::new().with_layer("operator", vec![anything()]).with_layer("agent", vec![never]);
    let send = ToolSpec { check_tool: Some("sent_mail".into()), ..spec("send", Effect::NonIdempotent) };
    lab.tool(send, Guards::default(), hangs());
    let asked = lab.tool(spec("sent_mail", Effect::Read), Guards::default(), says("one mail to x"));
    lab.run("send", r#"{"q": "x"}"#).await;
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_provably_not_sent_is_tried_again_whatever_its_effect() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    let unreachable = fails(ToolError::NotSent("connection refused".into()));
    let runs = lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), unreachable);
    let outcome = lab.run("send", r#"{"q": "x"}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
}

/// Is lost at first, and then fails in another way.
fn is_lost_then(error: ToolError) -> Behaviour {
    Box::new(move |n| {
        let error = if n == 0 { ToolError::Lost("the line went dead".into()) } else { error.clone() };
        Box::pin(async move { Err(error) })
    })
}

#[tokio::test(start_paused = true)]
async fn what_may_have_happened_stays_unknown_however_the_next_attempt_fails() {
    for later in [
        ToolError::Declined("no such account".into()),
        ToolError::NotSent("connection refused".into()),
        ToolError::Busy { message: "busy".into(), retry_after: None },
    ] {
        let mut lab = Lab::new().await;
        lab.rules = Rules::new().with_layer("operator", vec![anything()]);
        let runs = lab.tool(spec("put", Effect::Idempotent), Guards::default(), is_lost_then(later));
        let outcome = lab.run("put", r#"{"q": "x"}"#).await;
        assert_eq!(runs.load(Ordering::Relaxed), 2);
        assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    }
    let lab = Lab::new().await;
    let no = is_lost_then(ToolError::Declined("no".into()));
    lab.tool(spec("look", Effect::Read), Guards::default(), no);
    let outcome = lab.run("look", r#"{"q": "x"}"#).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "a read has nothing to be unsure of: {outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn what_may_have_happened_stays_unknown_when_it_cannot_be_sent_again() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    let limit = LimitSettings { per_window: Some(1), ..LimitSettings::default() };
    let guards = Guards { limits: Limits { tool: Some(limit), user: None }, ..Guards::default() };
    lab.tool(spec("put", Effect::Idempotent), guards, fails(ToolError::Lost("the line went dead".into())));
    lab.run("put", r#"{"q": "x"}"#).await;
    lab.check(expect![[r#"
        tool.requested put {"q": "x"}
        tool.started put attempt 1
        tool.unknown the line went dead; then: `put` cannot be called right now: too many calls in a short time; answer without it or try later
    "#]])
    .await;

    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    lab.tool(
        spec("put", Effect::Idempotent),
        Guards::default(),
        is_lost_then(ToolError::Declined("no".into())),
    );
    let cancel = lab.cancel.clone();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    };
    let call = lab.call("put", r#"{"q": "x"}"#);
    let (outcome, ()) = tokio::join!(lab.execute(&call), stop);
    assert!(matches!(outcome, Ok(Outcome::Unknown { .. })), "stopped between two attempts: {outcome:?}");
}

/// That a call was sent once, not long ago.
fn sent_before(lab: &Lab) -> SentBefore {
    SentBefore { first_at: lab.world.now(), at: Timestamp(7) }
}

#[tokio::test]
async fn a_call_that_was_in_flight_at_a_crash_is_never_said_not_to_have_happened() {
    let deny = Rule { action: Action::Deny, ..anything() };
    let ask = Rule { action: Action::Ask, ..anything() };
    for (rule, name) in [(deny, "put"), (ask, "put"), (anything(), "gone")] {
        let mut lab = Lab::new().await;
        lab.rules = Rules::new().with_layer("operator", vec![rule]);
        let runs = lab.tool(spec("put", Effect::Idempotent), Guards::default(), says("put"));
        let call = lab.call(name, r#"{"q": "x"}"#);
        let cx = CallContext { attempts_before: 1, ..lab.context(&call) };
        let outcome =
            Pipeline::new(lab.rules.clone()).resend_call(&call, sent_before(&lab), &cx).await.unwrap();
        assert!(matches!(outcome, Outcome::Unknown(Unknown { sent_at: Timestamp(7), .. })), "{outcome:?}");
        assert_eq!(runs.load(Ordering::Relaxed), 0);
    }
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    lab.tool(spec("put", Effect::Idempotent), Guards::default(), says("put"));
    let call = lab.call("put", r#"{"q": "x"}"#);
    let cx = CallContext { attempts_before: 1, ..lab.context(&call) };
    let outcome = Pipeline::new(lab.rules.clone()).resend_call(&call, sent_before(&lab), &cx).await.unwrap();
    assert_eq!(outcome, finished("put", "put"));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_sent_again_five_times_in_all_and_within_a_day_however_often_the_server_stops() {
    let day = 24 * 60 * 60 * 1_000;
    // How often it was sent before, how old the first of these is, and how often it is sent now.
    for (attempts_before, age_ms, sent_now) in [(1, 0, 2), (3, day, 2), (4, 0, 1), (5, 0, 0), (1, day + 1, 0)]
    {
        let mut lab = Lab::new().await;
        lab.rules = Rules::new().with_layer("operator", vec![anything()]);
        let put = ToolSpec { check_tool: Some("look".into()), ..spec("put", Effect::Idempotent) };
        let runs = lab.tool(put, Guards::default(), fails(ToolError::Lost("reset".into())));
        lab.tool(spec("look", Effect::Read), Guards::default(), says("it is there"));
        let call = lab.call("put", r#"{"q": "x"}"#);
        let cx = CallContext { attempts_before, ..lab.context(&call) };
        let first_at = lab.world.now().plus_ms(-age_ms);
        let before = SentBefore { first_at, at: lab.world.now() };
        let outcome = lab.pipeline().resend_call(&call, before, &cx).await.unwrap();
        let Outcome::Unknown(unknown) = outcome else { panic!("{outcome:?}") };
        assert_eq!(runs.load(Ordering::Relaxed), sent_now, "{attempts_before} before, {age_ms} ms ago");
        assert_eq!(unknown.checked.as_deref(), Some("it is there"));
    }
}

#[tokio::test]
async fn a_tool_that_panics_fails_its_call_and_nothing_else() {
    let lab = Lab::new().await;
    let breaks: Behaviour = Box::new(|_| Box::pin(async { panic!("oh") }));
    lab.tool(spec("look", Effect::Read), Guards { attempts: 1, ..Guards::default() }, breaks);
    let outcome = lab.run("look", r#"{"q": "x"}"#).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_stopped_run_ends_its_calls() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    lab.tool(spec("look", Effect::Read), Guards::default(), hangs());
    let runs = lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), hangs());
    let (look, send) = (lab.call("look", r#"{"q": "x"}"#), lab.call("send", r#"{"q": "x"}"#));
    let stop = async {
        while runs.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        lab.cancel.cancel();
    };
    let (read, sent, ()) = tokio::join!(lab.execute(&look), lab.execute(&send), stop);
    assert!(matches!(read, Ok(Outcome::Failed(_))), "{read:?}");
    assert!(matches!(sent, Ok(Outcome::Unknown { .. })), "{sent:?}");
}

#[tokio::test]
async fn what_was_not_sent_when_the_run_was_stopped_is_never_sent() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    let runs = lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), says("sent"));
    lab.cancel.cancel();
    let outcome = lab.run("send", r#"{"q": "x"}"#).await;
    assert!(
        matches!(&outcome, Outcome::Failed(failure) if failure.kind == FailureKind::Cancelled),
        "{outcome:?}"
    );
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert!(!lab.log().await.contains("tool.started"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_turn_leaves_the_line_when_the_run_is_stopped() {
    let lab = Lab::new().await;
    let limit =
        LimitSettings { concurrent: Some(1), wait: Duration::from_secs(600), ..LimitSettings::default() };
    let guards = Guards { limits: Limits { tool: Some(limit), user: None }, ..Guards::default() };
    let runs = lab.tool(spec("look", Effect::Read), guards, hangs());
    let (first, second) = (lab.call("look", r#"{"q": "1"}"#), lab.call("look", r#"{"q": "2"}"#));
    let began = Instant::now();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        lab.cancel.cancel();
    };
    _ = tokio::join!(lab.execute(&first), lab.execute(&second), stop);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert_eq!(lab.log().await.matches("tool.started").count(), 1);
}

#[tokio::test]
async fn a_large_output_is_cut_for_the_model_and_kept_whole() {
    let lab = Lab::new().await;
    let guards = Guards { output_bytes_max: 10, ..Guards::default() };
    lab.tool(spec("look", Effect::Read), guards, says("line one\nline two\nline three"));
    let call = lab.call("look", r#"{"q": "x"}"#);
    lab.execute(&call).await.unwrap();
    assert_eq!(lab.store.whole_output(call.id).await.unwrap(), "line one\nline two\nline three");
    let log = lab.log().await;
    assert!(log.contains("line one\n[cut: these are the first 8 of 28 bytes"), "{log}");
}

#[tokio::test]
async fn an_argument_that_does_not_fit_is_quoted_shortly_to_everybody() {
    let lab = Lab::new().await;
    lab.tool(spec("look", Effect::Read), Guards::default(), says("fine"));
    let call = lab.call("look", &format!(r#"{{"q": ["{}"]}}"#, "y".repeat(900_000)));
    let Outcome::Refused(failure) = lab.execute(&call).await.unwrap() else { panic!() };
    assert!(failure.message.len() < 1000, "{} bytes", failure.message.len());
    assert!(failure.message.contains("field `q`"), "{}", failure.message);
    // What the model wrote is on record once, and what is said of it quotes it shortly.
    assert!(lab.log().await.len() < 910_000);
}

#[tokio::test]
async fn a_long_failure_is_cut_for_the_model_and_kept_whole() {
    let lab = Lab::new().await;
    let fails: Behaviour = Box::new(|_| Box::pin(async { Err(ToolError::Declined("no ".repeat(300_000))) }));
    lab.tool(spec("look", Effect::Read), Guards::default(), fails);
    let call = lab.call("look", r#"{"q": "x"}"#);
    let Outcome::Failed(failure) = lab.execute(&call).await.unwrap() else { panic!() };
    assert!(failure.message.len() < 9000, "{} bytes", failure.message.len());
    assert!(failure.message.contains("[cut: these are the first 8192 of 9"), "{}", &failure.message[8000..]);
    assert!(lab.store.whole_output(call.id).await.unwrap().len() >= 900_000);
}

#[tokio::test]
async fn a_file_is_kept_with_the_outcome_and_shown_as_an_attachment() {
    let lab = Lab::new().await;
    let draws: Behaviour = Box::new(|_| {
        Box::pin(async {
            let file =
                OutputFile { name: "cat.png".into(), media_type: "image/png".into(), bytes: b"abc".to_vec() };
            Ok(ToolOutput { files: vec![file], ..ToolOutput::text("drawn") })
        })
    });
    let hour = CachePolicy { ttl: Duration::from_secs(3600), scope: CacheScope::Everyone };
    let drawn =
        lab.tool(spec("draw", Effect::Read), Guards { cache: Some(hour), ..Guards::default() }, draws);
    // The second comes from the cache and has its file all the same.
    for _ in 0..2 {
        let Outcome::Finished(output) = lab.run("draw", r#"{"q": "x"}"#).await else { panic!() };
        assert!(output.files.is_empty());
        let [attachment] = &output.attachments[..] else { panic!("{output:?}") };
        let id = attachment.url.strip_prefix(&format!("/api/runs/{}/files/", lab.run)).unwrap();
        let kept = lab.store.file(helve_store::Scope::Everyone, lab.run, id.into()).await.unwrap();
        assert_eq!((&*kept.bytes, kept.name.as_str()), (&b"abc"[..], "cat.png"));
    }
    assert_eq!(drawn.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_write_ends_what_was_stored_for_its_user_and_for_nobody_else() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    let mine = CachePolicy { ttl: Duration::from_secs(3600), scope: CacheScope::User };
    let reads =
        lab.tool(spec("look", Effect::Read), Guards { cache: Some(mine), ..Guards::default() }, says("it"));
    let writes = Guards { drops: vec!["look".into(), "gone".into()], attempts: 1, ..Guards::default() };
    lab.tool(spec("write", Effect::NonIdempotent), writes.clone(), says("done"));
    lab.tool(spec("lose", Effect::NonIdempotent), writes, fails(ToolError::Lost("cut off".into())));
    let look_as = async |user: &str| {
        let call = lab.call("look", r#"{"q": "x"}"#);
        let cx = CallContext { user: helve_types::UserId(user.into()), ..lab.context(&call) };
        Pipeline::new(lab.rules.clone()).execute_call(&call, &cx).await.unwrap();
        reads.load(Ordering::Relaxed)
    };
    assert_eq!((look_as("mei").await, look_as("mei").await, look_as("eve").await), (1, 1, 2));
    lab.run("write", r#"{"q": "x"}"#).await;
    assert_eq!((look_as("eve").await, look_as("mei").await, look_as("mei").await), (2, 3, 3));
    lab.run("lose", r#"{"q": "x"}"#).await;
    assert_eq!(look_as("mei").await, 4);
}

#[test]
fn a_definition_that_models_could_not_use_is_refused() {
    let registry = Registry::new();
    let register = |spec: ToolSpec| {
        let tool = FakeTool { spec, calls: Arc::default(), behaviour: says("x") };
        registry.register(Arc::new(tool), Guards::default(), &World::deterministic())
    };
    let good = spec("look", Effect::Read);
    assert!(register(ToolSpec { name: "look up".into(), ..good.clone() }).is_err());
    assert!(register(ToolSpec { description: " ".into(), ..good.clone() }).is_err());
    assert!(register(ToolSpec { parameters: json!({"type": "array"}), ..good.clone() }).is_err());
    assert!(register(good.clone()).is_ok());
    assert!(register(good).is_err());
    registry.unregister("look").unwrap();
    assert!(registry.unregister("look").is_err());
}
