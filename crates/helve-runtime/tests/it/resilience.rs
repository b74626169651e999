//! When a model fails: it is asked again, another one answers, and the record says who and why.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use helve_model::{ModelError, ModelErrorKind, Reply, ScriptedModel, ToolMode};
use helve_runtime::{ModelOptions, RuntimeSettings, StartInput, StartRequest};
use helve_store::{Scope, Views};
use helve_types::{Mode, Part};
use tokio::time::Instant;

use crate::lab::{Lab, mei, reply, settle};

fn down() -> Reply {
    Reply::new().fails(ModelError::new(ModelErrorKind::Unavailable, "connection refused"))
}

fn broken(text: &str) -> Reply {
    Reply::new().text(text).fails(ModelError::new(ModelErrorKind::Broken, "connection reset"))
}

fn fails(kind: ModelErrorKind) -> Reply {
    Reply::new().fails(ModelError::new(kind, "no"))
}

fn busy(seconds: u64) -> Reply {
    let error = ModelError::new(ModelErrorKind::Unavailable, "busy");
    Reply::new().fails(ModelError { retry_after: Some(Duration::from_secs(seconds)), ..error })
}

fn model(name: &str, replies: impl IntoIterator<Item = Reply>) -> ScriptedModel {
    ScriptedModel::new(replies).named(name)
}

/// A server whose first model has all the others as its fallbacks.
struct FleetTest {
    lab: Lab,
    models: Vec<Arc<ScriptedModel>>,
}

impl FleetTest {
    fn new(models: impl IntoIterator<Item = ScriptedModel>) -> Self {
        Self::with_settings(models, RuntimeSettings::default())
    }

    fn with_settings(models: impl IntoIterator<Item = ScriptedModel>, settings: RuntimeSettings) -> Self {
        let models: Vec<_> = models.into_iter().map(Arc::new).collect();
        let fallbacks = models[1..].iter().map(|model| helve_model::Model::name(&**model).to_owned());
        let first = ModelOptions { fallbacks: fallbacks.collect(), ..ModelOptions::default() };
        let options = std::iter::once(first).chain(std::iter::repeat(ModelOptions::default()));
        let lab = Lab::with_models(models.iter().cloned().zip(options).collect(), settings);
        Self { lab, models }
    }

    async fn log(&self) -> String {
        let mut started = self.lab.start("tell me").await;
        settle(&mut started.follower).await;
        self.lab.log(started.run).await
    }

