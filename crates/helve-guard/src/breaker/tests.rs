//! The breaker's promises: tables for its rules, and any history against a naive model.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, advance};

use super::{
    Breaker, BreakerSettings, BreakerState, Change, Circuit, Ticket, Unavailable, UnavailableBecause,
    Verdict, jitter,
};

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A machine, a clock, and short words for what happens.
struct Trial {
    state: BreakerState,
    now: Instant,
}

impl Trial {
    fn new(settings: BreakerSettings) -> Self {
        let now = Instant::now();
        Self { state: BreakerState::new(settings, now), now }
    }

    fn pass(&mut self, duration: Duration) {
        self.now += duration;
    }

    fn call(&mut self, verdict: Verdict) -> Option<Change> {
        let admission = self.state.admit(self.now).unwrap();
        self.state.report(admission, verdict, self.now, 0.0)
    }

    fn calls(&mut self, verdicts: &str) -> Option<Change> {
        let mut change = None;
        for verdict in verdicts.chars() {
            assert_eq!(change, None, "changed before the last call");
            change = self.call(if verdict == 'F' { Verdict::Failed } else { Verdict::Succeeded });
        }
        change
    }

    fn circuit(&mut self) -> Circuit {
        self.state.status(self.now).circuit
    }
}

fn by_default() -> Trial {
    Trial::new(BreakerSettings::default())
}

// When it opens.

#[test]
fn five_failures_in_a_row_open_it_for_a_minute() {
    let mut trial = by_default();
    assert_eq!(trial.calls("FFFF"), None);
    assert_eq!(trial.calls("SFFFF"), None);
    assert_eq!(trial.calls("F"), Some(Change::Opened(seconds(60))));
    trial.pass(seconds(20));
    let refused = trial.state.admit(trial.now).unwrap_err();
    let open = Unavailable { because: UnavailableBecause::Open, retry_after: Some(seconds(40)) };
    assert_eq!(refused, open);
    let status = trial.state.status(trial.now);
    assert_eq!((status.circuit, status.refusing), (Circuit::Open, Some(open)));
    assert_eq!((status.failures_in_row, status.calls_in_window, status.failures_in_window), (5, 10, 9));
}

#[test]
fn half_of_ten_calls_failing_opens_it_also_if_the_tenth_succeeds() {
    assert_eq!(by_default().calls("FSFSFSFSSF"), Some(Change::Opened(seconds(60))));
    assert_eq!(by_default().calls("FSFSFSFSFS"), Some(Change::Opened(seconds(60))));
    assert_eq!(by_default().calls("FSFSFSFSSSF"), None);
}

#[test]
fn failures_older_than_the_window_no_longer_count() {
    let mut trial = by_default();
    assert_eq!(trial.calls("FSFSFSFS"), None);
    trial.pass(seconds(29));
    let status = trial.state.status(trial.now);
    assert_eq!((status.calls_in_window, status.failures_in_window), (8, 4));
    trial.pass(seconds(1));
    assert_eq!(trial.state.status(trial.now).calls_in_window, 0);
    assert_eq!(trial.calls("FSFSFSFSS"), None);
}

#[test]
fn what_says_nothing_about_the_far_side_is_not_counted() {
    let mut trial = by_default();
    assert_eq!(trial.calls("FFFF"), None);
    for _ in 0..20 {
        assert_eq!(trial.call(Verdict::Ignored), None);
    }
    assert_eq!(trial.state.status(trial.now).calls_in_window, 4);
    assert_eq!(trial.calls("F"), Some(Change::Opened(seconds(60))));
}

// How it closes.

#[test]
fn three_probes_in_a_row_close_it() {
    let mut trial = by_default();
    trial.calls("FFFFF");
    trial.pass(seconds(60));
    assert_eq!(trial.circuit(), Circuit::HalfOpen);
    assert_eq!(trial.calls("SS"), None);
    assert_eq!(trial.circuit(), Circuit::HalfOpen);
    assert_eq!(trial.calls("S"), Some(Change::Closed));
    // The old failures are forgotten with it.
    assert_eq!(trial.calls("FFFF"), None);
    assert_eq!(trial.state.status(trial.now).calls_in_window, 4);
}

