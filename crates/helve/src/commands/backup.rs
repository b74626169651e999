//! `helve backup` and `helve restore`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use helve_types::{Timestamp, World};
use serde::Serialize;

use super::db::configured;
use super::{Common, log_quietly};
use crate::assemble::install_tls;
use crate::backup::{
    AboutBackup, BackupProgress, BackupSource, CheckedBackup, RestoreProgress, RestoreTarget, Restored,
    WrittenBackup, check_backup, restore_backup, write_backup,
};
use crate::client::{Reach, when};
use crate::i18n::{self, tr};
use crate::output::{errln, outln};

/// How often something that takes long is told of.
const TOLD: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    /// The file to write; it must not exist
    file: PathBuf,
    /// Only the database, without notes, tools, skills and the session key
    #[arg(long)]
    database_only: bool,
    /// Print JSON: `{"file", "bytes", "files", "layout", "created_at", "left_out"}`
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// The backup
    file: PathBuf,
    /// Move what the data directory has aside, to a folder `replaced-…` in it
    #[arg(long)]
    replace: bool,
    /// Only check the backup; change nothing
    #[arg(long, conflicts_with = "replace")]
    check: bool,
    /// Print JSON: `{"file", "files", "layout", "created_at", "helve", "replaced"}`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct PrintedBackup {
    file: PathBuf,
    bytes: u64,
    files: usize,
    layout: u32,
    created_at: i64,
    left_out: Vec<PathBuf>,
}

#[derive(Serialize)]
struct PrintedRestore {
    file: PathBuf,
    files: usize,
    layout: u32,
    created_at: i64,
    /// The version that made the backup.
    helve: String,
    replaced: Option<PathBuf>,
}

pub(super) fn back_up(args: &BackupArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    install_tls();
    if args.json {
        i18n::speak_to_programs();
    }
    let config = args.reach.load_shared()?;
    let database = configured(&config);
    let source = BackupSource { data: &config.data, database: &database, database_only: args.database_only };
    let mut teller = Teller::new(!args.json);
    let written = write_backup(&args.file, &source, World::real().now(), |progress| match progress {
        BackupProgress::Database(progress) => teller.tell(|| {
            tr!(
                "database: {bytes} of about {of} MiB copied",
                bytes = progress.bytes >> 20,
                of = progress.of_bytes >> 20
            )
        }),
        BackupProgress::Rows(progress) => {
            teller.tell(|| tr!("{table}: {rows} rows copied", table = progress.table, rows = progress.rows));
        }
        BackupProgress::File { path, bytes } => teller.tell_file(&path, bytes),
    })?;
    let WrittenBackup { about, files, bytes, left_out } = written;
    if args.json {
        let AboutBackup { layout, created_at, .. } = about;
        let report = PrintedBackup { file: args.file.clone(), bytes, files, layout, created_at, left_out };
        outln!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(ExitCode::SUCCESS);
    }
    for path in &left_out {
        errln!("{}", tr!("left out: {path} is no plain file", path = path.display()));
    }
    outln!(
        "{}",
        tr!(
            "{file}: {files} files, {bytes} bytes, layout {layout}",
            file = args.file.display(),
            files = files,
            bytes = bytes,
            layout = about.layout
        )
    );
    Ok(ExitCode::SUCCESS)
}

pub(super) fn restore(args: &RestoreArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    install_tls();
    if args.json {
        i18n::speak_to_programs();
    }
    let mut teller = Teller::new(!args.json);
    if args.check {
        let checked = check_backup(&args.file, |path, bytes| teller.tell_file(path, bytes))?;
        let CheckedBackup { about, files, .. } = checked;
        return report(args, about, files, None);
    }
    let config = args.common.load(None)?;
    let database = configured(&config);
    let target = RestoreTarget { data: &config.data, database: &database, replace: args.replace };
    let restored = restore_backup(&args.file, &target, World::real().now(), |progress| match progress {
        RestoreProgress::File { path, bytes } => teller.tell_file(&path, bytes),
        RestoreProgress::Rows(progress) => {
            teller.tell(|| tr!("{table}: {rows} rows copied", table = progress.table, rows = progress.rows));
        }
    })?;
    let Restored { about, files, aside } = restored;
    report(args, about, files, aside)
}

fn report(
    args: &RestoreArgs,
    about: AboutBackup,
    files: usize,
    replaced: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    if args.json {
        let AboutBackup { layout, created_at, helve, .. } = about;
        let report = PrintedRestore { file: args.file.clone(), files, layout, created_at, helve, replaced };
        outln!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(ExitCode::SUCCESS);
    }
    let (file, made) = (args.file.display(), when(Timestamp(about.created_at)));
    let (version, layout) = (&about.helve, about.layout);
    if args.check {
        outln!(
            "{}",
            tr!(
                "{file} is whole: {files} files, made {made} by Helve {version}, layout {layout}",
                file = file,
                files = files,
                made = made,
                version = version,
                layout = layout
            )
        );
        return Ok(ExitCode::SUCCESS);
    }
    outln!(
        "{}",
        tr!(
            "{files} files restored, made {made} by Helve {version}, layout {layout}; now run `helve doctor`, then `helve serve`",
            files = files,
            made = made,
            version = version,
            layout = layout
        )
    );
    if let Some(aside) = replaced {
        outln!("{}", tr!("what was there before is in {aside}", aside = aside.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Says now and then how far it is.
struct Teller {
    is_on: bool,
    last: Instant,
}

impl Teller {
    fn new(is_on: bool) -> Self {
        Self { is_on, last: Instant::now() }
    }

    fn tell(&mut self, text: impl FnOnce() -> String) {
        if self.is_on && self.last.elapsed() >= TOLD {
            self.last = Instant::now();
            errln!("{}", text());
        }
    }

    fn tell_file(&mut self, path: &str, bytes: u64) {
        self.tell(|| tr!("{path}: {bytes} bytes", path = path, bytes = bytes));
    }
}
