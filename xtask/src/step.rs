//! One step of a command: announced, timed, and told how to repeat when it fails.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Runs a program in a folder below the root and fails if it does.
pub(crate) fn step(what: &str, folder: &str, line: &[&str]) -> anyhow::Result<()> {
    step_with(what, folder, line, [])
}

/// The same, with variables of its environment.
pub(crate) fn step_with(
    what: &str,
    folder: &str,
    line: &[&str],
    variables: impl IntoIterator<Item = (&'static str, String)>,
) -> anyhow::Result<()> {
    let shown = line.join(" ");
    println!("\n── {what}: {shown}");
    let began = Instant::now();
    let [program, arguments @ ..] = line else { bail!("a step needs a program") };
    let status = Command::new(program)
        .args(arguments)
        .envs(variables)
        .current_dir(root().join(folder))
        .status()
        .with_context(|| format!("`{program}` cannot be started; is it installed?"))?;
    if !status.success() {
        let place = if folder.is_empty() { String::new() } else { format!("cd {folder} && ") };
        bail!("{what} failed; to repeat it alone: {place}{shown}");
    }
    println!("── {what}: done in {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// Whether a program answers at all.
pub(crate) fn exists(program: &str) -> bool {
    let quiet = std::process::Stdio::null;
    Command::new(program).arg("--version").stdout(quiet()).stderr(quiet()).status().is_ok()
}

/// What a program prints.
pub(crate) fn output(folder: &str, line: &[&str]) -> anyhow::Result<String> {
    let [program, arguments @ ..] = line else { bail!("a step needs a program") };
    let output = Command::new(program).args(arguments).current_dir(root().join(folder)).output()?;
    if !output.status.success() {
        bail!("`{}` failed: {}", line.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
