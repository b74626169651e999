//! What becomes of an answer when its model server fails: the table, driven through the real client and the agent's
//! loop, over real connections.
//!
//! Nothing depends on how fast the machine is. Where a row needs a silence, the client's patience is short and the
//! server's silence has no end.

mod cut;
mod table;
mod trial;

use futures_util::{StreamExt, stream};
use helve_lab::mock::{PROTOCOLS, Protocol};
use tokio::sync::Mutex;

use self::table::{Class, Row, TABLE, WHOLE};
use self::trial::{Server, Trial, Verdict};

/// How many trials are under way at once: most of their time they wait.
const AT_ONCE: usize = 48;

/// One test at a time, so that none takes the machine from one that is in a hurry.
static TURN: Mutex<()> = Mutex::const_new(());

fn protocol(name: &str) -> &'static Protocol {
    PROTOCOLS.iter().find(|protocol| protocol.name == name).unwrap()
}

/// Every row, in every protocol that it is about, with a fault that happens once and with one that stays.
fn trials(table: &[Row], stream: bool) -> Vec<(Trial, Verdict)> {
    let mut trials = vec![];
    for row in table {
        for name in row.on {
            for always in [false, true] {
                let trial = Trial {
                    protocol: protocol(name),
                    server: Server::Mock,
                    script: row.script(always),
                    hasty: row.hasty,
                    stream,
                };
                trials.push((trial, row.verdict(always)));
            }
        }
    }
    trials
}

async fn all_hold(mut trials: Vec<(Trial, Verdict)>) {
    let _turn = TURN.lock().await;
    helve::assemble::install_tls();
    let count = trials.len();
    // Those in a hurry first, all at once; those that keep the machine busy follow.
    trials.sort_by_key(|(trial, _)| !trial.hasty);
    let hasty = trials.partition_point(|(trial, _)| trial.hasty);
    let busy = trials.split_off(hasty);
    let mut failed = those_that_fail(trials, count).await;
    failed.extend(those_that_fail(busy, AT_ONCE).await);
    assert!(failed.is_empty(), "{} of {count} trials:\n{}", failed.len(), failed.join("\n"));
}

async fn those_that_fail(trials: Vec<(Trial, Verdict)>, at_once: usize) -> Vec<String> {
    stream::iter(trials)
        .map(|(trial, expected)| async move {
            let name = trial.to_string();
            let found = tokio::spawn(trial.run()).await.unwrap().map(|found| found.beside(&expected));
            (found != Ok(expected.clone()))
                .then(|| format!("{name}\n  expected {expected:?}\n  found    {found:?}"))
        })
        .buffer_unordered(at_once)
        .filter_map(|failed| async { failed })
        .collect()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_stream_has_the_end_that_the_table_says() {
    all_hold(trials(TABLE, true)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_whole_answer_has_the_end_that_the_table_says() {
    all_hold(trials(WHOLE, false)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_connection_is_tried_three_times() {
    let mut trials = vec![];
    for protocol in PROTOCOLS {
        for (server, connections) in [(Server::Absent, 0), (Server::Deaf, 0), (Server::Tls, 3)] {
            let trial = Trial { protocol, server, script: String::new(), hasty: true, stream: true };
            let expected =
                Verdict { connections: Some(connections), ..Verdict::failed("model_unavailable", 0, 0) };
            trials.push((trial, expected));
        }
    }
    all_hold(trials).await;
}

/// A reset after every few bytes of both messages: the answer is what it would have been, and never twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_reset_at_any_byte_leaves_no_trace_in_the_answer() {
    let _turn = TURN.lock().await;
    helve::assemble::install_tls();
    for protocol in PROTOCOLS {
        for round in [0, 1] {
            let cuts = (0..3_600).step_by(23).map(|bytes| Trial {
                protocol,
                server: Server::Mock,
                script: format!("{},cut={bytes},round={round},times=1,{}", table::BASE, table::ARGUMENTS),
                hasty: false,
                stream: true,
            });
            let ends: Vec<_> = stream::iter(cuts)
                .map(|trial| async move {
                    let name = trial.to_string();
                    (name, tokio::spawn(trial.run()).await.unwrap())
                })
                .buffered(AT_ONCE)
                .collect()
                .await;
            let end = |class: Class| class.verdict(round, false, 1);
            // First nothing was shown, then something, then it was complete.
            let ways = [end(Class::Retry("")), end(Class::Restart("")), end(Class::Ok)];
            let fits = |end: &Verdict, found: &Verdict| found.clone().beside(end) == *end;
            let mut reached = 0;
            for (name, found) in &ends {
                let found = found.as_ref().unwrap_or_else(|error| panic!("{name}: {error}"));
                let at = (reached..ways.len()).find(|&at| fits(&ways[at], found));
                reached = at.unwrap_or_else(|| panic!("{name}: {found:?} after way {reached}"));
            }
            let met = |end: &Verdict| {
                ends.iter().any(|(_, found)| found.as_ref().is_ok_and(|found| fits(end, found)))
            };
            assert!(ways.iter().all(met), "{} message {round}", protocol.name);
        }
    }
}