    /// How often each model was asked.
    fn asked(&self) -> Vec<usize> {
        self.models.iter().map(|model| model.asked().len()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn another_model_answers_when_the_first_was_asked_three_times() {
    let test = FleetTest::new([model("a", [down(), down(), down()]), model("b", [reply("say I am b.")])]);
    expect![[r#"
        1 run.started tell me
        2 text.finished I am b.
        3 step.finished Stop native by b
        4 run.finished Answered
    "#]]
    .assert_eq(&test.log().await);
    assert_eq!(test.asked(), [3, 1]);
}

#[tokio::test(start_paused = true)]
async fn what_was_shown_is_begun_anew_by_the_same_model_and_then_by_another() {
    let test = FleetTest::new([
        model("a", [broken("Half an ans"), broken("Again half")]),
        model("b", [reply("say A whole answer.")]),
    ]);
    expect![[r#"
        1 run.started tell me
        2 step.restarted attempt 2: connection reset
        3 step.restarted attempt 3: connection reset; `b` is asked instead
        4 text.finished A whole answer.
        5 step.finished Stop native by b, attempt 3
        6 run.finished Answered
    "#]]
    .assert_eq(&test.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_breaks_off_too_is_the_end_and_the_run_says_what_was_tried() {
    let test = FleetTest::new([
        model("a", [broken("Half an ans"), broken("Half an ans")]),
        model("b", [broken("Half of another")]),
        model("c", [reply("say Never asked.")]),
    ]);
    expect![[r#"
        1 run.started tell me
        2 step.restarted attempt 2: connection reset
        3 step.restarted attempt 3: connection reset; `b` is asked instead
        4 text.cut_off Half of another
        5 run.failed model_broke_off: connection reset (model `b`; tried `a` twice, then `b` once)
    "#]]
    .assert_eq(&test.log().await);
    assert_eq!(test.asked(), [2, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn what_was_read_of_an_answer_stays_on_record_though_the_last_try_said_nothing_and_no_model_reads_it() {
    let refused = || Reply::new().fails(ModelError::new(ModelErrorKind::Refused, "no more"));
    let lab = Lab::new([broken("Half an ans"), refused(), reply("say Whole.")]);
    let mut first = lab.start("tell me").await;
    settle(&mut first.follower).await;
    let conversation = first.conversation.unwrap();
    let kept = lab.store.messages(Scope::User(mei()), conversation).await.unwrap();
    let parts = &kept.last().unwrap().parts;
    assert!(
        matches!(&parts[..], [Part::CutOff { step: 1, text }, Part::Notice { .. }] if text == "Half an ans"),
        "{parts:?}"
    );
    let input = StartInput::Message { conversation: first.conversation, text: "again".into() };
    let mut second = lab.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    settle(&mut second.follower).await;
    assert!(!format!("{:?}", lab.model.asked().last()).contains("Half an ans"));
}

#[tokio::test(start_paused = true)]
async fn fragments_of_calls_are_dropped_and_the_call_of_the_next_try_runs_once() {
    let cut =
        Reply::new().call("send", r#"{"q": "half"}"#).fails(ModelError::new(ModelErrorKind::Broken, "reset"));
    let test = FleetTest::new([model("a", [cut, reply(r#"call look {"q": "x"}"#), reply("say Done.")])]);
    expect![[r#"
        1 run.started tell me
        2 step.restarted attempt 2: reset
        3 tool.requested look {"q": "x"}
        4 step.finished ToolCalls native, attempt 2
        5 tool.started look attempt 1
        6 tool.finished found x
        7 text.finished Done.
        8 step.finished Stop native
        9 run.finished Answered
    "#]]
    .assert_eq(&test.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_asked_for_is_made_and_a_long_one_is_not_waited_for() {
    let began = Instant::now();
    let test = FleetTest::new([model("a", [busy(20), reply("say I am a.")]), model("b", [])]);
    let log = test.log().await;
    assert!(log.contains("I am a."), "{log}");
    assert_eq!(began.elapsed().as_secs(), 20);

    let began = Instant::now();
    let test = FleetTest::new([model("a", [busy(31)]), model("b", [reply("say I am b.")])]);
    let log = test.log().await;
    assert!(log.contains("I am b."), "{log}");
    assert_eq!(began.elapsed().as_secs(), 0);
    assert_eq!(test.asked(), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn when_the_budget_of_second_tries_is_used_up_there_are_none() {
    let test = FleetTest::new([model("a", (0..30).map(|_| down()))]);
    let mut tries = vec![];
    for _ in 0..7 {
        let before = test.asked()[0];
        test.log().await;
        tries.push(test.asked()[0] - before);
    }
    // Ten second tries were saved up, and five questions earn one more.
    assert_eq!(tries, [3, 3, 3, 3, 3, 2, 1]);
    // They come back with time.
    tokio::time::advance(Duration::from_secs(12)).await;
    test.log().await;
    assert_eq!(test.asked()[0], 18 + 3);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_failed_moments_ago_is_left_alone_for_a_while() {
    let test = FleetTest::new([
        model("a", [down(), down(), down(), reply("say I am a.")]),
        model("b", [reply("say I am b."), reply("say I am b again.")]),
    ]);
    test.log().await;
    assert_eq!(test.asked(), [3, 1]);
    let log = test.log().await;
    assert!(log.contains("by b"), "{log}");
    assert_eq!(test.asked(), [3, 2]);
    tokio::time::advance(Duration::from_secs(16)).await;
    let log = test.log().await;
    assert!(log.contains("I am a.") && !log.contains("by b"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn models_that_all_failed_lately_are_still_asked_the_own_one_first() {
    let down_thrice = || [down(), down(), down()];
    let test = FleetTest::new([
        model("a", down_thrice().into_iter().chain([reply("say I am back.")])),
        model("b", down_thrice()),
    ]);
    let log = test.log().await;
    assert!(log.contains("connection refused (model `b`; tried `a` 3 times, then `b` 3 times)"), "{log}");
    let log = test.log().await;
    assert!(log.contains("I am back."), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_later_step_begins_with_the_runs_own_model_again() {
    let test = FleetTest::new([
        model("a", [busy(1), busy(1), busy(1), reply("say I am a.")]),
        model("b", [reply(r#"call hang {"q": "x"}"#)]),
    ]);
    let mut started = test.lab.start("tell me").await;
    crate::lab::until(&mut started.follower, "tool.started").await;
    // The guard of the tool ends it after longer than `a` was to be left alone.
    settle(&mut started.follower).await;
    let log = test.lab.log(started.run).await;
    assert!(log.contains("step.finished ToolCalls native by b"), "{log}");
    assert!(log.contains("text.finished I am a.\n"), "{log}");
    assert!(log.contains("step.finished Stop native\n"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_fallback_is_told_about_tools_in_its_own_way() {
    let call = r#"say <tool_call>{"name": "look", "arguments": {"q": "x"}}</tool_call>"#;
    let prompted = ToolMode::Fixed(Mode::Prompt("hermes".into()));
    let test = FleetTest::new([
        model("a", [down(), down(), down()]),
        model("b", [reply(call), reply("say Found.")]).in_mode(prompted),
    ]);
    expect![[r#"
        1 run.started tell me
        2 tool.requested look {"q": "x"}
        3 step.finished ToolCalls prompt:hermes by b
        4 tool.started look attempt 1
        5 tool.finished found x
        6 text.finished Found.
        7 step.finished Stop prompt:hermes by b
        8 run.finished Answered
    "#]]
    .assert_eq(&test.log().await);
    assert!(test.models[0].asked()[0].contains("tools: "), "{}", test.models[0].asked()[0]);
    let asked = &test.models[1].asked()[0];
    assert!(asked.contains("<tool_call>") && !asked.contains("\ntools: "), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_request_for_a_mode_is_about_the_runs_own_model() {
    let test = FleetTest::new([
        model("a", [down(), down(), down()]),
        model("b", [reply("say I am b.")]).in_mode(ToolMode::Auto),
    ]);
    let input = StartInput::Message { conversation: None, text: "tell me".into() };
    let mode = Some(Mode::Prompt("hermes".into()));
    let mut started =
        test.lab.runtime.start_run(StartRequest { mode, ..StartRequest::new(mei(), input) }).await.unwrap();
    settle(&mut started.follower).await;
    let log = test.lab.log(started.run).await;
    assert!(log.contains("step.finished Stop native by b"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_cannot_call_natively_moves_to_the_prompt_and_the_turn_goes_on() {
    let no_tools = fails(ModelErrorKind::NoTools);
    let test = FleetTest::new([
        model("a", [down(), down(), down()]),
        model("b", [no_tools, reply("say I am b.")]).in_mode(ToolMode::Auto),
    ]);
    let log = test.log().await;
    assert!(log.contains("step.finished Stop prompt:json_strict by b"), "{log}");
    assert_eq!(test.asked(), [3, 2]);
}

#[tokio::test(start_paused = true)]
async fn what_one_model_thought_is_not_sent_to_another() {
    let test = FleetTest::new([
        model("a", [reply(r#"think secret | call look {"q": "x"}"#), down(), down(), down()]),
        model("b", [reply("think mine | say I am b."), reply("say Never asked.")]),
    ]);
    let mut first = test.lab.start("tell me").await;
    settle(&mut first.follower).await;
    let asked = &test.models[1].asked()[0];
    expect![[r#"
        user: tell me
        calls: call_1 look {"q": "x"}
        result: call_1 found x
        tools: fail hang look lose lose_softly ping poll report send
    "#]]
    .assert_eq(asked);
    // The model that thought it sees it again, and not what the other thought.
    tokio::time::advance(Duration::from_secs(60)).await;
    let input = StartInput::Message { conversation: first.conversation, text: "and?".into() };
    let mut second = test.lab.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    settle(&mut second.follower).await;
    let asked = test.models[0].asked().pop().unwrap();
    assert!(asked.contains("thinks: secret") && !asked.contains("mine"), "{asked}");
    let messages = test.lab.store.messages(Scope::User(mei()), first.conversation.unwrap()).await.unwrap();
    let who: Vec<_> = messages[1].steps.iter().map(|step| step.model.as_str()).collect();
    assert_eq!(who, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_another_models_chance_and_a_refused_question_is_not() {
    let b = || model("b", [reply("say I am b.")]);
    let test = FleetTest::new([model("a", [fails(ModelErrorKind::Key)]), b()]);
    let log = test.log().await;
    assert!(log.contains("by b"), "{log}");
    assert_eq!(test.asked(), [1, 1]);
    for (kind, code) in [
        (ModelErrorKind::Refused, "model_refused: no\n"),
        (ModelErrorKind::TooLong, "context_overflow: no; the conversation is too long"),
    ] {
        let test = FleetTest::new([model("a", [fails(kind)]), b()]);
        let log = test.log().await;
        assert!(log.contains(code), "{log}");
        assert_eq!(test.asked(), [1, 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_complete_answer_stays_one_whatever_happens_to_its_stream_afterwards() {
    let late = Reply::new().text("All of it.").done();
    let late = late.fails(ModelError::new(ModelErrorKind::Broken, "connection reset"));
    let test = FleetTest::new([model("a", [late])]);
    expect![[r#"
        1 run.started tell me
        2 text.finished All of it.
        3 step.finished Stop native
        4 run.finished Answered
    "#]]
    .assert_eq(&test.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_step_ends_with_its_time_whatever_is_left_to_try() {
    let began = Instant::now();
    let settings = RuntimeSettings { step_time_max: Duration::from_secs(60), ..RuntimeSettings::default() };
    let test = FleetTest::with_settings(
        [model("a", [Reply::new().text("Well").hangs()]), model("b", [reply("say Never asked.")])],
        settings,
    );
    expect![[r#"
        1 run.started tell me
        2 text.cut_off Well
        3 run.failed model_unavailable: the model `a` did not answer in the time of the step
    "#]]
    .assert_eq(&test.log().await);
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_waited_for_that_usually_takes_longer_than_the_step_has_left() {
    let slow = |line: &str| reply(line).after(Duration::from_secs(50));
    let settings = RuntimeSettings { step_time_max: Duration::from_secs(60), ..RuntimeSettings::default() };
    let test = FleetTest::with_settings(
        [model("a", [slow("say I am slow."), busy(20)]), model("b", [reply("say I am b.")])],
        settings,
    );
    test.log().await;
    let began = Instant::now();
    let log = test.log().await;
    assert!(log.contains("by b"), "{log}");
    assert_eq!((began.elapsed().as_secs(), test.asked()), (0, vec![2, 1]));
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_cannot_be_expected_to_answer_in_time_is_passed_over() {
    let slow = |line: &str| reply(line).after(Duration::from_secs(40));
    let settings = RuntimeSettings { step_time_max: Duration::from_secs(60), ..RuntimeSettings::default() };
    let late = fails(ModelErrorKind::Key).after(Duration::from_secs(30));
    let test = FleetTest::with_settings(
        [
            model("a", [fails(ModelErrorKind::Key), late]),
            model("b", [slow("say I am b.")]),
            model("c", [reply("say I am c.")]),
        ],
        settings,
    );
    test.log().await;
    assert_eq!(test.asked(), [1, 1, 0]);
    // `a` may be asked first again.
    tokio::time::advance(Duration::from_secs(20)).await;
    let log = test.log().await;
    assert!(log.contains("by c"), "{log}");
    assert_eq!(test.asked(), [2, 1, 1]);
}
