//! The cache's promises: no answer for another's question, one run at a time, and nothing from before a drop.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use proptest::prelude::*;
use tokio::{
    sync::oneshot,
    task::{JoinHandle, JoinSet, yield_now},
    time::{Instant, advance, sleep, timeout},
};

use super::{
    Cache, CacheLifetime, CacheOutcome, CacheSettings, CachedAnswer, KeyParts, Scope, WorkResult,
    entries::ENTRY_BYTES,
};

type Words = Cache<Arc<str>, String>;

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

const TERMS: CacheLifetime = CacheLifetime { ttl: seconds(300), keep: seconds(0) };

fn cache() -> Words {
    Cache::new(CacheSettings::default(), |value| value.len())
}

fn plans_of(id: &str) -> Scope<'_> {
    Scope { tenant: "acme", tool: "get_plan", id }
}

fn asked(arguments: &str) -> KeyParts<'_> {
    KeyParts { scope: plans_of("ada"), tool_version: &[1; 32], identity: &[2; 32], arguments }
}

/// Asks, with `value` as the answer of its own work.
async fn ask(cache: &Words, parts: &KeyParts<'_>, value: &str) -> CachedAnswer<Arc<str>> {
    let work = || async { WorkResult::Store(Arc::from(value)) };
    cache.run(parts, TERMS, work).await.unwrap()
}

async fn outcome(cache: &Words, parts: &KeyParts<'_>) -> CacheOutcome {
    ask(cache, parts, "a").await.outcome
}

fn paused<T>(test: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(test)
}

// What the same call is.

#[derive(Debug, Clone, PartialEq, Eq)]
struct CallKey {
    tenant: String,
    user: String,
    tool: String,
    version: [u8; 32],
    identity: [u8; 32],
    arguments: String,
}

/// Few letters, so that equal questions and questions that only differ in where a field ends are both common.
fn any_question() -> impl Strategy<Value = CallKey> {
    ("[ab]{0,2}", "[ab]{0,2}", "[ab]{0,2}", 0u8..2, 0u8..2, "[ab]{0,2}").prop_map(
        |(tenant, user, tool, version, identity, arguments)| CallKey {
            tenant,
            user,
            tool,
            version: [version; 32],
            identity: [identity; 32],
            arguments,
        },
    )
}

impl CallKey {
    fn parts(&self) -> KeyParts<'_> {
        KeyParts {
            scope: self.scope(),
            tool_version: &self.version,
            identity: &self.identity,
            arguments: &self.arguments,
        }
    }

    fn scope(&self) -> Scope<'_> {
        Scope { tenant: &self.tenant, tool: &self.tool, id: &self.user }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Ask(CallKey),
    Fail(CallKey),
    LastGood(CallKey),
    DropTool(CallKey),
    DropScope(CallKey),
    Clear,
    AdmissionPermit(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any_question().prop_map(Step::Ask),
        1 => any_question().prop_map(Step::Fail),
        2 => any_question().prop_map(Step::LastGood),
        1 => any_question().prop_map(Step::DropTool),
        1 => any_question().prop_map(Step::DropScope),
        1 => (0u64..200).prop_map(Step::AdmissionPermit),
        1 => Just(Step::Clear),
    ]
}

proptest! {
    #[test]
    fn two_questions_have_one_key_only_if_they_are_equal(one in any_question(), other in any_question()) {
        prop_assert_eq!(one.parts().to_key() == other.parts().to_key(), one == other);
    }

    #[test]
    fn no_answer_crosses_to_another_question_or_outlives_its_time_or_a_drop(
        steps in proptest::collection::vec(any_step(), 0..100),
    ) {
        paused(async {
            let mut ledger = Ledger { cache: cache(), stored: Vec::new() };
            for (number, step) in steps.into_iter().enumerate() {
                ledger.take(number, step).await;
            }
        });
    }
}

/// A cache beside a plain list of all it was ever given.
struct Ledger {
    cache: Words,
    stored: Vec<Stored>,
}

/// What was stored: its text, when, and whether a drop has covered it since.
struct Stored {
    question: CallKey,
    text: String,
    at: Instant,
    dropped: bool,
}

