//! Whether a reply fits its question, and if not, what is wrong with which field.

use helve_types::{FormField, FormOption, Notice, ReplyForm, TextFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::REPLY_BYTES_MAX;

/// What is wrong with a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldProblem {
    /// Its place: the names of the fields with dots between them; empty where it is about the whole reply.
    pub field: String,
    /// What is wrong, in a sentence that names the field.
    pub notice: Notice,
}

/// Larger whole numbers are not exact everywhere that a reply passes.
const WHOLE_MAX: u64 = (1 << 53) - 1;
/// More options than this are not named, and of more problems only so many.
const LISTED_MAX: usize = 20;
const PROBLEMS_MAX: usize = 10;

/// Whether the reply fits; otherwise all that is wrong with it.
pub fn check_reply(form: &ReplyForm, value: &Value) -> Result<(), Vec<FieldProblem>> {
    if value.to_string().len() > REPLY_BYTES_MAX {
        let notice = Notice::reply_too_large(REPLY_BYTES_MAX as u64);
        return Err(vec![FieldProblem { field: String::new(), notice }]);
    }
    let mut problems = vec![];
    match (form, value) {
        (ReplyForm::Fields { fields }, _) => check_fields(fields, value, "", &mut problems),
        // An answer that is asked for is not left empty.
        (ReplyForm::Text { .. }, Value::String(text)) if text.trim().is_empty() => {
            problems.push(FieldProblem { field: String::new(), notice: Notice::reply_missing() });
        }
        _ => {
            if let Err(problem) = check_value(form, value) {
                problems.push(FieldProblem { field: String::new(), notice: Notice::misfit_reply(problem) });
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// All problems as one notice.
pub fn reply_notice(problems: &[FieldProblem]) -> Notice {
    let mut notices: Vec<Notice> =
        problems.iter().take(PROBLEMS_MAX).map(|problem| problem.notice.clone()).collect();
    if problems.len() > PROBLEMS_MAX {
        notices.push(Notice::misfit_more());
    }
    Notice::reply_misfits(notices)
}

fn check_fields(fields: &[FormField], value: &Value, path: &str, problems: &mut Vec<FieldProblem>) {
    let Some(members) = value.as_object() else {
        let problem = Notice::misfit_type(vec![Notice::type_object()]);
        problems.push(FieldProblem { field: path.to_owned(), notice: Notice::misfit_reply(problem) });
        return;
    };
    let place = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for field in fields {
        let place = place(&field.name);
        let label = field.label();
        match members.get(&field.name) {
            Some(Value::String(text)) if field.required && text.trim().is_empty() => {
                problems.push(FieldProblem { field: place, notice: Notice::misfit_missing(label) });
            }
            // A field that may be left out may be left empty.
            Some(Value::String(text)) if text.is_empty() && is_text(&field.form) => {}
            Some(value) => match &field.form {
                ReplyForm::Fields { fields } => check_fields(fields, value, &place, problems),
                form => {
                    if let Err(problem) = check_value(form, value) {
                        let notice = Notice::misfit_in_field(label, problem);
                        problems.push(FieldProblem { field: place, notice });
                    }
                }
            },
            None if field.required => {
                problems.push(FieldProblem { field: place, notice: Notice::misfit_missing(label) });
            }
            None => {}
        }
    }
    if let Some(unknown) = members.keys().find(|name| fields.iter().all(|field| field.name != **name)) {
        let notice = Notice::misfit_reply(Notice::misfit_unexpected(unknown));
        problems.push(FieldProblem { field: place(unknown), notice });
    }
}

fn is_text(form: &ReplyForm) -> bool {
    matches!(form, ReplyForm::Text { .. })
}

/// What is wrong with the value of one field.
fn check_value(form: &ReplyForm, value: &Value) -> Result<(), Notice> {
    let wrong_type = |expected: Notice| Notice::misfit_type(vec![expected]);
    match form {
        ReplyForm::Text { format, multiline, min_chars, max_chars } => {
            let text = value.as_str().ok_or_else(|| wrong_type(Notice::type_string()))?;
            check_text(text, *format, *multiline, (*min_chars, *max_chars))
        }
        ReplyForm::Number { whole, minimum, maximum } => {
            let expected = if *whole { Notice::type_integer() } else { Notice::type_number() };
            let number = value.as_f64().filter(|number| !*whole || number.fract() == 0.0);
            let number = number.ok_or_else(|| wrong_type(expected))?;
            check_bounds(number, *whole, minimum.as_ref(), maximum.as_ref())
        }
        ReplyForm::Boolean => value.as_bool().map(drop).ok_or_else(|| wrong_type(Notice::type_boolean())),
        ReplyForm::Choice { options } => {
            let chosen = value.as_str().ok_or_else(|| listed(options))?;
            if is_option(options, chosen) { Ok(()) } else { Err(listed(options)) }
        }
        ReplyForm::Choices { options, min_items, max_items } => {
            let chosen = value.as_array().ok_or_else(|| wrong_type(Notice::type_array()))?;
            let is_listed = |item: &Value| item.as_str().is_some_and(|item| is_option(options, item));
            if !chosen.iter().all(is_listed) {
                return Err(listed(options));
            }
            if chosen.iter().enumerate().any(|(at, item)| chosen[..at].contains(item)) {
                return Err(Notice::misfit_repeated());
            }
            let count = u32::try_from(chosen.len()).unwrap_or(u32::MAX);
            if count < *min_items {
                return Err(Notice::misfit_fewest_items((*min_items).into()));
            }
            if count > *max_items {
                return Err(Notice::misfit_most_items((*max_items).into()));
            }
            Ok(())
        }
        ReplyForm::Fields { fields } => {
            let mut problems = vec![];
            check_fields(fields, value, "", &mut problems);
            problems.into_iter().next().map_or(Ok(()), |problem| Err(problem.notice))
        }
    }
}

fn is_option(options: &[FormOption], value: &str) -> bool {
    options.iter().any(|option| option.value == value)
}

fn listed(options: &[FormOption]) -> Notice {
    let mut labels: Vec<&str> = options.iter().take(LISTED_MAX).map(FormOption::label).collect();
    if options.len() > LISTED_MAX {
        labels.push("…");
    }
    Notice::misfit_options(&labels.join(", "))
}

fn check_text(
    text: &str,
    format: Option<TextFormat>,
    multiline: bool,
    (min_chars, max_chars): (Option<u32>, u32),
) -> Result<(), Notice> {
    let chars = text.chars().count() as u64;
    if chars > u64::from(max_chars) {
        return Err(Notice::misfit_longest(max_chars.into()));
    }
    if let Some(min_chars) = min_chars.filter(|min| chars < u64::from(*min)) {
        return Err(Notice::misfit_shortest(min_chars.into()));
    }
    if !multiline && text.contains(['\n', '\r']) {
        return Err(Notice::misfit_one_line());
    }
    match format {
        Some(format) if !has_format(text, format) => Err(Notice::misfit_format(pattern(format))),
        _ => Ok(()),
    }
}

/// How a text of this format looks.
fn pattern(format: TextFormat) -> &'static str {
    match format {
        TextFormat::Email => "name@example.com",
        TextFormat::Uri => "https://example.com/",
        TextFormat::Date => "2026-03-29",
        TextFormat::Time => "15:30",
        TextFormat::DateTime => "2026-03-29T15:30",
    }
}

fn has_format(text: &str, format: TextFormat) -> bool {
    match format {
        TextFormat::Email => is_email(text),
        TextFormat::Uri => is_uri(text),
        TextFormat::Date => is_date(text),
        TextFormat::Time => is_time(text),
        TextFormat::DateTime => text
            .split_once(['T', ' '])
            .is_some_and(|(date, time)| is_date(date) && is_time(without_offset(time))),
    }
}

/// One `@`, something before it, and a name with a dot behind it: more is known only when a mail arrives.
fn is_email(text: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '@';
    text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && (name.chars().all(is_plain) && host.chars().all(is_plain))
            && host.split('.').count() > 1
            && host.split('.').all(|label| !label.is_empty())
    })
}

/// A scheme, a colon and what follows it.
fn is_uri(text: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    text.split_once(':').is_some_and(|(scheme, rest)| {
        is_scheme(scheme)
            && !rest.trim_start_matches('/').is_empty()
            && !rest.chars().any(|c| c.is_whitespace() || c.is_control())
    })
}

/// The numbers of a text such as `2026-03-29`, if it has just so many digits in each place.
fn digits<const N: usize>(text: &str, between: char, lengths: [usize; N]) -> Option<[u32; N]> {
    let mut numbers = [0; N];
    let mut parts = text.split(between);
    for (number, length) in numbers.iter_mut().zip(lengths) {
        let part = parts.next()?;
        let fits = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| fits)?;
    }
    parts.next().is_none().then_some(numbers)
}

