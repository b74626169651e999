//! What is left out, what is summed up, and what is left alone.

use std::borrow::Cow;

use helve_model::TurnCall;
use helve_types::RunId;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::transcript::TurnPlace;

/// A past of runs, each with the tokens of its outputs, one a step; the last of them is the run itself.
struct Story {
    calls: Vec<Vec<CallId>>,
    outputs: Vec<Vec<u64>>,
}

impl Story {
    fn new(outputs: &[&[u64]]) -> Self {
        let ids = |run: usize, steps: usize| {
            let run = RunId(Uuid::from_u128(run as u128 + 1));
            (1..=steps as u32).map(|step| CallId::new(run, step, 0)).collect()
        };
        Self {
            calls: outputs.iter().enumerate().map(|(run, steps)| ids(run, steps.len())).collect(),
            outputs: outputs.iter().map(|steps| steps.to_vec()).collect(),
        }
    }

    fn turns(&self) -> Vec<PlacedTurn<'_>> {
        let mut turns = vec![];
        for (run, (calls, outputs)) in self.calls.iter().zip(&self.outputs).enumerate() {
            // Each run is two messages: what the person said, and the answer. The run itself has only its own.
            let is_own = run + 1 == self.calls.len();
            let place = |message, step| TurnPlace { message, step, output: Output::Stays };
            turns.push(PlacedTurn { turn: Turn::User(words(20)), place: place(run * 2, 0) });
            let answer = if is_own { run * 2 } else { run * 2 + 1 };
            for ((step, call), tokens) in (1..).zip(calls).zip(outputs) {
                let asked = TurnCall { id: "c".into(), tool: "t".into(), arguments: "{}".into() };
                turns.push(PlacedTurn {
                    turn: Turn::Assistant {
                        text: "".into(),
                        reasoning: "".into(),
                        echo: None,
                        calls: vec![asked],
                    },
                    place: place(answer, step),
                });
                let output = if *tokens * 4 >= 800 { Output::Of(call) } else { Output::Stays };
                turns.push(PlacedTurn {
                    turn: Turn::Result {
                        id: "c".into(),
                        tool: "t".into(),
                        text: words(*tokens),
                        is_error: false,
                    },
                    place: TurnPlace { output, ..place(answer, step) },
                });
            }
        }
        turns
    }

    fn plan(&self, limit: u64) -> Option<ShorteningPlan> {
        let turns = self.turns();
        let whole = turns.iter().map(|placed| estimate_turn_tokens(&placed.turn)).sum::<u64>() + 100;
        let own = HistoryOwner::Server((self.calls.len() - 1) * 2);
        let goal = CompactionGoal { limit, low: limit * 5 / 8, keep_recent: limit / 4 };
        TurnHistory::new(&turns, whole, own, EstimateRatio::default()).plan_compaction(&goal)
    }
}

fn words(tokens: u64) -> Cow<'static, str> {
    Cow::Owned("word".repeat(tokens as usize))
}

#[test]
fn what_fits_is_left_alone() {
    assert_eq!(Story::new(&[&[500, 500], &[500]]).plan(2_000), None);
}

#[test]
fn old_outputs_go_first_and_as_many_as_make_room_for_a_while() {
    let story = Story::new(&[&[1_000, 1_000, 1_000], &[1_000, 100], &[1_000]]);
    let plan = story.plan(4_400).unwrap();
    assert_eq!(plan.pruned, story.calls[0], "oldest first, and no more than it takes");
    assert_eq!(plan.cut, None);
    assert!(plan.tokens_pruned <= 2_750, "{plan:?}");
}

#[test]
fn outputs_of_the_last_step_and_short_ones_stay() {
    let story = Story::new(&[&[100, 100], &[3_000]]);
    let plan = story.plan(2_000);
    // Nothing that may go would make it worth it.
    assert_eq!(plan, None);
}

#[test]
fn where_outputs_are_not_enough_a_summary_ends_where_a_person_speaks() {
    // Words that cannot be left out.
    let story = Story::new(&[&[190; 10], &[190; 10], &[190; 2]]);
    let plan = story.plan(3_000).unwrap();
    let cut = plan.cut.unwrap();
    assert_eq!((cut.message, cut.through_step), (4, 0), "before the run itself: {plan:?}");
    assert!(cut.tokens_left < 1_900, "{plan:?}");
    assert!(plan.pruned.is_empty());
}

