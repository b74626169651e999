//! How a dialect's table of cases is checked: given and found, whole and in pieces.

use serde_json::json;

use crate::{Dialect, Dropped, End, Parser, Piece, Reading, Tools};

/// Each case is a text and what comes out of it, in order: `say`, `think`, `call`, `cut`, `broken`.
pub(crate) fn check(dialect: &'static Dialect, cases: &[(&str, &str)]) {
    check_given(dialect, cases);
    check_found(cases);
}

/// The same for a dialect that is not looked for unasked.
pub(crate) fn check_given(dialect: &'static Dialect, cases: &[(&str, &str)]) {
    check_read(cases, &Reading::for_dialect(dialect, tools()));
}

/// The same for texts in which several dialects are found.
pub(crate) fn check_found(cases: &[(&str, &str)]) {
    check_read(cases, &Reading::any(tools()));
}

fn check_read(cases: &[(&str, &str)], reading: &Reading) {
    for (text, expected) in cases {
        let chars: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = chars.iter().map(String::as_str).collect();
        let how = format!("{text:?} read by {:?}", reading.dialect);
        assert_eq!(transcript_whole(text, reading), *expected, "{how}");
        assert_eq!(transcript(&[text], reading.clone()), *expected, "{how} in one piece");
        assert_eq!(transcript(&pieces, reading.clone()), *expected, "{how} in pieces");
        for (at, _) in text.char_indices() {
            let (one, other) = text.split_at(at);
            assert_eq!(transcript(&[one, other], reading.clone()), *expected, "{how}, cut before {other:?}");
        }
    }
}

fn tools() -> Tools {
    let query = json!({"properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["query"]});
    Tools::new([("search".to_owned(), query), ("time".to_owned(), json!({}))])
}

fn transcript(pieces: &[&str], reading: Reading) -> String {
    let mut parser = Parser::new(reading);
    write_pieces(|mut take| {
        pieces.iter().for_each(|piece| parser.feed(piece, &mut take));
        parser.finish(End::Normal, &mut take);
    })
}

fn transcript_whole(text: &str, reading: &Reading) -> String {
    write_pieces(|mut take| {
        reading.read(text, End::Normal, &mut take);
    })
}

/// What comes out, in order.
fn write_pieces(read: impl FnOnce(&mut dyn FnMut(Piece<'_>))) -> String {
    let mut lines: Vec<String> = vec![];
    let mut say = |line: String| {
        let (kind, text) = line.split_once(' ').unwrap_or((&line, ""));
        match lines.last_mut() {
            Some(last) if matches!(kind, "say" | "think") && last.starts_with(kind) => last.push_str(text),
            _ => lines.push(line),
        }
    };
    read(&mut |piece: Piece<'_>| match piece {
        Piece::Text(text) => say(format!("say {text}")),
        Piece::Reasoning(text) => say(format!("think {text}")),
        Piece::CallFinished { call, .. } => {
            let id = call.id.map(|id| format!("#{id}")).unwrap_or_default();
            let repairs = match call.repairs.as_slice() {
                [] => String::new(),
                repairs => format!(" {repairs:?}").replace('[', "(").replace(']', ")"),
            };
            say(format!("call {}{id} {}{repairs}", call.name, call.arguments));
        }
        Piece::CallDropped { name, why, .. } if why != Dropped::Quoted => {
            let why = if why == Dropped::Cut { "cut" } else { "broken" };
            say(format!("{why} {}", name.unwrap_or("")).trim_end().to_owned());
        }
        _ => {}
    });
    lines.join(" | ")
}