#[test]
fn closing_forgets_failures_that_are_still_in_the_window() {
    let mut trial = Trial::new(BreakerSettings { open: seconds(1), ..BreakerSettings::default() });
    trial.calls("FFFFF");
    trial.pass(seconds(1));
    assert_eq!(trial.calls("SSS"), Some(Change::Closed));
    assert_eq!(trial.state.status(trial.now).calls_in_window, 0);
    assert_eq!(trial.calls("FSSSSSSS"), None);
}

#[test]
fn only_one_probe_at_a_time() {
    let mut trial = by_default();
    trial.calls("FFFFF");
    trial.pass(seconds(60));
    let probe = trial.state.admit(trial.now).unwrap();
    assert!(probe.is_probe());
    let refused = trial.state.admit(trial.now).unwrap_err();
    assert_eq!(refused, Unavailable { because: UnavailableBecause::Probing, retry_after: None });
    trial.state.report(probe, Verdict::Succeeded, trial.now, 0.0);
    assert!(trial.state.admit(trial.now).is_ok());
}

#[test]
fn each_opening_doubles_the_pause_up_to_five_minutes() {
    let mut trial = by_default();
    trial.calls("FFFFF");
    let mut pauses = Vec::new();
    let mut pause = seconds(60);
    for _ in 0..4 {
        trial.pass(pause);
        let Some(Change::Opened(next)) = trial.calls("F") else {
            panic!("a failed probe must open it again")
        };
        pauses.push(next.as_secs());
        pause = next;
    }
    assert_eq!(pauses, [120, 240, 300, 300]);
}

#[test]
fn the_pause_is_short_again_after_two_clean_windows() {
    let opened_after = |clean: Duration| {
        let mut trial = by_default();
        trial.calls("FFFFF");
        trial.pass(seconds(60));
        trial.calls("SSS");
        trial.pass(clean);
        trial.calls("FFFFF")
    };
    assert_eq!(opened_after(seconds(59)), Some(Change::Opened(seconds(120))));
    assert_eq!(opened_after(seconds(60)), Some(Change::Opened(seconds(60))));
}

#[test]
fn jitter_moves_the_pause_by_a_tenth_either_way() {
    for (jitter, pause) in [(-1.0, 54.0), (0.5, 63.0), (1.0, 66.0), (7.0, 66.0), (f64::NAN, 60.0)] {
        let mut trial = by_default();
        trial.calls("FFFF");
        let last = trial.state.admit(trial.now).unwrap();
        let change = trial.state.report(last, Verdict::Failed, trial.now, jitter);
        assert_eq!(change, Some(Change::Opened(Duration::from_secs_f64(pause))));
    }
}

#[test]
fn seeds_spread_the_jitter_evenly() {
    let numbers: Vec<f64> = (0..10_000).map(jitter).collect();
    assert!(numbers.iter().all(|number| (-1.0..1.0).contains(number)));
    let mean = numbers.iter().sum::<f64>() / 10_000.0;
    assert!(mean.abs() < 0.02, "{mean}");
}

#[test]
fn absurd_settings_neither_panic_nor_jam() {
    let mut trial = Trial::new(BreakerSettings {
        failures_in_row: 0,
        calls_min: 0,
        failure_percent: 0,
        open: Duration::MAX,
        open_max: Duration::MAX,
        probes_max: 0,
        successes_to_close: 0,
        cool_down_max: Duration::MAX,
    });
    assert_eq!(trial.call(Verdict::Throttled(Duration::MAX)), None);
    trial.pass(seconds(366 * 24 * 60 * 60));
    assert_eq!(trial.calls("S"), None);
    assert!(matches!(trial.calls("F"), Some(Change::Opened(_))));
    trial.pass(seconds(2 * 366 * 24 * 60 * 60));
    assert_eq!(trial.call(Verdict::Ignored), None);
    assert_eq!(trial.calls("S"), Some(Change::Closed));
}

// Late results, pauses asked for, resets.

