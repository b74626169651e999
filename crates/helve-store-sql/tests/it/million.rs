//! A measurement, not a part of the tests: the list of a million calls by tool, user, state and time, on both databases.
//!
//! `cargo run -p xtask -- with-postgres cargo test --release -p helve-store-sql --test it million -- --ignored --nocapture`

use std::sync::Arc;
use std::time::{Duration, Instant};

use helve_store::{ExecutionFilter, ExecutionPage, Mark, Scope, Store};
use helve_store_contract::Actor;
use helve_types::{CallId, CallState, Fact, Timestamp, UserId};

use super::postgres::{connect, database, serve};
use super::{open, scratch};

/// A run with one call, from which all others are copied.
async fn add_first_call(store: &Arc<dyn Store>) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "hello").await;
    let requested = Fact::ToolRequested {
        step: 1,
        call: CallId::new(run.run, 1, 0),
        provider_id: None,
        tool: "tool_0".into(),
        arguments: "{\"q\": \"milk\"}".into(),
        part: None,
        replaces: None,
        repairs: vec![],
    };
    mei.append(&mut run, vec![requested]).await.unwrap();
}

/// 10,000 runs of 500 users with 100 calls each, of 40 tools and one that is rare, spread over 30 days; every 33rd failed.
/// `N` counts runs and `C` the calls of a run.
const CALL: &str =
    "'tool_' || CASE WHEN N % 1000 = 7 AND C = 3 THEN 'rare' ELSE ((N * 7 + C) % 40)::text END,
    CASE WHEN (N + C) % 33 = 0 THEN 'failed' ELSE 'finished' END,
    CASE WHEN (N + C) % 33 = 0 THEN 'failed' END,
    (N::bigint * 7919 + C * 104729) % 2592000 * 1000, (N::bigint * 7919 + C * 104729) % 2592000 * 1000 + 5,
    'user_' || (N % 500)::text";

fn fill_postgres() -> String {
    let call = CALL.replace('N', "n").replace('C', "c");
    format!(
        "INSERT INTO runs SELECT (jsonb_populate_record(r, jsonb_build_object('id', md5(n::text)::uuid))).*
             FROM runs r, generate_series(1, 10000) n;
         INSERT INTO tool_calls (run, id, step, arguments, attempt, trail, tool, state, bad_end, requested_at, ended_at,
                 user_id)
             SELECT md5(n::text)::uuid, md5(n::text)::uuid::text || ':1:' || c, 1, arguments, 1, trail, {call}
             FROM tool_calls, generate_series(1, 10000) n, generate_series(0, 99) c;
         ANALYZE"
    )
}

fn fill_sqlite() -> String {
    let call = CALL.replace("::text", "").replace("::bigint", "");
    let call = call.replace('N', "n").replace('C', "c");
    // The number of a run as the last digits of its id.
    let (id, text) =
        ("unhex(printf('%032x', n))", "'00000000-0000-0000-0000-' || printf('%012x', n) || ':1:' || c");
    format!(
        "CREATE TEMP TABLE n AS WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < 10000) SELECT n FROM k;
         CREATE TEMP TABLE first AS SELECT * FROM runs;
         CREATE TEMP TABLE call AS SELECT arguments, trail FROM tool_calls;
         INSERT INTO runs (id, user, history, state, epoch, owner, resumes, setup_id, created_at, agent)
             SELECT {id}, user, history, state, epoch, owner, resumes, setup_id, created_at, agent FROM first, n;
         INSERT INTO tool_calls (run, id, step, arguments, attempt, trail, tool, state, bad_end, requested_at, ended_at, user)
             SELECT {id}, {text}, 1, arguments, 1, trail, {call}
             FROM call, n, (SELECT n - 1 AS c FROM n WHERE n <= 100);"
    )
}

/// The slowest of some looks at each list, after one that is not counted.
async fn measure(store: &Arc<dyn Store>, name: &str) {
    let none = ExecutionFilter::default;
    let tool = |name: &str| Some(name.to_owned());
    let (day, month) = (86_400_000, 2_592_000_000);
    let week =
        |filter| ExecutionFilter { from: Some(Timestamp(10 * day)), to: Some(Timestamp(17 * day)), ..filter };
    let lists = [
        ("newest", none()),
        ("of a tool", ExecutionFilter { tool: tool("tool_3"), ..none() }),
        ("of a rare tool", ExecutionFilter { tool: tool("tool_rare"), ..none() }),
        ("of a tool that there is not", ExecutionFilter { tool: tool("nothing"), ..none() }),
        ("of a week", week(none())),
        ("of a tool in a week", week(ExecutionFilter { tool: tool("tool_3"), ..none() })),
        ("of a rare tool in a week", week(ExecutionFilter { tool: tool("tool_rare"), ..none() })),
        ("of a user", ExecutionFilter { user: Some(UserId("user_7".into())), ..none() }),
        ("failed", ExecutionFilter { state: Some(CallState::Failed), ..none() }),
        (
            "failed, of a tool",
            ExecutionFilter { state: Some(CallState::Failed), tool: tool("tool_3"), ..none() },
        ),
        (
            "failed, of a rare tool",
            ExecutionFilter { state: Some(CallState::Failed), tool: tool("tool_rare"), ..none() },
        ),
    ];
    for (what, filter) in lists {
        // The first page, and one in the middle.
        for middle in [false, true] {
            let run = "00000000-0000-0000-0000-000000000000:1:0".parse().unwrap();
            let before = middle.then_some(Mark { requested_at: Timestamp(month / 2), call: run });
            let page = ExecutionPage { before, limit: 50 };
            let mut slowest = Duration::ZERO;
            let mut rows = 0;
            for turn in 0..6 {
                let began = Instant::now();
                rows = store.executions(Scope::Everyone, filter.clone(), page.clone()).await.unwrap().len();
                slowest = if turn == 0 { slowest } else { slowest.max(began.elapsed()) };
            }
            let place = if middle { "middle" } else { "first page" };
            println!("{name:<12}{what:<30}{place:<12}{rows:>4} rows {:>8.2} ms", slowest.as_secs_f64() * 1e3);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement that takes minutes"]
async fn lists_of_a_million_calls() {
    let dir = scratch();
    let store = open(&dir);
    add_first_call(&store).await;
    store.close().await.unwrap();
    drop(store);
    rusqlite::Connection::open(dir.join("helve.db")).unwrap().execute_batch(&fill_sqlite()).unwrap();
    measure(&open(&dir), "SQLite").await;

    let Some(url) = database().await else { return };
    let store: Arc<dyn Store> = Arc::new(serve(&url).await.unwrap());
    add_first_call(&store).await;
    connect(&url).await.batch_execute(&fill_postgres()).await.unwrap();
    measure(&store, "PostgreSQL").await;
    std::fs::remove_dir_all(dir).unwrap();
}
