//! `--help` in the language of the process: the tree of commands with every text replaced by its translation.

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};

use super::{Language, fill_in, language, translated};

/// As clap's own, with our headings.
const TEMPLATE: &str = "{before-help}{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}";

/// The command and all of its subcommands, in the language of this process.
pub fn localized(command: Command) -> Command {
    in_language(command, language())
}

pub(super) fn in_language(mut command: Command, language: Language) -> Command {
    if language == Language::English {
        return command;
    }
    // Makes the arguments that clap adds by itself, so that they are translated too.
    command.build();
    translate(command, language)
}

fn translate(mut command: Command, language: Language) -> Command {
    let text = |styled: &StyledStr| translated(language, &styled.to_string()).to_owned();
    if let Some(about) = command.get_about().map(text) {
        command = command.about(about);
    }
    if let Some(about) = command.get_long_about().map(text) {
        command = command.long_about(about);
    }
    if let Some(after) = command.get_after_help().map(text) {
        command = command.after_help(after);
    }
    command
        .help_template(TEMPLATE)
        .subcommand_help_heading("命令")
        .subcommand_value_name("命令")
        .mut_args(|argument| translate_argument(argument, language))
        .mut_subcommands(|subcommand| translate(subcommand, language))
}

fn translate_argument(argument: Arg, language: Language) -> Arg {
    let text = |styled: &StyledStr| translated(language, &styled.to_string()).to_owned();
    let notes = notes(&argument, language);
    let (help, long) = (argument.get_help().map(text), argument.get_long_help().map(text));
    let heading = if argument.is_positional() { "参数" } else { "选项" };
    let mut argument =
        argument.help_heading(heading).hide_default_value(true).hide_env(true).hide_possible_values(true);
    if let Some(help) = help {
        argument = argument.help(help + &notes);
    }
    if let Some(long) = long {
        argument = argument.long_help(long + &notes);
    }
    argument
}

/// What clap adds to the help of an argument, which it has in English only.
fn notes(argument: &Arg, language: Language) -> String {
    let mut notes = vec![];
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let values = |values: Vec<String>| values.join(", ");
    if takes_value && !argument.is_hide_possible_values_set() {
        let possible: Vec<String> =
            argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        if !possible.is_empty() {
            notes.push(fill_in(language, "possible values: {values}", &[("values", &values(possible))]));
        }
    }
    if takes_value && !argument.is_hide_default_value_set() {
        let defaults: Vec<String> =
            argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
        if defaults.iter().any(|value| !value.is_empty()) {
            notes.push(fill_in(language, "default: {value}", &[("value", &values(defaults))]));
        }
    }
    if let Some(variable) = argument.get_env().filter(|_| !argument.is_hide_env_set()) {
        let variable = variable.to_string_lossy();
        notes.push(fill_in(language, "environment variable: {name}", &[("name", &variable)]));
    }
    notes.iter().map(|note| format!(" [{note}]")).collect()
}
