//! Questions of the model's to the person: asked, answered, declined, left alone; and what a crash leaves of them.

use std::sync::Arc;

use expect_test::expect;
use helve_model::{Reply, ScriptedModel, ToolMode};
use helve_runtime::{AgentSettings, Budgets, CallOptions, CommandError, Limits, RuntimeSettings};
use helve_store::Scope;
use helve_tool::{
    CallContext, FieldProblem, Guards, Outcome, Progress, QUESTION_CHARS_MAX, REPLY_BYTES_MAX, Request, Tool,
    ToolError, ToolFuture, WrittenQuestion, read_question,
};
use helve_types::{Answer, ApprovalKind, Effect, Mode, Question, ToolSpec, UserQuestion};
use serde_json::{Value, json};

use crate::lab::{Lab, mei, reply, settle};

/// Asks what it is given: a question, with a form if there is one.
struct AskTool(ToolSpec);

impl Tool for AskTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn question(&self, request: Request<'_>) -> Option<Result<UserQuestion, String>> {
        let question = request.arguments["q"].as_str().unwrap_or_default();
        let options: Option<Vec<String>> =
            serde_json::from_value(request.arguments["options"].clone()).unwrap_or_default();
        let form = request.arguments.get("form");
        Some(read_question(WrittenQuestion { question, options: options.as_deref(), several: false, form }))
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async { Err(ToolError::Declined("nobody is here".into())) })
    }
}

fn with_ask(lab: Lab) -> Lab {
    let parameters = json!({
        "type": "object",
        "properties": {"q": {"type": "string"}, "options": {"type": "array"}, "form": {"type": "object"}},
        "required": ["q"]
    });
    let spec = ToolSpec::new("ask", "Asks.", parameters, Effect::Read);
    lab.register(Arc::new(AskTool(spec)), Guards::default());
    lab
}

fn lab(replies: impl IntoIterator<Item = Reply>) -> Lab {
    with_ask(Lab::new(replies))
}

async fn question(lab: &Lab) -> Question {
    lab.questions().await.remove(0)
}

async fn answer(lab: &Lab, answer: Answer) -> Result<(), CommandError> {
    let approval = question(lab).await.approval;
    lab.runtime.answer_approval(Scope::User(mei()), approval, answer, "mei".into()).await
}

fn replies_with(value: Value) -> Answer {
    Answer::Reply { value }
}

const WHO: &str = r#"call ask {"q": "Who?"}"#;

#[tokio::test]
async fn what_the_person_replies_is_the_result_of_the_call() {
    let lab = lab([reply(WHO), reply("say Hello.")]);
    let mut started = lab.start("greet me").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let asked = question(&lab).await;
    assert_eq!(asked.kind(), ApprovalKind::User);
    assert_eq!(asked.asked_by_model().unwrap().question, "Who?");
    answer(&lab, replies_with(json!("Mei"))).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started greet me
            2 tool.requested ask {"q": "Who?"}
            3 step.finished ToolCalls native
            4 approval.asked ask {"q":"Who?"}
            5 run.waiting waiting_approval
            6 approval.answered {"decision":"reply","value":"Mei"} by mei
            7 tool.finished Mei
            8 text.finished Hello.
            9 step.finished Stop native
            10 run.finished Answered
        "#]],
    )
    .await;
    assert!(lab.model.asked()[1].contains("result: call_1 Mei"), "{}", lab.model.asked()[1]);
}

