//! The question by which a summary is had: the oldest part of the past as text, and what is wanted of it.

use std::borrow::Cow;

use helve_dialect::Language;
use helve_model::Turn;
use helve_types::Effect;

use crate::transcript::PlacedTurn;
use helve_model::fleet::tokens::estimate_text_tokens;

/// More of an output than this says little that a summary would keep.
const OUTPUT_BYTES_MAX: usize = 6_000;
/// A past that takes more questions than this is not summed up.
pub(crate) const PARTS_MAX: usize = 16;

/// The turns as text, one by one.
pub(crate) fn format_turns(turns: &[PlacedTurn<'_>], effect: impl Fn(&str) -> Option<Effect>) -> Vec<String> {
    turns.iter().map(|placed| format_turn(&placed.turn, &effect)).collect()
}

/// The pieces together, in parts of at most so many tokens. None if there would be too many.
pub(crate) fn join_into_parts(pieces: &[String], tokens_max: u64) -> Option<Vec<String>> {
    let bytes_max = usize::try_from(tokens_max).ok()?.saturating_mul(2);
    let mut parts: Vec<String> = vec![String::new()];
    let mut tokens = 0;
    for piece in pieces {
        let mut piece = Cow::Borrowed(&**piece);
        if estimate_text_tokens(&piece) > tokens_max {
            piece = Cow::Owned(cut_middle(&piece, bytes_max).into_owned());
        }
        let more = estimate_text_tokens(&piece);
        match parts.last_mut() {
            Some(part) if part.is_empty() || tokens + more <= tokens_max => {
                part.push_str(&piece);
                tokens += more;
            }
            _ => {
                parts.push(piece.into_owned());
                tokens = more;
            }
        }
    }
    (parts.len() <= PARTS_MAX).then_some(parts)
}

fn format_turn(turn: &Turn<'_>, effect: &impl Fn(&str) -> Option<Effect>) -> String {
    match turn {
        Turn::User(text) => format!("PERSON: {text}\n\n"),
        Turn::Assistant { text, calls, .. } => {
            let mut told = if text.is_empty() { String::new() } else { format!("ASSISTANT: {text}\n\n") };
            for call in calls {
                let mark = match effect(&call.tool) {
                    Some(Effect::Idempotent | Effect::NonIdempotent) => " (this changes something)",
                    Some(Effect::Read) | None => "",
                };
                let (tool, arguments) = (&call.tool, cut_middle(&call.arguments, OUTPUT_BYTES_MAX));
                told.push_str(&format!("ASSISTANT CALLS {tool}{mark}: {arguments}\n\n"));
            }
            told
        }
        Turn::Result { tool, text, is_error, .. } => {
            let what = if *is_error { "NO RESULT OF" } else { "RESULT OF" };
            format!("{what} {tool}: {}\n\n", cut_middle(text, OUTPUT_BYTES_MAX))
        }
    }
}

/// The beginning and the end of a text that is too long.
fn cut_middle(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(bytes_max / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - bytes_max / 4);
    Cow::Owned(format!("{}\n[… {} bytes …]\n{}", &text[..head], tail - head, &text[tail..]))
}

/// What the model is told that writes a summary.
pub(crate) fn summary_system_prompt(language: Language, words_max: u64) -> String {
    let text = match language {
        Language::English => include_str!("summary.en.md"),
        Language::Chinese => include_str!("summary.zh.md"),
    };
    text.trim().replace("{words}", &words_max.to_string())
}

/// The question itself, with the summary of the parts before this one.
pub(crate) fn summary_question(language: Language, before: Option<&str>, part: &str) -> String {
    let part = part.trim_end();
    match (language, before) {
        (Language::English, None) => {
            format!("<conversation>\n{part}\n</conversation>\n\nWrite the summary now.")
        }
        (Language::English, Some(before)) => format!(
            "<summary_so_far>\n{before}\n</summary_so_far>\n\n<conversation>\n{part}\n</conversation>\n\nWrite one summary \
             now, of what is summed up so far and of this part."
        ),
        (Language::Chinese, None) => format!("<conversation>\n{part}\n</conversation>\n\n现在请写出摘要。"),
        (Language::Chinese, Some(before)) => format!(
            "<summary_so_far>\n{before}\n</summary_so_far>\n\n<conversation>\n{part}\n</conversation>\n\n现在请写出一份摘要，\
             既包括已有的摘要，也包括这一部分。"
        ),
    }
}

#[cfg(test)]
mod tests {
    use helve_model::TurnCall;

    use super::*;
    use crate::transcript::{Output, TurnPlace};

    fn placed(turn: Turn<'_>) -> PlacedTurn<'_> {
        PlacedTurn { turn, place: TurnPlace { message: 0, step: 0, output: Output::Stays } }
    }

    #[test]
    fn a_past_is_told_with_what_was_changed_and_what_failed() {
        let turns = [
            placed(Turn::User("book it".into())),
            placed(Turn::Assistant {
                text: "I will.".into(),
                reasoning: "hm".into(),
                echo: None,
                calls: vec![TurnCall { id: "a".into(), tool: "book".into(), arguments: "{\"n\":1}".into() }],
            }),
            placed(Turn::Result {
                id: "a".into(),
                tool: "book".into(),
                text: "Error: full".into(),
                is_error: true,
            }),
        ];
        let told = join_into_parts(&format_turns(&turns, |_| Some(Effect::NonIdempotent)), 1_000).unwrap();
        assert_eq!(
            told,
            [
                "PERSON: book it\n\nASSISTANT: I will.\n\nASSISTANT CALLS book (this changes something): {\"n\":1}\n\n\
              NO RESULT OF book: Error: full\n\n"
            ]
        );
    }

    #[test]
    fn what_is_too_long_for_one_question_is_told_in_parts_and_not_in_too_many() {
        let turn = || placed(Turn::User("中".repeat(90).into()));
        let turns: Vec<_> = (0..9).map(|_| turn()).collect();
        let told = join_into_parts(&format_turns(&turns, |_| None), 300).unwrap();
        assert_eq!(told.len(), 3);
        assert!(told.iter().all(|part| estimate_text_tokens(part) <= 300));
        let many: Vec<_> = (0..100).map(|_| turn()).collect();
        assert_eq!(join_into_parts(&format_turns(&many, |_| None), 100), None);
        // One that is longer than a question may be is shortened, wherever its characters end.
        let long = [placed(Turn::User("中文🙂".repeat(1_000).into()))];
        let told = join_into_parts(&format_turns(&long, |_| None), 100).unwrap();
        assert!(told[0].len() < 400 && told[0].contains("bytes …]"), "{told:?}");
    }
}