impl Ledger {
    const TERMS: CacheLifetime = CacheLifetime { ttl: seconds(300), keep: seconds(300) };

    async fn take(&mut self, number: usize, step: Step) {
        match step {
            Step::AdmissionPermit(time) => advance(seconds(time)).await,
            Step::Ask(question) => self.ask(question, number).await,
            Step::Fail(question) => self.fail(&question).await,
            Step::LastGood(question) => {
                let found = self.cache.last_good(&question.parts());
                let expected = self.stored_within(&question, seconds(600));
                let (found, expected) = (found.map(|it| (it.value.to_string(), it.age)), expected);
                // A drop may take a neighbour along, so an answer may be missing, but never be another.
                assert!(found.is_none() || found == expected);
            }
            Step::Clear => {
                self.cache.clear();
                self.dropped(|_| true);
            }
            Step::DropTool(of) => {
                self.cache.invalidate_tool(&of.tool);
                self.dropped(|question| question.tool == of.tool);
            }
            Step::DropScope(of) => {
                self.cache.invalidate_scope(&of.scope());
                self.dropped(|question| question.scope() == of.scope());
            }
        }
    }

    async fn ask(&mut self, question: CallKey, number: usize) {
        let text = format!("{number} {question:?}");
        let work = || async { WorkResult::Store(Arc::from(text.as_str())) };
        let found = self.cache.run(&question.parts(), Self::TERMS, work).await.unwrap();
        if found.outcome == CacheOutcome::Hit {
            let expected = self.stored_within(&question, seconds(300));
            assert_eq!(Some((found.value.to_string(), found.age)), expected);
        } else {
            assert_eq!((&*found.value, found.outcome), (text.as_str(), CacheOutcome::Miss));
            self.stored.push(Stored { question, text, at: Instant::now(), dropped: false });
        }
    }

    async fn fail(&mut self, question: &CallKey) {
        let before = self.cache.status();
        let never_fresh = CacheLifetime { ttl: Duration::ZERO, ..Self::TERMS };
        let work = || async { WorkResult::Failed("down".into()) };
        let result = self.cache.run(&question.parts(), never_fresh, work).await;
        assert_eq!(result, Err("down".into()));
        let after = self.cache.status();
        assert_eq!((after.entries, after.bytes), (before.entries, before.bytes));
    }

    fn dropped(&mut self, covers: impl Fn(&CallKey) -> bool) {
        for stored in self.stored.iter_mut().filter(|stored| covers(&stored.question)) {
            stored.dropped = true;
        }
    }

    fn stored_within(&self, question: &CallKey, age: Duration) -> Option<(String, Duration)> {
        let last = self.stored.iter().rev().find(|stored| stored.question == *question)?;
        let serves = !last.dropped && last.at.elapsed() < age;
        serves.then(|| (last.text.clone(), last.at.elapsed()))
    }
}

#[test]
fn the_key_is_a_hash_over_fields_that_carry_their_lengths() {
    let mut bytes = Vec::new();
    for field in [&[1][..], b"acme", b"ada", b"get_plan", &[1; 32], &[2; 32], b"{}"] {
        bytes.extend((field.len() as u64).to_le_bytes());
        bytes.extend(field);
    }
    let key = asked("{}").to_key();
    assert_eq!(key.as_bytes(), blake3::hash(&bytes).as_bytes());
    assert_eq!(format!("{key:?}"), format!("CacheKey({})", blake3::hash(&bytes)));
}

// What is stored, and for how long.

