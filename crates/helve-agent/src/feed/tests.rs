//! Which events and texts a reader of a feed gets, and when.

use std::task::Waker;

use helve_types::Timestamp;

use super::*;

fn event(seq: u64, fact: Fact) -> Arc<Recorded> {
    Arc::new(Recorded::new(seq, Timestamp(0), fact))
}

fn part(n: u32) -> PartId {
    PartId::new(1, 1, n)
}

fn finished(n: u32, text: &str) -> Fact {
    Fact::TextFinished { step: 1, part: part(n), text: text.into() }
}

/// Everything there is for the reader, as words.
fn read(feed: &Feed, cursor: &mut Cursor) -> Vec<String> {
    let mut seen = vec![];
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(look) = feed.poll(cursor, &mut cx) {
        match look {
            FeedPoll::Frame(Frame::Event(event)) => {
                seen.push(format!("{} {}", event.event.seq, event.event.fact.kind()));
            }
            FeedPoll::Frame(Frame::Live(Live::PartStarted { part, text, .. })) => {
                seen.push(format!("{part} = {text}"));
            }
            FeedPoll::Frame(Frame::Live(Live::PartDelta { part, text })) => {
                seen.push(format!("{part} + {text}"));
            }
            FeedPoll::Frame(Frame::Live(live)) => seen.push(format!("{live:?}")),
            FeedPoll::Lagged => {
                seen.push("behind".into());
                return seen;
            }
            FeedPoll::Over => {
                seen.push("over".into());
                return seen;
            }
        }
    }
    seen
}

#[test]
fn a_reader_gets_pieces_as_they_come_and_a_late_one_the_text_so_far() {
    let feed = Feed::default();
    let mut early = Cursor::default();
    feed.begin_step(1, 1, 0);
    let text = feed.open_part(part(0), PartKind::Text, None);
    feed.push_text(text, "Hel");
    assert_eq!(read(&feed, &mut early), ["StepStarted { step: 1, attempt: 1 }", "1.1.0 = Hel"]);
    feed.push_text(text, "lo ");
    feed.push_text(text, "you");
    assert_eq!(read(&feed, &mut early), ["1.1.0 + lo you"]);
    let mut late = Cursor::default();
    assert_eq!(read(&feed, &mut late), ["StepStarted { step: 1, attempt: 1 }", "1.1.0 = Hello you"]);
    assert_eq!(read(&feed, &mut late), [""; 0]);
}

#[test]
fn a_preview_is_shown_once_and_taken_back_where_something_else_comes() {
    let feed = Feed::default();
    let mut cursor = Cursor::default();
    let text = feed.open_part(part(0), PartKind::Text, None);
    feed.set_preview(text, "<");
    assert_eq!(read(&feed, &mut cursor), ["1.1.0 = <"]);
    feed.set_preview(text, "<th");
    assert_eq!(read(&feed, &mut cursor), ["1.1.0 + th"]);
    feed.push_text(text, "<");
    feed.push_text(text, "the");
    assert_eq!(read(&feed, &mut cursor), ["1.1.0 + e"]);
    feed.set_preview(text, "<t");
    feed.set_preview(text, "<");
    assert_eq!(read(&feed, &mut cursor), ["1.1.0 = <the<"]);
    feed.set_preview(text, "");
    assert_eq!(read(&feed, &mut cursor), ["1.1.0 = <the"]);
    feed.push_text(text, " end");
    assert_eq!(read(&feed, &mut cursor), ["1.1.0 +  end"]);
    assert_eq!(read(&feed, &mut Cursor::default()), ["1.1.0 = <the end"]);
}

#[test]
fn a_durable_event_closes_its_part_and_the_last_one_ends_the_feed() {
    let feed = Feed::default();
    let mut cursor = Cursor::default();
    let text = feed.open_part(part(0), PartKind::Text, None);
    feed.push_text(text, "Hello");
    read(&feed, &mut cursor);
    feed.publish(&[
        event(1, finished(0, "Hello")),
        event(2, Fact::RunFinished { ending: helve_types::Ending::Answered }),
    ]);
    assert_eq!(read(&feed, &mut cursor), ["1 text.finished", "2 run.finished", "over"]);
}

#[test]
fn a_new_attempt_voids_what_the_last_one_showed() {
    let feed = Feed::default();
    let mut cursor = Cursor::default();
    feed.begin_step(1, 1, 0);
    let first = feed.open_part(part(0), PartKind::Text, None);
    feed.push_text(first, "wrong");
    read(&feed, &mut cursor);
    feed.publish(&[event(
        1,
        Fact::StepRestarted { step: 1, attempt: 2, because: "reset".into(), spent: None },
    )]);
    feed.begin_step(1, 2, 0);
    let second = feed.open_part(PartId::new(1, 2, 0), PartKind::Text, None);
    feed.push_text(second, "right");
    assert_eq!(
        read(&feed, &mut cursor),
        ["1 step.restarted", "StepStarted { step: 1, attempt: 2 }", "1.2.0 = right"]
    );
    assert_eq!(feed.current_parts().len(), 1);
}

