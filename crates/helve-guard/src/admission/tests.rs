//! The promises of the admission: over any history of the machine, and with real waiting on a paused clock.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use proptest::prelude::*;
use tokio::{
    task::{JoinSet, yield_now},
    time::{advance, timeout},
};

use super::{
    Admission, AdmissionSettings, Rejected,
    queue::{AdmissionQueue, Arrival, Waits},
};

// The machine.

/// Arrivals by the callers' names; what becomes of each, as a word.
fn arrive(queue: &mut AdmissionQueue, callers: &str) -> Vec<String> {
    let word = |arrival| match arrival {
        Arrival::Admitted => "in".to_owned(),
        Arrival::Waiting { number, displaced: None } => format!("{number}"),
        Arrival::Waiting { number, displaced: Some(other) } => format!("{number} for {other}"),
        Arrival::Rejected(Rejected::CallerLimit) => "share".into(),
        Arrival::Rejected(Rejected::TotalLimit) => "all".into(),
    };
    callers.split(' ').map(|caller| word(queue.arrive(caller, Waits::InLine))).collect()
}

/// Ends work of a caller; who is let in because of it.
fn release(queue: &mut AdmissionQueue, caller: &str) -> String {
    queue.release(caller);
    let mut names = vec![];
    while let Some((_, caller)) = queue.take_next_admissible() {
        names.push(caller.to_string());
    }
    names.join(" ")
}

#[test]
fn the_first_go_in_and_the_others_wait() {
    let mut queue = AdmissionQueue::new(3, 2, 9);
    assert_eq!(arrive(&mut queue, "a a a b b c"), ["in", "in", "0", "in", "1", "2"]);
    assert_eq!((queue.admitted_count(), queue.waiting_count()), (3, 3));
}

#[test]
fn callers_take_turns_however_many_one_of_them_has_in_line() {
    let mut queue = AdmissionQueue::new(1, 1, 99);
    arrive(&mut queue, "a a a a a a b c b");
    let mut inside = "a".to_owned();
    let mut turns = vec![];
    for _ in 0..8 {
        inside = release(&mut queue, &inside);
        turns.push(inside.clone());
    }
    assert_eq!(turns.join(" "), "a b c a b a a a");
}

#[test]
fn a_caller_that_has_its_share_does_not_hold_up_those_behind_it() {
    let mut queue = AdmissionQueue::new(3, 2, 9);
    arrive(&mut queue, "a a a a b c c");
    assert_eq!(release(&mut queue, "b"), "c");
    assert_eq!(release(&mut queue, "a"), "a", "its turn was still the first");
}

#[test]
fn a_rejection_names_the_bound() {
    let mut queue = AdmissionQueue::new(2, 1, 1);
    assert_eq!(queue.arrive("a", Waits::Never), Arrival::Admitted);
    assert_eq!(queue.arrive("a", Waits::Never), Arrival::Rejected(Rejected::CallerLimit));
    assert_eq!(arrive(&mut queue, "b c"), ["in", "0"]);
    assert_eq!(queue.arrive("d", Waits::Never), Arrival::Rejected(Rejected::TotalLimit));
    assert_eq!(arrive(&mut queue, "c d b"), ["share", "all", "share"]);
    assert_eq!(queue.remove_waiter("c", 0), Some(Rejected::TotalLimit));
    assert_eq!(queue.remove_waiter("c", 0), None);
    assert_eq!(arrive(&mut queue, "b"), ["1"]);
    assert_eq!(queue.remove_waiter("b", 1), Some(Rejected::CallerLimit));
}

#[test]
fn a_flood_makes_room_in_the_line_for_those_who_have_less_in_it() {
    let mut queue = AdmissionQueue::new(1, 1, 4);
    assert_eq!(arrive(&mut queue, "a a a a a a"), ["in", "0", "1", "2", "3", "share"]);
    assert_eq!(arrive(&mut queue, "b b"), ["4 for 3", "5 for 2"]);
    assert_eq!(arrive(&mut queue, "b a"), ["share", "share"], "they have as much as each other");
    assert_eq!(arrive(&mut queue, "c"), ["6 for 5"]);
    assert_eq!(arrive(&mut queue, "d"), ["7 for 1"]);
    assert_eq!(arrive(&mut queue, "e"), ["all"], "no caller has more than one");
}

