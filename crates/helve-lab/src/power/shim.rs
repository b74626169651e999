//! The shim: compiled when it is needed, since every machine that builds Rust has a C compiler.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::drive::ServerCommand;

const SOURCE: &str = include_str!("../../preload/record.c");

pub(crate) struct Shim {
    library: PathBuf,
}

/// What is to be written down, and where.
pub(crate) struct Recording<'a> {
    pub(crate) file: &'a Path,
    pub(crate) under: &'a Path,
    /// The sync that fails.
    pub(crate) fail_sync: Option<u64>,
}

impl Shim {
    pub(crate) fn compile(dir: &Path) -> anyhow::Result<Self> {
        let (source, library) = (dir.join("record.c"), dir.join("record.so"));
        std::fs::write(&source, SOURCE)?;
        let made = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .output()
            .context("`cc` cannot be started; the power cuts need a C compiler")?;
        if !made.status.success() {
            bail!("preload/record.c does not compile:\n{}", String::from_utf8_lossy(&made.stderr));
        }
        Ok(Self { library })
    }

    /// The same command, on record.
    pub(crate) fn wrap_command(&self, command: &ServerCommand, recording: &Recording<'_>) -> ServerCommand {
        let set = |name: &str, value: &Path| {
            let mut set = OsString::from(format!("{name}="));
            set.push(value);
            set
        };
        let mut arguments = vec![
            set("LD_PRELOAD", &self.library),
            set("LAB_RECORD", recording.file),
            set("LAB_RECORD_UNDER", recording.under),
        ];
        arguments.extend(recording.fail_sync.map(|nth| OsString::from(format!("LAB_FAIL_SYNC={nth}"))));
        arguments.push(command.program.clone().into());
        arguments.extend(command.arguments.iter().cloned());
        // It becomes the server, so the process is the one that was started.
        ServerCommand { program: "env".into(), arguments }
    }
}
