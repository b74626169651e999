//! The limiter's promises: over any history of the machine, and with real waiting on a paused clock.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use proptest::prelude::*;
use tokio::{
    task::{JoinSet, yield_now},
    time::{Instant, advance, sleep, timeout},
};

use super::{
    KeyedLimiter, LimitSettings, Limited, LimitedBy, Limiter,
    queue::{Arrival, EPOCH, RequestQueue, TurnCheck},
    rate::OPEN,
};

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn rate(per_window: u32, window: Duration) -> LimitSettings {
    LimitSettings { per_window: Some(per_window), window, ..LimitSettings::default() }
}

fn concurrent(max: u32, wait: Duration) -> LimitSettings {
    LimitSettings { concurrent: Some(max), wait, ..LimitSettings::default() }
}

/// A request that was sent has arrived after so many nanoseconds.
const ARRIVES: u64 = 10_000_000_000;

// The machine.

#[derive(Debug, Clone)]
enum Step {
    AdmissionPermit(u64),
    Arrive { patience: Option<u64> },
    Send(usize),
    Release(usize),
    Cancel(usize),
    LookOutOfTurn(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0u64..60).prop_map(Step::AdmissionPermit),
        4 => proptest::option::of(0u64..200).prop_map(|patience| Step::Arrive { patience }),
        1 => Just(Step::AdmissionPermit(ARRIVES)),
        2 => any::<usize>().prop_map(Step::Send),
        2 => any::<usize>().prop_map(Step::Release),
        1 => any::<usize>().prop_map(Step::Cancel),
        1 => any::<usize>().prop_map(Step::LookOutOfTurn),
    ]
}

fn any_settings() -> impl Strategy<Value = LimitSettings> {
    (proptest::option::of(1u32..4), proptest::option::of(1u32..6), 1u64..100, 0u64..200, 0usize..6).prop_map(
        |(concurrent, per_window, window, wait, queue_max)| LimitSettings {
            concurrent,
            per_window,
            window: Duration::from_nanos(window),
            wait: Duration::from_nanos(wait),
            queue_max,
        },
    )
}

/// A line beside a plain record of what it has done.
struct History {
    settings: LimitSettings,
    line: RequestQueue,
    epoch: Instant,
    /// What the line's clock said in the beginning, and what has passed since.
    start: u64,
    now: u64,
    /// Everything that was admitted, in order.
    admitted: Vec<Admitted>,
    /// Which of these have not ended.
    running: Vec<usize>,
    waiting: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Admitted {
    at: u64,
    stamp: u64,
    ended: bool,
}

impl History {
    fn new(settings: LimitSettings) -> Self {
        let epoch = Instant::now();
        Self {
            settings,
            line: RequestQueue::new(settings, epoch),
            epoch,
            start: EPOCH,
            now: 0,
            admitted: Vec::new(),
            running: Vec::new(),
            waiting: Vec::new(),
        }
    }

    fn at(&self, nanoseconds: u64) -> Instant {
        self.epoch + Duration::from_nanos(nanoseconds)
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::AdmissionPermit(nanoseconds) => self.now += nanoseconds,
            Step::Arrive { patience } => self.arrive(patience),
            Step::Send(_) | Step::Release(_) if self.running.is_empty() => {}
            Step::Send(index) => {
                let it = &mut self.admitted[self.running[index % self.running.len()]];
                if it.stamp == OPEN {
                    it.stamp = self.line.mark_sent(OPEN, self.epoch + Duration::from_nanos(self.now));
                }
            }
            Step::Release(index) => {
                let it = &mut self.admitted[self.running.remove(index % self.running.len())];
                self.line.release(it.at, it.stamp, self.epoch + Duration::from_nanos(self.now));
                it.ended = true;
                it.stamp = if it.stamp == OPEN { it.at } else { it.stamp.min(self.start + self.now) };
            }
            Step::Cancel(_) | Step::LookOutOfTurn(_) if self.waiting.is_empty() => {}
            Step::Cancel(index) => {
                let number = self.waiting.remove(index % self.waiting.len());
                self.line.leave(number);
            }
            Step::LookOutOfTurn(index) => self.check_turn(index % self.waiting.len()),
        }
    }

