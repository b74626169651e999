//! What drivers want of the process for the runs of subagents.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use helve_store::StoreError;
use helve_types::{CallId, Fact, Live, ParentCall, PartId, PartKind, RunId, UserId};

use crate::feed::{Feed, Frame};
use crate::follow::Follower;

/// How many runs of subagents there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubagentLimits {
    /// Levels below a run that people started.
    pub depth_max: usize,
    /// That one run begins.
    pub per_run_max: usize,
    /// In all below a run that people started.
    pub per_tree_max: usize,
}

impl Default for SubagentLimits {
    fn default() -> Self {
        Self { depth_max: 3, per_run_max: 10, per_tree_max: 30 }
    }
}

/// The run of a subagent that is to be opened.
#[derive(Debug, Clone)]
pub struct SubagentTask {
    pub run: RunId,
    pub user: UserId,
    pub agent: String,
    pub task: String,
    pub parent: ParentCall,
    pub request_id: Option<String>,
}

/// Why a subagent's run is not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenSubagentError {
    /// In words for the model.
    #[error("{0}")]
    Refused(String),

    #[error("the server goes down")]
    Closing,

    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Opens and stops the runs of subagents. Everything here may be asked twice: a driver that resumes a run asks again.
pub trait SubagentHost: Send + Sync {
    /// Opens the run, unless it is there already.
    fn open_subagent(&self, task: SubagentTask) -> BoxFuture<'_, Result<(), OpenSubagentError>>;

    fn stop_subagent(&self, run: RunId, by: String);

    /// Something happened in a subagent's run that the run which it works for has to know.
    fn notify_parent(&self, parent: RunId, run: RunId) -> BoxFuture<'_, ()>;

    /// The run is over, and subagents of it may still be at work, or have ended unheard.
    fn report_to_conversation(&self, ended: RunId);
}

/// More of a subagent's text than this is not shown with the call; it is all in its own run.
const SHOWN_BYTES_MAX: usize = 64 << 10;

/// Shows what a subagent writes as the progress of the call that it works on, until it waits or is over.
pub async fn show_progress(mut follower: Follower, feed: Arc<Feed>, call: CallId, tool: String) {
    let part = PartId::from(&call);
    let mut shown = ShownText::default();
    while let Some(Ok(frame)) = follower.next().await {
        let piece = match frame {
            Frame::Live(Live::PartStarted { part, kind: PartKind::Text, text, .. }) => {
                shown.begin(part, &text)
            }
            Frame::Live(Live::PartDelta { part, text }) => shown.add(&part, &text),
            Frame::Event(recorded) if matches!(recorded.event.fact, Fact::RunWaiting { .. }) => return,
            _ => continue,
        };
        if !piece.is_empty() {
            feed.push_progress(&part, &tool, &piece, 0);
        }
        if shown.bytes > SHOWN_BYTES_MAX {
            return;
        }
    }
}

/// The text of the part that is being shown.
#[derive(Default)]
struct ShownText {
    part: Option<PartId>,
    text: String,
    bytes: usize,
}

impl ShownText {
    /// A part begins, or is told anew from its beginning.
    fn begin(&mut self, part: PartId, text: &str) -> String {
        let is_same = self.part.as_ref() == Some(&part);
        let piece = match text.strip_prefix(self.text.as_str()) {
            Some(more) if is_same => more.to_owned(),
            _ if self.bytes > 0 => format!("\n\n{text}"),
            _ => text.to_owned(),
        };
        self.part = Some(part);
        text.clone_into(&mut self.text);
        self.bytes += piece.len();
        piece
    }

    fn add(&mut self, part: &PartId, text: &str) -> String {
        if self.part.as_ref() != Some(part) {
            return String::new();
        }
        self.text.push_str(text);
        self.bytes += text.len();
        text.to_owned()
    }
}

/// Whether the run that a subagent works for has to know of this fact.
pub(crate) fn concerns_parent(fact: &Fact) -> bool {
    let is_question = matches!(
        fact,
        Fact::ApprovalAsked(_)
            | Fact::ApprovalAnswered { .. }
            | Fact::SubagentAsked(_)
            | Fact::SubagentAnswered(_)
    );
    is_question || fact.is_last()
}