#[tokio::test(start_paused = true)]
async fn an_answer_is_given_again_until_its_time_is_over() {
    let cache = cache();
    assert_eq!(ask(&cache, &asked("x"), "first").await.outcome, CacheOutcome::Miss);
    advance(seconds(299)).await;
    let found = ask(&cache, &asked("x"), "second").await;
    assert_eq!((&*found.value, found.outcome, found.age), ("first", CacheOutcome::Hit, seconds(299)));
    advance(seconds(1)).await;
    let found = ask(&cache, &asked("x"), "third").await;
    assert_eq!((&*found.value, found.outcome), ("third", CacheOutcome::Miss));
    let status = cache.status();
    assert_eq!((status.hits, status.misses, status.shared), (1, 2, 0));
    assert_eq!((status.entries, status.in_flight), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_asker_with_less_patience_for_age_gets_a_new_answer() {
    let cache = cache();
    ask(&cache, &asked("x"), "first").await;
    advance(seconds(20)).await;
    let lifetime = CacheLifetime { ttl: seconds(10), ..TERMS };
    let found =
        cache.run(&asked("x"), lifetime, || async { WorkResult::Store("second".into()) }).await.unwrap();
    assert_eq!((&*found.value, found.outcome), ("second", CacheOutcome::Miss));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_fresh_for_more_than_a_day() {
    let cache = cache();
    let lifetime = CacheLifetime { ttl: Duration::MAX, keep: Duration::MAX };
    let work = || async { WorkResult::Store("old".into()) };
    cache.run(&asked("x"), lifetime, work).await.unwrap();
    advance(seconds(24 * 60 * 60)).await;
    assert_eq!(cache.run(&asked("x"), lifetime, work).await.unwrap().outcome, CacheOutcome::Miss);
}

#[tokio::test(start_paused = true)]
async fn only_a_complete_answer_is_stored() {
    let cache = cache();
    for ran in [
        WorkResult::ShareOnly(Arc::from("cut short")),
        WorkResult::Failed("broken".to_owned()),
        WorkResult::FailedAlone("my limit".to_owned()),
    ] {
        _ = cache.run(&asked("x"), TERMS, || async { ran }).await;
        assert_eq!(cache.status().entries, 0);
        assert_eq!(cache.last_good(&asked("x")), None);
    }
    assert_eq!(outcome(&cache, &asked("x")).await, CacheOutcome::Miss);
    assert_eq!(outcome(&cache, &asked("x")).await, CacheOutcome::Hit);
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_time_is_over_is_still_the_last_good_one_for_a_while() {
    let cache = cache();
    let lifetime = CacheLifetime { ttl: seconds(10), keep: seconds(50) };
    let good = || async { WorkResult::Store("good".into()) };
    cache.run(&asked("x"), lifetime, good).await.unwrap();
    advance(seconds(59)).await;
    let failed = cache.run(&asked("x"), lifetime, || async { WorkResult::Failed("down".into()) }).await;
    assert_eq!(failed, Err("down".into()));
    let last = cache.last_good(&asked("x")).unwrap();
    assert_eq!((&*last.value, last.age), ("good", seconds(59)));
    assert_eq!(cache.last_good(&asked("y")), None);
    advance(seconds(1)).await;
    assert_eq!(cache.last_good(&asked("x")), None);
}

#[tokio::test(start_paused = true)]
async fn what_ran_beside_the_cache_is_kept_unless_a_drop_came_between() {
    let cache = cache();
    cache.reserve(&asked("x")).keep("fresh".into(), TERMS);
    let found = ask(&cache, &asked("x"), "newer").await;
    assert_eq!((&*found.value, found.outcome), ("fresh", CacheOutcome::Hit));
    let reserve = cache.reserve(&asked("x"));
    cache.invalidate_scope(&plans_of("ada"));
    reserve.keep("old".into(), TERMS);
    assert_eq!(cache.last_good(&asked("x")), None);
    let never_given = CacheLifetime { ttl: Duration::ZERO, keep: seconds(60) };
    cache.reserve(&asked("y")).keep("kept".into(), never_given);
    assert_eq!(&*cache.last_good(&asked("y")).unwrap().value, "kept");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_answer_is_no_last_good_one() {
    let cache = cache();
    ask(&cache, &asked("x"), "old").await;
    assert!(cache.last_good(&asked("x")).is_some());
    cache.invalidate_scope(&plans_of("ada"));
    assert_eq!(cache.last_good(&asked("x")), None);
}

// Bounds.

#[tokio::test(start_paused = true)]
async fn too_large_an_answer_is_handed_on_but_not_stored() {
    let cache = cache();
    let large = "x".repeat((256 << 10) + 1);
    assert_eq!(ask(&cache, &asked("x"), &large).await.value.len(), large.len());
    assert_eq!(cache.status().entries, 0);
    assert_eq!(ask(&cache, &asked("x"), &large[1..]).await.outcome, CacheOutcome::Miss);
    assert_eq!(cache.status().entries, 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_used_for_longest_makes_room() {
    let room = 3 * (ENTRY_BYTES + 1);
    let settings = CacheSettings { bytes_max: room, tenant_bytes_max: room, ..CacheSettings::default() };
    let cache: Words = Cache::new(settings, |value| value.len());
    for arguments in ["x", "y", "z", "x", "new"] {
        outcome(&cache, &asked(arguments)).await;
    }
    for (arguments, stored) in [("x", true), ("y", false), ("z", true), ("new", true)] {
        assert_eq!(cache.last_good(&asked(arguments)).is_some(), stored, "{arguments}");
    }
    assert_eq!((cache.status().bytes, cache.status().evicted), (room, 1));
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_reaches_its_share_makes_room_among_its_own() {
    let settings = CacheSettings {
        bytes_max: 4 * (ENTRY_BYTES + 1),
        tenant_bytes_max: 2 * (ENTRY_BYTES + 1),
        ..CacheSettings::default()
    };
    let cache: Words = Cache::new(settings, |value| value.len());
    let of = |tenant, arguments| KeyParts { scope: Scope { tenant, ..plans_of("ada") }, ..asked(arguments) };
    // A tenant that does not happen to fall into the same pigeonhole as the other.
    let bucket = |tenant| {
        let scope = of(tenant, "x").scope;
        super::lock(&cache.shared.state).invalidations.buckets(&scope).tenant
    };
    let small = ["small", "tiny", "little", "slight"]
        .into_iter()
        .find(|tenant| bucket(*tenant) != bucket("large"))
        .unwrap();
    let small = of(small, "x");
    assert_eq!(outcome(&cache, &small).await, CacheOutcome::Miss);
    for arguments in ["1", "2", "3", "4", "5"] {
        outcome(&cache, &of("large", arguments)).await;
    }
    assert_eq!(cache.status().entries, 3);
    assert_eq!(outcome(&cache, &small).await, CacheOutcome::Hit);
    assert_eq!(outcome(&cache, &of("large", "5")).await, CacheOutcome::Hit);
}

proptest! {
    #[test]
    fn stored_bytes_never_exceed_the_bounds(
        answers in proptest::collection::vec((0u8..4, 0u8..20, 0usize..1_500), 0..60),
    ) {
        paused(async {
            let settings =
                CacheSettings { bytes_max: 8_000, entry_bytes_max: 1_000, tenant_bytes_max: 3_000 };
            let cache: Words = Cache::new(settings, |value| value.len());
            for (tenant, arguments, bytes) in answers {
                let (tenant, arguments) = (tenant.to_string(), arguments.to_string());
                let scope = Scope { tenant: &tenant, ..plans_of("ada") };
                let parts = KeyParts { scope, ..asked(&arguments) };
                let found = ask(&cache, &parts, &"x".repeat(bytes)).await;
                // What is too large is not there afterwards; anything else is.
                assert_eq!(cache.last_good(&parts).is_some(), found.value.len() <= 1_000);
                let state = super::lock(&cache.shared.state);
                assert!(state.entries.bytes() <= 8_000);
                assert!(state.entries.tenant_bytes().all(|bytes| bytes <= 3_000));
                assert_eq!(state.entries.tenant_bytes().sum::<usize>(), state.entries.bytes());
            }
        });
    }
}

// One run for all who ask at once.

/// A caller whose work ends when the test says so.
struct Caller {
    task: JoinHandle<Result<CachedAnswer<Arc<str>>, String>>,
    answer: Option<oneshot::Sender<WorkResult<Arc<str>, String>>>,
    started: Arc<AtomicU32>,
}

impl Caller {
    async fn comes(cache: &Words, arguments: &'static str) -> Self {
        let (sender, receiver) = oneshot::channel();
        let started = Arc::new(AtomicU32::new(0));
        let task = tokio::spawn({
            let (cache, started) = (cache.clone(), started.clone());
            async move {
                let work = || async move {
                    started.fetch_add(1, Ordering::SeqCst);
                    receiver.await.unwrap()
                };
                cache.run(&asked(arguments), TERMS, work).await
            }
        });
        yield_now().await;
        Self { task, answer: Some(sender), started }
    }

    fn leads(&self) -> bool {
        self.started.load(Ordering::SeqCst) == 1
    }

    fn answers(&mut self, ran: WorkResult<Arc<str>, String>) {
        self.answer.take().unwrap().send(ran).unwrap();
    }

    async fn leaves(self) {
        self.task.abort();
        _ = self.task.await;
        yield_now().await;
    }

    async fn got(self) -> Result<(String, CacheOutcome), String> {
        self.task.await.unwrap().map(|found| (found.value.to_string(), found.outcome))
    }
}

fn answer(text: &str) -> WorkResult<Arc<str>, String> {
    WorkResult::Store(text.into())
}

#[tokio::test(start_paused = true)]
async fn those_who_ask_the_same_at_once_share_one_run() {
    let cache = cache();
    let mut leader = Caller::comes(&cache, "x").await;
    let follower = Caller::comes(&cache, "x").await;
    let other = Caller::comes(&cache, "y").await;
    assert!(leader.leads() && !follower.leads() && other.leads());
    leader.answers(answer("once"));
    assert_eq!(leader.got().await, Ok(("once".into(), CacheOutcome::Miss)));
    assert_eq!(follower.got().await, Ok(("once".into(), CacheOutcome::Shared)));
    assert_eq!(cache.status().shared, 1);
}

#[tokio::test(start_paused = true)]
async fn when_the_leader_leaves_one_follower_takes_over() {
    let cache = cache();
    let leader = Caller::comes(&cache, "x").await;
    let gone = Caller::comes(&cache, "x").await;
    let mut second = Caller::comes(&cache, "x").await;
    let third = Caller::comes(&cache, "x").await;
    gone.leaves().await;
    leader.leaves().await;
    assert!(second.leads() && !third.leads());
    second.answers(answer("second"));
    assert_eq!(second.got().await, Ok(("second".into(), CacheOutcome::Miss)));
    assert_eq!(third.got().await, Ok(("second".into(), CacheOutcome::Shared)));
    assert_eq!(cache.status().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_lead_on_its_way_to_a_follower_that_leaves_goes_on_to_the_next() {
    let cache = cache();
    let leader = Caller::comes(&cache, "x").await;
    let second = Caller::comes(&cache, "x").await;
    let third = Caller::comes(&cache, "x").await;
    // Both are cancelled before the second is polled again: the lead is in its hands, unseen.
    leader.task.abort();
    second.task.abort();
    for _ in 0..3 {
        yield_now().await;
    }
    assert!(!second.leads() && third.leads());
}

#[tokio::test(start_paused = true)]
async fn when_everyone_leaves_the_next_one_starts_anew() {
    let cache = cache();
    let (leader, follower) = (Caller::comes(&cache, "x").await, Caller::comes(&cache, "x").await);
    follower.leaves().await;
    leader.leaves().await;
    assert_eq!(cache.status().in_flight, 0);
    assert_eq!(outcome(&cache, &asked("x")).await, CacheOutcome::Miss);
}

#[tokio::test(start_paused = true)]
async fn when_the_leader_fails_its_followers_get_the_error_and_nothing_is_stored() {
    let cache = cache();
    let mut leader = Caller::comes(&cache, "x").await;
    let follower = Caller::comes(&cache, "x").await;
    leader.answers(WorkResult::Failed("down".into()));
    assert_eq!(leader.got().await, Err("down".into()));
    assert!(!follower.leads());
    assert_eq!(follower.got().await, Err("down".into()));
    assert_eq!(outcome(&cache, &asked("x")).await, CacheOutcome::Miss);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_the_leaders_own_is_not_shared() {
    let cache = cache();
    let mut leader = Caller::comes(&cache, "x").await;
    let mut follower = Caller::comes(&cache, "x").await;
    leader.answers(WorkResult::FailedAlone("my limit".into()));
    assert_eq!(leader.got().await, Err("my limit".into()));
    yield_now().await;
    assert!(follower.leads());
    follower.answers(answer("mine"));
    assert_eq!(follower.got().await, Ok(("mine".into(), CacheOutcome::Miss)));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_panics_passes_the_lead_on() {
    let cache = cache();
    let leader = Caller::comes(&cache, "x").await;
    let mut follower = Caller::comes(&cache, "x").await;
    // Without its sender the leader's work panics.
    drop(leader.answer);
    assert!(leader.task.await.unwrap_err().is_panic());
    yield_now().await;
    follower.answers(answer("calm"));
    assert_eq!(follower.got().await, Ok(("calm".into(), CacheOutcome::Miss)));
}

#[tokio::test(start_paused = true)]
async fn a_follower_keeps_its_own_deadline() {
    let cache = cache();
    let slow = || async {
        sleep(seconds(60)).await;
        answer("slow")
    };
    let parts = asked("x");
    let leader = cache.run(&parts, TERMS, slow);
    let follower = timeout(seconds(5), cache.run(&parts, TERMS, slow));
    let (leader, follower) = tokio::join!(leader, follower);
    assert_eq!(leader.unwrap().outcome, CacheOutcome::Miss);
    assert!(follower.is_err());
    assert_eq!(cache.status().shared, 0);
}

#[tokio::test(start_paused = true)]
async fn followers_that_leave_do_not_pile_up() {
    let cache = cache();
    let mut leader = Caller::comes(&cache, "x").await;
    for _ in 0..10_000 {
        Caller::comes(&cache, "x").await.leaves().await;
    }
    let most = super::lock(&cache.shared.state).flights.values().map(|followers| followers.capacity()).max();
    assert!(most.is_some_and(|most| most < 16), "{most:?}");
    leader.answers(answer("done"));
    leader.got().await.unwrap();
}

/// One who asks: when it comes, how long its work takes, when it loses patience, how its work ends.
#[derive(Debug, Clone)]
struct Asker {
    comes: u64,
    works: u64,
    gives_up: u64,
    ends: u8,
}

fn any_asker() -> impl Strategy<Value = Asker> {
    (0u64..60, 1u64..40, 1u64..60, 0u8..6).prop_map(|(comes, works, gives_up, ends)| Asker {
        comes,
        works,
        gives_up,
        ends,
    })
}

proptest! {
    #[test]
    fn one_caller_works_at_a_time_and_all_are_answered_however_they_come_and_go(
        askers in proptest::collection::vec(any_asker(), 1..30),
    ) {
        paused(async {
            let cache = cache();
            let (working, log) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Vec::new())));
            let mut tasks = JoinSet::new();
            for (number, asker) in askers.into_iter().enumerate() {
                let (cache, working, log) = (cache.clone(), working.clone(), log.clone());
                tasks.spawn(async move {
                    sleep(Duration::from_millis(asker.comes)).await;
                    let lifetime = CacheLifetime { ttl: Duration::from_millis(5), keep: Duration::ZERO };
                    let work = || async {
                        let _working = Working::alone(&working);
                        sleep(Duration::from_millis(asker.works)).await;
                        let text: Arc<str> = number.to_string().into();
                        log.lock().unwrap().push(text.clone());
                        match asker.ends {
                            0 => WorkResult::Failed(text.to_string()),
                            1 => WorkResult::FailedAlone(text.to_string()),
                            2 => WorkResult::ShareOnly(text),
                            _ => WorkResult::Store(text),
                        }
                    };
                    let patience = Duration::from_millis(asker.gives_up);
                    let parts = asked("x");
                    let Ok(result) = timeout(patience, cache.run(&parts, lifetime, work)).await else { return };
                    // Every answer and every error was made by someone's work that ran to its end.
                    let text: Arc<str> = match result {
                        Ok(found) => found.value,
                        Err(error) => error.into(),
                    };
                    assert!(log.lock().unwrap().contains(&text));
                });
            }
            tasks.join_all().await;
            assert_eq!((cache.status().in_flight, working.load(Ordering::SeqCst)), (0, 0));
        });
    }
}

struct Working<'a>(&'a AtomicU32);

impl<'a> Working<'a> {
    fn alone(working: &'a AtomicU32) -> Self {
        assert_eq!(working.fetch_add(1, Ordering::SeqCst), 0, "two work at once");
        Self(working)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_threads_never_work_twice_at_once_and_all_are_answered() {
    let cache = cache();
    let working = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for number in 0..2_000u32 {
        let (cache, working) = (cache.clone(), working.clone());
        tasks.spawn(async move {
            let ask = async {
                let work = || async {
                    let _working = Working::alone(&working);
                    for _ in 0..number % 7 {
                        yield_now().await;
                    }
                    if number % 2 == 0 {
                        WorkResult::Failed("down".into())
                    } else {
                        WorkResult::ShareOnly("up".into())
                    }
                };
                _ = cache.run(&asked("x"), TERMS, work).await;
            };
            let patience = async {
                for _ in 0..number % 5 {
                    yield_now().await;
                }
            };
            // Every other one gives up somewhere on the way.
            if number % 4 < 2 {
                tokio::select! { () = ask => {}, () = patience => {} }
            } else {
                ask.await;
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(cache.status().in_flight, 0);
}

// Drops.

#[tokio::test(start_paused = true)]
async fn a_write_drops_the_answers_of_its_scope_and_hardly_any_other() {
    let cache = cache();
    let users: Vec<String> = (0..100).map(|number| format!("user {number}")).collect();
    let of = |user| KeyParts { scope: plans_of(user), ..asked("x") };
    for user in &users {
        outcome(&cache, &of(user)).await;
    }
    outcome(&cache, &asked("x")).await;
    cache.invalidate_scope(&plans_of("ada"));
    assert_eq!(outcome(&cache, &asked("x")).await, CacheOutcome::Miss);
    assert_eq!(outcome(&cache, &asked("x")).await, CacheOutcome::Hit);
    let mut kept = 0;
    for user in &users {
        kept += u32::from(outcome(&cache, &of(user)).await == CacheOutcome::Hit);
    }
    assert!(kept >= 90, "{kept}");
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_dropped_for_everyone_and_its_memory_freed() {
    let cache = cache();
    for id in ["ada", "bob", "eve"] {
        let scope = plans_of(id);
        outcome(&cache, &KeyParts { scope, ..asked("x") }).await;
    }
    cache.invalidate_tool("get_plan");
    assert_eq!((cache.status().entries, cache.status().bytes), (0, 0));
    assert_eq!(outcome(&cache, &asked("x")).await, CacheOutcome::Miss);
    cache.clear();
    assert_eq!((cache.status().entries, cache.status().bytes), (0, 0));
    assert_eq!(outcome(&cache, &asked("x")).await, CacheOutcome::Miss);
}

#[tokio::test(start_paused = true)]
async fn work_that_began_before_a_drop_is_neither_stored_nor_joined() {
    let invalidations: [fn(&Words); 3] = [
        |cache| cache.invalidate_scope(&plans_of("ada")),
        |cache| cache.invalidate_tool("get_plan"),
        |cache| cache.clear(),
    ];
    for drop in invalidations {
        let cache = cache();
        let mut reader = Caller::comes(&cache, "x").await;
        let beside = Caller::comes(&cache, "x").await;
        drop(&cache);
        let mut later = Caller::comes(&cache, "x").await;
        assert!(later.leads());
        later.answers(answer("new"));
        assert_eq!(later.got().await, Ok(("new".into(), CacheOutcome::Miss)));
        reader.answers(answer("old"));
        assert_eq!(reader.got().await, Ok(("old".into(), CacheOutcome::Miss)));
        // It already waited when the drop came.
        assert_eq!(beside.got().await, Ok(("old".into(), CacheOutcome::Shared)));
        assert_eq!(&*ask(&cache, &asked("x"), "newest").await.value, "new");
    }
}