    fn arrive(&mut self, patience: Option<u64>) {
        let deadline = patience.map(|patience| self.at(self.now + patience));
        match self.line.arrive(self.at(self.now), deadline) {
            Ok(Arrival::Admitted(at)) => {
                assert!(self.waiting.is_empty(), "a newcomer went past those who wait");
                self.admitted(at);
            }
            Ok(Arrival::Waiting(number, _)) => {
                assert!(self.waiting.len() < self.settings.queue_max);
                self.waiting.push(number);
            }
            Err(limited) => assert!(!self.is_free(), "refused without need: {limited:?}"),
        }
    }

    fn check_turn(&mut self, index: usize) {
        match self.line.check_turn(self.waiting[index], self.at(self.now)) {
            Ok(TurnCheck::Admitted(at)) => {
                assert_eq!(index, 0, "one in the middle went first");
                self.waiting.remove(0);
                self.admitted(at);
            }
            Ok(TurnCheck::Wait(until)) => assert!(until > self.at(self.now)),
            Err(limited) => {
                assert_eq!(limited.by, LimitedBy::Wait);
                self.waiting.remove(index);
            }
        }
    }

    fn admitted(&mut self, at: u64) {
        self.running.push(self.admitted.len());
        self.admitted.push(Admitted { at, stamp: OPEN, ended: false });
    }

    /// How many can arrive or have arrived within one window that ends now.
    fn lately(&self) -> u32 {
        let window = self.settings.window.as_nanos() as u64;
        let now = self.start + self.now;
        self.admitted.iter().filter(|it| it.stamp == OPEN || it.stamp + window > now).count() as u32
    }

    /// Could the first in line, or a newcomer if there is none, go right now?
    fn is_free(&self) -> bool {
        let slot = self.settings.concurrent.is_none_or(|max| (self.running.len() as u32) < max);
        let rate = self.settings.per_window.is_none_or(|max| self.lately() < max);
        slot && rate && self.waiting.is_empty()
    }

    fn check(&mut self) {
        if let Some(max) = self.settings.per_window {
            assert!(self.lately() <= max, "more than {max}: {:?}", self.admitted);
        }
        let running = self.running.len() as u32;
        assert!(self.settings.concurrent.is_none_or(|max| running <= max));
        assert_eq!(self.admitted.iter().filter(|it| !it.ended).count(), self.running.len());
        let status = self.line.status(self.at(self.now));
        assert_eq!((status.in_use, status.waiting), (running, self.waiting.len()));
    }

    /// Everyone looks in turn until nothing changes: then the head waits for a reason.
    fn settle(&mut self) {
        while !self.waiting.is_empty() {
            let before = self.waiting.clone();
            self.check_turn(0);
            if self.waiting == before {
                let waiting = std::mem::take(&mut self.waiting);
                assert!(!self.is_free(), "the head waits although it could go");
                self.waiting = waiting;
                return;
            }
            self.check();
        }
    }
}

