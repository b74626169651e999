//! Hooks in whole runs: what models are told, and what becomes of a changed call over a restart.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use expect_test::expect;
use helve_model::{Reply, ScriptedModel, ToolMode};
use helve_runtime::RuntimeSettings;
use helve_store::{Log, Scope};
use helve_tool::{
    Hook, HookCall, HookError, HookFuture, HookPoint, HookQuestion, HookReply, HookSettings, Hooks, OnFailure,
};
use helve_types::{Answer, Fact, Mode, ModelParams, SnapshotId, StepEdge, StepSnapshot};
use serde_json::{Value, json};

use crate::lab::{Lab, mei, reply, settle};
use crate::recovery::{crashed, requested};

/// Numbers whatever it is asked about.
#[derive(Default)]
struct Numbering(AtomicU32);

impl Numbering {
    fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Hook for Numbering {
    fn before_call<'a>(&'a self, call: &'a HookCall<'a>) -> HookFuture<'a, Value> {
        let q = format!("{} no. {}", call.arguments["q"].as_str().unwrap(), self.next());
        Box::pin(async move { Ok(HookReply::Change(json!({"q": q}))) })
    }

    fn system_prompt<'a>(
        &'a self,
        question: &'a HookQuestion<'a>,
        system: &'a str,
    ) -> HookFuture<'a, String> {
        let system = format!("{system}Question {} of step {}.", self.next(), question.step);
        Box::pin(async move { Ok(HookReply::Change(system)) })
    }

    fn params<'a>(&'a self, _: &'a HookQuestion<'a>, params: &'a ModelParams) -> HookFuture<'a, ModelParams> {
        assert_eq!(params.seed, None);
        let seed = Some(i64::from(self.next()));
        Box::pin(async move { Ok(HookReply::Change(ModelParams { seed, ..ModelParams::default() })) })
    }
}

/// Takes a snapshot before each step, and after the first one only.
struct Snapshots;

impl Hook for Snapshots {
    fn before_step<'a>(&'a self, step: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        let id = SnapshotId::try_from(format!("before-{}", step.step)).unwrap();
        Box::pin(async move { Ok(HookReply::Change(id)) })
    }

    fn after_step<'a>(&'a self, step: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        let failed = step.step > 1;
        Box::pin(async move {
            match failed {
                true => Err(HookError("the disk is full".into())),
                false => Ok(HookReply::Change(SnapshotId::try_from("after-1".to_owned()).unwrap())),
            }
        })
    }
}

/// Takes snapshots at both ends of a step and numbers them.
#[derive(Default)]
struct NumberedSnapshots(AtomicU32);

impl NumberedSnapshots {
    fn take(&self) -> HookFuture<'static, SnapshotId> {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let id = SnapshotId::try_from(format!("no-{number}")).unwrap();
        Box::pin(async move { Ok(HookReply::Change(id)) })
    }
}

impl Hook for NumberedSnapshots {
    fn before_step<'a>(&'a self, _: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        self.take()
    }

    fn after_step<'a>(&'a self, _: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        self.take()
    }
}

/// Never answers.
struct Silent;

impl Hook for Silent {
    fn before_step<'a>(&'a self, _: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        Box::pin(std::future::pending())
    }
}

/// Says no.
struct No;

impl Hook for No {
    fn system_prompt<'a>(&'a self, _: &'a HookQuestion<'a>, _: &'a str) -> HookFuture<'a, String> {
        Box::pin(async { Ok(HookReply::Refuse("the house is closed".into())) })
    }
}

fn at(points: &[HookPoint], hook: impl Hook) -> RuntimeSettings {
    let settings = HookSettings {
        name: "house".into(),
        points: points.to_vec(),
        tools: vec![],
        agents: vec![],
        timeout: Duration::from_secs(5),
        on_failure: OnFailure::Refuse,
    };
    RuntimeSettings {
        hooks: Arc::new(Hooks::new().with_hook(settings, Arc::new(hook))),
        ..Default::default()
    }
}