#[test]
fn an_unbounded_waiter_is_neither_rejected_nor_displaced() {
    let mut queue = AdmissionQueue::new(1, 1, 1);
    arrive(&mut queue, "a");
    for number in 0..3 {
        let arrival = queue.arrive("a", Waits::Surely);
        assert_eq!(arrival, Arrival::Waiting { number, displaced: None });
    }
    assert_eq!(arrive(&mut queue, "b c"), ["3", "all"]);
    assert_eq!(queue.waiting_count(), 4);
    assert_eq!(release(&mut queue, "a"), "a");
    assert_eq!(release(&mut queue, "a"), "b");
}

#[derive(Debug, Clone)]
enum Step {
    Arrive(u8, Waits),
    Release(u8),
    Leave(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let waits = prop_oneof![1 => Just(Waits::Never), 6 => Just(Waits::InLine), 1 => Just(Waits::Surely)];
    prop_oneof![
        5 => (0u8..5, waits).prop_map(|(caller, waits)| Step::Arrive(caller, waits)),
        4 => (0u8..5).prop_map(Step::Release),
        1 => any::<usize>().prop_map(Step::Leave),
    ]
}

/// A plain record of what a round has done.
#[derive(Default)]
struct Record {
    inside: HashMap<String, usize>,
    /// Number, caller and whether it can be turned away.
    waiting: Vec<(u64, String, bool)>,
    /// How often another was let in while this one could have gone.
    overtaken: HashMap<(String, String), usize>,
}

impl Record {
    fn inside(&self, caller: &str) -> usize {
        self.inside.get(caller).copied().unwrap_or(0)
    }

    fn total(&self) -> usize {
        self.inside.values().sum()
    }

    fn enters(&mut self, caller: &str) {
        *self.inside.entry(caller.to_owned()).or_default() += 1;
    }