#[test]
fn a_late_result_changes_nothing() {
    let mut trial = by_default();
    let late: Vec<_> = (0..20).map(|_| trial.state.admit(trial.now).unwrap()).collect();
    trial.calls("FFFFF");
    trial.pass(seconds(60));
    trial.calls("SS");
    let before = trial.state.status(trial.now);
    for (index, admission) in late.into_iter().enumerate() {
        let verdict = if index % 2 == 0 { Verdict::Failed } else { Verdict::Succeeded };
        assert_eq!(trial.state.report(admission, verdict, trial.now, 0.0), None);
    }
    assert_eq!(trial.state.status(trial.now), before);
    assert_eq!(trial.calls("S"), Some(Change::Closed));
}

#[test]
fn a_pause_that_the_far_side_asks_for_is_kept_and_is_no_failure() {
    let mut trial = by_default();
    trial.calls("FFFF");
    assert_eq!(trial.call(Verdict::Throttled(seconds(7))), None);
    let cooling = Unavailable { because: UnavailableBecause::CoolingDown, retry_after: Some(seconds(7)) };
    assert_eq!(trial.state.admit(trial.now), Err(cooling));
    assert_eq!(trial.circuit(), Circuit::Closed);
    trial.pass(seconds(7));
    assert_eq!(trial.calls("S"), None);
    trial.call(Verdict::Throttled(seconds(100_000)));
    let refused = trial.state.admit(trial.now).unwrap_err();
    assert_eq!(refused.retry_after, Some(seconds(300)));
}

#[test]
fn a_throttled_probe_gives_its_place_back_and_the_next_one_waits_the_pause() {
    let mut trial = by_default();
    trial.calls("FFFFF");
    trial.pass(seconds(60));
    trial.call(Verdict::Throttled(seconds(5)));
    assert!(trial.state.admit(trial.now).is_err());
    trial.pass(seconds(5));
    assert_eq!(trial.calls("SSS"), Some(Change::Closed));
}

#[test]
fn a_reset_closes_it_and_forgets_everything() {
    let mut trial = by_default();
    let late = trial.state.admit(trial.now).unwrap();
    trial.calls("FFFFF");
    trial.pass(seconds(60));
    trial.calls("F");
    assert_eq!(trial.state.reset(trial.now), Some(Change::Closed));
    assert_eq!(trial.state.reset(trial.now), None);
    assert_eq!(trial.circuit(), Circuit::Closed);
    assert_eq!(trial.state.report(late, Verdict::Failed, trial.now, 0.0), None);
    assert_eq!(trial.calls("FFFFF"), Some(Change::Opened(seconds(60))));
    trial.state.reset(trial.now);
    trial.call(Verdict::Throttled(seconds(10)));
    trial.state.reset(trial.now);
    assert!(trial.state.admit(trial.now).is_ok());
}

// Any history.

/// Milliseconds between two calls: mostly short, sometimes longer than the window.
fn any_gap() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0u64..4_000, 1 => 25_000u64..65_000]
}

