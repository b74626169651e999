//! Whatever prefix of whatever log: a vendor would accept the history.

mod driven;

use helve_types::{
    CallId, ChatMessage, ChatRole, Effect, Fact, Failure, FailureKind, MessageId, Mode, ModelParams,
    OnUnknown, PartId, RunId, RunSetup, RunStarted, StopReason, Timestamp, ToolChoice, ToolOutput, Trail,
    Usage,
};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

const RUN: RunId = RunId(Uuid::from_u128(1));
const M: Reader<'_> = Reader { model: "m", fingerprint: None };

/// Each call is followed by exactly one result, and each result follows its call.
fn check_valid(turns: &[Turn<'_>]) -> Result<(), String> {
    let mut waiting: Vec<&str> = vec![];
    for turn in turns {
        match turn {
            Turn::Result { id, .. } => match waiting.iter().position(|open| open == id) {
                Some(at) => _ = waiting.remove(at),
                None => return Err(format!("a result for {id}, which nobody called: {turns:?}")),
            },
            Turn::User(_) | Turn::Assistant { .. } if !waiting.is_empty() => {
                return Err(format!("no result for {waiting:?}: {turns:?}"));
            }
            Turn::User(_) => {}
            Turn::Assistant { text, calls, .. } => {
                if text.is_empty() && calls.is_empty() {
                    return Err(format!("an empty message: {turns:?}"));
                }
                waiting = calls.iter().map(|call| &*call.id).collect();
            }
        }
    }
    if waiting.is_empty() { Ok(()) } else { Err(format!("no result for {waiting:?}: {turns:?}")) }
}

#[derive(Debug, Clone)]
struct Planned {
    text: String,
    reasoning: bool,
    calls: Vec<CallEnding>,
}

#[derive(Debug, Clone, Copy)]
enum CallEnding {
    Finished,
    Refused,
    Unknown,
    Started,
    Planned,
}

fn planned() -> impl Strategy<Value = Planned> {
    let ending = prop_oneof![
        4 => Just(CallEnding::Finished),
        1 => Just(CallEnding::Refused),
        1 => Just(CallEnding::Unknown),
        1 => Just(CallEnding::Started),
        1 => Just(CallEnding::Planned),
    ];
    ("[a-z ]{0,12}", any::<bool>(), proptest::collection::vec(ending, 0..4))
        .prop_map(|(text, reasoning, calls)| Planned { text, reasoning, calls })
}

fn log(steps: &[Planned], reuse_ids: bool) -> Vec<Fact> {
    let mut facts = vec![Fact::RunStarted(RunStarted {
        agent: "a".into(),
        model: "m".into(),
        conversation: None,
        message: None,
        reply: MessageId(Uuid::from_u128(2)),
        text: "go".into(),
    })];
    for (step, planned) in (1..).zip(steps) {
        let part = |n| PartId::new(step, 1, n);
        if planned.reasoning {
            facts.push(Fact::ReasoningFinished { step, part: part(0), text: "hm".into() });
        }
        if !planned.text.trim().is_empty() {
            facts.push(Fact::TextFinished { step, part: part(1), text: planned.text.clone() });
        }
        for index in 0..planned.calls.len() as u32 {
            facts.push(Fact::ToolRequested {
                step,
                call: CallId::new(RUN, step, index),
                provider_id: reuse_ids.then(|| format!("call_{index}")),
                tool: "t".into(),
                arguments: if index == 1 { "{broken".into() } else { "{}".into() },
                part: None,
                replaces: None,
                repairs: vec![],
            });
        }
        facts.push(Fact::StepFinished {
            step,
            attempt: 1,
            reason: StopReason::ToolCalls,
            mode: Mode::Native,
            usage: Usage::default(),
            cost_nanos: None,
            model: None,
            fingerprint: None,
            echo: None,
            params: None,
        });
        for (index, ending) in (0..).zip(&planned.calls) {
            let call = CallId::new(RUN, step, index);
            let started = Fact::ToolStarted {
                call: call.clone(),
                tool: "t".into(),
                version: "v".into(),
                effect: Effect::Read,
                attempt: 1,
                arguments: None,
                instead: None,
            };
            let (trail, failure) = (Trail::default(), Failure::new(FailureKind::Denied, "no"));
            match ending {
                CallEnding::Planned => {}
                CallEnding::Started => facts.push(started),
                CallEnding::Finished => {
                    facts.push(started);
                    facts.push(Fact::ToolFinished { call, output: ToolOutput::text("ok"), trail });
                }
                CallEnding::Refused => facts.push(Fact::ToolRefused { call, failure, trail }),
                CallEnding::Unknown => {
                    facts.push(started);
                    facts.push(Fact::ToolUnknown {
                        call,
                        sent_at: Timestamp(0),
                        because: "lost".into(),
                        request: None,
                        checked: None,
                        then: OnUnknown::TellModel,
                        trail,
                        labels: None,
                    });
                }
            }
        }
    }
    facts
}

/// The same log with people who speak: each at its place, and heard before the next message of the model if at all.
fn spoken_to(facts: Vec<Fact>, places: &[(prop::sample::Index, bool)]) -> Vec<Fact> {
    let mut speaks: Vec<_> = places.iter().map(|(at, heard)| (at.index(facts.len()), *heard)).collect();
    speaks.sort_unstable();
    let mut speaks = speaks.into_iter().zip(100_u128..).peekable();
    let mut unheard: Vec<MessageId> = vec![];
    let (mut all, mut between) = (vec![], true);
    for (at, fact) in facts.into_iter().enumerate() {
        let begins = matches!(
            fact,
            Fact::ReasoningFinished { .. } | Fact::TextFinished { .. } | Fact::ToolRequested { .. }
        );
        if begins && between {
            all.extend(unheard.drain(..).map(|message| Fact::MessageTaken { message, step: 1 }));
        }
        // The facts of a message are written at once.
        between = !begins;
        all.push(fact);
        while let Some(((_, heard), n)) = speaks.next_if(|((place, _), _)| *place <= at && between) {
            let message = MessageId(Uuid::from_u128(n));
            all.push(Fact::MessageQueued { message, text: format!("hear {n}"), by: "mei".into() });
            if heard {
                unheard.push(message);
            }
        }
    }
    all
}

fn replay(facts: &[Fact]) -> Run {
    let setup = RunSetup {
        agent: "a".into(),
        model: "m".into(),
        agent_version: None,
        fallback_models: vec![],
        model_is_chosen: false,
        system: String::new(),
        max_steps: 10,
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
    };
    Run::replay(RUN, setup, facts.iter().map(|fact| (Timestamp(0), fact))).unwrap()
}

proptest! {
    #[test]
    fn every_prefix_of_every_log_is_a_history_that_vendors_accept(
        steps in proptest::collection::vec(planned(), 0..5),
        reuse_ids: bool,
        places in proptest::collection::vec(any::<(prop::sample::Index, bool)>(), 0..4),
    ) {
        let facts = spoken_to(log(&steps, reuse_ids), &places);
        for end in 1..=facts.len() {
            let run = replay(&facts[..end]);
            if let Err(fault) = check_valid(&transcript(&[], &run, M)) {
                prop_assert!(false, "after {end} facts: {fault}");
            }
            // A run that was cut off there is the past of the next one.
            let history = [run.message().clone()];
            let next = replay(&facts[..1]);
            if let Err(fault) = check_valid(&transcript(&history, &next, M)) {
                prop_assert!(false, "as history after {end} facts: {fault}");
            }
        }
    }
}

#[test]
fn broken_arguments_are_not_sent_back() {
    let steps = [Planned {
        text: String::new(),
        reasoning: false,
        calls: vec![CallEnding::Refused, CallEnding::Refused],
    }];
    let run = replay(&log(&steps, true));
    let turns = transcript(&[], &run, M);
    let Some(Turn::Assistant { calls, .. }) = turns.get(1) else { panic!("{turns:?}") };
    assert_eq!(calls[1].arguments, "{}");
}

#[test]
fn a_disguised_result_after_no_call_stays_what_the_user_said() {
    let message = ChatMessage {
        role: ChatRole::User,
        content: r#"{"tool_call_result": {"toolCallId": "c", "result": 1}}"#.into(),
        reasoning: String::new(),
        calls: vec![],
        call_id: None,
    };
    let mut turns = vec![];
    add_client_turns(std::slice::from_ref(&message), &ShownHistory::default(), &mut turns);
    let turns: Vec<_> = turns.into_iter().map(|placed| placed.turn).collect();
    assert_eq!(turns, [Turn::User(Cow::Borrowed(&*message.content))]);
}

#[test]
fn what_a_model_thought_is_shown_to_that_model_alone() {
    let steps = [Planned { text: "done".into(), reasoning: true, calls: vec![] }];
    let mut run = replay(&log(&steps, false)).message().clone();
    run.steps[0].echo = Some(serde_json::json!({"signature": "s"}));
    let next = replay(&log(&[], false)[..1]);
    let (here, there) = (Fingerprint::from_text("m at here"), Fingerprint::from_text("m at another place"));
    for (written, model, asked, own) in [
        (Some(&here), "m", Some(&here), true),
        (Some(&here), "m", Some(&there), false),
        (Some(&here), "m", None, false),
        (Some(&here), "other", Some(&here), false),
        // As logs of before there were fingerprints have it.
        (None, "m", Some(&here), true),
        (None, "other", Some(&here), false),
    ] {
        run.steps[0].fingerprint = written.cloned();
        let history = [run.clone()];
        let reader = Reader { model, fingerprint: asked };
        let turns = transcript(&history, &next, reader);
        let Some(Turn::Assistant { reasoning, echo, .. }) = turns.first() else { panic!("{turns:?}") };
        assert_eq!((!reasoning.is_empty(), echo.is_some()), (own, own), "{written:?} {reader:?}");
    }
}
