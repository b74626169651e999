//! Questions that a model puts to a person: what can be asked, and which replies fit.
//!
//! `form` reads the JSON Schema that a model writes into a form that every client can show, or says why it cannot be
//! shown. `reply` checks what a person replied, `typed` reads it from text. All three are pure.

mod form;
mod reply;
#[cfg(test)]
mod tests;
mod typed;

use helve_types::{FormOption, ReplyForm, UserQuestion};
use serde_json::Value;

pub use self::reply::{FieldProblem, check_reply, reply_notice};
pub use self::typed::{TypedValue, read_typed};

/// A question is no longer than this.
pub const QUESTION_CHARS_MAX: usize = 2_000;
/// The options of a question, and those of a field.
pub const OPTIONS_MAX: usize = 20;
pub const FIELD_OPTIONS_MAX: usize = 50;
pub const OPTION_CHARS_MAX: usize = 200;
/// The schema of a form, as JSON.
pub const SCHEMA_BYTES_MAX: usize = 16 << 10;
/// The fields of a form, with those of its groups.
pub const FIELDS_MAX: usize = 30;
/// A text in a reply.
pub const TEXT_CHARS_MAX: usize = 8_000;
/// A whole reply, as JSON.
pub const REPLY_BYTES_MAX: usize = 32 << 10;
/// What a person says who would rather not reply.
pub const DECLINE_CHARS_MAX: usize = 2_000;

/// What a model asks, before it is known whether it can be shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct WrittenQuestion<'a> {
    pub question: &'a str,
    pub options: Option<&'a [String]>,
    pub several: bool,
    /// A JSON Schema of an object.
    pub form: Option<&'a Value>,
}

/// The question as people are asked it, or what a model can do better.
pub fn read_question(written: WrittenQuestion<'_>) -> Result<UserQuestion, String> {
    let WrittenQuestion { question, options, several, form } = written;
    let question = question.trim();
    if question.is_empty() {
        return Err("`question` is empty; write what you want to know".into());
    }
    if question.chars().count() > QUESTION_CHARS_MAX {
        return Err(format!("`question` has more than {QUESTION_CHARS_MAX} characters; shorten it"));
    }
    let form = match (options, form) {
        (Some(_), Some(_)) => {
            return Err("there are `options` and a `form`; a question has one of them, or neither".into());
        }
        (None, _) if several => {
            return Err(
                "`several` is about `options`, and there are none; leave it out or name options".into()
            );
        }
        (Some(options), None) => choice(options, several)?,
        (None, Some(schema)) => form::read_form(schema)?,
        (None, None) => {
            let max_chars = u32::try_from(TEXT_CHARS_MAX).unwrap_or(u32::MAX);
            ReplyForm::Text { format: None, multiline: true, min_chars: Some(1), max_chars }
        }
    };
    Ok(UserQuestion { question: question.to_owned(), form })
}

fn choice(options: &[String], several: bool) -> Result<ReplyForm, String> {
    if options.len() < 2 {
        return Err("`options` needs at least 2; leave it out to ask for an answer in words".into());
    }
    if options.len() > OPTIONS_MAX {
        return Err(format!("`options` has more than {OPTIONS_MAX}; offer fewer, or ask in words"));
    }
    let options = options.iter().map(|value| FormOption { value: value.trim().to_owned(), title: None });
    let options: Vec<_> = options.collect();
    check_options("`options`", &options)?;
    let max_items = u32::try_from(options.len()).unwrap_or(u32::MAX);
    Ok(if several {
        ReplyForm::Choices { options, min_items: 1, max_items }
    } else {
        ReplyForm::Choice { options }
    })
}

/// Whether a person can tell the options apart.
fn check_options(whose: &str, options: &[FormOption]) -> Result<(), String> {
    for (at, option) in options.iter().enumerate() {
        for text in [&option.value].into_iter().chain(&option.title) {
            if text.trim().is_empty() {
                return Err(format!("{whose}: option {} is empty", at + 1));
            }
            if text.chars().count() > OPTION_CHARS_MAX {
                return Err(format!(
                    "{whose}: option {} has more than {OPTION_CHARS_MAX} characters",
                    at + 1
                ));
            }
        }
        let is_same = |before: &FormOption| before.value == option.value || before.label() == option.label();
        if options[..at].iter().any(is_same) {
            return Err(format!("{whose}: option {} is there twice", at + 1));
        }
    }
    Ok(())
}
