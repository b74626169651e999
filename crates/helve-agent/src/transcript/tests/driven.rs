//! Logs that the real machine would write: what it asks for is done, with chance in the place of the world, and the past
//! is compacted as the real planner wants it. After every fact the history is one that vendors accept (P1).

use helve_types::{
    About, Answer, ApprovalId, AskedCall, Compaction, Message, OutcomeAnswer, Question, Summary,
};

use super::*;
use crate::compact::{CompactionGoal, HistoryOwner, TurnHistory};
use crate::run::{CallAction, ModelMessage, ModelMessageCall, ModelMessagePart, Step};
use helve_model::fleet::tokens::{EstimateRatio, estimate_turn_tokens};

const FACTS_MAX: usize = 120;

/// What chance says, until it has no more to say.
struct Chance<'a>(std::slice::Iter<'a, u8>);

impl Chance<'_> {
    fn of(&mut self, sides: u8) -> u8 {
        self.0.next().map_or(0, |roll| roll % sides)
    }
}

/// A conversation, run after run.
struct World<'a> {
    chance: Chance<'a>,
    history: Vec<Message>,
    run: Run,
    facts: usize,
    /// Compactions that were made: a test in which there are none shows nothing.
    compacted: usize,
}

impl<'a> World<'a> {
    fn new(rolls: &'a [u8]) -> Self {
        let run = begin(1);
        Self { chance: Chance(rolls.iter()), history: vec![], run, facts: 1, compacted: 0 }
    }

    fn write(&mut self, facts: impl IntoIterator<Item = Fact>) -> Result<(), String> {
        for fact in facts {
            self.run.apply(Timestamp(self.facts as i64), &fact);
            self.facts += 1;
            self.check().map_err(|fault| format!("after {fact:?}: {fault}"))?;
        }
        Ok(())
    }

    /// As it is, and as the past of the run after it.
    fn check(&self) -> Result<(), String> {
        let turns = transcript(&self.history, &self.run, M);
        check_valid(&turns)?;
        let said = |turn: &Turn<'_>| matches!(turn, Turn::User(text) if text.contains(self.run.input_text()));
        if !turns.iter().any(said) || !matches!(turns.first(), Some(Turn::User(_))) {
            return Err(format!("what the person said is gone: {turns:?}"));
        }
        let mut history = self.history.clone();
        history.push(self.run.message().clone());
        check_valid(&transcript(&history, &begin(99), M))
    }

    fn go_on(&mut self) -> Result<(), String> {
        if self.chance.of(12) == 1 {
            // The server was killed here: what was being written is void.
            self.write([Fact::RunResumed { resume: 1 }])?;
        }
        if self.chance.of(40) == 1 {
            return self.write(self.run.cancellation_facts("mei"));
        }
        match self.run.next_step() {
            Step::AskModel { .. } => {
                self.compact()?;
                let message = self.model_message();
                self.write(self.run.facts_of_message(message))
            }
            Step::PreSearch(search) => self.write([Fact::tool_requested(search)]),
            Step::CallTools(actions) => {
                // Side by side: in any order, and not all of them at once.
                let at = usize::from(self.chance.of(actions.len().min(255) as u8));
                let facts = self.seen_to(&actions[at]);
                self.write(facts)
            }
            Step::Wait(_) => self.write(self.run.cancellation_facts("mei")),
            Step::Finish(ending) => self.write([Fact::RunFinished { ending }]),
            Step::Fail { code, message } => {
                self.write([Fact::RunFailed { code: code.into(), message, notice: None }])
            }
            Step::Over => {
                let mut message = self.run.message().clone();
                message.id = MessageId(Uuid::from_u128(1_000 + self.facts as u128));
                let asked = MessageId(Uuid::from_u128(2_000 + self.facts as u128));
                self.history.push(Message::user(asked, Timestamp(0), self.run.input_text()));
                self.history.push(message);
                self.run = begin(self.facts as u128 + 1);
                self.facts += 1;
                Ok(())
            }
        }
    }

