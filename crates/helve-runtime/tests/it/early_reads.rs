//! Calls that only read, made while the model still writes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use expect_test::expect;
use helve_model::{ModelError, ModelErrorKind, Reply, ScriptedModel, ToolMode};
use helve_runtime::{Budgets, Limits, ModelOptions, RuntimeSettings, StartedRun};
use helve_store::Scope;
use helve_tool::{
    CachePolicy, CacheScope, CallContext, Guards, Hook, HookPoint, HookSettings, Hooks, OnFailure, Request,
    Tool, ToolFuture,
};
use helve_types::{Effect, Flow, Mode, ToolOutput, ToolSpec};
use tokio::sync::Notify;

use crate::lab::{Lab, mei, reply, settle, spec};

const X: &str = r#"{"q": "x"}"#;

/// A message with calls that are complete before it is, and what it waits for before it goes on.
struct Paused {
    reply: Reply,
    goes_on: Arc<Notify>,
}

/// The message up to the point where it waits.
fn paused(calls: &[(&str, &str)]) -> Paused {
    let goes_on = Arc::new(Notify::new());
    let reply = calls
        .iter()
        .fold(Reply::new(), |reply, (tool, arguments)| reply.call(tool, arguments).call_finished());
    Paused { reply: reply.waits(&goes_on), goes_on }
}

fn allowing_all() -> RuntimeSettings {
    let allow = serde_json::from_value(serde_json::json!({"action": "allow"})).unwrap();
    RuntimeSettings { rules: vec![allow], ..RuntimeSettings::default() }
}

fn lab(settings: RuntimeSettings, replies: impl IntoIterator<Item = Reply>) -> Lab {
    Lab::with_model(ScriptedModel::new(replies), settings)
}

/// Lets everything go on that can, and says how many calls were made.
async fn calls_made(lab: &Lab) -> u32 {
    for _ in 0..300 {
        tokio::task::yield_now().await;
    }
    lab.runs.load(Ordering::Relaxed)
}

async fn finish(lab: &Lab, mut run: StartedRun, goes_on: &Notify) -> String {
    goes_on.notify_one();
    settle(&mut run.follower).await;
    lab.log(run.run).await
}

