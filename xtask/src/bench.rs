//! `make bench`: figures as ratios within one run.

use crate::step::step;

pub(crate) fn bench(arguments: &[String]) -> anyhow::Result<()> {
    let mut line = vec!["cargo", "run", "--release", "--quiet", "--"];
    line.extend(arguments.iter().map(String::as_str));
    step("bench", "bench", &line)
}