    fn model_message(&mut self) -> ModelMessage {
        let calls = usize::from(self.chance.of(4));
        let call = |index: usize, flawed: bool| ModelMessageCall {
            repairs: vec![],
            part: None,
            provider_id: index.is_multiple_of(2).then(|| format!("call_{index}")),
            tool: "t".into(),
            arguments: if flawed { "{cut".into() } else { format!("{{\"n\":{}}}", self.facts) },
            flaw: flawed.then_some(crate::run::Flaw::Cut),
        };
        let flawed = self.chance.of(6) == 1;
        let text = "word ".repeat(usize::from(self.chance.of(60)));
        let part = ModelMessagePart::Text { part: PartId::new(1, 1, 0), text: text.clone() };
        ModelMessage {
            parts: if text.is_empty() { vec![] } else { vec![part] },
            calls: (0..calls).map(|index| call(index, flawed && index == 0)).collect(),
            reason: StopReason::Stop,
            usage: Usage::default(),
            mode: Mode::Native,
            cost_nanos: None,
            model: None,
            fingerprint: None,
            echo: None,
            params: None,
        }
    }

    fn seen_to(&mut self, action: &CallAction) -> Vec<Fact> {
        let (call, trail) = (action.call_id().clone(), Trail::default());
        let unknown = |then| Fact::ToolUnknown {
            call: call.clone(),
            sent_at: Timestamp(0),
            because: "lost".into(),
            request: None,
            checked: None,
            then,
            trail: Trail::default(),
            labels: None,
        };
        let failure = Failure::new(FailureKind::Denied, "no");
        match action {
            CallAction::Execute { .. } => {
                let started = Fact::ToolStarted {
                    call: call.clone(),
                    tool: "t".into(),
                    version: "v".into(),
                    effect: Effect::NonIdempotent,
                    attempt: 1,
                    arguments: None,
                    instead: None,
                };
                let text = "x".repeat(usize::from(self.chance.of(8)) * 400);
                match self.chance.of(8) {
                    0 => vec![started],
                    1 => vec![Fact::ToolRefused { call, failure, trail }],
                    2 => vec![started, Fact::ToolFailed { call, failure, trail }],
                    3 => vec![started, unknown(OnUnknown::TellModel)],
                    4 => vec![started, unknown(OnUnknown::AskUser)],
                    _ => vec![started, Fact::ToolFinished { call, output: ToolOutput::text(text), trail }],
                }
            }
            CallAction::Settle { .. } | CallAction::AskRepeated { .. } => {
                vec![Fact::ToolRefused { call, failure, trail }]
            }
            CallAction::RecordUnknown { .. } => vec![unknown(OnUnknown::AskUser)],
            CallAction::AskOutcome { .. } => {
                let approval = ApprovalId(Uuid::from_u128(self.facts as u128));
                let answer = match self.chance.of(4) {
                    0 => Answer::Expire,
                    1 => Answer::Outcome { answer: OutcomeAnswer::Happened },
                    2 => Answer::Outcome { answer: OutcomeAnswer::DidNotHappen },
                    _ => Answer::Outcome { answer: OutcomeAnswer::RunAgain },
                };
                let asked = Question {
                    approval,
                    about: About::Outcome {
                        call: Box::new(AskedCall {
                            id: call.clone(),
                            tool: "t".into(),
                            version: String::new(),
                            arguments: "{}".into(),
                            request: None,
                            effect: Effect::NonIdempotent,
                            warnings: vec![],
                            cautions: vec![],
                        }),
                        sent_at: None,
                        checked: None,
                    },
                    because: "lost".into(),
                    reasons: vec![],
                    approvers: None,
                    binding: String::new(),
                    expires_at: Timestamp(0),
                    asker: None,
                };
                let answered =
                    Fact::ApprovalAnswered { approval, call: Some(call), answer, by: "mei".into() };
                vec![Fact::ApprovalAsked(asked), answered]
            }
            CallAction::Repeat { call: again, replaces } => vec![Fact::ToolRequested {
                step: self.run.message().tools().last().map_or(1, |tool| tool.step),
                call: again.id.clone(),
                provider_id: again.provider_id.clone(),
                tool: again.name.clone(),
                arguments: again.arguments.clone(),
                part: None,
                replaces: Some(replaces.clone()),
                repairs: vec![],
            }],
        }
    }

