//! The reference pages of commands and configuration say what the binary has.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory};
use expect_test::expect_file;
use helve::commands::Cli;
use helve::config::File;

const CONFIGURATION: &str = include_str!("../../../../docs/reference/configuration.md");

/// A table with a key that does not exist, one for each table of the file. What is found under `NAME` is the same for
/// every name.
const TABLES: &[(&str, &str)] = &[
    ("Top level", "zz = 1"),
    ("`[server]`", "[server]\nzz = 1"),
    ("`[[models]]`", "[[models]]\nzz = 1"),
    ("`[prices]`", "[prices]\nzz = 1"),
    ("`[prompt]`", "[prompt]\nzz = 1"),
    ("`[[agents]]`", "[[agents]]\nzz = 1"),
    ("`[[permissions]]`", "[[permissions]]\nzz = 1"),
    ("`[tools.NAME]`", "[tools.x]\nzz = 1"),
    ("`[labels]`", "[labels]\nzz = 1"),
    ("`[budgets]`", "[budgets.run]\nzz = 1"),
    ("`[limits]`", "[limits]\nzz = 1"),
    ("`[compaction]`", "[compaction]\nzz = 1"),
    ("`[egress]`", "[egress]\nzz = 1"),
    ("`[secrets.NAME]`", "[secrets.x]\nzz = 1"),
    ("`[[hooks]]`", "[[hooks]]\nzz = 1"),
    ("`[databases.NAME]`", "[databases.x]\nzz = 1"),
    ("`[images]`", "[images]\nzz = 1"),
    ("`[approvals]`", "[approvals]\nzz = 1"),
    ("`[auth]`", "[auth]\nzz = 1"),
    ("`[auth.oidc]`", "[auth.oidc]\nzz = 1"),
    ("`[alarms]`", "[alarms]\nzz = 1"),
];

/// The texts between backticks.
fn quoted(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The keys that a table may have, as the error about an unknown one names them.
fn keys(table: &str) -> BTreeSet<String> {
    let error = toml::from_str::<File>(table).unwrap_err();
    let (_, expected) = error.message().split_once("expected").unwrap_or_else(|| panic!("{table}: {error}"));
    quoted(expected).into_iter().map(str::to_owned).collect()
}

/// The rows of a section of the page, by what is quoted in their first cell.
fn documented(heading: &str) -> BTreeSet<String> {
    let (_, rest) =
        CONFIGURATION.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("{heading}"));
    let section = rest.split("\n## ").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.flat_map(quoted).map(str::to_owned).collect()
}

#[test]
fn the_page_of_the_configuration_has_every_key_and_no_other() {
    let mut sections = keys("zz = 1");
    for (heading, table) in TABLES {
        let mut keys = keys(table);
        if *heading == "Top level" {
            // The tables have sections of their own.
            keys = ["default_model".to_owned()].into();
        }
        assert_eq!(documented(heading), keys, "docs/reference/configuration.md, {heading}");
        let name = heading.trim_matches(['`', '[', ']']).split('.').next().unwrap();
        sections.remove(name);
    }
    assert_eq!(sections, ["default_model".to_owned()].into(), "tables without a section");
}

/// What an argument looks like on the command line.
fn usage_of(argument: &Arg) -> String {
    let values: Vec<_> =
        argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    match argument.get_long() {
        None if argument.is_required_set() => values.join(" "),
        None => format!("[{}]", values.join(" ")),
        Some(long) if argument.get_action().takes_values() => format!("--{long} {}", values.join(" ")),
        Some(long) => format!("--{long}"),
    }
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default().replace('|', "\\|")
}

fn row(argument: &Arg) -> String {
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let is_shown = argument.get_action().takes_values() && defaults.iter().any(|value| !value.is_empty());
    let default = if is_shown { format!(" [default: {}]", defaults.join(", ")) } else { String::new() };
    format!("| `{}` | {}{default} |\n", usage_of(argument), first_line(argument.get_help()))
}

fn is_common(argument: &Arg) -> bool {
    argument.is_global_set() || matches!(argument.get_long(), Some("help" | "version"))
}

/// Paragraphs in lines of at most 120 columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![];
    for paragraph in text.split("\n\n") {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 120 {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.extend([line, String::new()]);
    }
    lines.pop();
    lines.join("\n")
}

/// The section of a command and those of its subcommands.
fn describe(page: &mut String, command: &Command, path: &str, level: usize) {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let stop = if about.ends_with(['.', '!']) { "" } else { "." };
    let about = wrapped(&format!("{about}{stop}"));
    writeln!(page, "\n{} `{path}`\n\n{about}", "#".repeat(level)).unwrap();
    let arguments: Vec<_> = command.get_arguments().filter(|argument| !is_common(argument)).collect();
    if !arguments.is_empty() {
        page.push_str("\n| argument or option | meaning |\n|---|---|\n");
        page.extend(arguments.into_iter().map(row));
    }
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        describe(page, subcommand, &format!("{path} {}", subcommand.get_name()), level + 1);
    }
}