proptest! {
    #[test]
    fn no_history_breaks_the_bounds_or_the_order(
        settings in any_settings(),
        steps in proptest::collection::vec((any_step(), any::<bool>()), 0..120),
    ) {
        let mut history = History::new(settings);
        for (step, settle) in &steps {
            history.take(step);
            history.check();
            if *settle {
                history.settle();
            }
        }
    }

    #[test]
    fn new_settings_count_what_the_old_ones_let_through(
        before in 1u32..20, after in 1u32..20, window in 1u64..100,
        gaps in proptest::collection::vec(0u64..30, 1..40),
    ) {
        let epoch = Instant::now();
        let settings = |max| rate(max, Duration::from_nanos(window));
        let mut line = RequestQueue::new(settings(before), epoch);
        let (mut max, mut now, mut admitted) = (before, 0, Vec::new());
        for (index, gap) in gaps.iter().enumerate() {
            now += gap;
            let at = epoch + Duration::from_nanos(now);
            if index == gaps.len() / 2 {
                max = after;
                line.reconfigure(settings(after), at);
            }
            let lately = admitted.iter().filter(|at| **at + window > now).count();
            let arrival = line.arrive(at, None);
            prop_assert_eq!(arrival.is_ok(), lately < max as usize);
            if let Ok(Arrival::Admitted(admitted_at)) = arrival {
                line.release(admitted_at, OPEN, at);
                admitted.push(now);
            }
        }
    }
}

/// One call of a crowd, in milliseconds.
#[derive(Debug, Clone)]
struct Journey {
    wants_at: u64,
    /// Of each attempt: from the admission to the send, from there to the arrival, and from there to the answer.
    attempts: Vec<[u64; 3]>,
}

fn journeys() -> impl Strategy<Value = Vec<Journey>> {
    let attempts = proptest::collection::vec([0u64..3_000, 0u64..9_999, 0u64..60_000], 1..4);
    let journey = (0u64..30_000, attempts).prop_map(|(wants_at, attempts)| Journey { wants_at, attempts });
    proptest::collection::vec(journey, 1..40)
}

/// When the requests of a crowd arrive.
async fn arrivals(limiter: Limiter, journeys: Vec<Journey>) -> Vec<u64> {
    let (arrivals, began) = (Arc::new(Mutex::new(vec![])), Instant::now());
    let mut crowd = JoinSet::new();
    for Journey { wants_at, attempts } in journeys {
        let (limiter, arrivals) = (limiter.clone(), arrivals.clone());
        crowd.spawn(async move {
            sleep(Duration::from_millis(wants_at)).await;
            for [leaving, on_the_way, answering] in attempts {
                let mut slot = limiter.enter().await.unwrap();
                sleep(Duration::from_millis(leaving)).await;
                slot.mark_sent();
                sleep(Duration::from_millis(on_the_way)).await;
                arrivals.lock().unwrap().push(began.elapsed().as_millis() as u64);
                sleep(Duration::from_millis(answering)).await;
            }
        });
    }
    crowd.join_all().await;
    let mut arrivals = std::mem::take(&mut *arrivals.lock().unwrap());
    arrivals.sort_unstable();
    arrivals
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_interval_sees_more_arrivals_than_are_allowed_whatever_happens_on_the_way(
        max in 1u32..6, window_ms in 1u64..20_000, before in proptest::collection::vec(0u64..30_000, 0..12),
        journeys in journeys(),
    ) {
        let window = Duration::from_millis(window_ms);
        let limiter = Limiter::new(LimitSettings { wait: seconds(864_000), ..rate(max, window) });
        let seen = paused(async {
            let limiter = Limiter::new(limiter.status().settings);
            let ages = before.iter().map(|age| Duration::from_millis(*age)).collect();
            limiter.count_earlier_once(async { Ok::<_, ()>(ages) }).await.unwrap();
            arrivals(limiter, journeys).await
        });
        // Those from before, as far as they were within the bound, lie before zero.
        let mut before = before;
        before.sort_unstable();
        let mut all: Vec<i64> = before.iter().take(max as usize).rev().map(|age| -(*age as i64)).collect();
        let known = all.len();
        all.extend(seen.iter().map(|at| *at as i64));
        for (index, (first, last)) in all.iter().zip(all.iter().skip(max as usize)).enumerate() {
            let is_ours = index + max as usize >= known;
            prop_assert!(!is_ours || last - first >= window_ms as i64, "{} within {window_ms}: {all:?}", max + 1);
        }
    }
}

