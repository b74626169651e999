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
    line::{Arrival, Line, Look},
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

// The machine.

#[derive(Debug, Clone)]
enum Step {
    Pass(u64),
    Arrive { patience: Option<u64> },
    Release,
    Cancel(usize),
    LookOutOfTurn(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0u64..60).prop_map(Step::Pass),
        4 => proptest::option::of(0u64..200).prop_map(|patience| Step::Arrive { patience }),
        2 => Just(Step::Release),
        1 => any::<usize>().prop_map(Step::Cancel),
        1 => any::<usize>().prop_map(Step::LookOutOfTurn),
    ]
}

fn any_settings() -> impl Strategy<Value = LimitSettings> {
    (proptest::option::of(1u32..4), proptest::option::of(1u32..6), 0u64..100, 0u64..200, 0usize..6).prop_map(
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
    line: Line,
    epoch: Instant,
    now: u64,
    admitted: Vec<u64>,
    running: u32,
    waiting: Vec<u64>,
}

impl History {
    fn new(settings: LimitSettings) -> Self {
        let epoch = Instant::now();
        Self {
            settings,
            line: Line::new(settings, epoch),
            epoch,
            now: 0,
            admitted: Vec::new(),
            running: 0,
            waiting: Vec::new(),
        }
    }

    fn at(&self, nanoseconds: u64) -> Instant {
        self.epoch + Duration::from_nanos(nanoseconds)
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Pass(nanoseconds) => self.now += nanoseconds,
            Step::Arrive { patience } => self.arrive(patience),
            Step::Release if self.running == 0 => {}
            Step::Release => {
                self.line.release();
                self.running -= 1;
            }
            Step::Cancel(_) | Step::LookOutOfTurn(_) if self.waiting.is_empty() => {}
            Step::Cancel(index) => {
                let number = self.waiting.remove(index % self.waiting.len());
                self.line.leave(number);
            }
            Step::LookOutOfTurn(index) => self.look(index % self.waiting.len()),
        }
    }

    fn arrive(&mut self, patience: Option<u64>) {
        let deadline = patience.map(|patience| self.at(self.now + patience));
        match self.line.arrive(self.at(self.now), deadline) {
            Ok(Arrival::Admitted) => {
                assert!(self.waiting.is_empty(), "a newcomer went past those who wait");
                self.start();
            }
            Ok(Arrival::Waiting(number, _)) => {
                assert!(self.waiting.len() < self.settings.queue_max);
                self.waiting.push(number);
            }
            Err(limited) => assert!(!self.is_free(), "refused without need: {limited:?}"),
        }
    }

    fn look(&mut self, index: usize) {
        match self.line.look(self.waiting[index], self.at(self.now)) {
            Ok(Look::Admitted) => {
                assert_eq!(index, 0, "one in the middle went first");
                self.waiting.remove(0);
                self.start();
            }
            Ok(Look::Wait(until)) => assert!(until > self.at(self.now)),
            Err(limited) => {
                assert_eq!(limited.by, LimitedBy::Wait);
                self.waiting.remove(index);
            }
        }
    }

    fn start(&mut self) {
        self.running += 1;
        self.admitted.push(self.now);
    }

    /// Could the first in line, or a newcomer if there is none, go right now?
    fn is_free(&self) -> bool {
        let slot = self.settings.concurrent.is_none_or(|max| self.running < max);
        let in_window = |at: &&u64| **at + self.settings.window.as_nanos() as u64 > self.now;
        let lately = self.admitted.iter().filter(in_window).count() as u32;
        slot && self.settings.per_window.is_none_or(|max| lately < max) && self.waiting.is_empty()
    }

    fn check(&mut self) {
        if let Some(max) = self.settings.per_window {
            let window = self.settings.window.as_nanos() as u64;
            for (first, last) in self.admitted.iter().zip(self.admitted.iter().skip(max as usize)) {
                assert!(last - first >= window, "{} within {window}: {:?}", max + 1, self.admitted);
            }
        }
        assert!(self.settings.concurrent.is_none_or(|max| self.running <= max));
        let status = self.line.status(self.at(self.now));
        assert_eq!((status.in_use, status.waiting), (self.running, self.waiting.len()));
    }

    /// Everyone looks in turn until nothing changes: then the head waits for a reason.
    fn settle(&mut self) {
        while !self.waiting.is_empty() {
            let before = self.waiting.clone();
            self.look(0);
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
        let mut line = Line::new(settings(before), epoch);
        let (mut max, mut now, mut admitted) = (before, 0, Vec::new());
        for (index, gap) in gaps.iter().enumerate() {
            now += gap;
            let at = epoch + Duration::from_nanos(now);
            if index == gaps.len() / 2 {
                max = after;
                line.reconfigure(settings(after), at);
            }
            let lately = admitted.iter().filter(|at| **at + window > now).count();
            let is_admitted = line.arrive(at, None).is_ok();
            prop_assert_eq!(is_admitted, lately < max as usize);
            if is_admitted {
                admitted.push(now);
            }
        }
    }
}

// Refusals.

#[test]
fn a_refusal_for_rate_says_when_the_next_one_may_come() {
    let epoch = Instant::now();
    let mut line = Line::new(rate(2, seconds(60)), epoch);
    for at in [0, 10] {
        assert!(matches!(line.arrive(epoch + seconds(at), None), Ok(Arrival::Admitted)));
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
async fn a_full_line_takes_nobody() {
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
async fn limits_of_zero_let_nobody_in_and_nobody_wait() {
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
    let limited = limiter.enter_by(began + seconds(4)).await.unwrap_err();
    assert_eq!((limited.by, began.elapsed()), (LimitedBy::Wait, seconds(4)));
    let limited = limiter.enter_by(began + seconds(100)).await.unwrap_err();
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
async fn a_cancelled_waiter_holds_up_nobody() {
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
    assert_eq!((users.status("ada"), users.keys()), (None, 2));
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
    assert_eq!(users.keys(), 1_000);
    advance(seconds(1)).await;
    for number in 0..100 {
        drop(users.try_enter(&format!("other {number}")).unwrap());
    }
    assert!(users.keys() <= 101, "{}", users.keys());
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