    /// The first in line of a caller is let in by its turn; everybody else who could have gone was passed over.
    fn turn(&mut self, number: u64, caller: &str, each: usize) -> Result<(), TestCaseError> {
        let first = self.waiting.iter().position(|(_, name, _)| name == caller).unwrap();
        prop_assert_eq!(self.waiting.remove(first).0, number, "the line of one caller is in order");
        let passed_over = self.waiting.iter().map(|(_, name, _)| name.clone());
        let passed_over: HashSet<String> =
            passed_over.filter(|other| other != caller && self.inside(other) < each).collect();
        for other in passed_over {
            let times = self.overtaken.entry((other.clone(), caller.to_owned())).or_default();
            *times += 1;
            prop_assert!(*times <= 1, "{caller} had two turns while {other} could have gone");
        }
        self.overtaken.retain(|(other, _), _| other != caller);
        self.enters(caller);
        Ok(())
    }
}

proptest! {
    #[test]
    fn any_history_keeps_the_promises(
        (all, each, queue_max) in (1usize..5, 1usize..4, 0usize..6),
        steps in proptest::collection::vec(any_step(), 0..200),
    ) {
        let mut queue = AdmissionQueue::new(all, each, queue_max);
        let mut record = Record::default();
        for step in steps {
            match step {
                Step::Arrive(caller, waits) => {
                    let caller = format!("{caller}");
                    match queue.arrive(&caller, waits) {
                        Arrival::Admitted => record.enters(&caller),
                        Arrival::Waiting { number, displaced } => {
                            if let Some(number) = displaced {
                                let place = record.waiting.iter().position(|held| held.0 == number).unwrap();
                                let (_, name, queued) = record.waiting.remove(place);
                                prop_assert!(queued && name != caller);
                                let has = |name: &str| record.waiting.iter().filter(|held| held.1 == name && held.2).count();
                                prop_assert!(has(&name) > has(&caller));
                            }
                            record.waiting.push((number, caller, waits == Waits::InLine));
                        }
                        Arrival::Rejected(why) => {
                            prop_assert_ne!(waits, Waits::Surely);
                            let full = record.inside(&caller) >= each;
                            let queued = record.waiting.iter().any(|held| held.1 == caller && held.2);
                            prop_assert_eq!(why == Rejected::CallerLimit, full || (queued && waits == Waits::InLine));
                        }
                    }
                }
                Step::Release(caller) => {
                    let caller = format!("{caller}");
                    queue.release(&caller);
                    if let Some(inside) = record.inside.get_mut(&caller) {
                        *inside = inside.saturating_sub(1);
                    }
                    while let Some((number, caller)) = queue.take_next_admissible() {
                        record.turn(number, &caller, each)?;
                    }
                }
                Step::Leave(which) if !record.waiting.is_empty() => {
                    let (number, caller, _) = record.waiting.remove(which % record.waiting.len());
                    prop_assert!(queue.remove_waiter(&caller, number).is_some());
                }
                Step::Leave(_) => {}
            }
            record.overtaken.retain(|(other, _), _| record.waiting.iter().any(|held| held.1 == *other));
            prop_assert!(record.total() <= all);
            prop_assert!(record.inside.values().all(|inside| *inside <= each));
            prop_assert!(record.waiting.iter().filter(|held| held.2).count() <= queue_max);
            prop_assert_eq!((queue.admitted_count(), queue.waiting_count()), (record.total(), record.waiting.len()));
            let idle = record.total() < all && record.waiting.iter().any(|held| record.inside(&held.1) < each);
            prop_assert!(!idle, "a permit is free, and a waiter that may have it waits");
            let busy = record.inside.iter().filter(|(_, inside)| **inside > 0).map(|(name, _)| name);
            let known: HashSet<_> = busy.chain(record.waiting.iter().map(|held| &held.1)).collect();
            prop_assert_eq!(queue.caller_count(), known.len());
        }
    }
}

// The handle.

fn admission(all: usize, each: usize, queue_max: usize) -> Admission {
    Admission::new(AdmissionSettings { all, each, queue_max, wait: Duration::from_secs(10) })
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_does_not_come_in_time_is_not_waited_for() {
    let admission = admission(1, 1, 9);
    let inside = admission.enter("a").await.unwrap();
    assert_eq!(admission.enter("a").await.unwrap_err(), Rejected::CallerLimit);
    assert_eq!(admission.enter("b").await.unwrap_err(), Rejected::TotalLimit);
    let status = admission.status();
    assert_eq!((status.inside, status.waiting, status.rejected), (1, 0, [1, 1]));
    drop(inside);
    assert!(admission.enter("b").await.is_ok());
    assert_eq!(admission.status().inside, 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_vanishes_takes_nothing_with_it() {
    let admission = admission(1, 1, 9);
    let inside = admission.enter("a").await.unwrap();
    let gone = timeout(Duration::from_secs(1), admission.enter("b")).await;
    assert!(gone.is_err());
    assert_eq!(admission.status().waiting, 0);
    // One that has its turn already, and does not look.
    let mut place = Box::pin(admission.enter("c"));
    assert!(at_once(&mut place).await.is_none());
    drop(inside);
    assert_eq!(admission.status().inside, 1, "c is inside");
    drop(place);
    assert_eq!(admission.status().inside, 0);
}

/// What the future gives at once, if anything.
async fn at_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    tokio::select! {
        biased;
        done = future => Some(done),
        () = std::future::ready(()) => None,
    }
}

#[tokio::test(start_paused = true)]
async fn an_unbounded_waiter_waits_longer_than_others() {
    let admission = admission(1, 1, 0);
    let inside = admission.enter("a").await.unwrap();
    assert!(admission.enter("b").await.is_err(), "there is no line");
    let sure = tokio::spawn({
        let admission = admission.clone();
        async move { admission.enter_unbounded("b").await }
    });
    yield_now().await;
    advance(Duration::from_secs(3_600)).await;
    assert!(!sure.is_finished());
    assert_eq!(admission.status().waiting, 1);
    drop(inside);
    assert_eq!(admission.status().inside, 1);
    drop(sure.await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_many_come_at_once_the_bounds_hold_and_all_have_their_turn() {
    let admission = admission(3, 2, 1_000);
    let mut tasks = JoinSet::new();
    for n in 0..300 {
        let admission = admission.clone();
        tasks.spawn(async move {
            let _pass = admission.enter(["a", "b", "c"][n % 3]).await.unwrap();
            assert!(admission.status().inside <= 3);
            yield_now().await;
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let status = admission.status();
    assert_eq!((status.inside, status.waiting), (0, 0));
}
