//! The machine as a table: a log goes in, the next step comes out.

use expect_test::{Expect, expect};
use helve_types::{
    About, Answer, ApprovalKind, AskedCall, ChatMessage, ChatRole, Effect, Failure, FailureKind, Language,
    Mode, ModelParams, OnUnknown, OutcomeAnswer, Question, ReplyForm, ToolChoice, ToolOutput, Trail,
    UserQuestion,
};
use uuid::Uuid;

use super::*;

const RUN: RunId = RunId(Uuid::from_u128(1));

fn setup(max_steps: u32) -> RunSetup {
    RunSetup {
        agent: "default".into(),
        model: "m".into(),
        agent_version: None,
        fallback_models: vec![],
        model_is_chosen: false,
        system: String::new(),
        max_steps,
        tool_choice: ToolChoice::Auto,
        tools: vec![],
        skills: vec![],
        client_tools: vec![],
        params: ModelParams::default(),
        variant: None,
        agent_params: ModelParams::default(),
        mode: None,
        stream: true,
        pre_search: false,
        end_when_refused: false,
        language: None,
        request_id: None,
        parent: None,
        woken: 0,
        input: RunInput::Conversation,
    }
}

fn started() -> Fact {
    Fact::RunStarted(helve_types::RunStarted {
        agent: "default".into(),
        model: "m".into(),
        conversation: None,
        message: None,
        reply: MessageId(Uuid::from_u128(2)),
        text: "go".into(),
    })
}

fn id(step: u32, index: u32) -> CallId {
    CallId::new(RUN, step, index)
}

/// A message that asks for `calls` calls.
fn said(step: u32, calls: u32) -> Vec<Fact> {
    let requested = (0..calls).map(|index| Fact::ToolRequested {
        step,
        call: id(step, index),
        provider_id: None,
        tool: "t".into(),
        arguments: format!("{{\"n\": {index}}}"),
        part: None,
        replaces: None,
        repairs: vec![],
    });
    let finished = Fact::StepFinished {
        step,
        attempt: 1,
        reason: if calls > 0 { StopReason::ToolCalls } else { StopReason::Stop },
        mode: Mode::Native,
        usage: Usage::default(),
        cost_nanos: None,
        model: None,
        fingerprint: None,
        echo: None,
        params: None,
    };
    requested.chain([finished]).collect()
}

fn done(call: CallId) -> Fact {
    Fact::ToolFinished { call, output: ToolOutput::text("ok"), trail: Trail::default() }
}

fn sent(call: CallId, effect: Effect) -> Fact {
    Fact::ToolStarted {
        call,
        tool: "t".into(),
        version: "v".into(),
        effect,
        attempt: 1,
        arguments: None,
        instead: None,
    }
}

fn asked(call: CallId, kind: ApprovalKind) -> Fact {
    Fact::ApprovalAsked({
        let call = Box::new(AskedCall {
            id: call,
            tool: "t".into(),
            version: "v1".into(),
            arguments: "{}".into(),
            request: None,
            effect: Effect::NonIdempotent,
            warnings: vec![],
            cautions: vec![],
        });
        Question {
            approval: helve_types::ApprovalId(Uuid::from_u128(9)),
            about: match kind {
                ApprovalKind::Permission => About::Permission { call, repeats: false },
                ApprovalKind::Outcome => About::Outcome { call, sent_at: None, checked: None },
                ApprovalKind::Budget => About::Budget,
                ApprovalKind::User => {
                    let asked = UserQuestion { question: "Who?".into(), form: ReplyForm::Boolean };
                    About::User { call, asked: Box::new(asked) }
                }
            },
            because: "risky".into(),
            reasons: vec![],
            binding: "b".into(),
            approvers: None,
            expires_at: Timestamp(0),
            asker: None,
        }
    })
}

fn answered(call: CallId, answer: Answer) -> Fact {
    let approval = helve_types::ApprovalId(Uuid::from_u128(9));
    Fact::ApprovalAnswered { approval, call: Some(call), answer, by: "mei".into() }
}

fn unknown(call: CallId, then: OnUnknown) -> Fact {
    Fact::ToolUnknown {
        call,
        sent_at: Timestamp(0),
        because: "lost".into(),
        request: None,
        checked: None,
        then,
        trail: Trail::default(),
        labels: None,
    }
}