#[test]
fn the_page_of_commands_is_what_the_binary_has() {
    let mut cli = Cli::command();
    cli.build();
    let mut page = String::from(
        "# Commands\n\n\
         This page is written by a test from the binary's own help: `UPDATE_EXPECT=1 cargo test -p helve --test it pages`.\n\
         How the commands are used is in [the terminal](../guide/terminal.md), what they find in\n\
         [which server the commands use](../guide/install.md#which-server-do-the-commands-use).\n\n\
         | option of every command | meaning |\n|---|---|\n",
    );
    let mut common: Vec<&Arg> = cli.get_arguments().collect();
    let of_reach =
        cli.find_subcommand("tools").unwrap().get_arguments().filter(|argument| argument.is_global_set());
    let known: BTreeSet<_> = common.iter().map(|argument| argument.get_long()).collect();
    common.extend(of_reach.filter(|argument| !known.contains(&argument.get_long())));
    page.extend(common.into_iter().map(row));
    page.push_str("\n`serve`, `db` and `restore` have no `--server`, and `parse` has only `--lang`.\n");
    for command in
        cli.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set())
    {
        describe(&mut page, command, &format!("helve {}", command.get_name()), 2);
    }
    expect_file!["../../../../docs/reference/commands.md"].assert_eq(&page);
}

#[test]
fn no_subcommand_has_an_option_that_means_something_else_for_every_command() {
    fn check(command: &Command, above: &[(String, String)], found: &mut Vec<String>) {
        let own = command.get_arguments().filter_map(|argument| Some((argument, argument.get_long()?)));
        let mut common = above.to_vec();
        for (argument, long) in own {
            let help = first_line(argument.get_help());
            if above.iter().any(|(name, meaning)| name == long && *meaning != help) {
                found.push(format!("{} --{long}", command.get_name()));
            }
            if argument.is_global_set() {
                common.push((long.to_owned(), help));
            }
        }
        command.get_subcommands().for_each(|subcommand| check(subcommand, &common, found));
    }
    let mut found = vec![];
    check(&Cli::command(), &[], &mut found);
    assert!(found.is_empty(), "{found:?}");
}

/// All documents of the repository.
fn documents() -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md"), root.join("README.zh-CN.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs/guide", "docs/reference", "docs/zh-CN"] {
        collect(&root.join(folder), &mut found);
    }
    found
}

/// The words of a command up to a pipe, a redirection, a comment or its end.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in command.chars() {
        match (quote, char) {
            (Some(open), char) if open == char => quote = None,
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, '|' | '<' | '>' | '&' | ';') => break,
            (None, '#') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            (_, char) => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}

/// The commands of a page: lines of blocks, and what stands between backticks.
fn commands(page: &str) -> Vec<Vec<String>> {
    let starts = |text: &str| {
        let is_program = |at: usize| {
            let before = text[..at].trim_end();
            let is_path = before.ends_with('/') && !before.contains(' ');
            is_path
                || before.is_empty()
                || before == "$"
                || before.ends_with(['|', ';'])
                || before == "sudo -u helve"
        };
        let (at, _) = text.match_indices("helve ").find(|(at, _)| is_program(*at))?;
        Some(words(&text[at..]))
    };
    let mut in_block = false;
    let mut found = vec![];
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block && !line.trim_start().starts_with(['#', '{', '"', '[']) {
            found.extend(starts(line));
        } else if !in_block {
            found.extend(
                quoted(line).into_iter().filter(|text| text.starts_with("helve ")).filter_map(starts),
            );
        }
    }
    found
}

#[test]
fn every_command_in_the_documents_is_one_that_the_binary_takes() {
    let mut wrong = vec![];
    let mut compared = 0;
    for path in documents() {
        let page = std::fs::read_to_string(&path).unwrap();
        for command in commands(&page) {
            let is_sketch = command.iter().any(|word| word.contains('…') || word == "query-worker");
            if command.len() < 2 || is_sketch {
                continue;
            }
            compared += 1;
            let Err(error) = Cli::command().try_get_matches_from(&command) else { continue };
            // A page may name a command without its arguments.
            let is_wrong = matches!(
                error.kind(),
                ErrorKind::UnknownArgument
                    | ErrorKind::InvalidSubcommand
                    | ErrorKind::InvalidValue
                    | ErrorKind::ValueValidation
            );
            if is_wrong {
                wrong.push(format!("{}: {}: {}", path.display(), command.join(" "), error.kind()));
            }
        }
    }
    assert!(compared > 100, "{compared}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
