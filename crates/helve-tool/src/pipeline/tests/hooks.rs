//! Hooks around calls: what they may change, what they may stop, and what their own failures mean.

use serde_json::Value;

use super::*;
use crate::{
    ChangedOutput, Hook, HookCall, HookError, HookFuture, HookPoint, HookReply, HookSettings, OnFailure,
};

type Before = Box<dyn Fn(&HookCall<'_>) -> Result<HookReply<Value>, HookError> + Send + Sync>;
type After = Box<dyn Fn(&ToolOutput) -> Result<HookReply<ChangedOutput>, HookError> + Send + Sync>;

/// A hook that does what the test says, and counts how often it was asked.
struct FakeHook {
    before: Before,
    after: After,
    asked: Arc<AtomicU32>,
}

impl Hook for FakeHook {
    fn before_call<'a>(&'a self, call: &'a HookCall<'a>) -> HookFuture<'a, Value> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { (self.before)(call) })
    }

    fn after_call<'a>(
        &'a self,
        _: &'a HookCall<'a>,
        output: &'a ToolOutput,
    ) -> HookFuture<'a, ChangedOutput> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { (self.after)(output) })
    }
}

/// Never answers.
struct Deaf;

impl Hook for Deaf {
    fn before_call<'a>(&'a self, _: &'a HookCall<'a>) -> HookFuture<'a, Value> {
        Box::pin(std::future::pending())
    }
}

/// Never says what it thinks of an output.
struct DeafAfter;

impl Hook for DeafAfter {
    fn after_call<'a>(&'a self, _: &'a HookCall<'a>, _: &'a ToolOutput) -> HookFuture<'a, ChangedOutput> {
        Box::pin(std::future::pending())
    }
}

fn settings(name: &str, on_failure: OnFailure) -> HookSettings {
    HookSettings {
        name: name.into(),
        points: vec![HookPoint::BeforeCall, HookPoint::AfterCall],
        tools: vec![],
        agents: vec![],
        timeout: Duration::from_secs(2),
        on_failure,
    }
}

fn hook(before: Before, after: After) -> (Arc<FakeHook>, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    (Arc::new(FakeHook { before, after, asked: asked.clone() }), asked)
}