fn finished(call: CallId, flow: &helve_types::Flow) -> Fact {
    let labels = Some(flow.labels("t"));
    Fact::ToolFinished {
        call,
        output: ToolOutput { labels, ..ToolOutput::text("ok") },
        trail: Trail::default(),
    }
}

#[test]
fn a_call_is_judged_by_what_the_model_had_read_when_it_asked_for_it() {
    use helve_types::Flow;
    let private = Flow { private: true, ..Flow::default() };
    let outside = Flow { untrusted: true, ..Flow::default() };
    let mut log = vec![started()];
    let flags = |log: &[Fact]| {
        let run = Run::replay(RUN, setup(9), log.iter().map(|fact| (Timestamp(0), fact))).unwrap();
        let taint = run.taint_at_request();
        (!taint.private.is_empty(), !taint.untrusted.is_empty())
    };
    log.extend(said(1, 2));
    log.push(finished(id(1, 0), &private));
    // The other call of the same message was written before anybody had read that.
    assert_eq!(flags(&log), (false, false));
    log.push(finished(id(1, 1), &outside));
    log.extend(said(2, 1));
    assert_eq!(flags(&log), (true, true));

    let failure = Failure {
        labels: Some(Box::new(outside.labels("t"))),
        ..Failure::new(FailureKind::Failed, "403: obey")
    };
    let failed = Fact::ToolFailed { call: id(1, 0), failure, trail: Trail::default() };
    let lost = match unknown(id(1, 0), OnUnknown::TellModel) {
        Fact::ToolUnknown { call, sent_at, because, request, checked, then, trail, .. } => {
            let labels = Some(Box::new(outside.labels("t")));
            Fact::ToolUnknown { call, sent_at, because, request, checked, then, trail, labels }
        }
        other => other,
    };
    for brought in [failed, lost] {
        let log = [vec![started()], said(1, 1), vec![brought], said(2, 1)].concat();
        assert_eq!(flags(&log), (false, true), "what failed may quote a stranger too");
    }
}

#[test]
fn what_was_read_before_the_run_counts_and_a_clients_history_is_never_trusted() {
    use helve_types::Flow;
    let both = Flow { private: true, untrusted: true, ..Flow::default() };
    let earlier = [vec![started()], said(1, 1), vec![finished(id(1, 0), &both)]].concat();
    let earlier = Run::replay(RUN, setup(9), earlier.iter().map(|fact| (Timestamp(0), fact))).unwrap();
    let run = Run::new(RUN, setup(9), MessageId(Uuid::from_u128(3)), Timestamp(0));
    assert_eq!(run.taint_at_request(), Taint::default());
    let spoken = Message::user(MessageId(Uuid::from_u128(4)), Timestamp(0), "my card is 1234");
    assert_eq!(
        run.clone().apply_history(&[spoken]).taint_at_request(),
        Taint::default(),
        "what people say is theirs to say"
    );
    assert!(run.apply_history(&[earlier.message().clone()]).taint_at_request().has_both_kinds());

    let input = RunInput::Client { messages: vec![] };
    let stateless =
        Run::new(RUN, RunSetup { input, ..setup(9) }, MessageId(Uuid::from_u128(3)), Timestamp(0));
    assert!(
        stateless.taint_at_request().private.is_empty() && !stateless.taint_at_request().untrusted.is_empty()
    );
}

