//! Calls that only read, made while the model still writes the message that asks for them.
//!
//! Nothing of such a call counts before its message is complete. Then the pipeline passes all stages as ever, and takes the
//! answer where it would send the call; the record says so in the same order. If the message breaks off, the answer is
//! dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helve_policy::Verdict;
use helve_types::{Effect, Fact, ToolCall, ToolOutput, Trail};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use crate::check::{Expected, check_arguments};
use crate::gate::{Candidate, admit_call, judge_call};
use crate::link::Given;
use crate::outcome::Stop;
use crate::permit::Permit;
use crate::{CallContext, Pipeline, Progress, Request, Tool};

/// What a call has to do with early reading.
#[derive(Debug, Clone, Default)]
pub enum Early {
    #[default]
    No,
    /// It is read early: what would be recorded about it is held back.
    Reading(HeldFacts),
    /// It was read early, and its message is complete.
    Read(Arc<Mutex<Option<EarlyRead>>>),
}

impl From<EarlyRead> for Early {
    fn from(read: EarlyRead) -> Self {
        Self::Read(Arc::new(Mutex::new(Some(read))))
    }
}

impl Early {
    /// The early read, where nothing has used it.
    pub fn take_unused(&self) -> Option<EarlyRead> {
        match self {
            Self::Read(read) => read.lock().unwrap_or_else(PoisonError::into_inner).take(),
            Self::No | Self::Reading(_) => None,
        }
    }
}

/// Facts about a call that is not on record yet.
#[derive(Debug, Clone, Default)]
pub struct HeldFacts(Arc<Held>);

#[derive(Debug, Default)]
struct Held {
    state: Mutex<HeldState>,
    /// A fact was added.
    added: Notify,
}

#[derive(Debug, Default)]
struct HeldState {
    facts: Vec<Fact>,
    /// The answer counts for nothing, so nothing more may be sent.
    is_closed: bool,
}

impl HeldFacts {
    /// Keeps the fact, and says whether what it tells of may still be done.
    #[must_use]
    pub(crate) fn hold_back(&self, fact: Fact) -> bool {
        let mut held = self.lock();
        if !held.is_closed {
            held.facts.push(fact);
            self.0.added.notify_one();
        }
        !held.is_closed
    }

    fn take(&self) -> Vec<Fact> {
        std::mem::take(&mut self.lock().facts)
    }

    fn close(&self) -> Vec<Fact> {
        let mut held = self.lock();
        held.is_closed = true;
        std::mem::take(&mut held.facts)
    }

    fn lock(&self) -> MutexGuard<'_, HeldState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is being made, or was. Dropping it stops it.
#[derive(Debug)]
pub struct EarlyRead {
    tool: String,
    version: String,
    arguments: String,
    held: HeldFacts,
    answer: AbortOnDropHandle<(Result<ToolOutput, Stop>, Trail)>,
}

impl EarlyRead {
    /// Stops the call. What is recorded if it was sent: its answer counts for nothing.
    pub fn discard(self, step: u32, attempt: u32) -> Option<Fact> {
        let sent = self.held.close();
        let Self { tool, version, arguments, .. } = self;
        (!sent.is_empty()).then_some(Fact::ToolDiscarded { step, attempt, tool, version, arguments })
    }

    fn is_read_by(&self, permit: &Permit) -> bool {
        self.tool == permit.tool.spec.name
            && self.version == permit.tool.version
            && self.arguments == permit.arguments.canonical
    }
}

impl Pipeline {
    /// Makes a call whose message is not complete yet, if it only reads and neither a person nor a hook has a say in it.
    pub async fn read_early(&self, call: &ToolCall, cx: &CallContext) -> Option<EarlyRead> {
        let (tool, _) = cx.toolbox.resolve(&call.name).ok()?;
        let only_reads = tool.spec.effect == Effect::Read && tool.tool.is_some();
        if !only_reads || tool.spec.name != call.name || self.has_hooks_about(&tool.spec.name, &cx.agent) {
            return None;
        }
        let arguments = check_arguments(Expected::of(tool, Given::Written), &call.arguments).await.ok()?;
        let asks_person =
            |tool: &Arc<dyn Tool>| tool.question(Request { arguments: &arguments.value }).is_some();
        if tool.tool.as_ref().is_some_and(asks_person) {
            return None;
        }
        let candidate = Candidate { tool: tool.clone(), changed: arguments.completed, arguments };
        let judgement = judge_call(self.rules(), &candidate, cx);
        if judgement.verdict != Verdict::Allow {
            return None;
        }
        let mut trail = Trail::default();
        let permit = admit_call(judgement, candidate, None, self.rules(), cx, &mut trail).ok()?;
        let held = HeldFacts::default();
        let cx = CallContext {
            early: Early::Reading(held.clone()),
            progress: Progress::default(),
            cancel: cx.cancel.child_token(),
            ..cx.clone()
        };
        let (version, arguments) = (permit.tool.version.clone(), permit.arguments.canonical.clone());
        let reading = async move {
            let mut trail = Trail::default();
            let answer = permit.run(&cx, &mut trail).await;
            (answer, trail)
        };
        let answer = AbortOnDropHandle::new(tokio::spawn(reading.in_current_span()));
        Some(EarlyRead { tool: call.name.clone(), version, arguments, held, answer })
    }
}

impl Permit {
    /// Runs the call, or takes the answer of one that was made early.
    pub(crate) async fn run_once(&self, cx: &CallContext, trail: &mut Trail) -> Result<ToolOutput, Stop> {
        let Early::Read(slot) = &cx.early else { return self.run(cx, trail).await };
        let read = slot.lock().unwrap_or_else(PoisonError::into_inner).take_if(|read| read.is_read_by(self));
        let Some(EarlyRead { held, mut answer, .. }) = read else { return self.run(cx, trail).await };
        // That the call was sent is recorded before its answer is waited for, as for any other call.
        let mut was_sent = false;
        let answered = loop {
            for fact in held.take() {
                was_sent = true;
                cx.journal.record(fact).await?;
            }
            tokio::select! {
                biased;
                () = held.0.added.notified() => {}
                answered = &mut answer => break answered,
            }
        };
        for fact in held.take() {
            was_sent = true;
            cx.journal.record(fact).await?;
        }
        let Ok((answer, mut stages)) = answered else { return self.run(cx, trail).await };
        // What kept it from being sent may be over.
        if !was_sent && answer.is_err() {
            return self.run(cx, trail).await;
        }
        trail.0.append(&mut stages.0);
        answer
    }
}