fn before(
    before: impl Fn(&HookCall<'_>) -> Result<HookReply<Value>, HookError> + Send + Sync + 'static,
) -> Arc<FakeHook> {
    hook(Box::new(before), Box::new(|_| Ok(HookReply::Nothing))).0
}

fn after(
    after: impl Fn(&ToolOutput) -> Result<HookReply<ChangedOutput>, HookError> + Send + Sync + 'static,
) -> Arc<FakeHook> {
    hook(Box::new(|_| Ok(HookReply::Nothing)), Box::new(after)).0
}

fn one(hook: Arc<dyn Hook>) -> Arc<Hooks> {
    Arc::new(Hooks::new().with_hook(settings("guard", OnFailure::Refuse), hook))
}

#[tokio::test]
async fn changed_arguments_are_what_is_judged_asked_about_and_run() {
    let mut lab = Lab::new().await;
    lab.hooks = one(before(|_| Ok(HookReply::Change(json!({"q": "y"})))));
    lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), says("sent"));
    let call = lab.call("send", r#"{"q": "x"}"#);
    let question = asked(&lab, &call).await;
    assert_eq!(question.call().unwrap().arguments, r#"{"q":"y"}"#);
    // Taken up again, the call has the arguments that are on record.
    let recorded = ToolCall { arguments: question.call().unwrap().arguments.clone(), ..call };
    execute_granted(&lab, &recorded, Grant { binding: question.binding, changed: true, edited: None }).await;
    lab.check(expect![[r#"
        tool.requested send {"q": "x"}
        approval.asked {"q":"y"} it changes something and cannot be taken back
        tool.started send attempt 1 {"q":"y"}
        tool.finished sent [resolved fits approved run(1)]
    "#]])
        .await;
}

#[tokio::test]
async fn a_call_that_is_on_record_is_not_asked_about_again() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    let (hook, count) = hook(
        Box::new(|call| {
            Ok(HookReply::Change(json!({"q": format!("{}!", call.arguments["q"].as_str().unwrap())})))
        }),
        Box::new(|_| Ok(HookReply::Nothing)),
    );
    let points = vec![HookPoint::BeforeCall];
    let settings = HookSettings { points, ..settings("louder", OnFailure::Refuse) };
    lab.hooks = Arc::new(Hooks::new().with_hook(settings, hook));
    lab.tool(spec("put", Effect::Idempotent), Guards::default(), says("put"));
    lab.run("put", r#"{"q": "x"}"#).await;
    let log = lab.log().await;
    assert!(log.contains(r#"tool.started put attempt 1 {"q":"x!"}"#), "{log}");
    assert!(log.contains("[resolved fits hook(louder changed) allow run(1)]"), "{log}");
    let sent = lab.call("put", r#"{"q":"x!"}"#);
    let cx = CallContext { attempts_before: 1, ..lab.context(&sent) };
    lab.pipeline().resend_call(&sent, sent_before(&lab), &cx).await.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

/// Consent to the call of a question, with other arguments.
fn edit(question: &helve_types::Question, arguments: &str) -> Grant {
    Grant { binding: question.binding.clone(), changed: false, edited: Some(arguments.into()) }
}

#[tokio::test]
async fn what_a_person_writes_into_a_call_passes_the_hooks_too() {
    let mut lab = Lab::new().await;
    lab.hooks = one(before(|call| {
        let is_bad = call.arguments["q"] == "eve@evil.test";
        Ok(if is_bad { HookReply::Refuse("not to strangers".into()) } else { HookReply::Nothing })
    }));
    let runs = lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), says("sent"));
    let call = lab.call("send", r#"{"q": "mei"}"#);
    let question = asked(&lab, &call).await;
    execute_granted(&lab, &call, edit(&question, r#"{"q": "eve@evil.test"}"#)).await;
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    execute_granted(&lab, &call, edit(&question, r#"{"q": "li"}"#)).await;
    lab.check(expect![[r#"
        tool.requested send {"q": "mei"}
        approval.asked {"q":"mei"} it changes something and cannot be taken back
        tool.refused `send` was not called: not to strangers [resolved fits hook(guard refused)]
        tool.started send attempt 1 {"q":"li"}
        tool.finished sent [resolved fits approved run(1)]
    "#]])
        .await;
}

#[tokio::test]
async fn what_a_hook_makes_of_a_persons_edit_is_asked_about_anew() {
    let mut lab = Lab::new().await;
    lab.hooks = one(before(|call| {
        let q = call.arguments["q"].as_str().unwrap();
        Ok(if q == "li" { HookReply::Change(json!({"q": "li@example.com"})) } else { HookReply::Nothing })
    }));
    let runs = lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), says("sent"));
    let call = lab.call("send", r#"{"q": "mei"}"#);
    let question = asked(&lab, &call).await;
    let outcome = execute_granted(&lab, &call, edit(&question, r#"{"q": "li"}"#)).await;
    let Outcome::Asked(anew) = outcome else { panic!("nobody was asked: {outcome:?}") };
    assert_eq!(
        (&*anew.call().unwrap().arguments, runs.load(Ordering::Relaxed)),
        (r#"{"q":"li@example.com"}"#, 0)
    );
    assert_ne!(anew.binding, question.binding);
    // What the person is shown now is what runs.
    let recorded = ToolCall { arguments: anew.call().unwrap().arguments.clone(), ..call };
    execute_granted(&lab, &recorded, Grant { binding: anew.binding, changed: true, edited: None }).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_refused_call_does_not_run_and_the_model_is_told_the_reason() {
    let mut lab = Lab::new().await;
    lab.hooks = one(before(|_| Ok(HookReply::Refuse("only ISO dates are allowed".into()))));
    let runs = lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
    lab.run("look", r#"{"q": "x"}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    lab.check(expect![[r#"
        tool.requested look {"q": "x"}
        tool.refused `look` was not called: only ISO dates are allowed [resolved fits hook(guard refused)]
    "#]])
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_means_what_its_settings_say() {
    let broken = || before(|_| Err(HookError("connection refused".into())));
    let panics = || before(|_| panic!("oh"));
    let misfit = || before(|_| Ok(HookReply::Change(json!({"q": 7}))));
    let failing: [Arc<dyn Hook>; 4] = [broken(), panics(), misfit(), Arc::new(Deaf)];
    for hook in failing {
        for (on_failure, runs_expected) in [(OnFailure::Refuse, 0), (OnFailure::Continue, 1)] {
            let mut lab = Lab::new().await;
            lab.hooks = Arc::new(Hooks::new().with_hook(settings("guard", on_failure), hook.clone()));
            let runs = lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
            lab.run("look", r#"{"q": "x"}"#).await;
            assert_eq!(runs.load(Ordering::Relaxed), runs_expected, "{on_failure:?}");
            let log = lab.log().await;
            assert!(log.contains("hook(guard failed)"), "{log}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stopped_run_does_not_wait_for_a_hook() {
    let mut lab = Lab::new().await;
    lab.hooks = Arc::new(Hooks::new().with_hook(settings("deaf", OnFailure::Continue), Arc::new(Deaf)));
    let runs = lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
    lab.cancel.cancel();
    let outcome = lab.run("look", r#"{"q": "x"}"#).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_run_does_not_wait_for_a_hook_that_looks_at_an_output_and_the_output_is_withheld() {
    let mut lab = Lab::new().await;
    let deaf = HookSettings { timeout: Duration::from_secs(600), ..settings("deaf", OnFailure::Continue) };
    lab.hooks = Arc::new(Hooks::new().with_hook(deaf, Arc::new(DeafAfter)));
    lab.tool(spec("look", Effect::Read), Guards::default(), says("a secret"));
    let call = lab.call("look", r#"{"q": "x"}"#);
    let began = tokio::time::Instant::now();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        lab.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(lab.execute(&call), stop);
    assert!(matches!(outcome, Ok(Outcome::Finished(_))), "the call was made: {outcome:?}");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let log = lab.log().await;
    assert!(log.contains("withheld") && !log.contains("a secret"), "{log}");
}

#[tokio::test]
async fn an_output_is_changed_on_every_delivery_and_the_cache_keeps_the_tools_own() {
    let mut lab = Lab::new().await;
    let redact = after(|output| {
        assert_eq!(output.text, "the code is 1234");
        let text = Some(output.text.replace("1234", "****"));
        Ok(HookReply::Change(ChangedOutput { text, ..ChangedOutput::default() }))
    });
    lab.hooks = one(redact);
    let secret: Behaviour = Box::new(|_| {
        Box::pin(async { Ok(ToolOutput::text("the code is 1234").with_data(json!({"code": 1234}))) })
    });
    lab.tool(spec("look", Effect::Read), cached(CacheScope::Everyone), secret);
    for _ in 0..2 {
        let outcome = lab.run("look", r#"{"q": "x"}"#).await;
        // What the text said, the value beside it said too.
        assert_eq!(outcome, finished("look", "the code is ****"));
    }
    let log = lab.log().await;
    assert!(log.contains("[resolved fits allow hit hook(guard changed)]"), "{log}");
    assert!(!log.contains("1234"), "{log}");
}

#[tokio::test]
async fn a_withheld_output_is_no_failure_since_the_call_was_made() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    lab.hooks = one(after(|_| Ok(HookReply::Refuse("it has names in it".into()))));
    lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), says("sent to Mei"));
    lab.run("send", r#"{"q": "x"}"#).await;
    lab.check(expect![[r#"
        tool.requested send {"q": "x"}
        tool.started send attempt 1
        tool.finished `send` was called and has answered, but its output is withheld: it has names in it [resolved fits allow run(1) hook(guard refused)]
    "#]])
    .await;
}

#[tokio::test]
async fn files_and_title_are_seen_and_changed_with_the_rest() {
    let draws = || -> Behaviour {
        Box::new(|_| {
            let file = |name: &str| OutputFile {
                name: name.into(),
                media_type: "text/plain".into(),
                bytes: name.as_bytes().to_vec(),
            };
            let files = vec![file("plan.txt"), file("names.txt")];
            Box::pin(async { Ok(ToolOutput { files, ..ToolOutput::text("drawn").with_title("for Mei") }) })
        })
    };
    let names = |outcome: &Outcome| match outcome {
        Outcome::Finished(output) => {
            let files = output.attachments.iter().map(|file| file.name.clone()).collect::<Vec<_>>();
            (output.title.clone().unwrap(), files)
        }
        other => panic!("{other:?}"),
    };
    for (stay, left) in [(Some(vec!["plan.txt".into()]), &["plan.txt"][..]), (Some(vec![]), &[])] {
        let mut lab = Lab::new().await;
        lab.hooks = one(after(move |output| {
            assert_eq!((output.files.len(), output.title.as_deref()), (2, Some("for Mei")));
            let title = Some("for somebody".into());
            Ok(HookReply::Change(ChangedOutput { title, files: stay.clone(), ..ChangedOutput::default() }))
        }));
        lab.tool(spec("draw", Effect::Read), Guards::default(), draws());
        let call = lab.call("draw", r#"{"q": "x"}"#);
        let outcome = lab.execute(&call).await.unwrap();
        assert_eq!(
            names(&outcome),
            ("for somebody".into(), left.iter().map(|name| (*name).into()).collect())
        );
    }
    let mut lab = Lab::new().await;
    lab.hooks = one(after(|_| Ok(HookReply::Refuse("private".into()))));
    lab.tool(spec("draw", Effect::Read), Guards::default(), draws());
    assert_eq!(names(&lab.run("draw", r#"{"q": "x"}"#).await), ("withheld".into(), vec![]));
}

#[tokio::test]
async fn nobody_sees_a_tool_at_work_whose_output_somebody_looks_at_first() {
    let about =
        |tool: &str| HookSettings { tools: vec![tool.into()], ..settings("guard", OnFailure::Refuse) };
    for (asked_about, seen) in [("look", ""), ("other", "working")] {
        let mut lab = Lab::new().await;
        lab.hooks = Arc::new(Hooks::new().with_hook(about(asked_about), after(|_| Ok(HookReply::Nothing))));
        lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
        lab.run("look", r#"{"q": "x"}"#).await;
        assert_eq!(*lab.said.lock().unwrap(), seen, "{asked_about}");
    }
    // Of a tool that stands in as well.
    let mut lab = Lab::new().await;
    lab.hooks = Arc::new(Hooks::new().with_hook(about("peek"), after(|_| Ok(HookReply::Nothing))));
    let fallback = Some(helve_types::Fallback { tool: Some("peek".into()), ..Default::default() });
    let down = fails(ToolError::NotSent("no route".into()));
    lab.tool(spec("look", Effect::Read), Guards { fallback, attempts: 1, ..Guards::default() }, down);
    lab.tool(spec("peek", Effect::Read), Guards::default(), says("seen"));
    lab.run("look", r#"{"q": "x"}"#).await;
    assert_eq!(*lab.said.lock().unwrap(), "working", "only what was called is seen at work");
}

#[tokio::test(start_paused = true)]
async fn what_a_check_tool_says_passes_the_hooks_too() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    lab.hooks = one(after(|output| {
        let text = Some(output.text.replace("Mei", "somebody"));
        Ok(HookReply::Change(ChangedOutput { text, ..ChangedOutput::default() }))
    }));
    let send = ToolSpec { check_tool: Some("sent_mail".into()), ..spec("send", Effect::NonIdempotent) };
    lab.tool(send, Guards::default(), hangs());
    lab.tool(spec("sent_mail", Effect::Read), Guards::default(), says("one mail to Mei"));
    lab.run("send", r#"{"q": "x"}"#).await;
    let log = lab.log().await;
    assert!(log.contains("one mail to somebody") && !log.contains("Mei"), "{log}");
    assert_eq!(*lab.said.lock().unwrap(), "");
}

#[tokio::test]
async fn hooks_are_asked_in_order_and_only_about_what_they_are_for() {
    let mut lab = Lab::new().await;
    let add = |word: &'static str| {
        before(move |call| {
            Ok(HookReply::Change(json!({"q": format!("{} {word}", call.arguments["q"].as_str().unwrap())})))
        })
    };
    let named = |name: &str, tools: &[&str], agents: &[&str]| HookSettings {
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
        agents: agents.iter().map(|agent| (*agent).to_owned()).collect(),
        ..settings(name, OnFailure::Refuse)
    };
    let hooks = Hooks::new()
        .with_hook(named("a", &["lo*"], &[]), add("one"))
        .with_hook(named("b", &["send"], &[]), add("never"))
        .with_hook(named("c", &[], &["clerk"]), add("never"))
        .with_hook(named("d", &[], &["default", "x*"]), add("two"));
    lab.hooks = Arc::new(hooks);
    lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
    lab.run("look", r#"{"q": "x"}"#).await;
    lab.check(expect![[r#"
        tool.requested look {"q": "x"}
        tool.started look attempt 1 {"q":"x one two"}
        tool.finished found [resolved fits hook(a changed) hook(d changed) allow run(1)]
    "#]])
        .await;
}

#[tokio::test]
async fn hooks_about_a_tool_hold_for_it_also_when_it_stands_in() {
    let fallback = || helve_types::Fallback { tool: Some("peek".into()), ..Default::default() };
    let down = || fails(ToolError::NotSent("no route".into()));
    let about_peek = || HookSettings { tools: vec!["peek".into()], ..settings("guard", OnFailure::Refuse) };
    let guards = || Guards { fallback: Some(fallback()), attempts: 1, ..Guards::default() };

    let mut lab = Lab::new().await;
    lab.hooks =
        Arc::new(Hooks::new().with_hook(about_peek(), before(|_| Ok(HookReply::Refuse("not now".into())))));
    lab.tool(spec("look", Effect::Read), guards(), down());
    let peeks = lab.tool(spec("peek", Effect::Read), Guards::default(), says("seen"));
    let outcome = lab.run("look", r#"{"q": "x"}"#).await;
    assert!(
        matches!(&outcome, Outcome::Failed(failure) if failure.message.starts_with("no route. Answer")),
        "{outcome:?}"
    );
    assert_eq!(peeks.load(Ordering::Relaxed), 0);

    let mut lab = Lab::new().await;
    lab.hooks =
        Arc::new(Hooks::new().with_hook(about_peek(), after(|_| Ok(HookReply::Refuse("private".into())))));
    lab.tool(spec("look", Effect::Read), guards(), down());
    lab.tool(spec("peek", Effect::Read), Guards::default(), says("seen"));
    lab.run("look", r#"{"q": "x"}"#).await;
    let log = lab.log().await;
    assert!(log.contains("withheld: private") && !log.contains("seen"), "{log}");
}

#[tokio::test]
async fn a_call_that_repeats_itself_is_put_before_the_hooks_before_a_person_sees_it() {
    let mut lab = Lab::new().await;
    lab.tool(spec("send", Effect::NonIdempotent), Guards::default(), says("sent"));
    lab.hooks = one(before(|_| Ok(HookReply::Refuse("never".into()))));
    let call = lab.call("send", r#"{"q": "x"}"#);
    let outcome = lab.pipeline().ask_about_repetition(&call, again(), &lab.context(&call)).await.unwrap();
    // The person hears that it cannot be made, and a yes is bound to nothing.
    assert!(
        matches!(&outcome, Outcome::Asked(question) if question.because.contains("never") && question.binding.is_empty()),
        "{outcome:?}"
    );
    lab.hooks = one(before(|_| Ok(HookReply::Change(json!({"q": "y"})))));
    let call = lab.call("send", r#"{"q": "x"}"#);
    let outcome = lab.pipeline().ask_about_repetition(&call, again(), &lab.context(&call)).await.unwrap();
    assert!(
        matches!(&outcome, Outcome::Asked(question) if question.call().unwrap().arguments == r#"{"q":"y"}"#),
        "{outcome:?}"
    );
}

/// A hook that makes the system prompt this long.
struct Wordy(usize);

impl Hook for Wordy {
    fn system_prompt<'a>(&'a self, _: &'a crate::HookQuestion<'a>, _: &'a str) -> HookFuture<'a, String> {
        Box::pin(std::future::ready(Ok(HookReply::Change("x".repeat(self.0)))))
    }
}

#[tokio::test]
async fn a_system_prompt_of_more_than_a_mebibyte_is_a_failure_of_the_hook() {
    let user = helve_types::UserId("mei".into());
    let question = crate::HookQuestion {
        run: helve_types::World::deterministic().run_id(),
        conversation: None,
        agent: "default",
        user: &user,
        model: "m",
        step: 1,
    };
    let made = async |bytes: usize, on_failure| {
        let at = HookSettings { points: vec![HookPoint::SystemPrompt], ..settings("wordy", on_failure) };
        Hooks::new().with_hook(at, Arc::new(Wordy(bytes))).ask_for_system_prompt(&question, "before").await
    };
    assert_eq!(made(1 << 20, OnFailure::Refuse).await.unwrap().unwrap().len(), 1 << 20);
    assert!(made((1 << 20) + 1, OnFailure::Refuse).await.is_err());
    assert_eq!(made((1 << 20) + 1, OnFailure::Continue).await, Ok(None), "the prompt stays as it was");
}

fn again() -> helve_types::Reason {
    helve_types::Reason::new("again", helve_types::Notice::asks_after_circle())
}

#[tokio::test]
async fn a_call_is_read_early_unless_a_hook_concerns_its_tool_and_agent() {
    let mut lab = Lab::new().await;
    lab.tool(spec("look", Effect::Read), Guards::default(), says("seen"));
    let call = lab.call("look", r#"{"q": "x"}"#);
    let about = |points: &[HookPoint], tools: &[&str], agents: &[&str]| HookSettings {
        points: points.to_vec(),
        tools: tools.iter().map(|tool| (*tool).into()).collect(),
        agents: agents.iter().map(|agent| (*agent).into()).collect(),
        ..settings("guard", OnFailure::Refuse)
    };
    let calls = [HookPoint::BeforeCall, HookPoint::AfterCall];
    let cases = [
        (about(&calls, &[], &[]), false),
        (about(&[HookPoint::BeforeCall], &["lo*"], &["default"]), false),
        (about(&[HookPoint::AfterCall], &["look"], &[]), false),
        (about(&calls, &["send"], &[]), true),
        (about(&calls, &[], &["writer"]), true),
        (about(&[HookPoint::SystemPrompt, HookPoint::BeforeStep], &[], &[]), true),
    ];
    for (settings, is_read) in cases {
        let shown = format!("{settings:?}");
        let hook = before(|_| Ok(HookReply::Nothing));
        lab.hooks = Arc::new(Hooks::new().with_hook(settings, hook));
        let early = lab.pipeline().read_early(&call, &lab.context(&call)).await;
        assert_eq!(early.is_some(), is_read, "{shown}");
    }
}
