//! `make test`: the whole truth, in the order of what fails fastest.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;

use crate::postgres::{NEWER, Postgres};
use crate::step::{exists, output, root, step, step_with};
use crate::{licences, page};

const CHROMIUM: &str = "/usr/bin/chromium";
const CHINESE_FONT: &str = "fonts-wqy-zenhei";

pub(crate) fn test() -> anyhow::Result<()> {
    let began = Instant::now();
    step("format", "", &["cargo", "fmt", "--all", "--check"])?;
    licences::check()?;
    page::build()?;
    step("page: lint, types, unit tests, generated files", "web", &["npm", "run", "--silent", "check"])?;
    step("lints", "", &["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    install("network", "ip", "iproute2")?;
    install("fault lab", "strace", "strace")?;
    let list = skipped_tests();
    _ = std::fs::remove_file(&list);
    // Tables, transcripts, contracts, wire tests, tidy, arrows, and the kill test.
    with_postgres("", &["cargo", "test", "--workspace", "--quiet"])?;
    with_postgres(NEWER, &["cargo", "test", "--quiet", "-p", "helve-store-sql", "--test", "it", "postgres"])?;
    step("documentation", "", &["cargo", "doc", "--workspace", "--no-deps", "--quiet"])?;
    browser()?;
    print_skipped_tests();
    println!("\n── everything passed in {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// Runs tests beside a PostgreSQL of their own, if there is one to be had: the installed one, or `NEWER`.
fn with_postgres(version: &str, line: &[&str]) -> anyhow::Result<()> {
    let postgres = Postgres::start(version)?;
    if postgres.is_none() && version == NEWER {
        return Ok(());
    }
    let what = if version.is_empty() { "tests".to_owned() } else { format!("tests on PostgreSQL {version}") };
    let mut variables = vec![("HELVE_SKIPPED_TESTS", skipped_tests().display().to_string())];
    variables.extend(postgres.iter().flat_map(Postgres::variables));
    step_with(&what, "", line, variables)
}

/// `with-postgres [--newer] COMMAND`: what `test` does around the tests, for those who repeat some of them.
pub(crate) fn repeat_with_postgres(arguments: &[String]) -> anyhow::Result<()> {
    let line: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match line.split_first() {
        Some((&"--newer", line)) => with_postgres(NEWER, line),
        _ => with_postgres("", &line),
    }
}

/// The file in which tests that cannot run here write their names and reasons (crates/helve-test-support).
fn skipped_tests() -> PathBuf {
    root().join("target/skipped-tests.txt")
}

fn print_skipped_tests() {
    match std::fs::read_to_string(skipped_tests()) {
        Ok(list) => {
            println!("\n── skipped tests, with the reason; with CI set they would have failed:\n{list}")
        }
        Err(_) => println!("\n── no test was skipped"),
    }
}

/// The journeys in a real browser, against the real binary.
fn browser() -> anyhow::Result<()> {
    install_browser()?;
    // The binary is the one that the tests have used: to build it alone would build what it rests on once more.
    step("browser: journeys", "web", &["npm", "run", "--silent", "e2e"])
}

/// Sees to it that there are a browser and a font with Chinese characters: without one, pictures show boxes instead.
pub(crate) fn install_browser() -> anyhow::Result<()> {
    if !install("browser", CHROMIUM, "chromium")? {
        bail!("this needs {CHROMIUM}: install Debian's package `chromium`");
    }
    install("browser", "fc-list", "fontconfig")?;
    if !has_chinese_font() {
        install_package("browser", CHINESE_FONT)?;
    }
    if !has_chinese_font() {
        println!(
            "no font with Chinese characters found: install one, such as Debian's package `{CHINESE_FONT}`"
        );
    }
    Ok(())
}

fn has_chinese_font() -> bool {
    output("", &["fc-list", ":lang=zh", "family"]).is_ok_and(|fonts| !fonts.trim().is_empty())
}

/// Sees to it that a program is there, from Debian's package where that can be had. Whether it is.
pub(crate) fn install(what: &str, program: &str, package: &str) -> anyhow::Result<bool> {
    if !exists(program) {
        install_package(what, package)?;
    }
    Ok(exists(program))
}

/// Installs one of Debian's packages, where that can be done.
fn install_package(what: &str, package: &str) -> anyhow::Result<()> {
    if output("", &["id", "-u"])?.trim() == "0" && exists("apt-get") {
        step(&format!("{what}: find {package}"), "", &["apt-get", "update", "-qq"])?;
        let line = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package];
        step(&format!("{what}: install {package}"), "", &line)?;
    }
    Ok(())
}

/// `make fault`: the long form of the fault lab, in a build that is quick to run.
pub(crate) fn fault(arguments: &[String]) -> anyhow::Result<()> {
    let build =
        ["cargo", "run", "--quiet", "--profile", "quick", "-p", "helve-lab", "--bin", "faultlab", "--"];
    let mut line = build.to_vec();
    // A command of its own, or options of the whole.
    if arguments.first().is_none_or(|first| first.starts_with('-')) {
        line.push("all");
    }
    line.extend(arguments.iter().map(String::as_str));
    step("fault lab", "", &line)
}

/// `make fuzz`: the parser of dialects and its repairs, for so many seconds each, at once.
pub(crate) fn fuzz(arguments: &[String]) -> anyhow::Result<()> {
    let seconds = match arguments {
        [] => "60",
        [seconds] if seconds.parse::<u32>().is_ok() => seconds,
        _ => bail!("say for how many seconds: make fuzz ARGS=3600"),
    };
    let line = ["cargo", "test", "--release", "-p", "helve-dialect", "--test", "fuzz", "--", "--nocapture"];
    step_with("fuzz", "", &line, [("FUZZ_SECONDS", seconds.to_owned())])
}