#[test]
fn fewer_places_count_everything_that_is_under_way() {
    let epoch = Instant::now();
    let mut line = RequestQueue::new(rate(5, seconds(60)), epoch);
    let mut admitted = vec![];
    while let Ok(Arrival::Admitted(at)) = line.arrive(epoch, None) {
        admitted.push(at);
    }
    assert_eq!(admitted.len(), 5);
    line.reconfigure(rate(2, seconds(60)), epoch);
    let mut now = epoch;
    for admitted_at in &admitted[..4] {
        assert!(line.arrive(now + seconds(99), None).is_err());
        now += seconds(100);
        let stamp = line.mark_sent(OPEN, now);
        line.release(*admitted_at, stamp, now);
    }
    assert!(line.arrive(now + Duration::from_nanos(59_999_999_999), None).is_err());
    // One may still be sent, and beside it there is place for one.
    assert!(line.arrive(now + seconds(60), None).is_ok());
    assert!(line.arrive(now + seconds(1_000), None).is_err());
}

#[tokio::test(start_paused = true)]
async fn what_waits_between_its_admission_and_its_send_keeps_its_place() {
    let limiter = Limiter::new(LimitSettings { wait: seconds(600), ..rate(1, seconds(60)) });
    let mut slot = limiter.enter().await.unwrap();
    sleep(seconds(59)).await;
    slot.mark_sent();
    let sent = Instant::now();
    drop(slot);
    drop(limiter.enter().await.unwrap());
    assert_eq!(sent.elapsed(), seconds(60));
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_costs_at_most_ten_seconds_of_its_place() {
    let limiter = Limiter::new(LimitSettings { wait: seconds(600), ..rate(1, seconds(60)) });
    let mut slow = limiter.enter().await.unwrap();
    slow.mark_sent();
    let began = Instant::now();
    let next = limiter.enter().await.unwrap();
    assert_eq!(began.elapsed(), seconds(70));
    drop((slow, next));
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_before_the_limiter_was_made_counts_and_is_looked_up_once() {
    let limiter = Limiter::new(LimitSettings { wait: seconds(600), ..rate(3, seconds(60)) });
    let failed = limiter.count_earlier_once(async { Err("the disk cannot be read") }).await;
    assert_eq!(failed, Err("the disk cannot be read"));
    let ages = vec![seconds(5), seconds(61), seconds(50)];
    limiter.count_earlier_once(async { Ok::<_, ()>(ages) }).await.unwrap();
    limiter.count_earlier_once(async { panic!("it asks again") as Result<_, ()> }).await.unwrap();
    assert_eq!(limiter.status().admitted_in_window, 2);
    let began = Instant::now();
    let mut times = vec![];
    for _ in 0..3 {
        drop(limiter.enter().await.unwrap());
        times.push(began.elapsed().as_secs());
    }
    assert_eq!(times, [0, 10, 55]);
}

#[tokio::test(start_paused = true)]
async fn a_large_limit_counts_what_was_sent_before_it_was_made_too() {
    let limiter = Limiter::new(rate(20_000, seconds(60)));
    limiter.count_earlier_once(async { Ok::<_, ()>(vec![seconds(6); 20_000]) }).await.unwrap();
    // A tenth of the window has passed, so a tenth of the places is free.
    assert_eq!(limiter.status().admitted_in_window, 18_000);
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_is_set_again_asks_what_was_sent_without_one() {
    let limiter = Limiter::new(rate(2, seconds(60)));
    limiter.count_earlier_once(async { Ok::<_, ()>(vec![]) }).await.unwrap();
    limiter.reconfigure(LimitSettings::default());
    limiter.count_earlier_once(async { panic!("it asks without a rate") as Result<_, ()> }).await.unwrap();
    limiter.reconfigure(rate(2, seconds(60)));
    limiter.count_earlier_once(async { Ok::<_, ()>(vec![seconds(1); 5]) }).await.unwrap();
    assert_eq!(limiter.try_enter().unwrap_err().retry_after, Some(seconds(59)));
}

// Refusals.

#[test]
fn a_refusal_for_rate_says_when_the_next_one_may_come() {
    let epoch = Instant::now();
    let mut line = RequestQueue::new(rate(2, seconds(60)), epoch);
    for at in [0, 10] {
        let at = epoch + seconds(at);
        let Ok(Arrival::Admitted(admitted_at)) = line.arrive(at, None) else { panic!("refused") };
        line.release(admitted_at, OPEN, at);
    }
    let limited = line.arrive(epoch + seconds(25), None).unwrap_err();
    assert_eq!(limited, Limited { by: LimitedBy::Rate, retry_after: Some(seconds(35)) });
    assert_eq!(limited.to_string(), "too many calls in a short time");
    assert!(line.arrive(epoch + Duration::from_nanos(59_999_999_999), None).is_err());
    assert!(line.arrive(epoch + seconds(60), None).is_ok());
}

#[tokio::test(start_paused = true)]
async fn without_a_wait_a_busy_limiter_refuses_at_once() {
    let limiter = Limiter::new(concurrent(1, Duration::ZERO));
    let slot = limiter.enter().await.unwrap();
    let limited = limiter.enter().await.unwrap_err();
    assert_eq!(limited, Limited { by: LimitedBy::Concurrency, retry_after: None });
    drop(slot);
    assert!(limiter.try_enter().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_rate_makes_hopeless_does_not_begin() {
    let limiter = Limiter::new(LimitSettings { wait: seconds(10), ..rate(1, seconds(60)) });
    drop(limiter.enter().await.unwrap());
    let began = Instant::now();
    let limited = limiter.enter().await.unwrap_err();
    assert_eq!(limited, Limited { by: LimitedBy::Rate, retry_after: Some(seconds(60)) });
    assert_eq!(Instant::now(), began);
}

#[tokio::test(start_paused = true)]
async fn a_wait_behind_too_many_others_does_not_begin() {
    let limiter = Limiter::new(LimitSettings { wait: seconds(25), ..rate(1, seconds(10)) });
    drop(limiter.enter().await.unwrap());
    let mut waiting = JoinSet::new();
    for _ in 0..2 {
        waiting.spawn({
            let limiter = limiter.clone();
            async move { limiter.enter().await.map(drop) }
        });
        yield_now().await;
    }
    let limited = limiter.enter().await.unwrap_err();
    assert_eq!(limited, Limited { by: LimitedBy::Rate, retry_after: Some(seconds(30)) });
    assert!(waiting.join_all().await.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_takes_no_further_request() {
    let limiter = Limiter::new(LimitSettings { queue_max: 1, ..concurrent(1, seconds(10)) });
    let _slot = limiter.enter().await.unwrap();
    let _waiting = tokio::spawn({
        let limiter = limiter.clone();
        async move { limiter.enter().await }
    });
    yield_now().await;
    assert_eq!(limiter.enter().await.unwrap_err().by, LimitedBy::Queue);
}

#[tokio::test(start_paused = true)]
async fn limits_of_zero_admit_no_request_and_let_none_wait() {
    for settings in [concurrent(0, seconds(10)), LimitSettings { wait: seconds(10), ..rate(0, seconds(1)) }] {
        let began = Instant::now();
        assert_eq!(Limiter::new(settings).enter().await.unwrap_err().retry_after, None);
        assert_eq!(Instant::now(), began);
    }
}

// Waiting.

#[tokio::test(start_paused = true)]
async fn a_slot_is_free_when_its_work_has_ended_and_not_before() {
    let limiter = Limiter::new(concurrent(1, seconds(3_600)));
    let slot = limiter.enter().await.unwrap();
    let waiter = tokio::spawn({
        let limiter = limiter.clone();
        async move { limiter.enter().await.map(drop) }
    });
    sleep(seconds(3_000)).await;
    assert!(!waiter.is_finished());
    drop(slot);
    waiter.await.unwrap().unwrap();
    assert_eq!(limiter.status().in_use, 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_goes_in_the_moment_the_window_opens() {
    let limiter = Limiter::new(LimitSettings { wait: seconds(60), ..rate(2, seconds(10)) });
    let began = Instant::now();
    let mut times = Vec::new();
    for _ in 0..5 {
        drop(limiter.enter().await.unwrap());
        times.push(began.elapsed().as_secs());
    }
    assert_eq!(times, [0, 0, 10, 10, 20]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_the_callers_deadline_or_at_ours() {
    let limiter = Limiter::new(concurrent(1, seconds(10)));
    let _slot = limiter.enter().await.unwrap();
    let began = Instant::now();
    let limited = limiter.enter_before(began + seconds(4)).await.unwrap_err();
    assert_eq!((limited.by, began.elapsed()), (LimitedBy::Wait, seconds(4)));
    let limited = limiter.enter_before(began + seconds(100)).await.unwrap_err();
    assert_eq!((limited.by, began.elapsed()), (LimitedBy::Wait, seconds(14)));
    assert_eq!(limiter.status().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_go_in_the_order_they_came() {
    let limiter = Limiter::new(concurrent(2, seconds(60)));
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for number in 0..20 {
        let (limiter, order) = (limiter.clone(), order.clone());
        tasks.spawn(async move {
            let _slot = limiter.enter().await.unwrap();
            order.lock().unwrap().push(number);
            sleep(Duration::from_millis(5 + number % 3)).await;
        });
        yield_now().await;
    }
    tasks.join_all().await;
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_waiter_holds_up_no_other() {
    let limiter = Limiter::new(concurrent(1, seconds(60)));
    let slot = limiter.enter().await.unwrap();
    let enter = || {
        let limiter = limiter.clone();
        tokio::spawn(async move { limiter.enter().await.map(drop) })
    };
    let (head, second) = (enter(), enter());
    yield_now().await;
    assert_eq!(limiter.status().waiting, 2);
    // The head is told that it may go and is cancelled before it hears it.
    drop(slot);
    head.abort();
    second.await.unwrap().unwrap();
    assert_eq!(Instant::now().elapsed(), Duration::ZERO);
    assert_eq!((limiter.status().in_use, limiter.status().waiting), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_head_leaves_the_next_window_to_the_one_behind_it() {
    let limiter = Limiter::new(LimitSettings { wait: seconds(60), ..rate(1, seconds(10)) });
    drop(limiter.enter().await.unwrap());
    let began = Instant::now();
    let enter = || {
        let limiter = limiter.clone();
        tokio::spawn(async move { limiter.enter().await.map(drop) })
    };
    let (head, second) = (enter(), enter());
    yield_now().await;
    advance(seconds(3)).await;
    head.abort();
    second.await.unwrap().unwrap();
    assert_eq!(began.elapsed(), seconds(10));
}

#[tokio::test(start_paused = true)]
async fn cancelled_work_does_not_give_its_rate_slot_back() {
    let limiter = Limiter::new(rate(1, seconds(10)));
    let work = async {
        let _slot = limiter.enter().await.unwrap();
        sleep(seconds(100)).await;
    };
    assert!(timeout(seconds(1), work).await.is_err());
    assert_eq!(limiter.enter().await.unwrap_err().retry_after, Some(seconds(9)));
    assert_eq!((limiter.status().in_use, limiter.status().admitted_in_window), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn more_room_lets_those_who_wait_go_at_once() {
    let limiter = Limiter::new(concurrent(1, seconds(60)));
    let slot = limiter.enter().await.unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..3 {
        let limiter = limiter.clone();
        waiting.spawn(async move { limiter.enter().await.map(std::mem::forget) });
    }
    yield_now().await;
    limiter.reconfigure(concurrent(4, seconds(60)));
    assert!(waiting.join_all().await.iter().all(Result::is_ok));
    assert_eq!(Instant::now().elapsed(), Duration::ZERO);
    drop(slot);
}

#[tokio::test(start_paused = true)]
async fn a_status_tells_what_is_used_and_what_is_allowed() {
    let settings = LimitSettings { concurrent: Some(3), ..rate(10_001, seconds(1)) };
    let limiter = Limiter::new(settings);
    let _slots = [limiter.enter().await.unwrap(), limiter.enter().await.unwrap()];
    let status = limiter.status();
    assert_eq!((status.in_use, status.waiting, status.admitted_in_window), (2, 0, 2));
    assert!(status.approximate);
    assert_eq!(status.settings, settings);
}

/// What one caller does, in milliseconds: when it comes, how long it works, when it loses patience.
#[derive(Debug, Clone)]
struct Caller {
    comes: u64,
    works: u64,
    gives_up: u64,
}

fn any_caller() -> impl Strategy<Value = Caller> {
    (0u64..300, 0u64..50, 0u64..200).prop_map(|(comes, works, gives_up)| Caller { comes, works, gives_up })
}

proptest! {
    #[test]
    fn real_waiting_and_cancelling_keeps_the_bounds(
        max in 1u32..4, per_window in 1u32..8, window in 1u64..80,
        callers in proptest::collection::vec(any_caller(), 1..40),
    ) {
        paused(async {
            let window = Duration::from_millis(window);
            let wait = seconds(1);
            let settings = LimitSettings { concurrent: Some(max), wait, ..rate(per_window, window) };
            let limiter = Limiter::new(settings);
            let (running, admitted) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Vec::new())));
            let mut tasks = JoinSet::new();
            for caller in callers {
                let (limiter, running, admitted) = (limiter.clone(), running.clone(), admitted.clone());
                tasks.spawn(async move {
                    sleep(Duration::from_millis(caller.comes)).await;
                    let work = async {
                        let Ok(_slot) = limiter.enter().await else { return };
                        let _running = Running::count(&running);
                        assert!(running.load(Ordering::SeqCst) <= max);
                        admitted.lock().unwrap().push(Instant::now());
                        sleep(Duration::from_millis(caller.works)).await;
                    };
                    _ = timeout(Duration::from_millis(caller.gives_up), work).await;
                });
            }
            tasks.join_all().await;
            let admitted = admitted.lock().unwrap();
            for (first, last) in admitted.iter().zip(admitted.iter().skip(per_window as usize)) {
                assert!(*last - *first >= window, "{admitted:?}");
            }
            let status = limiter.status();
            assert_eq!((status.in_use, status.waiting), (0, 0));
        });
    }
}

struct Running<'a>(&'a AtomicU32);

impl<'a> Running<'a> {
    fn count(running: &'a AtomicU32) -> Self {
        running.fetch_add(1, Ordering::SeqCst);
        Self(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn paused<T>(test: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(test)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_threads_never_exceed_the_slots_and_lose_none() {
    let limiter = Limiter::new(LimitSettings { queue_max: 2_000, ..concurrent(3, seconds(86_400)) });
    let running = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for number in 0..2_000u32 {
        let (limiter, running) = (limiter.clone(), running.clone());
        tasks.spawn(async move {
            let work = async {
                let _slot = limiter.enter().await.unwrap();
                let _running = Running::count(&running);
                assert!(running.load(Ordering::SeqCst) <= 3);
                for _ in 0..number % 5 {
                    yield_now().await;
                }
            };
            let patience = async {
                for _ in 0..number % 11 {
                    yield_now().await;
                }
            };
            // Every third gives up somewhere on the way.
            if number % 3 == 0 {
                tokio::select! { () = work => {}, () = patience => {} }
            } else {
                work.await;
            }
        });
    }
    tasks.join_all().await;
    let status = limiter.status();
    assert_eq!((status.in_use, status.waiting), (0, 0));
}

// One limiter per key.

#[tokio::test(start_paused = true)]
async fn each_key_has_limits_of_its_own() {
    let users = KeyedLimiter::new(rate(1, seconds(60)), 10);
    drop(users.enter("ada").await.unwrap());
    assert_eq!(users.enter("ada").await.unwrap_err().by, LimitedBy::Rate);
    assert!(users.enter("bob").await.is_ok());
    assert_eq!(users.status("ada").unwrap().admitted_in_window, 1);
    assert_eq!(users.status("eve"), None);
}

#[tokio::test(start_paused = true)]
async fn the_status_of_all_keys_together_tells_who_runs_and_who_waits() {
    let settings = LimitSettings { concurrent: Some(1), wait: seconds(60), ..LimitSettings::default() };
    let users = Arc::new(KeyedLimiter::new(settings, 10));
    let _adas = users.enter("ada").await.unwrap();
    let _bobs = users.enter("bob").await.unwrap();
    let waiting = tokio::spawn({
        let users = users.clone();
        async move { users.enter("ada").await.map(drop) }
    });
    yield_now().await;
    let totals = users.totals();
    assert_eq!((totals.keys, totals.in_use, totals.waiting), (2, 2, 1));
    waiting.abort();
}

proptest! {
    #[test]
    fn no_key_ever_exceeds_its_own_bound_however_keys_come_and_are_forgotten(
        per_window in 1u32..4, window in 1u64..200,
        arrivals in proptest::collection::vec((0u64..40, 0usize..8), 1..200),
    ) {
        paused(async {
            let window = Duration::from_millis(window);
            // Fewer places than keys, so that they are forgotten and refused.
            let users = KeyedLimiter::new(rate(per_window, window), 4);
            let mut admitted: Vec<Vec<Instant>> = vec![Vec::new(); 8];
            for (gap, key) in arrivals {
                advance(Duration::from_millis(gap)).await;
                if let Ok(slot) = users.try_enter(&key.to_string()) {
                    drop(slot);
                    admitted[key].push(Instant::now());
                }
            }
            for times in admitted {
                for (first, last) in times.iter().zip(times.iter().skip(per_window as usize)) {
                    assert!(*last - *first >= window, "{times:?}");
                }
            }
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_is_forgotten_only_when_that_changes_nothing() {
    let users = KeyedLimiter::new(rate(1, seconds(60)), 2);
    drop(users.try_enter("ada").unwrap());
    let bobs = users.try_enter("bob").unwrap();
    assert_eq!(users.try_enter("eve").unwrap_err().by, LimitedBy::Keys);
    advance(seconds(60)).await;
    // Now ada's window is empty, but bob still works.
    drop(users.try_enter("eve").unwrap());
    assert_eq!((users.status("ada"), users.key_count()), (None, 2));
    assert_eq!(users.try_enter("ada").unwrap_err().by, LimitedBy::Keys);
    drop(bobs);
    assert!(users.try_enter("ada").is_ok());
    assert_eq!(users.status("bob"), None);
}

#[tokio::test(start_paused = true)]
async fn the_map_of_keys_shrinks_to_those_in_use() {
    let users = KeyedLimiter::new(rate(5, seconds(1)), 10_000);
    for number in 0..1_000 {
        drop(users.try_enter(&format!("user {number}")).unwrap());
    }
    assert_eq!(users.key_count(), 1_000);
    advance(seconds(1)).await;
    for number in 0..100 {
        drop(users.try_enter(&format!("other {number}")).unwrap());
    }
    assert!(users.key_count() <= 101, "{}", users.key_count());
}

#[tokio::test(start_paused = true)]
async fn new_settings_reach_every_key() {
    let users = KeyedLimiter::new(rate(1, seconds(60)), 10);
    drop(users.try_enter("ada").unwrap());
    users.reconfigure(rate(2, seconds(60)));
    assert!(users.try_enter("ada").is_ok());
    assert!(users.try_enter("ada").is_err());
    assert_eq!(users.status("ada").unwrap().settings.per_window, Some(2));
}
