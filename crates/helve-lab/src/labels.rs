//! The points at which the server dies, and what makes it die there.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use helve_types::FailPoints;
use rustix::process::{Pid, Signal};

/// Points that the product itself passes (`World::failpoint`).
pub const IN_PRODUCT: &[&str] = &[
    "run.before_open",
    "run.after_open",
    "run.claimed",
    "model.heard",
    "model.noted",
    "tool.before_started",
    "tool.after_started",
    "tool.after_run",
    "tool.before_outcome",
    "tool.after_outcome",
    "approval.before_answer",
    "approval.after_answer",
    "client.before_claim",
    "client.after_claim",
    "client.before_result",
    "client.after_result",
    "budget.before_ask",
    "budget.after_ask",
    "budget.after_spent",
    "message.before_queued",
    "message.after_queued",
    "history.before_compacted",
    "history.after_compacted",
    "run.before_end",
    "run.after_end",
];

/// Points of the product that the lab's load does not pass: its agents have no subagents, and its questions are answered by
/// one person. The tests of these parts kill there.
pub const NOT_IN_LOAD: &[&str] = &[
    "approval.before_vote",
    "approval.after_vote",
    "subagent.before_open",
    "subagent.after_open",
    "subagent.before_ended",
    "subagent.before_result",
    "subagent.after_result",
];

/// Points around the store, which the lab puts there: see `store_fault::ObservedStore`.
pub const IN_STORE: &[&str] = &["store.queued", "store.committed", "store.published"];

/// Points that others pass while the server waits for them.
pub const OUTSIDE: &[&str] = &["ledger.executed", "mock.half_said"];

pub fn all() -> impl Iterator<Item = &'static str> {
    IN_PRODUCT.iter().chain(IN_STORE).chain(OUTSIDE).copied()
}

/// The `nth` time that a label is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashPoint {
    pub label: &'static str,
    pub nth: u32,
}

impl fmt::Display for CrashPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.label, self.nth)
    }
}

impl FromStr for CrashPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, nth) = text.split_once(':').unwrap_or((text, "1"));
        let label = all().find(|label| *label == name).ok_or_else(|| {
            let known: Vec<_> = all().collect();
            format!("there is no label `{name}`; the labels are: {}", known.join(", "))
        })?;
        let nth = nth.parse().ok().filter(|nth| *nth > 0).ok_or_else(|| format!("`{nth}` is no number"))?;
        Ok(Self { label, nth })
    }
}

impl CrashPoint {
    /// Fail points that end this process at the crash point.
    pub fn failpoints(self) -> FailPoints {
        self.failpoints_with(Arc::new(die))
    }

    /// Fail points that call `action` at the crash point.
    pub fn failpoints_with(self, action: Arc<dyn Fn() + Send + Sync>) -> FailPoints {
        let passed = AtomicU32::new(0);
        FailPoints::new(move |label| {
            if label == self.label && passed.fetch_add(1, Ordering::Relaxed) + 1 == self.nth {
                action();
            }
        })
    }
}

/// Ends the process as a power cut would: no destructor, no flush, no goodbye.
fn die() {
    _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
    // The signal is on its way; this thread must not do anything more.
    loop {
        std::thread::park();
    }
}

/// Kills another process.
pub(crate) fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Tells another process to stop.
pub(crate) fn terminate(pid: u32) {
    signal(pid, Signal::TERM);
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may be gone already, which is what was wanted.
        _ = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// All labels in the sources under a directory.
    fn labels_in(dir: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                labels_in(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let labels = text.split("failpoint(\"").skip(1).filter_map(|rest| rest.split('"').next());
                found.extend(labels.map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_label_of_the_product_is_known_here_and_no_other() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(crates).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name != "helve-lab") && path.join("src").is_dir() {
                labels_in(&path.join("src"), &mut found);
            }
        }
        let known = IN_PRODUCT.iter().chain(NOT_IN_LOAD);
        let known: BTreeSet<_> = known.map(|label| (*label).to_owned()).collect();
        assert_eq!(found, known);
    }

    #[test]
    fn a_crash_point_reads_back_and_acts_once_at_its_turn() {
        let point: CrashPoint = "tool.after_run:2".parse().unwrap();
        assert_eq!(point.to_string(), "tool.after_run:2");
        assert!("tool.after_lunch".parse::<CrashPoint>().is_err());
        assert!("tool.after_run:0".parse::<CrashPoint>().is_err());
        let actions = Arc::new(AtomicU32::new(0));
        let counted = actions.clone();
        let failpoints = point.failpoints_with(Arc::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        for label in ["tool.after_run", "model.heard", "tool.after_run", "tool.after_run"] {
            failpoints.reach(label);
        }
        assert_eq!(actions.load(Ordering::Relaxed), 1);
    }
}