proptest! {
    #[test]
    fn it_opens_exactly_when_a_naive_reading_of_the_rules_says_so(
        calls in proptest::collection::vec((any_gap(), any::<bool>()), 1..200),
    ) {
        let mut trial = by_default();
        let began = trial.now;
        let mut seen: Vec<(u64, bool)> = Vec::new();
        for (gap, failed) in calls {
            trial.pass(Duration::from_millis(gap));
            let second = (trial.now - began).as_secs();
            seen.push((second, failed));
            let in_row = seen.iter().rev().take_while(|call| call.1).count();
            let window: Vec<_> = seen.iter().filter(|call| call.0 + 30 > second).collect();
            let failures = window.iter().filter(|call| call.1).count();
            let expected = in_row >= 5 || (window.len() >= 10 && 2 * failures >= window.len());
            let change = trial.call(if failed { Verdict::Failed } else { Verdict::Succeeded });
            prop_assert_eq!(change.is_some(), expected);
            let status = trial.state.status(trial.now);
            prop_assert_eq!(status.calls_in_window as usize, window.len());
            prop_assert_eq!(status.failures_in_window as usize, failures);
            if expected {
                break;
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    AdmissionPermit(Duration),
    Admit,
    Report(usize, Verdict),
    Cancel(usize),
    Reset,
}

fn any_step() -> impl Strategy<Value = Step> {
    let verdict = prop_oneof![
        5 => Just(Verdict::Failed),
        3 => Just(Verdict::Succeeded),
        1 => Just(Verdict::Ignored),
        1 => (0u64..20).prop_map(|pause| Verdict::Throttled(seconds(pause))),
    ];
    prop_oneof![
        6 => Just(Step::Admit),
        4 => (any::<usize>(), verdict).prop_map(|(index, verdict)| Step::Report(index, verdict)),
        2 => any::<usize>().prop_map(Step::Cancel),
        2 => (0u64..90).prop_map(|pause| Step::AdmissionPermit(seconds(pause))),
        1 => Just(Step::Reset),
    ]
}

fn report(ticket: Ticket, verdict: Verdict) {
    match verdict {
        Verdict::Succeeded => _ = ticket.report_success(),
        Verdict::Failed => _ = ticket.report_failure(),
        Verdict::Ignored => ticket.release_without_report(),
        Verdict::Throttled(pause) => ticket.report_throttling(pause),
    }
}

proptest! {
    #[test]
    fn probes_are_few_and_never_lost_and_late_results_change_nothing(
        probes_max in 1u32..4,
        steps in proptest::collection::vec(any_step(), 0..150),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let settings = BreakerSettings { failures_in_row: 2, probes_max, ..BreakerSettings::default() };
            let breaker = Breaker::new(settings, 7);
            // Tickets that are out, with the generation each was admitted in.
            let mut out: Vec<(u64, Ticket)> = Vec::new();
            for step in steps {
                let before = breaker.status();
                match step {
                    Step::AdmissionPermit(duration) => advance(duration).await,
                    Step::Reset => _ = breaker.reset(),
                    Step::Admit => match breaker.admit() {
                        Ok(ticket) => {
                            assert_eq!(before.refusing, None);
                            out.push((breaker.status().generation, ticket));
                        }
                        Err(unavailable) => assert_eq!(before.refusing, Some(unavailable)),
                    },
                    Step::Report(..) | Step::Cancel(_) if out.is_empty() => {}
                    Step::Report(index, verdict) => {
                        let (generation, ticket) = out.swap_remove(index % out.len());
                        report(ticket, verdict);
                        if generation != before.generation {
                            assert_eq!(breaker.status(), before, "a late result changed something");
                        }
                    }
                    Step::Cancel(index) => {
                        let (_, ticket) = out.swap_remove(index % out.len());
                        drop(ticket);
                        let after = breaker.status();
                        assert_eq!((after.circuit, after.generation), (before.circuit, before.generation));
                        assert_eq!(after.failures_in_row, before.failures_in_row);
                        assert_eq!(after.calls_in_window, before.calls_in_window);
                    }
                }
                let status = breaker.status();
                let probes = out
                    .iter()
                    .filter(|(generation, ticket)| *generation == status.generation && ticket.is_probe())
                    .count() as u32;
                assert_eq!(status.probes, probes, "a probe was lost or made up");
                assert!(probes <= probes_max);
                if status.circuit == Circuit::HalfOpen && probes == 0 {
                    let because = status.refusing.map(|unavailable| unavailable.because);
                    assert!(matches!(because, None | Some(UnavailableBecause::CoolingDown)));
                }
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_threads_never_probe_twice_at_once() {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    // Open for no time at all, so that threads meet in the half-open state again and again.
    let breaker = Breaker::new(
        BreakerSettings { failures_in_row: 1, open: Duration::ZERO, ..BreakerSettings::default() },
        1,
    );
    assert_eq!(breaker.admit().unwrap().report_failure(), Some(Change::Opened(Duration::ZERO)));
    let probes = Arc::new(AtomicU32::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..2_000u32 {
        let (breaker, probes) = (breaker.clone(), probes.clone());
        tasks.spawn(async move {
            let Ok(ticket) = breaker.admit() else { return };
            if ticket.is_probe() {
                assert_eq!(probes.fetch_add(1, Ordering::SeqCst), 0, "two probes at once");
                tokio::task::yield_now().await;
                probes.fetch_sub(1, Ordering::SeqCst);
            }
            match number % 4 {
                0 => drop(ticket),
                1 => _ = ticket.report_success(),
                _ => _ = ticket.report_failure(),
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(breaker.status().probes, 0);
}
