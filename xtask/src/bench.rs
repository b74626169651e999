//! `make bench`: figures as ratios within one run.

use crate::step::step;

/// Beside other people's parsers, in a workspace of its own: the product must not depend on them.
const PARSERS: &str = "parsers";

pub(crate) fn bench(arguments: &[String]) -> anyhow::Result<()> {
    match arguments.split_first() {
        None => {
            run("bench", "bench", &[])?;
            run("bench: parsers", "bench/parsers", &[])
        }
        Some((section, more)) if section == PARSERS => run("bench: parsers", "bench/parsers", more),
        Some(_) => run("bench", "bench", arguments),
    }
}

fn run(what: &str, folder: &str, arguments: &[String]) -> anyhow::Result<()> {
    let mut line = vec!["cargo", "run", "--release", "--quiet", "--"];
    line.extend(arguments.iter().map(String::as_str));
    step(what, folder, &line)
}