#[test]
fn a_run_that_is_too_long_by_itself_is_summed_up_between_its_steps() {
    let story = Story::new(&[&[190; 30]]);
    let plan = story.plan(3_000).unwrap();
    let cut = plan.cut.unwrap();
    assert_eq!(cut.message, 0, "no message before it: {plan:?}");
    assert!(cut.through_step > 10 && cut.through_step < 30, "{plan:?}");
    assert!(matches!(story.turns()[cut.turns].turn, Turn::Assistant { .. }));
    assert!(cut.tokens_left <= 1_900, "{plan:?}");
}

#[test]
fn a_single_question_that_is_too_long_is_left_alone() {
    let turns = [PlacedTurn {
        turn: Turn::User(words(10_000)),
        place: TurnPlace { message: 0, step: 0, output: Output::Stays },
    }];
    let past = TurnHistory::new(&turns, 10_100, HistoryOwner::Server(0), EstimateRatio::default());
    assert_eq!(past.plan_compaction(&CompactionGoal { limit: 1_000, low: 600, keep_recent: 250 }), None);
}

#[test]
fn a_clients_history_loses_outputs_and_is_never_summed_up() {
    let place = |message, output| TurnPlace { message, step: 0, output };
    let mut turns = vec![];
    for message in 0..6 {
        turns.push(PlacedTurn { turn: Turn::User(words(50)), place: place(message * 2, Output::Stays) });
        let asked = TurnCall { id: "c".into(), tool: "t".into(), arguments: "{}".into() };
        turns.push(PlacedTurn {
            turn: Turn::Assistant { text: "".into(), reasoning: "".into(), echo: None, calls: vec![asked] },
            place: place(message * 2 + 1, Output::Stays),
        });
        turns.push(PlacedTurn {
            turn: Turn::Result { id: "c".into(), tool: "t".into(), text: words(500), is_error: false },
            place: place(message * 2 + 1, Output::OfClient),
        });
    }
    let whole = turns.iter().map(|placed| estimate_turn_tokens(&placed.turn)).sum();
    let plan = |limit: u64| {
        let goal = CompactionGoal { limit, low: limit * 5 / 8, keep_recent: limit / 4 };
        TurnHistory::new(&turns, whole, HistoryOwner::Client, EstimateRatio::default()).plan_compaction(&goal)
    };
    let some = plan(3_000).unwrap();
    assert_eq!((some.cut, some.pruned.len()), (None, 0));
    assert!((5..11).contains(&some.client_messages), "{some:?}");
    assert_eq!(plan(300).unwrap().cut, None, "however little room there is");
}

#[test]
fn the_answer_has_its_room_and_an_absurd_wish_for_one_does_not_take_it_all() {
    let window = |tokens, answer_max| Window { tokens, answer_max }.question_tokens_max();
    assert_eq!(window(100_000, Some(4_000)), 96_000);
    assert_eq!(window(100_000, None), 87_500);
    assert_eq!(window(8_192, Some(8_192)), 6_144);
    let settings = CompactionSettings { at: 0.5, ..CompactionSettings::default() };
    let goal = CompactionGoal::from_window(Window { tokens: 100_000, answer_max: Some(0) }, &settings);
    assert_eq!((goal.limit, goal.low, goal.keep_recent), (50_000, 31_250, 12_500));
    // Too long is too long, whatever the operator believes that the model can read.
    let wrong = Some(Window { tokens: 1_000_000, answer_max: None });
    assert_eq!(CompactionGoal::from_rejected_request(10_000, wrong, &settings).limit, 6_250);
}

proptest! {
    /// Whatever the past: a plan makes it shorter, tears nothing, and keeps the last step.
    #[test]
    fn every_plan_shrinks_and_tears_nothing(
        outputs in proptest::collection::vec(proptest::collection::vec(0u64..1_500, 0..6), 1..6),
        limit in 100u64..8_000,
    ) {
        let outputs: Vec<&[u64]> = outputs.iter().map(Vec::as_slice).collect();
        let story = Story::new(&outputs);
        let turns = story.turns();
        let whole = turns.iter().map(|placed| estimate_turn_tokens(&placed.turn)).sum::<u64>() + 100;
        if let Some(plan) = story.plan(limit) {
            prop_assert!(whole > limit);
            let last = story.calls.last().and_then(|calls| calls.last());
            prop_assert!(last.is_none_or(|last| !plan.pruned.contains(last)));
            match plan.cut {
                None => prop_assert!(saves_enough(whole, plan.tokens_pruned)),
                Some(cut) => {
                    prop_assert!(saves_enough(whole, cut.tokens_left + estimate_summary_tokens(cut.tokens)));
                    prop_assert!(cut.turns > 0 && cut.turns < turns.len());
                    let is_result = matches!(turns[cut.turns].turn, Turn::Result { .. });
                    prop_assert!(!is_result, "torn: {cut:?}");
                }
            }
        }
    }
}
