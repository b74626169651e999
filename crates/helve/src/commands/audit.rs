//! `helve audit`: who did what, and whether the record of it is whole.
//!
//! It reads the database itself, whether a server runs or not.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use helve_store::{AuditFilter, AuditHead, AuditRecord, ChainBreak, Store, verify_audit};
use helve_store_sql::{DataDir, Syncs};
use helve_types::World;
use serde_json::{Value, json};

use super::{block_on, log_quietly};
use crate::assemble::{install_tls, open_store};
use crate::client::{Reach, when};
use crate::i18n::{self, tr};
use crate::output::{errln, outln, padded};

/// What `verify` ends with when the log is not whole.
const BROKEN: u8 = 3;

/// So many entries are read at a time.
const PAGE: usize = 500;

/// The progress is told after so many entries.
const TOLD_AFTER: u64 = 100_000;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    action: AuditAction,
}

#[derive(Debug, Subcommand)]
enum AuditAction {
    /// List the entries of the audit log, newest first
    List {
        /// Only what this user did, or what was done to what is theirs
        #[arg(long)]
        user: Option<String>,
        /// Only this action (`approval.answered`), or those of one subject (`approval`)
        #[arg(long)]
        action: Option<String>,
        /// So many at most
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Print JSON, one entry on each line
        #[arg(long)]
        json: bool,
    },
    /// Check that no entry was changed, removed, inserted or moved, and name the first place where one was
    ///
    /// Exits with code 0 if the log is whole, and with 3 if it is not. That the end was cut off is only found with
    /// `--expect`.
    Verify {
        /// What `helve audit head` printed before; the log must still hold it. May be given several times
        #[arg(long, value_name = "HEAD")]
        expect: Vec<AuditHead>,
        /// Print JSON: `{"whole", "entries", "head"}` or `{"whole", "problem", "seq"}`
        #[arg(long)]
        json: bool,
    },
    /// Print the number and hash of the last entry; keep it elsewhere, for `--expect` of `helve audit verify`
    Head,
}

pub(super) fn run(args: AuditArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    let config = args.reach.load_shared()?;
    let world = World::real();
    install_tls();
    block_on(async {
        let dir = DataDir::open_shared(&config.data)?;
        let opened = open_store(&config, dir, &world, Syncs::default()).await?;
        act(args.action, &*opened.store).await
    })
}

async fn act(action: AuditAction, store: &dyn Store) -> anyhow::Result<ExitCode> {
    match action {
        AuditAction::List { user, action, limit, json } => {
            if json {
                i18n::speak_to_programs();
            }
            list(store, AuditFilter { user, action, ..AuditFilter::default() }, limit, json).await
        }
        AuditAction::Verify { expect, json } => {
            if json {
                i18n::speak_to_programs();
            }
            verify(store, expect, json).await
        }
        AuditAction::Head => {
            outln!("{}", store.audit_head().await?);
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn list(
    store: &dyn Store,
    mut filter: AuditFilter,
    limit: usize,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let mut left = limit;
    while left > 0 {
        let page = store.audit_records(filter.clone(), left.min(PAGE)).await?;
        let Some(last) = page.last() else { break };
        (filter.before, left) = (Some(last.entry.seq), left - page.len());
        for record in &page {
            if as_json {
                outln!("{}", entry_json(record));
            } else {
                outln!("{}", entry_line(record));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The names where they are known, and else the pseudonyms.
fn entry_line(record: &AuditRecord) -> String {
    let AuditRecord { entry, by, about } = record;
    let by = by.as_ref().unwrap_or(&entry.by);
    let about = match (about, &entry.about) {
        (Some(about), _) | (None, Some(about)) => format!(" ({about})"),
        (None, None) => String::new(),
    };
    let (action, detail) = (padded(&entry.action, 20), &entry.detail);
    format!("{:>6}  {}  {action}  {by}{about}  {detail}", entry.seq, when(entry.at))
}

fn entry_json(record: &AuditRecord) -> Value {
    let AuditRecord { entry, by, about } = record;
    json!({
        "seq": entry.seq,
        "at": entry.at.0,
        "action": entry.action,
        "detail": entry.detail,
        "by": by,
        "about": about,
        "by_pseudonym": entry.by,
        "about_pseudonym": entry.about,
        "previous": entry.previous.to_string(),
        "hash": entry.hash.to_string(),
    })
}

async fn verify(store: &dyn Store, expect: Vec<AuditHead>, as_json: bool) -> anyhow::Result<ExitCode> {
    let mut told = 0;
    let verified = verify_audit(store, expect, |entries| {
        if !as_json && entries >= told + TOLD_AFTER {
            told = entries;
            errln!("{}", tr!("{entries} entries are whole", entries = entries));
        }
    })
    .await?;
    match &verified {
        Ok(head) if as_json => {
            outln!("{}", json!({"whole": true, "entries": head.seq, "head": head.to_string()}));
        }
        Ok(head) => outln!(
            "{}",
            tr!("the audit log is whole: {entries} entries, head {head}", entries = head.seq, head = head)
        ),
        Err(broken) if as_json => {
            let (problem, seq) = code_of(broken);
            outln!(
                "{}",
                json!({"whole": false, "problem": problem, "seq": seq, "detail": broken.to_string()})
            );
        }
        Err(broken) => errln!("{}", tr!("the audit log is NOT whole: {problem}", problem = describe(broken))),
    }
    Ok(if verified.is_ok() { ExitCode::SUCCESS } else { BROKEN.into() })
}

fn code_of(broken: &ChainBreak) -> (&'static str, u64) {
    match *broken {
        ChainBreak::Changed { seq } => ("changed", seq),
        ChainBreak::Removed { from, .. } => ("removed", from),
        ChainBreak::Inserted { from, .. } => ("inserted", from),
        ChainBreak::Reordered { seq, .. } => ("reordered", seq),
        ChainBreak::Replaced { seq } => ("replaced", seq),
        ChainBreak::Cut { last, .. } => ("cut", last),
        ChainBreak::Rewritten { seq } => ("rewritten", seq),
    }
}

fn describe(broken: &ChainBreak) -> String {
    match *broken {
        ChainBreak::Changed { seq } => {
            tr!("entry {seq} was changed: its content does not have its hash", seq = seq)
        }
        ChainBreak::Removed { from, to } => {
            tr!("entries {from} to {to} were removed", from = from, to = to)
        }
        ChainBreak::Inserted { from, to } => {
            tr!("entries {from} to {to} were inserted", from = from, to = to)
        }
        ChainBreak::Reordered { seq, written_as } => tr!(
            "entry {seq} is not in its place: it was written as entry {written_as}",
            seq = seq,
            written_as = written_as
        ),
        ChainBreak::Replaced { seq } => tr!(
            "entry {seq} does not follow the one before it, which was replaced, or one before that",
            seq = seq
        ),
        ChainBreak::Cut { last, expected } => tr!(
            "the end was cut off: the last entry is {last}, and entry {expected} is known to have been written",
            last = last,
            expected = expected
        ),
        ChainBreak::Rewritten { seq } => tr!(
            "entry {seq} is not the one whose hash was kept: the log up to it was written anew",
            seq = seq
        ),
    }
}
