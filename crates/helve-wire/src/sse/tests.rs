//! The reader in pieces of every size, and what the writer writes read back.

use super::*;

const MAX: usize = 64;

fn data(text: &str) -> SseEvent {
    SseEvent { data: text.into(), ..SseEvent::default() }
}

/// The events of a stream that comes in pieces of this size.
fn read_pieces(bytes: &[u8], size: usize, finish: bool) -> Vec<Result<SseEvent, SseTooLarge>> {
    let mut reader = SseReader::new(MAX);
    let mut events = vec![];
    for piece in bytes.chunks(size) {
        reader.push(piece);
        events.extend(std::iter::from_fn(|| reader.next_event()));
    }
    if finish {
        reader.finish();
        events.extend(std::iter::from_fn(|| reader.next_event()));
    }
    events
}

/// The events of a stream, which are the same for pieces of every size.
fn read(bytes: &[u8], finish: bool) -> Vec<Result<SseEvent, SseTooLarge>> {
    let whole = read_pieces(bytes, bytes.len().max(1), finish);
    for size in 1..bytes.len() {
        assert_eq!(read_pieces(bytes, size, finish), whole, "pieces of {size}: {}", bytes.escape_ascii());
    }
    whole
}

#[test]
fn events_are_read_as_the_standard_says() {
    let table: &[(&str, &[&str])] = &[
        ("data: a\n\n", &["a"]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
        ("data: a\r\rdata: b\r\r", &["a", "b"]),
        ("data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", &["a", "b", "c"]),
        ("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"]),
        ("data:a\n\ndata:  b\n\ndata: c \n\n", &["a", " b", "c "]),
        ("data: a\ndata: b\ndata:\ndata: c\n\n", &["a\nb\n\nc"]),
        ("data\ndata\n\n", &["\n"]),
        ("data\n\ndata:\n\ndata: \n\n", &[]),
        (": comment\n\n:\n\n:data: no\n\ndata: a\n\n", &["a"]),
        ("retry: 1000\n\nfoo: bar\ndatum: no\nDATA: no\ndata: a\n\n", &["a"]),
        ("data: 你好 🦀\n\ndata: [DONE]\n\n", &["你好 🦀", "[DONE]"]),
        ("\n\n\r\n\n", &[]),
        ("", &[]),
        ("data: never finished\n", &[]),
        ("data: a\n\ndata: never fini", &["a"]),
    ];
    for (stream, expected) in table {
        let expected: Vec<_> = expected.iter().map(|text| Ok(data(text))).collect();
        assert_eq!(read(stream.as_bytes(), false), expected, "{stream:?}");
    }
}

#[test]
fn an_event_has_only_the_id_and_the_type_that_it_says_itself() {
    let stream =
        b"id: 7\nevent: step\ndata: a\n\ndata: b\n\nid: 8\n\nid: x\0y\nid: 9\ndata: c\n\nid\ndata: d\n\n";
    let event = |id: Option<&str>, event: Option<&str>, data: &str| {
        Ok(SseEvent { id: id.map(Into::into), event: event.map(Into::into), data: data.into() })
    };
    let expected = [
        event(Some("7"), Some("step"), "a"),
        event(None, None, "b"),
        event(Some("9"), None, "c"),
        event(Some(""), None, "d"),
    ];
    assert_eq!(read(stream, false), expected);
}

#[test]
fn the_end_of_the_stream_may_stand_for_the_end_of_the_last_event() {
    for end in ["", "\n", "\r\n", "\n\n", "\r\n\r\n", "\r"] {
        let stream = format!("data: a\n\ndata: b{end}");
        assert_eq!(read(stream.as_bytes(), true), [Ok(data("a")), Ok(data("b"))], "{end:?}");
    }
    assert_eq!(read(b": comment", true), []);
    assert_eq!(read(b"", true), []);
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_lose_no_event() {
    assert_eq!(
        read(b"data: a\xff\xe4\xbd\n\ndata: b\n\n", false),
        [Ok(data("a\u{fffd}\u{fffd}")), Ok(data("b"))]
    );
}

#[test]
fn an_event_over_the_limit_ends_the_stream_behind_the_events_before_it() {
    let too_large = Err(SseTooLarge { bytes_max: MAX });
    let fits = "x".repeat(MAX - "data: ".len());
    assert_eq!(read(format!("data: {fits}\n\n").as_bytes(), false), [Ok(data(&fits))]);
    for large in [
        format!("data: {fits}x\n\ndata: late\n\n"),
        "data: x\n".repeat(MAX),
        format!(":{}\n\n", "x".repeat(MAX)),
        "x".repeat(10 * MAX),
    ] {
        let stream = format!("data: a\n\n{large}");
        assert_eq!(read(stream.as_bytes(), true), [Ok(data("a")), too_large.clone()], "{stream}");
    }
    // The limit is one event's, not the stream's.
    assert_eq!(read("data: a\n\n".repeat(MAX).as_bytes(), false).len(), MAX);
}

#[test]
fn what_is_written_is_read_again() {
    let mut out = vec![];
    write_event(&mut out, 7, b"{\"a\": 1}");
    write_data(&mut out, "two\nlines".as_bytes());
    out.extend_from_slice(COMMENT);
    out.extend_from_slice(DONE);
    assert_eq!(
        String::from_utf8_lossy(&out),
        "id: 7\ndata: {\"a\": 1}\n\ndata: two\ndata: lines\n\n:\n\ndata: [DONE]\n\n"
    );
    let first = SseEvent { id: Some("7".into()), ..data("{\"a\": 1}") };
    assert_eq!(read(&out, false), [Ok(first), Ok(data("two\nlines")), Ok(data("[DONE]"))]);
}
