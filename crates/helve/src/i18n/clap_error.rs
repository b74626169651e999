//! What clap says about wrong arguments, in the language of the process.

use std::error::Error as _;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Language, language, tr};
use crate::output::{write_err, write_out};

/// Prints help, the version or what is wrong with the arguments, and gives the exit code.
pub fn print_clap_error(error: &Error) -> u8 {
    let is_answer = !error.use_stderr();
    if language() == Language::English
        || is_answer
        || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        let text = error.render();
        match is_answer {
            // Help that is read by `head` ends when `head` does.
            true => write_out(format_args!("{text}")),
            false => write_err(format_args!("{text}")),
        }
    } else {
        write_err(format_args!("{}", translated(error)));
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

pub(super) fn translated(error: &Error) -> String {
    let mut text = tr!("error: {what}", what = what(error)) + "\n";
    let suggestion =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
            .into_iter()
            .find_map(|kind| values(error, kind));
    if let Some(suggestion) = suggestion {
        text += &(format!("\n  {}", tr!("similar: {names}", names = suggestion)) + "\n");
    }
    if let Some(usage) = values(error, ContextKind::Usage) {
        let usage = usage.trim().trim_start_matches("Usage:").trim().to_owned();
        text += &format!("\n{}\n", tr!("Usage: {usage}", usage = usage));
    }
    text + "\n" + &tr!("For more information, try '--help'.") + "\n"
}

fn what(error: &Error) -> String {
    let argument = values(error, ContextKind::InvalidArg).unwrap_or_default();
    let value = values(error, ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => tr!("unexpected argument '{argument}'", argument = argument),
        ErrorKind::InvalidSubcommand => {
            let name = values(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            tr!("unrecognized subcommand '{name}'", name = name)
        }
        ErrorKind::MissingRequiredArgument => {
            tr!("these arguments are missing: {arguments}", arguments = argument)
        }
        ErrorKind::MissingSubcommand => tr!("a subcommand is missing"),
        ErrorKind::InvalidValue if value.is_empty() => {
            tr!("a value is missing for '{argument}'", argument = argument)
        }
        ErrorKind::InvalidValue => match values(error, ContextKind::ValidValue) {
            Some(valid) if !valid.is_empty() => tr!(
                "invalid value '{value}' for '{argument}'; possible values: {valid}",
                value = value,
                argument = argument,
                valid = valid
            ),
            _ => tr!("invalid value '{value}' for '{argument}'", value = value, argument = argument),
        },
        ErrorKind::ValueValidation => {
            let what = tr!("invalid value '{value}' for '{argument}'", value = value, argument = argument);
            match error.source() {
                Some(why) => tr!("{what}: {why}", what = what, why = why),
                None => what,
            }
        }
        ErrorKind::ArgumentConflict => match values(error, ContextKind::PriorArg) {
            Some(prior) if prior != argument => {
                tr!("'{argument}' cannot be used with '{prior}'", argument = argument, prior = prior)
            }
            _ => tr!("'{argument}' may be given only once", argument = argument),
        },
        ErrorKind::InvalidUtf8 => tr!("an argument is not UTF-8"),
        _ => tr!("the arguments cannot be understood: {detail}", detail = error.kind()),
    }
}

fn values(error: &Error, kind: ContextKind) -> Option<String> {
    Some(match error.get(kind)? {
        ContextValue::String(value) => value.clone(),
        ContextValue::Strings(values) => values.join(", "),
        ContextValue::StyledStr(text) => text.to_string(),
        ContextValue::StyledStrs(texts) => {
            texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        ContextValue::Number(number) => number.to_string(),
        _ => return None,
    })
}
