//! What the Makefile's commands do, in Rust: `cargo xtask run | test | bench | fault | fuzz | real-models | openapi |
//! page | pictures | with-postgres`.
//!
//! Each step says what it does before it does it, and how long it took after. A step that fails says how to
//! repeat it alone.

mod arrows;
mod bench;
mod licences;
mod openapi;
mod page;
mod pictures;
mod port_holder;
mod postgres;
mod real_models;
mod run;
mod step;
mod test;
#[cfg(test)]
mod tidy;

use std::process::ExitCode;

use anyhow::bail;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match obey(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n── {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn obey(arguments: &[String]) -> anyhow::Result<()> {
    let (command, rest) = arguments.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    match command {
        "run" => run::run(rest),
        "test" => test::test(),
        "bench" => bench::bench(rest),
        "fault" => test::fault(rest),
        "real-models" => real_models::real_models(rest),
        "fuzz" => test::fuzz(rest),
        "openapi" => openapi::openapi(),
        "page" => page::build(),
        "pictures" => pictures::pictures(),
        "with-postgres" => test::repeat_with_postgres(rest),
        _ => bail!(
            "use one of: run, test, bench, fault, fuzz, real-models, openapi, page, pictures, with-postgres"
        ),
    }
}