#[tokio::test]
async fn a_person_may_decline_and_the_run_goes_on_even_if_it_ends_at_refusals() {
    let agents = vec![AgentSettings { end_when_refused: true, ..AgentSettings::default() }];
    let settings = RuntimeSettings { agents, ..RuntimeSettings::default() };
    let model = ScriptedModel::new([reply(WHO), reply("say Never mind.")]);
    let lab = with_ask(Lab::with_model(model, settings));
    let mut started = lab.start("greet me").await;
    settle(&mut started.follower).await;
    answer(&lab, Answer::Decline { reason: "ask Li".into() }).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started greet me
            2 tool.requested ask {"q": "Who?"}
            3 step.finished ToolCalls native
            4 approval.asked ask {"q":"Who?"}
            5 run.waiting waiting_approval
            6 approval.answered {"decision":"decline","reason":"ask Li"} by mei
            7 tool.refused the user would rather not answer this question and says: ask Li. Do not ask it again, go on without the answer
            8 text.finished Never mind.
            9 step.finished Stop native
            10 run.finished Answered
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_reply_that_does_not_fit_leaves_the_question_open() {
    let form = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "seats": {"type": "integer", "maximum": 9}},
        "required": ["name", "seats"]
    });
    let call = format!("call ask {}", json!({"q": "What?", "form": form}));
    let lab = lab([reply(&call), reply("say Booked.")]);
    let mut started = lab.start("book").await;
    settle(&mut started.follower).await;
    let refused = answer(&lab, replies_with(json!({"seats": 10}))).await;
    let Err(CommandError::BadReply(problems)) = refused else { panic!("{refused:?}") };
    let fields: Vec<&str> = problems.iter().map(|FieldProblem { field, .. }| field.as_str()).collect();
    assert_eq!(fields, ["name", "seats"]);
    // Nor is it answered as if it were about permission.
    for other in
        [Answer::approve(), Answer::Reject { reason: String::new() }, Answer::Respond { text: "x".into() }]
    {
        assert_eq!(answer(&lab, other).await, Err(CommandError::DoesNotFit));
    }
    let large = json!({"name": "x".repeat(REPLY_BYTES_MAX), "seats": 1});
    assert!(matches!(answer(&lab, replies_with(large)).await, Err(CommandError::BadReply(_))));
    let long = Answer::Decline { reason: "x".repeat(2_001) };
    assert_eq!(answer(&lab, long).await, Err(CommandError::DeclineTooLong));
    assert_eq!(lab.questions().await.len(), 1);
    answer(&lab, replies_with(json!({"name": "Mei", "seats": 9}))).await.unwrap();
    settle(&mut started.follower).await;
    let second = &lab.model.asked()[1];
    assert!(second.contains(r#"result: call_1 {"name":"Mei","seats":9}"#), "{second}");
}

#[tokio::test]
async fn a_question_that_cannot_be_shown_is_refused_and_no_person_is_asked() {
    let form = json!({"type": "object", "properties": {"x": {"type": "string", "pattern": "^a"}}});
    let long = format!("call ask {}", json!({"q": "字".repeat(QUESTION_CHARS_MAX + 1)}));
    let replies = [
        reply(&format!("call ask {}", json!({"q": "What?", "form": form}))),
        reply(&long),
        reply(r#"call ask {"q": "Which?", "options": ["a"]}"#),
        reply("say I give up."),
    ];
    let lab = lab(replies);
    let mut started = lab.start("ask").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let log = lab.log(started.run).await;
    for told in ["field `x`: `pattern` is not supported here", "more than 2000 characters", "at least 2"] {
        assert!(
            log.contains(&format!("tool.refused the user was not asked: ")) && log.contains(told),
            "{log}"
        );
    }
    assert!(!log.contains("approval.asked"), "{log}");
}

#[tokio::test]
async fn a_question_waits_over_a_restart_and_is_not_asked_twice() {
    let lab = lab([reply(WHO), reply("say Hello.")]);
    let mut started = lab.start("greet me").await;
    settle(&mut started.follower).await;
    let before = question(&lab).await;
    let lab = lab.restarted();
    lab.runtime.resume_interrupted_runs().await.unwrap();
    assert_eq!(question(&lab).await, before);
    let mut follower = lab.runtime.follow_run(started.run, 0);
    settle(&mut follower).await;
    answer(&lab, replies_with(json!("Mei"))).await.unwrap();
    assert_eq!(settle(&mut follower).await, "run.finished");
    let log = lab.log(started.run).await;
    assert_eq!(log.matches("approval.asked").count(), 1, "{log}");
    assert_eq!(log.matches("tool.finished Mei").count(), 1, "{log}");
}

#[tokio::test]
async fn nobody_answers_in_time_and_the_model_hears_so() {
    let lab = lab([reply(WHO), reply("say Nobody there.")]);
    let mut started = lab.start("greet me").await;
    settle(&mut started.follower).await;
    lab.world.clock.advance_ms(Question::OPEN_MS);
    assert_eq!(answer(&lab, replies_with(json!("Mei"))).await, Err(CommandError::Expired));
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let log = lab.log(started.run).await;
    assert!(log.contains("tool.refused the user was asked and did not answer in time"), "{log}");
}

#[tokio::test]
async fn in_prompt_mode_a_question_is_a_call_like_any_other() {
    let model = ScriptedModel::new([
        reply(r#"say {"tool_calls":[{"id":"1","type":"function","function":{"name":"ask","arguments":"{\"q\": \"Who?\"}"}}]}"#),
        reply("say Hello."),
    ])
    .in_mode(ToolMode::Fixed(Mode::Prompt("json_strict".into())));
    let lab = with_ask(Lab::with_model(model, RuntimeSettings::default()));
    let mut started = lab.start("greet me").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    answer(&lab, replies_with(json!("Mei"))).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert!(lab.model.asked()[1].contains("Mei"), "{}", lab.model.asked()[1]);
}

/// The third time in a row is put before the person as any repetition is, and a yes lets the model ask.
#[tokio::test]
async fn a_question_that_is_asked_again_and_again_is_a_circle() {
    let lab = lab([reply(WHO), reply(WHO), reply(WHO), reply("say Well.")]);
    let mut started = lab.start("greet me").await;
    for _ in 0..2 {
        assert_eq!(settle(&mut started.follower).await, "waiting_approval");
        answer(&lab, replies_with(json!("Mei"))).await.unwrap();
    }
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let asked = question(&lab).await;
    assert!(asked.repeats() && asked.kind() == ApprovalKind::Permission);
    answer(&lab, Answer::approve()).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    assert_eq!(question(&lab).await.kind(), ApprovalKind::User);
    answer(&lab, replies_with(json!("Mei, still"))).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
}

#[tokio::test]
async fn questions_count_among_the_calls_of_a_budget() {
    let run = Limits { cost_nanos: None, tokens: None, calls: Some(1), active_ms: None, ask_at: None };
    let settings =
        RuntimeSettings { budgets: Budgets { run, ..Budgets::default() }, ..RuntimeSettings::default() };
    let two = r#"call ask {"q": "Who?"}"#;
    let other = r#"call ask {"q": "And how?"}"#;
    let lab = with_ask(Lab::with_model(ScriptedModel::new([reply(two), reply(other)]), settings));
    let mut started = lab.start("greet me").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    answer(&lab, replies_with(json!("Mei"))).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let log = lab.log(started.run).await;
    assert_eq!(log.matches("approval.asked").count(), 1, "{log}");
    assert!(log.contains("run.finished BudgetSpent"), "{log}");
}

/// A call that is made directly has no person who could answer: its caller is told.
#[tokio::test]
async fn a_direct_call_is_not_asked_about() {
    let lab = lab([]);
    let called = lab
        .runtime
        .call_tool(mei(), "ask", r#"{"q": "Who?"}"#, CallOptions::default(), Progress::default())
        .await
        .unwrap();
    assert!(matches!(called.outcome, Outcome::Asked(_)), "{:?}", called.outcome);
    assert_eq!(lab.questions().await, [], "and the question is withdrawn");
}