#[tokio::test]
async fn a_complete_call_that_only_reads_starts_while_the_model_writes_and_its_answer_is_taken() {
    let Paused { reply: message, goes_on } = paused(&[("look", X)]);
    let lab = lab(RuntimeSettings::default(), [message.text("and so on").done(), reply("say Found.")]);
    let mut run = lab.start("go").await;
    assert_eq!(calls_made(&lab).await, 1, "the model still writes");
    assert!(!lab.log(run.run).await.contains("tool."), "nothing of the call is on record");
    goes_on.notify_one();
    assert_eq!(settle(&mut run.follower).await, "run.finished");
    assert_eq!(calls_made(&lab).await, 1, "it is made once");
    lab.check_log(
        run.run,
        expect![[r#"
            1 run.started go
            2 text.finished and so on
            3 tool.requested look {"q": "x"}
            4 step.finished ToolCalls native
            5 tool.started look attempt 1
            6 tool.finished found x
            7 text.finished Found.
            8 step.finished Stop native
            9 run.finished Answered
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_early_read_that_is_still_at_work_is_shown_as_running_once_its_message_is_complete() {
    let Paused { reply: message, goes_on } = paused(&[("hang", X)]);
    let lab = lab(RuntimeSettings::default(), [message.done()]);
    let run = lab.start("go").await;
    calls_made(&lab).await;
    goes_on.notify_one();
    calls_made(&lab).await;
    let log = lab.log(run.run).await;
    assert!(log.contains("tool.started hang"), "{log}");
}

#[tokio::test]
async fn a_call_in_the_text_starts_early_where_its_dialect_marks_its_end() {
    let goes_on = Arc::new(Notify::new());
    let call = r#"<tool_call>{"name": "look", "arguments": {"q": "x"}}</tool_call>"#;
    let message = Reply::new().text(call).waits(&goes_on).text("\n").done();
    let model = ScriptedModel::new([message, reply("say Found.")])
        .in_mode(ToolMode::Fixed(Mode::Prompt("hermes".into())));
    let lab = Lab::with_model(model, RuntimeSettings::default());
    let run = lab.start("go").await;
    assert_eq!(calls_made(&lab).await, 1, "the model still writes");
    let log = finish(&lab, run, &goes_on).await;
    assert_eq!(calls_made(&lab).await, 1);
    assert!(log.contains("tool.finished found x") && !log.contains("discarded"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn the_answer_is_discarded_if_the_message_breaks_off_and_the_call_is_made_anew() {
    let Paused { reply: message, goes_on } = paused(&[("look", X)]);
    let broken = message.fails(ModelError::new(ModelErrorKind::Broken, "the line went dead"));
    let replies = [broken, reply(r#"call look {"q": "y"}"#), reply("say Found.")];
    let lab = lab(RuntimeSettings::default(), replies);
    let mut run = lab.start("go").await;
    assert_eq!(calls_made(&lab).await, 1);
    goes_on.notify_one();
    assert_eq!(settle(&mut run.follower).await, "run.finished");
    assert_eq!(calls_made(&lab).await, 2);
    lab.check_log(
        run.run,
        expect![[r#"
            1 run.started go
            2 tool.discarded look
            3 step.restarted attempt 2: the line went dead
            4 tool.requested look {"q": "y"}
            5 step.finished ToolCalls native, attempt 2
            6 tool.started look attempt 1
            7 tool.finished found y
            8 text.finished Found.
            9 step.finished Stop native
            10 run.finished Answered
        "#]],
    )
    .await;
    let asked = lab.model.asked();
    assert!(asked.iter().all(|asked| !asked.contains("found x")), "{asked:?}");
}

#[tokio::test]
async fn a_stop_ends_an_early_read_and_says_that_it_was_sent() {
    let goes_on = Arc::new(Notify::new());
    let message = Reply::new().text("Let me see. ").call("hang", X).call_finished().waits(&goes_on).done();
    let lab = lab(RuntimeSettings::default(), [message]);
    let mut run = lab.start("go").await;
    assert_eq!(calls_made(&lab).await, 1);
    lab.runtime.cancel_run(Scope::User(mei()), run.run, "mei".into()).await.unwrap();
    assert_eq!(settle(&mut run.follower).await, "run.cancelled");
    lab.check_log(
        run.run,
        expect![[r#"
            1 run.started go
            2 tool.discarded hang
            3 text.finished Let me see.
            4 step.finished Cancelled native
            5 run.cancelled by mei
        "#]],
    )
    .await;
}

#[tokio::test]
async fn nothing_with_an_effect_starts_before_its_message_is_complete() {
    for effect in [Effect::Idempotent, Effect::NonIdempotent] {
        let Paused { reply: message, goes_on } = paused(&[("write", X)]);
        let lab = lab(allowing_all(), [message.done(), reply("say Done.")]);
        lab.register(Counted::new(&lab, spec("write", effect)), Guards::default());
        let run = lab.start("go").await;
        assert_eq!(calls_made(&lab).await, 0, "{effect:?}");
        let log = finish(&lab, run, &goes_on).await;
        assert_eq!(calls_made(&lab).await, 1, "{effect:?}");
        assert!(log.contains("tool.finished"), "{log}");
    }
}

#[tokio::test]
async fn what_a_person_is_asked_about_or_a_rule_forbids_does_not_start_early() {
    for action in ["ask", "deny"] {
        let rule = serde_json::json!({"tool": "look", "action": action});
        let rules = vec![serde_json::from_value(rule).unwrap()];
        let Paused { reply: message, goes_on } = paused(&[("look", X)]);
        let settings = RuntimeSettings { rules, ..RuntimeSettings::default() };
        let lab = lab(settings, [message.done(), reply("say Well.")]);
        let run = lab.start("go").await;
        assert_eq!(calls_made(&lab).await, 0, "{action}");
        let log = finish(&lab, run, &goes_on).await;
        assert_eq!(calls_made(&lab).await, 0, "{action}: {log}");
    }
}

struct Silent;

impl Hook for Silent {}

#[tokio::test]
async fn a_call_that_a_hook_has_a_say_in_does_not_start_early() {
    let settings = HookSettings {
        name: "silent".into(),
        points: vec![HookPoint::BeforeCall],
        tools: vec![],
        agents: vec![],
        timeout: Duration::from_secs(1),
        on_failure: OnFailure::Continue,
    };
    let hooks = Arc::new(Hooks::new().with_hook(settings, Arc::new(Silent)));
    let Paused { reply: message, goes_on } = paused(&[("look", X)]);
    let settings = RuntimeSettings { hooks, ..RuntimeSettings::default() };
    let lab = lab(settings, [message.done(), reply("say Found.")]);
    let run = lab.start("go").await;
    assert_eq!(calls_made(&lab).await, 0);
    let log = finish(&lab, run, &goes_on).await;
    assert_eq!(calls_made(&lab).await, 1, "{log}");
}

#[tokio::test]
async fn what_no_call_is_left_for_in_the_budget_does_not_start_early() {
    let two = r#"{"q": "y"}"#;
    let Paused { reply: message, goes_on } = paused(&[("look", X), ("look", two)]);
    let run = Limits { calls: Some(1), ..Limits::default() };
    let settings =
        RuntimeSettings { budgets: Budgets { run, ..Budgets::default() }, ..RuntimeSettings::default() };
    let lab = lab(settings, [message.done(), reply("say Found.")]);
    let run = lab.start("go").await;
    assert_eq!(calls_made(&lab).await, 1, "one call is left");
    let log = finish(&lab, run, &goes_on).await;
    assert_eq!(calls_made(&lab).await, 1, "{log}");
    assert!(log.contains("budget.spent"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_discarded_counts_as_a_call_of_the_budget() {
    let Paused { reply: message, goes_on } = paused(&[("look", X)]);
    let broken = message.fails(ModelError::new(ModelErrorKind::Broken, "the line went dead"));
    let run = Limits { calls: Some(1), ..Limits::default() };
    let settings =
        RuntimeSettings { budgets: Budgets { run, ..Budgets::default() }, ..RuntimeSettings::default() };
    let lab = lab(settings, [broken, reply(r#"call look {"q": "y"}"#), reply("say Found.")]);
    let run = lab.start("go").await;
    assert_eq!(calls_made(&lab).await, 1);
    let log = finish(&lab, run, &goes_on).await;
    assert_eq!(calls_made(&lab).await, 1, "{log}");
    assert!(log.contains("budget.spent"), "{log}");
}

#[tokio::test]
async fn no_more_calls_start_early_than_run_side_by_side_or_are_made_in_a_message() {
    let calls: Vec<String> = (0..6).map(|q| format!(r#"{{"q": "{q}"}}"#)).collect();
    let calls: Vec<(&str, &str)> = calls.iter().map(|arguments| ("look", arguments.as_str())).collect();
    for (parallel_calls_max, calls_per_message_max, early, made) in [(4, 16, 4, 6), (16, 3, 3, 3)] {
        let Paused { reply: message, goes_on } = paused(&calls);
        let settings =
            RuntimeSettings { parallel_calls_max, calls_per_message_max, ..RuntimeSettings::default() };
        let lab = lab(settings, [message.done(), reply("say Found.")]);
        let run = lab.start("go").await;
        assert_eq!(calls_made(&lab).await, early);
        let log = finish(&lab, run, &goes_on).await;
        assert_eq!(calls_made(&lab).await, made, "{log}");
    }
}

#[tokio::test]
async fn a_call_that_repeats_itself_does_not_start_early() {
    let look = || reply(r#"call look {"q": "x"}"#);
    let mut counts = vec![];
    for is_complete in [false, true] {
        let goes_on = Arc::new(Notify::new());
        let last = Reply::new().call("look", X);
        let last = if is_complete { last.call_finished() } else { last };
        // The same question so often in a row is put before a person.
        let replies = (0..4).map(|_| look()).chain([last.waits(&goes_on).done(), reply("say Found.")]);
        let lab = lab(RuntimeSettings::default(), replies);
        let run = lab.start("go").await;
        let before = calls_made(&lab).await;
        finish(&lab, run, &goes_on).await;
        counts.push((before, calls_made(&lab).await));
    }
    assert_eq!(counts[0], counts[1], "with and without the mark");
    assert_eq!(counts[0].0, counts[0].1, "the last call is not made");
}

#[tokio::test]
async fn an_answer_from_the_cache_is_no_call() {
    let Paused { reply: message, goes_on } = paused(&[("kept", X)]);
    let lab = lab(
        RuntimeSettings::default(),
        [reply(r#"call kept {"q": "x"}"#), message.done(), reply("say Found.")],
    );
    let cache = Some(CachePolicy { ttl: Duration::from_secs(60), scope: CacheScope::User });
    let guards = Guards { cache, ..Guards::default() };
    lab.register(Counted::new(&lab, spec("kept", Effect::Read)), guards);
    let run = lab.start("go").await;
    assert_eq!(calls_made(&lab).await, 1);
    let log = finish(&lab, run, &goes_on).await;
    assert_eq!(calls_made(&lab).await, 1, "{log}");
    assert_eq!(log.matches("tool.started").count(), 1, "{log}");
    assert_eq!(log.matches("tool.finished").count(), 2, "{log}");
}

#[tokio::test]
async fn what_the_model_has_just_read_is_held_against_a_call_that_starts_early() {
    // Private data and a stranger's words are the results of the step before: with both, nothing leaves unasked.
    for sources in [vec!["secret"], vec!["secret", "page"]] {
        let Paused { reply: message, goes_on } = paused(&[("fetch", X)]);
        let calls: Vec<String> = sources.iter().map(|source| format!("call {source} {X}")).collect();
        let replies = [reply(&calls.join(" | ")), message.done(), reply("say Found.")];
        let lab = lab(allowing_all(), replies);
        let flows = [
            ("secret", Flow { private: true, ..Flow::default() }),
            ("page", Flow { untrusted: true, ..Flow::default() }),
            ("fetch", Flow { outward: true, place: Some("strange.example".into()), ..Flow::default() }),
        ];
        for (name, flow) in flows {
            let spec = ToolSpec { flow, ..spec(name, Effect::Read) };
            lab.register(Counted::new(&lab, spec), Guards::default());
        }
        let run = lab.start("go").await;
        let is_tainted = sources.len() == 2;
        let before = u32::try_from(sources.len()).unwrap();
        assert_eq!(calls_made(&lab).await, if is_tainted { before } else { before + 1 }, "{sources:?}");
        let log = finish(&lab, run, &goes_on).await;
        assert_eq!(log.contains("approval.asked"), is_tainted, "{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_was_begun_early_and_not_recorded_is_made_again_after_a_crash() {
    let Paused { reply: message, .. } = paused(&[("look", X)]);
    let lab = lab(RuntimeSettings::default(), [message.done()]);
    let run = lab.start("go").await.run;
    assert_eq!(calls_made(&lab).await, 1);
    lab.runtime.shut_down(Duration::ZERO).await;
    lab.model.then(reply(r#"call look {"q": "x"}"#));
    lab.model.then(reply("say Found."));
    let next = lab.restarted();
    assert_eq!(next.runtime.resume_interrupted_runs().await.unwrap(), 1);
    assert_eq!(settle(&mut next.runtime.follow_run(run, 1)).await, "run.finished");
    assert_eq!(calls_made(&lab).await, 2);
    assert!(!next.log(run).await.contains("discarded"));
}

/// A tool that counts its calls with those of the lab.
struct Counted {
    spec: ToolSpec,
    runs: Arc<std::sync::atomic::AtomicU32>,
}

impl Counted {
    fn new(lab: &Lab, spec: ToolSpec) -> Arc<Self> {
        Arc::new(Self { spec, runs: lab.runs.clone() })
    }
}

impl Tool for Counted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(ToolOutput::text("done"))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_stands_in_has_its_own_early_reads() {
    let Paused { reply: message, goes_on } = paused(&[("look", X)]);
    let refused = message.fails(ModelError::new(ModelErrorKind::Key, "no"));
    let first = Arc::new(ScriptedModel::new([refused]));
    let second = paused(&[("look", r#"{"q": "y"}"#)]);
    let replies = [second.reply.done(), reply("say Found.")];
    let other = Arc::new(ScriptedModel::new(replies).named("other"));
    let options = ModelOptions { fallbacks: vec!["other".into()], ..ModelOptions::default() };
    let models = vec![(first, options), (other, ModelOptions::default())];
    let lab = Lab::with_models(models, RuntimeSettings::default());
    let run = lab.start("go").await;
    assert_eq!(calls_made(&lab).await, 1);
    goes_on.notify_one();
    let made = calls_made(&lab).await;
    let log = finish(&lab, run, &second.goes_on).await;
    assert!(log.contains("tool.discarded look"), "{log}");
    assert!(log.contains("tool.finished found y"), "{log}");
    assert_eq!((made, calls_made(&lab).await), (2, 2), "{log}");
}
