//! What a turn costs on the disk: a question, one call that reads, an answer.

use std::path::Path;

use helve_store::{Place, Urgency};
use helve_store_contract::Actor;
use helve_types::{
    CallId, Effect, Ending, Fact, Message, Mode, Part, PartId, RunInput, RunState, StopReason, ToolOutput,
    Trail, Usage,
};

use super::{open, scratch};

/// Few enough that nothing is moved out of the write-ahead log meanwhile.
const TURNS: u64 = 60;

/// Pages in the write-ahead log have a head of so many bytes.
const FRAME_HEAD: u64 = 24;

fn step(step: u32, reason: StopReason) -> Fact {
    Fact::StepFinished {
        step,
        attempt: 1,
        reason,
        mode: Mode::Native,
        usage: Usage { input_tokens: 700, output_tokens: 40, ..Usage::default() },
        cost_nanos: None,
        model: None,
        fingerprint: None,
        echo: None,
        params: None,
    }
}

/// As a run records it: the start is waited for, the call is durable together, the answer with the end.
async fn turn(mei: &Actor, place: Place) -> Place {
    let mut run = mei.start(place, "what is 12.5% of 3,480?").await;
    let call = CallId::new(run.run, 1, 0);
    let arguments = r#"{"expression":"12.5% of 3480"}"#;
    let requested = Fact::ToolRequested {
        step: 1,
        call: call.clone(),
        provider_id: Some("call_1".into()),
        tool: "calculator".into(),
        arguments: arguments.into(),
        part: None,
        replaces: None,
        repairs: vec![],
    };
    let started = Fact::ToolStarted {
        call: call.clone(),
        tool: "calculator".into(),
        version: "7f3c1a90b2d4e6f8".into(),
        effect: Effect::Read,
        attempt: 1,
        arguments: None,
        instead: None,
    };
    let finished = Fact::ToolFinished { call, output: ToolOutput::text("435"), trail: Trail::default() };
    mei.append(&mut run, vec![requested, step(1, StopReason::ToolCalls), started, finished]).await.unwrap();

    let text = "12.5 % of 3,480 is 435.";
    let said = Fact::TextFinished { step: 2, part: PartId::new(2, 1, 0), text: text.into() };
    let ended = Fact::RunFinished { ending: Ending::Answered };
    let mut last = mei.batch(&mut run, vec![said, step(2, StopReason::Stop), ended]);
    last.state = Some(RunState::Completed);
    let mut reply = Message::reply(mei.world.message_id(), mei.world.now(), run.run, "demo");
    reply.parts.push(Part::Text { step: 2, text: text.into() });
    last.message = Some(reply);
    mei.store.append(last, Urgency::Now).await.unwrap();
    Place::Conversation(run.conversation.unwrap())
}

/// Pages written to the log, and bytes by which the database grows, for each turn.
async fn cost(dir: &Path, is_new_conversation: bool) -> (u64, u64) {
    let mei = Actor::new(open(dir), "mei");
    let mut place = turn(&mei, mei.new_conversation()).await;
    let reader = rusqlite::Connection::open(dir.join("helve.db")).unwrap();
    let number = |sql: &str| reader.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs();
    let log = || std::fs::metadata(dir.join("helve.db-wal")).unwrap().len();
    let bytes = || number("PRAGMA page_count") * number("PRAGMA page_size");
    let before = (log(), bytes());
    for _ in 0..TURNS {
        let next = if is_new_conversation { mei.new_conversation() } else { place };
        place = turn(&mei, next).await;
    }
    let frame = number("PRAGMA page_size") + FRAME_HEAD;
    ((log() - before.0) / frame / TURNS, (bytes() - before.1) / TURNS)
}

#[tokio::test]
async fn a_turn_with_one_read_writes_so_many_pages_and_takes_up_so_many_bytes() {
    for (is_new, pages_max, bytes_max) in [(true, 40, 3_300), (false, 40, 3_300)] {
        let (pages, bytes) = cost(&scratch(), is_new).await;
        println!("new conversation {is_new}: {pages} pages, {bytes} bytes more");
        assert!(pages <= pages_max, "{pages} pages are written for a turn");
        assert!(bytes <= bytes_max, "the database grows by {bytes} bytes with a turn");
    }
}

#[test]
fn a_new_database_has_small_pages_and_an_old_one_keeps_its_own() {
    let page_size = |dir: &Path| {
        let reader = rusqlite::Connection::open(dir.join("helve.db")).unwrap();
        reader.query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let dir = scratch();
    drop(open(&dir));
    assert_eq!(page_size(&dir), 2_048);
    let old = scratch();
    let made = rusqlite::Connection::open(old.join("helve.db")).unwrap();
    made.execute_batch("PRAGMA page_size = 4096; CREATE TABLE before (x);").unwrap();
    drop(made);
    drop(open(&old));
    assert_eq!(page_size(&old), 4_096);
}

#[tokio::test]
async fn what_runs_are_started_with_is_kept_once_and_as_long_as_one_of_them() {
    let dir = scratch();
    let mei = Actor::new(open(&dir), "mei");
    let reader = rusqlite::Connection::open(dir.join("helve.db")).unwrap();
    let setups = || reader.query_row("SELECT count(*) FROM setups", [], |row| row.get::<_, i64>(0)).unwrap();
    let mut first = mei.start(mei.new_conversation(), "one").await;
    let mut second = mei.start(mei.new_conversation(), "two").await;
    assert_eq!(setups(), 1);
    mei.finish(&mut first, "done").await;
    mei.finish(&mut second, "done").await;
    mei.store.delete_conversation(mei.scope(), first.conversation.unwrap()).await.unwrap();
    assert_eq!(setups(), 1);
    assert_eq!(mei.store.run(mei.scope(), second.run).await.unwrap().setup.agent, "default");
    mei.store.delete_conversation(mei.scope(), second.conversation.unwrap()).await.unwrap();
    assert_eq!(setups(), 0);

    // A client's history is of one run, and nobody looks for it.
    for _ in 0..2 {
        let mut new = mei.new_run(Place::Nowhere, "three");
        new.setup.input = RunInput::Client { messages: vec![] };
        mei.open(new).await.unwrap();
    }
    assert_eq!(setups(), 2);
}
