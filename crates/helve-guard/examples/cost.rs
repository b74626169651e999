//! What each guard costs when nobody else wants it: `cargo run --release -p helve-guard --example cost`.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use helve_guard::{
    Breaker, BreakerSettings, Cache, CacheLifetime, CacheSettings, KeyParts, KeyedLimiter, LimitSettings,
    Limiter, Scope, WorkResult,
};

/// Few enough to end within one time slice, so that a busy machine spoils only some of the runs.
const ROUNDS: u32 = 2_000;
const RUNS: u32 = 1_000;

/// The best of all runs: what it costs when nothing disturbs it.
async fn measure<F: Future>(name: &str, mut once: impl FnMut(u32) -> F) {
    let mut best = Duration::MAX;
    for run in 0..RUNS {
        let began = Instant::now();
        for round in 0..ROUNDS {
            black_box(once(run * ROUNDS + round).await);
        }
        best = best.min(began.elapsed());
    }
    println!("{name:<44} {:>6} ns", best.as_nanos() / u128::from(ROUNDS));
}

fn parts(arguments: &str) -> KeyParts<'_> {
    KeyParts {
        scope: Scope { tenant: "acme", tool: "search_web", id: "018f3c1e-7d52-7c3a-9c55-0d5a2f1b9e77" },
        tool_version: &[1; 32],
        identity: &[2; 32],
        arguments,
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    measure("the clock", |_| async { Instant::now() }).await;

    let limits = LimitSettings {
        concurrent: Some(50),
        per_window: Some(10_000),
        window: Duration::from_micros(1),
        ..LimitSettings::default()
    };
    let limiter = Limiter::new(limits);
    measure("limiter: enter and drop", |_| limiter.enter()).await;
    measure("limiter: try_enter and drop", |_| async { limiter.try_enter() }).await;
    let full = Limiter::new(LimitSettings { concurrent: Some(0), ..limits });
    measure("limiter: refused", |_| full.enter()).await;
    let users = KeyedLimiter::new(limits, 10_000);
    measure("limiter per key: enter and drop", |_| users.enter("018f3c1e-7d52-7c3a")).await;

    let breaker = Breaker::new(BreakerSettings::default(), 1);
    measure("breaker: admit and succeed", |_| async {
        breaker.admit().ok().and_then(|ticket| ticket.report_success())
    })
    .await;

    let arguments =
        r#"{"count":10,"language":"en","query":"outcome to write a cache","region":"eu","safe":true}"#;
    let lifetime = CacheLifetime { ttl: Duration::from_secs(3_600), keep: Duration::ZERO };
    let answer: Arc<str> = "x".repeat(2_000).into();
    let cache: Cache<Arc<str>, ()> = Cache::new(CacheSettings::default(), |value| value.len());
    measure("cache: key alone", |_| async { black_box(parts(arguments)).to_key() }).await;
    measure("cache: hit", |_| async {
        cache.run(&parts(arguments), lifetime, || async { WorkResult::Store(answer.clone()) }).await
    })
    .await;
    let thousand: Vec<String> = (0..1_000).map(|number| format!("{number}{arguments}")).collect();
    measure("cache: hit, one of a thousand", |round| {
        let arguments = &thousand[round as usize % thousand.len()];
        let (cache, answer) = (&cache, &answer);
        async move { cache.run(&parts(arguments), lifetime, || async { WorkResult::Store(answer.clone()) }).await }
    })
    .await;
    for number in 0..10_000 {
        let arguments = format!("fill {number}");
        _ = cache.run(&parts(&arguments), lifetime, || async { WorkResult::Store(answer.clone()) }).await;
    }
    measure("cache: miss, full, with eviction", |round| {
        let (cache, answer) = (&cache, &answer);
        async move {
            let arguments = format!("{round}{arguments}");
            cache.run(&parts(&arguments), lifetime, || async { WorkResult::Store(answer.clone()) }).await
        }
    })
    .await;
    measure("cache: drop_scope", |_| async { cache.invalidate_scope(&parts("").scope) }).await;
}
