//! `helve`: one binary that gives models tools.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use helve::commands::{Cli, run};
use helve::i18n::{self, Language};
use helve::output;

/// Faster than the system's with many small pieces from many threads, which is what a conversation is.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    i18n::set_language(Language::choose(&arguments, |name| std::env::var(name).ok()));
    let matches = i18n::localized(Cli::command()).try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return i18n::print_clap_error(&error).into(),
    };
    match run(cli) {
        Ok(code) => code,
        Err(error) if output::is_broken_pipe(&error) => output::BROKEN_PIPE.into(),
        Err(error) => {
            // One clear line, with the reasons behind it.
            output::print_error(&error);
            ExitCode::FAILURE
        }
    }
}