    /// Makes the past shorter if it is longer than a few hundred tokens.
    fn compact(&mut self) -> Result<(), String> {
        let turns = place_turns(&self.history, &self.run, M);
        let whole = turns.iter().map(|placed| estimate_turn_tokens(&placed.turn)).sum();
        let limit = 150 + 100 * u64::from(self.chance.of(10));
        let goal = CompactionGoal { limit, low: limit * 5 / 8, keep_recent: limit / 4 };
        let whose = HistoryOwner::Server(self.history.len());
        let Some(plan) =
            TurnHistory::new(&turns, whole, whose, EstimateRatio::default()).plan_compaction(&goal)
        else {
            return Ok(());
        };
        let step = self.run.message().steps.last().map_or(1, |record| record.step + 1);
        let summary = plan.cut.map(|cut| Summary {
            text: "S".into(),
            through: cut.message.checked_sub(1).map(|last| self.history[last].id),
            messages: cut.message as u32,
            through_step: cut.through_step,
            model: "m".into(),
            usage: Usage::default(),
            cost_nanos: None,
        });
        let fact = Fact::HistoryCompacted(Compaction {
            step,
            pruned: plan.pruned,
            client_messages: 0,
            summary,
            tokens_before: whole,
            tokens_after: plan.tokens_pruned,
        });
        self.write([fact])?;
        self.compacted += 1;
        let after: u64 = transcript(&self.history, &self.run, M).iter().map(estimate_turn_tokens).sum();
        // Calls whose outcome is unknown are told besides, whatever a summary says.
        let told = 60 * self.unknown() as u64;
        if after < whole + told { Ok(()) } else { Err(format!("{whole} became {after}")) }
    }

    fn unknown(&self) -> usize {
        let all = self.history.iter().chain([self.run.message()]);
        all.flat_map(Message::tools).filter(|tool| tool.call_state() == CallState::Unknown).count()
    }
}

fn begin(number: u128) -> Run {
    let mut facts = log(&[], false);
    if let Fact::RunStarted(started) = &mut facts[0] {
        started.text = format!("what person {number} said");
    }
    let first = replay(&facts);
    let id = RunId(Uuid::from_u128(10_000 + number));
    let setup = RunSetup { pre_search: number.is_multiple_of(2), ..first.setup().clone() };
    Run::replay(id, setup, facts.iter().map(|fact| (Timestamp(0), fact))).unwrap()
}

fn play(rolls: &[u8]) -> Result<usize, String> {
    let mut world = World::new(rolls);
    while world.facts < FACTS_MAX {
        world.go_on()?;
    }
    Ok(world.compacted)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_prefix_of_a_log_that_the_machine_writes_is_a_history_that_vendors_accept(
        rolls in proptest::collection::vec(any::<u8>(), 600),
    ) {
        if let Err(fault) = play(&rolls) {
            prop_assert!(false, "{fault}");
        }
    }
}

