//! `make run`: from a fresh clone to the page in a browser.

use std::process::Command;

use anyhow::Context;

use crate::page;
use crate::step::{root, step};

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    page::build()?;
    // Quick to compile, quick to run: the first build takes a few minutes, the next ones seconds.
    step("server: build", "", &["cargo", "build", "--profile", "quick", "-p", "helve"])?;
    let binary = root().join("target/quick/helve");
    println!("\n── Helve starts. Open http://localhost:8890 in a browser; Ctrl-C stops it.\n");
    let mut serve = Command::new(&binary);
    serve.arg("serve").args(arguments).current_dir(root());
    if !arguments.iter().any(|argument| argument == "--data") && std::env::var_os("HELVE_DATA").is_none() {
        serve.args(["--data", "data"]);
    }
    let status = serve.status().with_context(|| format!("`{}` cannot be started", binary.display()))?;
    std::process::exit(status.code().unwrap_or(1));
}
