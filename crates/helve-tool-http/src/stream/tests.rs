//! Frames are the same however the bytes are cut.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use proptest::prelude::*;

use super::frames::FrameReader;
use super::*;

async fn frames(
    kind: &ContentKind,
    pieces: Vec<Result<Vec<u8>, EgressError>>,
) -> (Vec<String>, Option<EgressError>) {
    let bytes = stream::iter(pieces.into_iter().map(|piece| piece.map(Bytes::from))).boxed();
    let mut frames = FrameReader::from_bytes(kind, bytes, 10_000);
    let mut read = vec![];
    loop {
        match frames.next_frame().await {
            Ok(Some(frame)) => read.push(frame),
            Ok(None) => return (read, None),
            Err(error) => return (read, Some(error)),
        }
    }
}

/// P6: any byte-splitting gives equal events.
async fn check(kind: &ContentKind, text: &str, expected: &[&str]) {
    for size in 1..=text.len() {
        let pieces = text.as_bytes().chunks(size).map(|piece| Ok(piece.to_vec())).collect();
        assert_eq!(
            frames(kind, pieces).await,
            (expected.iter().map(|&frame| frame.into()).collect(), None),
            "{size}"
        );
    }
}

#[tokio::test]
async fn events_and_lines_are_whole_however_they_come() {
    check(
        &ContentKind::Events,
        "\u{feff}data: a\r\n\r\n: alive\n\nevent: x\ndata: b\ndata: 字\n\ndata: c",
        &["a", "b\n字", "c"],
    )
    .await;
    check(&ContentKind::Lines, "{\"a\":1}\r\n\n{\"文\":\"🦀\"}", &["{\"a\":1}", "{\"文\":\"🦀\"}"]).await;
}

#[tokio::test]
async fn what_came_before_a_break_is_shown_and_the_break_is_told() {
    let broken = EgressError::Lost("the answer broke off".into());
    let pieces = vec![Ok(b"data: 1\n\ndata: 2".to_vec()), Err(broken.clone())];
    assert_eq!(frames(&ContentKind::Events, pieces).await, (vec!["1".into()], Some(broken.clone())));
    let pieces = vec![Ok(b"{}\n{\"half".to_vec()), Err(broken.clone())];
    assert_eq!(frames(&ContentKind::Lines, pieces).await, (vec!["{}".into()], Some(broken)));
}

#[tokio::test]
async fn more_than_its_bound_is_not_kept() {
    for kind in [ContentKind::Lines, ContentKind::Unknown] {
        let flood = (0..100).map(|_| Ok(vec![b'x'; 1_000])).collect();
        let (_, error) = frames(&kind, flood).await;
        assert!(matches!(error, Some(EgressError::TooLarge(_))), "{kind:?} {error:?}");
    }
    let events = (0..100).map(|_| Ok(format!("data: {}\n\n", "x".repeat(1_000)).into_bytes())).collect();
    assert!(matches!(frames(&ContentKind::Events, events).await.1, Some(EgressError::TooLarge(_))));
}

proptest! {
    #[test]
    fn text_in_pieces_is_the_text(text in "[a-zé字🦀 \n]{0,200}", size in 1usize..20) {
        let pieces = text.as_bytes().chunks(size).map(|piece| Ok(piece.to_vec())).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (read, error) = runtime.block_on(frames(&ContentKind::Unknown, pieces));
        prop_assert_eq!(error, None);
        prop_assert_eq!(read.concat(), text);
    }
}