#[test]
fn a_reader_that_is_too_far_behind_is_told_to_read_the_log() {
    let feed = Feed::default();
    for seq in 1..=TAIL_MAX as u64 + 10 {
        feed.publish(&[event(seq, finished(0, "x"))]);
    }
    assert_eq!(read(&feed, &mut Cursor::default()), ["behind"]);
    let mut close = Cursor::starting_after(20);
    assert_eq!(read(&feed, &mut close).len(), TAIL_MAX + 10 - 20);
}

#[test]
fn large_events_leave_the_tail_sooner_and_the_latest_stays() {
    let feed = Feed::default();
    let large = "x".repeat(TAIL_BYTES_MAX / 3);
    for seq in 1..=9 {
        feed.publish(&[event(seq, finished(0, &large))]);
    }
    assert_eq!(read(&feed, &mut Cursor::starting_after(6)), ["behind"]);
    assert_eq!(read(&feed, &mut Cursor::starting_after(7)), ["8 text.finished", "9 text.finished"]);
    feed.publish(&[event(10, finished(0, &"x".repeat(TAIL_BYTES_MAX * 2)))]);
    assert_eq!(read(&feed, &mut Cursor::starting_after(9)), ["10 text.finished"]);
}

#[test]
fn a_late_reader_gets_a_long_text_in_pieces_that_are_the_whole() {
    let feed = Feed::default();
    let long = "数".repeat(PIECE_BYTES_MAX);
    let text = feed.open_part(part(0), PartKind::Text, None);
    feed.push_text(text, &long);
    let pieces = read(&feed, &mut Cursor::default());
    assert!(pieces.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX + 8), "{}", pieces.len());
    let whole: String = pieces.iter().map(|piece| &piece["1.1.0 + ".len()..]).collect();
    assert!(whole == long, "{} of {}", whole.len(), long.len());
}

#[test]
fn a_tools_progress_is_a_part_of_its_own() {
    let feed = Feed::default();
    let mut cursor = Cursor::default();
    let call = helve_types::CallId::new(RunId(uuid_of(1)), 1, 0);
    let id = PartId::from(&call);
    feed.push_progress(&id, "build", "10 %", 0);
    feed.push_progress(&id, "build", " 20 %", 0);
    assert_eq!(read(&feed, &mut cursor), [format!("{id} = 10 % 20 %")]);
    assert_eq!(feed.current_parts().len(), 0);
}

#[test]
fn what_is_written_behind_events_that_are_not_durable_yet_is_shown_after_them_and_not_closed_by_them() {
    let feed = Feed::default();
    let mut cursor = Cursor::default();
    feed.publish(&[event(1, finished(0, "asked"))]);
    feed.begin_step(2, 1, 3);
    let text = feed.open_part(PartId::new(2, 1, 0), PartKind::Text, None);
    feed.push_text(text, "Hello");
    let call = helve_types::CallId::new(RunId(uuid_of(1)), 1, 0);
    feed.push_progress(&PartId::from(&call), "build", "10 %", 3);
    assert_eq!(read(&feed, &mut cursor), ["1 text.finished"]);
    let restarted =
        |step, attempt| Fact::StepRestarted { step, attempt, because: "reset".into(), spent: None };
    feed.publish(&[event(2, restarted(1, 2))]);
    assert_eq!(read(&feed, &mut cursor), ["2 step.restarted"]);
    feed.publish(&[event(3, restarted(2, 1))]);
    assert_eq!(
        read(&feed, &mut cursor),
        [
            "3 step.restarted".to_owned(),
            "StepStarted { step: 2, attempt: 1 }".to_owned(),
            "2.1.0 = Hello".to_owned(),
            format!("{} = 10 %", PartId::from(&call)),
        ]
    );
    feed.publish(&[event(4, restarted(2, 2))]);
    assert_eq!(feed.current_parts(), [], "the attempt is void");
}

fn uuid_of(n: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(n)
}

#[test]
fn a_server_that_goes_down_says_so_once_after_all_that_is_durable_and_then_no_more() {
    let feeds = Feeds::default();
    let (run, other) = (RunId(uuid_of(1)), RunId(uuid_of(2)));
    let feed = feeds.feed_of_run(run);
    let mut cursor = Cursor::default();
    feed.publish(&[event(1, finished(0, "x"))]);
    feeds.announce_drain();
    assert_eq!(read(&feed, &mut cursor), ["1 text.finished", "ServerDraining", "over"]);
    // A reader that comes back before the end is told, too.
    assert_eq!(read(&feeds.feed_of_run(other), &mut Cursor::default()), ["ServerDraining", "over"]);
}

#[test]
fn a_feed_is_shared_while_somebody_holds_it() {
    let feeds = Feeds::default();
    let run = RunId(uuid_of(1));
    let first = feeds.feed_of_run(run);
    assert!(Arc::ptr_eq(&first, &feeds.feed_of_run(run)));
    first.publish(&[event(1, finished(0, "x"))]);
    drop(first);
    assert!(feeds.feed_of_run(run).has_no_events());
}