fn is_date(text: &str) -> bool {
    let Some([year, month, day]) = digits(text, '-', [4, 2, 2]) else { return false };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let is_fraction = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let fits = match (digits(whole, ':', [2, 2]), digits(whole, ':', [2, 2, 2])) {
        (Some([hour, minute]), _) => hour < 24 && minute < 60 && fraction.is_none(),
        (None, Some([hour, minute, second])) => hour < 24 && minute < 60 && second < 60,
        (None, None) => false,
    };
    fits && fraction.is_none_or(is_fraction)
}

fn without_offset(time: &str) -> &str {
    if let Some(utc) = time.strip_suffix(['Z', 'z']) {
        return utc;
    }
    match time.rsplit_once(['+', '-']) {
        Some((time, offset)) if is_time(offset) => time,
        _ => time,
    }
}

fn check_bounds(
    number: f64,
    whole: bool,
    minimum: Option<&Number>,
    maximum: Option<&Number>,
) -> Result<(), Notice> {
    let as_float = |bound: &&Number| bound.as_f64();
    if let Some(bound) = minimum.filter(|bound| as_float(bound).is_some_and(|min| number < min)) {
        return Err(Notice::misfit_minimum(bound.clone().into()));
    }
    if let Some(bound) = maximum.filter(|bound| as_float(bound).is_some_and(|max| number > max)) {
        return Err(Notice::misfit_maximum(bound.clone().into()));
    }
    if whole && number.abs() > WHOLE_MAX as f64 {
        return Err(Notice::misfit_maximum(WHOLE_MAX.into()));
    }
    Ok(())
}