#[test]
fn the_language_of_a_run_is_that_of_its_people_not_of_a_clients_json() {
    let say = |text: &str| ChatMessage {
        role: ChatRole::User,
        content: text.into(),
        reasoning: String::new(),
        calls: vec![],
        call_id: None,
    };
    let messages =
        vec![say("计算 1000 以内的所有素数之和。"), say(r#"{"tool_call_result": {"toolCallId": "call_1"}}"#)];
    let input = RunInput::Client { messages };
    let run = Run::new(RUN, RunSetup { input, ..setup(9) }, MessageId(Uuid::from_u128(3)), Timestamp(0));
    assert_eq!(run.apply_history(&[]).language(), Language::Chinese);

    let earlier = Message::user(MessageId(Uuid::from_u128(4)), Timestamp(0), "现在几点？");
    let log = [started()];
    let run = Run::replay(RUN, setup(9), log.iter().map(|fact| (Timestamp(0), fact))).unwrap();
    assert_eq!(run.apply_history(&[earlier]).language(), Language::Chinese, "`go` alone changes nothing");
}

fn words(step: &Step) -> String {
    match step {
        Step::AskModel { step, attempt, tools } => format!("ask step {step} attempt {attempt} {tools:?}"),
        Step::CallTools(actions) => actions.iter().map(errand_words).collect::<Vec<_>>().join(", "),
        other => format!("{other:?}"),
    }
}

fn errand_words(action: &CallAction) -> String {
    let place = action.call_id().position();
    match action {
        CallAction::Execute { attempts_before, grant, before, .. } => {
            format!(
                "execute {place} after {attempts_before}{}{}",
                if grant.is_some() { " granted" } else { "" },
                if before.is_some() { " in doubt" } else { "" }
            )
        }
        CallAction::Settle { outcome, .. } => match outcome {
            Outcome::Refused(failure) => format!("refuse {place} {:?}", failure.kind),
            _ => format!("settle {place}"),
        },
        CallAction::RecordUnknown { .. } => format!("lose {place}"),
        CallAction::AskOutcome { .. } => format!("ask outcome {place}"),
        CallAction::AskRepeated { because, .. } => format!("ask about {place}: {}", because.text),
        CallAction::Repeat { .. } => format!("repeat {place}"),
    }
}

fn check(facts: impl IntoIterator<Item = Fact>, expected: Expect) {
    check_with(setup(10), facts, expected);
}

fn check_with(setup: RunSetup, facts: impl IntoIterator<Item = Fact>, expected: Expect) {
    let log: Vec<Fact> = std::iter::once(started()).chain(facts).collect();
    let run = Run::replay(RUN, setup, log.iter().map(|fact| (Timestamp(0), fact))).unwrap();
    expected.assert_eq(&words(&run.next_step()));
    // What is written down and read back decides the same.
    let kept: Run = serde_json::from_str(&serde_json::to_string(&run).unwrap()).unwrap();
    assert_eq!(kept.next_step(), run.next_step());
}

#[test]
fn a_new_run_asks_the_model() {
    check([], expect!["ask step 1 attempt 1 Offered"]);
}

#[test]
fn a_required_call_is_owed_until_it_is_made() {
    let choosing = |tool_choice| RunSetup { tool_choice, ..setup(10) };
    let owed = |tool_choice, facts: Vec<Fact>| {
        let log: Vec<Fact> = std::iter::once(started()).chain(facts).collect();
        let log = log.iter().map(|fact| (Timestamp(0), fact));
        Run::replay(RUN, choosing(tool_choice), log).unwrap().current_tool_choice().clone()
    };
    let named = |name: &str| ToolChoice::Named(name.into());
    assert_eq!(owed(ToolChoice::Required, vec![]), ToolChoice::Required);
    assert_eq!(owed(ToolChoice::Required, said(1, 1)), ToolChoice::Auto);
    assert_eq!(owed(named("t"), said(1, 1)), ToolChoice::Auto);
    assert_eq!(owed(named("other"), said(1, 1)), named("other"));
    assert_eq!(owed(ToolChoice::None, said(1, 1)), ToolChoice::None);
    check_with(choosing(ToolChoice::Required), said(1, 0), expect!["Finish(WithoutCall)"]);
    let called = said(1, 1).into_iter().chain([done(id(1, 0))]).chain(said(2, 0));
    check_with(choosing(ToolChoice::Required), called, expect!["Finish(Answered)"]);
}

#[test]
fn an_answer_without_calls_is_the_end() {
    check(said(1, 0), expect!["Finish(Answered)"]);
}

#[test]
fn planned_calls_are_executed_side_by_side() {
    check(said(1, 2), expect!["execute 1:0 after 0, execute 1:1 after 0"]);
}

#[test]
fn the_model_is_asked_again_when_every_call_has_its_outcome() {
    let some = || said(1, 2).into_iter().chain([done(id(1, 0))]);
    check(some(), expect!["execute 1:1 after 0"]);
    check(some().chain([done(id(1, 1))]), expect!["ask step 2 attempt 1 Offered"]);
}

#[test]
fn a_restarted_step_is_another_attempt() {
    let restarted = Fact::StepRestarted { step: 1, attempt: 2, because: "reset".into(), spent: None };
    check([restarted], expect!["ask step 1 attempt 2 Offered"]);
}

#[test]
fn a_started_call_is_sent_again_only_if_repeating_it_does_no_harm() {
    let crashed = |effect| said(1, 1).into_iter().chain([sent(id(1, 0), effect)]);
    check(crashed(Effect::Read), expect!["execute 1:0 after 1"]);
    check(crashed(Effect::Idempotent), expect!["execute 1:0 after 1 in doubt"]);
    check(crashed(Effect::NonIdempotent), expect!["lose 1:0"]);
}

#[test]
fn a_question_waits_and_its_answer_decides() {
    let question = || said(1, 1).into_iter().chain([asked(id(1, 0), ApprovalKind::Permission)]);
    let with = |answer| question().chain([answered(id(1, 0), answer)]);
    check(question(), expect!["Wait(WaitingApproval)"]);
    check(with(Answer::approve()), expect!["execute 1:0 after 0 granted"]);
    check(with(Answer::Reject { reason: String::new() }), expect!["refuse 1:0 Denied"]);
    check(with(Answer::Expire), expect!["refuse 1:0 Unanswered"]);
    check(with(Answer::Respond { text: "hi".into() }), expect!["settle 1:0"]);
}

#[test]
fn a_question_of_the_models_is_settled_by_any_answer_and_nothing_is_executed() {
    let question = || said(1, 1).into_iter().chain([asked(id(1, 0), ApprovalKind::User)]);
    let with = |answer| question().chain([answered(id(1, 0), answer)]);
    check(question(), expect!["Wait(WaitingApproval)"]);
    check(with(Answer::Reply { value: true.into() }), expect!["settle 1:0"]);
    check(with(Answer::Decline { reason: "no".into() }), expect!["refuse 1:0 Denied"]);
    check(with(Answer::Expire), expect!["refuse 1:0 Unanswered"]);
}

#[test]
fn consent_covers_the_next_attempt_after_a_crash() {
    let edited = Answer::Approve { arguments: Some("{\"q\":1}".into()), always: None };
    let crashed = || {
        let asked = [asked(id(1, 0), ApprovalKind::Permission), answered(id(1, 0), edited.clone())];
        said(1, 1).into_iter().chain(asked).chain([sent(id(1, 0), Effect::Idempotent)])
    };
    check(crashed(), expect!["execute 1:0 after 1 granted in doubt"]);
    let twice = crashed().chain([sent(id(1, 0), Effect::Idempotent)]);
    check(twice, expect!["execute 1:0 after 1 granted in doubt"]);
    let log: Vec<Fact> = std::iter::once(started()).chain(crashed()).collect();
    let run = Run::replay(RUN, setup(10), log.iter().map(|fact| (Timestamp(0), fact))).unwrap();
    let Step::CallTools(actions) = run.next_step() else { panic!("nothing to do") };
    let [CallAction::Execute { grant: Some(grant), .. }] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!((grant.binding.as_str(), grant.edited.as_deref()), ("b", Some("{\"q\":1}")));
}

#[test]
fn a_call_that_is_cut_off_twice_is_sent_again_with_the_arguments_that_were_sent_first() {
    let first = |arguments: Option<&str>, number: u32| {
        let Fact::ToolStarted { call, tool, version, effect, instead, .. } =
            sent(id(1, 0), Effect::Idempotent)
        else {
            unreachable!()
        };
        let arguments = arguments.map(str::to_owned);
        Fact::ToolStarted { call, tool, version, effect, attempt: number, arguments, instead }
    };
    let mut run = Run::new(RUN, setup(10), MessageId(Uuid::from_u128(3)), Timestamp(0));
    let sends = [first(Some(r#"{"by":"a hook"}"#), 1), first(None, 2)];
    for fact in [started()].into_iter().chain(said(1, 1)).chain(sends) {
        run.apply(Timestamp(0), &fact);
    }
    let Step::CallTools(actions) = run.next_step() else { panic!("the call is sent again") };
    let [CallAction::Execute { call, attempts_before: 2, .. }] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(call.arguments, r#"{"by":"a hook"}"#);
}

#[test]
fn other_calls_go_on_while_one_is_asked_about() {
    let facts = said(1, 2).into_iter().chain([asked(id(1, 0), ApprovalKind::Permission)]);
    check(facts, expect!["execute 1:1 after 0"]);
}

#[test]
fn an_unknown_outcome_goes_where_its_tool_wants() {
    let lost = |then| said(1, 1).into_iter().chain([unknown(id(1, 0), then)]);
    check(lost(OnUnknown::AskUser), expect!["ask outcome 1:0"]);
    check(lost(OnUnknown::TellModel), expect!["ask step 2 attempt 1 Offered"]);
    check(
        lost(OnUnknown::FailRun),
        expect![[
            r#"Fail { code: "outcome_unknown", message: "the outcome of the call of `t` is unknown" }"#
        ]],
    );
    let outcome = || lost(OnUnknown::AskUser).chain([asked(id(1, 0), ApprovalKind::Outcome)]);
    let with = |answer| outcome().chain([answered(id(1, 0), Answer::Outcome { answer })]);
    check(outcome(), expect!["Wait(NeedsAttention)"]);
    check(with(OutcomeAnswer::Happened), expect!["ask step 2 attempt 1 Offered"]);
    check(with(OutcomeAnswer::DidNotHappen), expect!["ask step 2 attempt 1 Offered"]);
    check(with(OutcomeAnswer::RunAgain), expect!["repeat 1:0+"]);
}

#[test]
fn a_repeated_call_takes_the_place_of_the_old_one() {
    let again = Fact::ToolRequested {
        step: 1,
        call: id(1, 0).next_repetition(),
        provider_id: None,
        tool: "t".into(),
        arguments: "{}".into(),
        part: None,
        replaces: Some(id(1, 0)),
        repairs: vec![],
    };
    let after = |question: Fact| {
        let answer = Answer::Outcome { answer: OutcomeAnswer::RunAgain };
        let lost = unknown(id(1, 0), OnUnknown::AskUser);
        said(1, 1).into_iter().chain([lost, question, answered(id(1, 0), answer), again.clone()])
    };
    let question = asked(id(1, 0), ApprovalKind::Outcome);
    check(after(question.clone()), expect!["execute 1:0+ after 0 granted"]);
    // Also when the server stops before it is sent, and after.
    let started = [sent(id(1, 0).next_repetition(), Effect::Idempotent)];
    check(after(question.clone()).chain(started), expect!["execute 1:0+ after 1 granted in doubt"]);
    // A question that is bound to nothing has shown nothing to agree to.
    let Fact::ApprovalAsked(bound) = question else { panic!() };
    let unbound = Fact::ApprovalAsked(Question { binding: String::new(), ..bound });
    check(after(unbound), expect!["execute 1:0+ after 0"]);
}

#[test]
fn a_clients_call_waits_for_the_client_unless_the_client_keeps_the_history() {
    let delegated = Fact::ToolDelegated {
        call: id(1, 0),
        tool: "t".into(),
        arguments: Some("{}".into()),
        trail: Trail::default(),
    };
    let facts = || said(1, 1).into_iter().chain([delegated.clone()]);
    check(facts(), expect!["Wait(WaitingClient)"]);
    let claimed = Fact::ToolClaimed { call: id(1, 0), client: "tab".into(), by: "mei".into() };
    check(facts().chain([claimed]), expect!["Wait(WaitingClient)"]);
    let stateless = RunSetup { input: RunInput::Client { messages: vec![] }, ..setup(10) };
    check_with(stateless, facts(), expect!["Finish(ClientTools)"]);
}

#[test]
fn when_the_steps_are_used_up_the_model_answers_without_tools() {
    let one = || said(1, 1).into_iter().chain([done(id(1, 0))]);
    check_with(setup(1), one(), expect!["ask step 2 attempt 1 Withheld"]);
    check_with(setup(1), one().chain(said(2, 0)), expect!["Finish(StepLimit)"]);
}

#[test]
fn more_calls_than_fit_a_message_are_refused() {
    let words = {
        let log: Vec<Fact> = std::iter::once(started()).chain(said(1, 18)).collect();
        let run = Run::replay(RUN, setup(10), log.iter().map(|fact| (Timestamp(0), fact))).unwrap();
        words(&run.next_step())
    };
    assert!(words.ends_with("execute 1:15 after 0, refuse 1:16 Limited, refuse 1:17 Limited"), "{words}");
}

#[test]
fn stopping_gives_every_call_an_outcome() {
    let log: Vec<Fact> = std::iter::once(started())
        .chain(said(1, 4))
        .chain([done(id(1, 0)), sent(id(1, 1), Effect::NonIdempotent), sent(id(1, 2), Effect::Read)])
        .collect();
    let run = Run::replay(RUN, setup(10), log.iter().map(|fact| (Timestamp(0), fact))).unwrap();
    let kinds: Vec<_> = run.cancellation_facts("mei").iter().map(Fact::kind).collect();
    assert_eq!(kinds, ["tool.unknown", "tool.refused", "tool.refused", "run.cancelled"]);
}

#[test]
fn a_run_that_is_over_does_nothing() {
    let failed = Fact::RunFailed { code: "x".into(), message: "y".into(), notice: None };
    check([failed], expect!["Over"]);
    let late = Fact::ToolRefused {
        call: id(1, 0),
        failure: Failure::new(FailureKind::Cancelled, "late"),
        trail: Trail::default(),
    };
    check([Fact::RunFinished { ending: Ending::Answered }, late], expect!["Over"]);
}

fn says(n: u128) -> Fact {
    let (text, by) = (format!("saying {n}"), "mei".into());
    Fact::MessageQueued { message: MessageId(Uuid::from_u128(n)), text, by }
}

fn hears(n: u128, step: u32) -> Fact {
    Fact::MessageTaken { message: MessageId(Uuid::from_u128(n)), step }
}

#[test]
fn what_a_person_says_during_a_run_is_heard_before_it_ends() {
    check(said(1, 0).into_iter().chain([says(7)]), expect!["ask step 2 attempt 1 Offered"]);
    let heard = said(1, 0).into_iter().chain([says(7), hears(7, 2)]);
    check(heard.clone(), expect!["ask step 2 attempt 1 Offered"]);
    check(heard.chain(said(2, 0)), expect!["Finish(Answered)"]);
    // It changes nothing about what the run is at.
    check(said(1, 1).into_iter().chain([says(7)]), expect!["execute 1:0 after 0"]);
    let asked = said(1, 1).into_iter().chain([asked(id(1, 0), ApprovalKind::Permission), says(7)]);
    check(asked, expect!["Wait(WaitingApproval)"]);
}

#[test]
fn whoever_speaks_when_the_steps_are_used_up_gets_the_last_answer_and_no_more() {
    check_with(setup(1), said(1, 0).into_iter().chain([says(7)]), expect!["ask step 2 attempt 1 Withheld"]);
    let last = said(1, 1).into_iter().chain([done(id(1, 0))]).chain(said(2, 0)).chain([says(7)]);
    check_with(setup(1), last, expect!["Finish(StepLimit)"]);
}

#[test]
fn everything_that_was_said_is_heard_in_order_and_once() {
    let log: Vec<Fact> = [started()].into_iter().chain([says(9), says(3), hears(9, 1), says(5)]).collect();
    let run = Run::replay(RUN, setup(10), log.iter().map(|fact| (Timestamp(0), fact))).unwrap();
    assert_eq!(run.taken_message_facts(2), [hears(3, 2), hears(5, 2)]);
    let message = |n| MessageId(Uuid::from_u128(n));
    assert_eq!(run.check_new_message(message(9), "saying 9"), Enqueue::Known);
    assert_eq!(
        run.check_new_message(message(9), "something else"),
        Enqueue::Rejected(crate::CommandError::OtherText)
    );
    assert_eq!(run.check_new_message(message(1), "saying 9"), Enqueue::Queue);
}

#[test]
fn a_person_who_speaks_ends_a_circle() {
    let round = |step| {
        let call = |fact| match fact {
            Fact::ToolRequested { step, call, .. } => Fact::ToolRequested {
                step,
                call,
                provider_id: None,
                tool: "t".into(),
                arguments: "{}".into(),
                part: None,
                replaces: None,
                repairs: vec![],
            },
            fact => fact,
        };
        said(step, 1).into_iter().map(call)
    };
    let twice = || round(1).chain([done(id(1, 0))]).chain(round(2)).chain([done(id(2, 0))]);
    check(
        twice().chain(round(3)),
        expect!["ask about 3:0: `t` is called 3 times in a row with the same arguments"],
    );
    check(twice().chain([says(7), hears(7, 3)]).chain(round(3)), expect!["execute 3:0 after 0"]);
}

#[test]
fn a_no_to_a_circle_ends_it_whatever_happens_meanwhile_and_a_no_to_another_question_does_not() {
    let asked_about = |repeats| {
        let Fact::ApprovalAsked(mut question) = asked(id(1, 0), ApprovalKind::Permission) else {
            unreachable!()
        };
        if let About::Permission { repeats: is_repeated, .. } = &mut question.about {
            *is_repeated = repeats;
        }
        Fact::ApprovalAsked(question)
    };
    let no = || answered(id(1, 0), Answer::Reject { reason: String::new() });
    let refused = |index| Fact::ToolRefused {
        call: id(1, index),
        failure: Failure::new(FailureKind::Denied, "no"),
        trail: Trail::default(),
    };
    let told = |repeats| {
        let facts = [asked_about(repeats), done(id(1, 1)), no(), refused(0)];
        said(1, 2).into_iter().chain(facts)
    };
    check(told(true), expect!["ask step 2 attempt 1 Withheld"]);
    check(told(false), expect!["ask step 2 attempt 1 Offered"]);
}

fn asked_of_budget() -> Fact {
    asked(id(1, 0), ApprovalKind::Budget)
}

fn spent() -> Fact {
    Fact::BudgetSpent { because: "enough".into(), notice: None }
}

#[test]
fn nothing_new_is_sent_while_a_person_is_asked_about_the_budget() {
    let asked = || said(1, 2).into_iter().chain([sent(id(1, 0), Effect::Read), asked_of_budget()]);
    check(asked(), expect!["execute 1:0 after 1"]);
    check(asked().chain([done(id(1, 0))]), expect!["Wait(WaitingApproval)"]);
    let approval = helve_types::ApprovalId(Uuid::from_u128(9));
    let yes = Fact::ApprovalAnswered { approval, call: None, answer: Answer::approve(), by: "mei".into() };
    check(asked().chain([done(id(1, 0)), yes]), expect!["execute 1:1 after 0"]);
}

#[test]
fn a_run_whose_budget_is_spent_finishes_what_it_began_and_nothing_else() {
    check([spent()], expect!["Finish(BudgetSpent)"]);
    let begun = said(1, 3).into_iter().chain([sent(id(1, 0), Effect::Idempotent), spent()]);
    check(begun.clone(), expect!["refuse 1:1 Limited, refuse 1:2 Limited, execute 1:0 after 1 in doubt"]);
    let refused = |index| Fact::ToolRefused {
        call: id(1, index),
        failure: Failure::new(FailureKind::Limited, "no"),
        trail: Trail::default(),
    };
    check(begun.chain([refused(1), refused(2), done(id(1, 0))]), expect!["Finish(BudgetSpent)"]);
    // Who was asked need not answer any more; what may have happened is still found out.
    let waiting = said(1, 1).into_iter().chain([asked(id(1, 0), ApprovalKind::Permission), spent()]);
    check(waiting, expect!["refuse 1:0 Limited"]);
    let lost = said(1, 1).into_iter().chain([sent(id(1, 0), Effect::NonIdempotent), spent()]);
    check(lost, expect!["lose 1:0"]);
    let unknown = said(1, 1).into_iter().chain([unknown(id(1, 0), OnUnknown::AskUser), spent()]);
    check(unknown, expect!["ask outcome 1:0"]);
}
