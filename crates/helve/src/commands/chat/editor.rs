//! Arguments in the person's own editor.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use helve_types::World;
use serde_json::Value;

use crate::i18n::tr;

/// The editor that the person has chosen, if there is one.
pub(super) fn chosen() -> Option<String> {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

/// Lets the person change the text, and gives back what became of it. Blocks while they do.
pub(super) fn edit(editor: &str, arguments: &str) -> anyhow::Result<String> {
    let pretty =
        serde_json::from_str::<Value>(arguments).and_then(|value| serde_json::to_string_pretty(&value));
    let name = format!(
        "helve-arguments-{:x}.json",
        u64::from_be_bytes(World::real().random_secret()[..8].try_into()?)
    );
    let path = std::env::temp_dir().join(name);
    write_private(&path, &pretty.unwrap_or_else(|_| arguments.to_owned()))
        .with_context(|| tr!("`{path}` cannot be written", path = path.display()))?;
    let edited = run(editor, &path);
    _ = std::fs::remove_file(&path);
    edited
}

fn run(editor: &str, path: &Path) -> anyhow::Result<String> {
    let mut words = editor.split_whitespace();
    let program = words.next().with_context(|| tr!("no editor is named"))?;
    let status = Command::new(program)
        .args(words)
        .arg(path)
        .status()
        .with_context(|| tr!("the editor `{editor}` cannot be started", editor = editor))?;
    ensure!(
        status.success(),
        tr!(
            "the editor `{editor}` ended with {status}; its text was not used",
            editor = editor,
            status = status
        )
    );
    Ok(std::fs::read_to_string(path)?)
}

/// What a model wants to send is private.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    writeln!(file, "{text}")
}