#[test]
fn such_logs_are_compacted_more_than_once() {
    let rolls: Vec<u8> = (0..2_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert!(play(&rolls).unwrap() > 2);
}

#[test]
fn a_summary_stands_for_what_it_covers_in_later_runs_too_and_the_newest_counts() {
    let user = |n: u128, text: &str| Message::user(MessageId(Uuid::from_u128(n)), Timestamp(0), text);
    let reply = |n: u128, texts: &[&str], summary: Option<Summary>| {
        let mut message = Message::reply(MessageId(Uuid::from_u128(n)), Timestamp(0), RUN, "m");
        for (step, text) in (1..).zip(texts) {
            message.parts.push(Part::Text { step, text: (*text).into() });
        }
        let (pruned, tokens_before, tokens_after) = (vec![], 0, 0);
        message.parts.extend(summary.map(|summary| {
            let step = 2;
            let summary = Some(summary);
            let compaction =
                Compaction { step, pruned, client_messages: 0, summary, tokens_before, tokens_after };
            Part::Compacted(Box::new(compaction))
        }));
        message
    };
    let summary = |text: &str, through: Option<u128>, through_step| Summary {
        text: text.into(),
        through: through.map(|n| MessageId(Uuid::from_u128(n))),
        messages: 0,
        through_step,
        model: "m".into(),
        usage: Usage::default(),
        cost_nanos: None,
    };
    let history = [
        user(1, "one"),
        reply(2, &["first"], None),
        user(3, "two"),
        // Written when its first step was done, for all before that.
        reply(4, &["second", "third"], Some(summary("OLD", Some(2), 1))),
        user(5, "three"),
        reply(6, &["fourth"], None),
    ];
    let next = begin(7);
    let told = |history: &[Message]| -> Vec<String> {
        transcript(history, &next, M)
            .iter()
            .map(|turn| match turn {
                Turn::User(text) => text.lines().last().unwrap_or_default().to_owned(),
                Turn::Assistant { text, .. } => text.to_string(),
                Turn::Result { .. } => String::new(),
            })
            .collect()
    };
    assert_eq!(told(&history), ["two", "third", "three", "fourth", "what person 7 said"]);
    let first = transcript(&history, &next, M)[0].clone();
    assert!(
        matches!(&first, Turn::User(text) if text.contains("OLD") && !text.contains("first")),
        "{first:?}"
    );

    let mut newer = history.to_vec();
    newer.extend([user(8, "four"), reply(9, &["fifth"], Some(summary("NEW", Some(6), 0)))]);
    assert_eq!(told(&newer), ["four", "fifth", "what person 7 said"]);
    let first = transcript(&newer, &next, M)[0].clone();
    assert!(matches!(&first, Turn::User(text) if text.contains("NEW") && !text.contains("OLD")), "{first:?}");
}

#[test]
fn calls_that_may_have_happened_are_told_whatever_the_summary_says() {
    let steps = [
        Planned {
            text: "a".into(),
            reasoning: false,
            calls: vec![CallEnding::Unknown, CallEnding::Finished],
        },
        Planned { text: "b".into(), reasoning: false, calls: vec![CallEnding::Finished] },
    ];
    let mut facts = log(&steps, false);
    facts.push(Fact::HistoryCompacted(Compaction {
        step: 3,
        pruned: vec![CallId::new(RUN, 2, 0)],
        client_messages: 0,
        summary: Some(Summary {
            text: "nothing happened".into(),
            through: None,
            messages: 0,
            through_step: 1,
            model: "m".into(),
            usage: Usage::default(),
            cost_nanos: None,
        }),
        tokens_before: 9,
        tokens_after: 1,
    }));
    let run = replay(&facts);
    let turns = transcript(&[], &run, M);
    let Turn::User(told) = &turns[0] else { panic!("{turns:?}") };
    assert!(told.contains("verify before repeating"), "{told}");
    assert!(told.contains(&CallId::new(RUN, 1, 0).to_string()), "{told}");
    assert!(!told.contains(&CallId::new(RUN, 1, 1).to_string()), "{told}");
    assert!(told.ends_with("go"), "{told}");
    assert_eq!(turns.len(), 3);
    let Turn::Result { text, is_error: false, .. } = &turns[2] else { panic!("{turns:?}") };
    assert!(text.starts_with("[left out: this output of 2 bytes") && !text.contains("read_output"), "{text}");
}