#[tokio::test]
async fn the_system_prompt_is_asked_about_once_for_each_step() {
    let model = ScriptedModel::new([reply(r#"call look {"q": "x"}"#), reply("say Done.")]);
    let lab = Lab::with_model(model, at(&[HookPoint::SystemPrompt], Numbering::default()));
    let mut started = lab.start("look x up").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let asked = lab.model.asked();
    assert!(asked[0].contains("Question 1 of step 1."), "{}", asked[0]);
    assert!(asked[1].contains("Question 2 of step 2."), "{}", asked[1]);
}

#[tokio::test]
async fn what_a_hook_adds_stands_behind_what_stays_the_same_in_both_ways_of_calling() {
    for mode in [Mode::Native, Mode::Prompt("json_strict".into())] {
        let in_prompt = mode != Mode::Native;
        let call = match in_prompt {
            false => reply(r#"call look {"q": "x"}"#),
            true => Reply::new().text(r#"{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{\"q\": \"x\"}"}}]}"#).done(),
        };
        let model = ScriptedModel::new([call, reply("say Done.")]).in_mode(ToolMode::Fixed(mode));
        let lab = Lab::with_model(model, at(&[HookPoint::SystemPrompt], Numbering::default()));
        let mut started = lab.start("look x up").await;
        assert_eq!(settle(&mut started.follower).await, "run.finished");
        let (asked, headers) = (lab.model.asked(), lab.model.asked_after());
        assert_eq!(headers.len(), 2, "{asked:?}");
        assert_eq!(headers[0], headers[1]);
        assert_eq!(headers[0].contains("look"), in_prompt, "{}", headers[0]);
        for (asked, number) in asked.iter().zip(1..) {
            let added = asked.find(&format!("Question {number} of step {number}.")).unwrap();
            assert!(added >= headers[0].len() && !headers[0].contains("Question"), "{asked}");
        }
    }
}

#[tokio::test]
async fn a_hook_that_refuses_a_question_ends_the_run() {
    let lab = Lab::with_model(ScriptedModel::new([reply("say Hi.")]), at(&[HookPoint::SystemPrompt], No));
    let mut started = lab.start("hello").await;
    assert_eq!(settle(&mut started.follower).await, "run.failed");
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started hello
            2 run.failed hook_refused: the hook `house` keeps the model from being asked: the house is closed
        "#]],
    )
    .await;
    assert!(lab.model.asked().is_empty());
}

#[tokio::test]
async fn what_a_person_allows_is_what_the_hook_made_of_the_call_also_after_a_restart() {
    let replies = [reply(r#"call send {"q": "x"}"#), reply("say Sent.")];
    let lab =
        Lab::with_model(ScriptedModel::new(replies), at(&[HookPoint::BeforeCall], Numbering::default()));
    let mut started = lab.start("send x").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let lab = lab.restarted();
    let question = lab.questions().await.remove(0);
    let allow = Answer::approve();
    lab.runtime.answer_approval(Scope::User(mei()), question.approval, allow, "mei".into()).await.unwrap();
    let mut follower = lab.runtime.follow_run(started.run, 5);
    assert_eq!(settle(&mut follower).await, "run.finished");
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started send x
            2 tool.requested send {"q": "x"}
            3 step.finished ToolCalls native
            4 approval.asked send {"q":"x no. 1"}
            5 run.waiting waiting_approval
            6 approval.answered {"decision":"approve"} by mei
            7 tool.started send attempt 1 with {"q":"x no. 1"}
            8 tool.finished sent x no. 1
            9 text.finished Sent.
            10 step.finished Stop native
            11 run.finished Answered
        "#]],
    )
    .await;
}

#[tokio::test]
async fn parameters_of_a_hook_are_laid_over_the_others() {
    let lab = Lab::with_model(
        ScriptedModel::new([reply("say Hi.")]),
        at(&[HookPoint::Params], Numbering::default()),
    );
    let mut started = lab.start("hello").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert_eq!(lab.model.asked_with().remove(0).seed, Some(1));
    let events = lab.store.events(started.run, 0, 99).await.unwrap();
    let recorded = events.iter().find_map(|recorded| match &recorded.event.fact {
        Fact::StepFinished { params, .. } => params.clone(),
        _ => None,
    });
    assert_eq!(recorded.and_then(|params| params.seed), Some(1), "what was laid over is on record");
}

#[tokio::test]
async fn snapshots_of_a_step_are_in_the_log_and_a_failing_hook_leaves_a_notice() {
    let model = ScriptedModel::new([reply(r#"call look {"q": "x"}"#), reply("say Done.")]);
    let lab = Lab::with_model(model, at(&[HookPoint::BeforeStep, HookPoint::AfterStep], Snapshots));
    let mut started = lab.start("look x up").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started look x up
            2 step.snapshot Before 1 house: before-1
            3 tool.requested look {"q": "x"}
            4 step.finished ToolCalls native
            5 tool.started look attempt 1
            6 tool.finished found x
            7 step.snapshot After 1 house: after-1
            8 step.snapshot Before 2 house: before-2
            9 text.finished Done.
            10 step.finished Stop native
            11 step.snapshot After 2 house: step_hook_failed
            12 run.finished Answered
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_step_hook_that_does_not_answer_in_time_leaves_a_notice_and_the_run_goes_on() {
    let lab = Lab::with_model(ScriptedModel::new([reply("say Hi.")]), at(&[HookPoint::BeforeStep], Silent));
    let mut started = lab.start("hello").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started hello
            2 step.snapshot Before 1 house: step_hook_timed_out
            3 text.finished Hi.
            4 step.finished Stop native
            5 run.finished Answered
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_run_that_resumes_takes_no_snapshot_twice() {
    let points = [HookPoint::BeforeStep, HookPoint::AfterStep];
    let model = || ScriptedModel::new([reply("say Hi.")]);
    let snapshot = |edge| {
        let (hook, snapshot) = ("house".to_owned(), SnapshotId::try_from("kept".to_owned()).ok());
        Fact::StepSnapshot(StepSnapshot { step: 1, edge, hook, snapshot, notice: None })
    };

    // It died while the model was asked for the first step.
    let lab = Lab::with_model(model(), at(&points, NumberedSnapshots::default()));
    let run = crashed(&lab, |_| vec![snapshot(StepEdge::Before)]).await;
    assert_eq!(lab.runtime.resume_interrupted_runs().await.unwrap(), 1);
    assert_eq!(settle(&mut lab.runtime.follow_run(run, 2)).await, "run.finished");
    lab.check_log(
        run,
        expect![[r#"
        1 run.started send x
        2 step.snapshot Before 1 house: kept
        3 run.resumed resume 1
        4 step.restarted attempt 2: the server was restarted
        5 text.finished Hi.
        6 step.finished Stop native, attempt 2
        7 step.snapshot After 1 house: no-1
        8 run.finished Answered
    "#]],
    )
    .await;

    // It died between the snapshot after the first step and the second step.
    let lab = Lab::with_model(model(), at(&points, NumberedSnapshots::default()));
    let run = crashed(&lab, |call| {
        let found = Fact::ToolFinished {
            call: call.clone(),
            output: helve_types::ToolOutput::text("found x"),
            trail: helve_types::Trail::default(),
        };
        let mut facts = requested(call, "look");
        facts.extend([found, snapshot(StepEdge::After)]);
        facts
    })
    .await;
    assert_eq!(lab.runtime.resume_interrupted_runs().await.unwrap(), 1);
    assert_eq!(settle(&mut lab.runtime.follow_run(run, 5)).await, "run.finished");
    lab.check_log(
        run,
        expect![[r#"
        1 run.started send x
        2 tool.requested look {"q": "x"}
        3 step.finished ToolCalls native
        4 tool.finished found x
        5 step.snapshot After 1 house: kept
        6 run.resumed resume 1
        7 step.restarted attempt 2: the server was restarted
        8 step.snapshot Before 2 house: no-1
        9 text.finished Hi.
        10 step.finished Stop native, attempt 2
        11 step.snapshot After 2 house: no-2
        12 run.finished Answered
    "#]],
    )
    .await;
}
