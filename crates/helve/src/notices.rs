//! Questions over a webhook: a notice that a person is asked, with a link that answers.
//!
//! A question that was put on record leaves its id in a bounded queue without waiting; `keep_sending` reads the question
//! from the store and tells the webhook, with a few tries. What does not fit or cannot be delivered is counted and logged.
//! When the server starts, every question that is still open is told again, so none is lost by a stop: the receiver
//! may hear of a question more than once, and knows it by its id.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use helve_runtime::OnAsked;
use helve_server::ApprovalLinks;
use helve_store::{ApprovalFilter, ApprovalState, Page, Scope, Store, StoreError};
use helve_types::{ApprovalId, World};
use tokio::sync::mpsc;

use crate::webhook::Webhook;

/// More questions than this do not wait.
const QUEUE_MAX: usize = 1_024;
/// So many are told at the same time.
const AT_ONCE: usize = 4;
const PAGE: usize = 200;

/// Who is told of questions, and how.
pub struct Notices {
    queue: mpsc::Sender<ApprovalId>,
    /// Taken by the sender.
    asked: Mutex<Option<mpsc::Receiver<ApprovalId>>>,
    webhook: Webhook,
    links: ApprovalLinks,
    lost: Arc<AtomicU64>,
}

impl Notices {
    pub fn new(webhook: Webhook, links: ApprovalLinks) -> Arc<Self> {
        let (queue, asked) = mpsc::channel(QUEUE_MAX);
        Arc::new(Self { queue, asked: Mutex::new(Some(asked)), webhook, links, lost: Arc::default() })
    }

    /// What a runtime calls with every question that is on record.
    pub fn on_asked(self: &Arc<Self>) -> OnAsked {
        let notices = self.clone();
        Arc::new(move |approval| {
            if let Err(error) = notices.queue.try_send(approval) {
                notices.lose(approval, &error.to_string());
            }
        })
    }

    pub fn links(&self) -> &ApprovalLinks {
        &self.links
    }

    /// How many questions the webhook was not told of.
    pub fn lost(&self) -> &Arc<AtomicU64> {
        &self.lost
    }

    /// Tells of the questions that were open before, and then of each that is asked. Ends with the process.
    pub async fn keep_sending(&self, store: &Arc<dyn Store>, world: &World) {
        let Some(asked) = self.asked.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let before = match open(&**store).await {
            Ok(before) => before,
            Err(error) => {
                tracing::error!(%error, "open questions not read: their notices are not sent again");
                vec![]
            }
        };
        let before = stream::iter(before).map(|approval| (approval, true));
        let asked = stream::unfold(asked, async |mut asked| Some(((asked.recv().await?, false), asked)));
        before
            .chain(asked)
            .for_each_concurrent(AT_ONCE, |(approval, again)| self.tell(&**store, world, approval, again))
            .await;
    }

    async fn tell(&self, store: &dyn Store, world: &World, approval: ApprovalId, again: bool) {
        let held = match store.approval(Scope::Everyone, approval).await {
            // It was answered meanwhile.
            Ok(held) if held.state != ApprovalState::Pending => return,
            Ok(held) => held,
            Err(error) => return self.lose(approval, &error.to_string()),
        };
        let notice = self.links.approval_notice(held, again, world.now());
        if let Err(because) = self.webhook.deliver(&notice).await {
            self.lose(approval, &because);
        }
    }

    fn lose(&self, approval: ApprovalId, because: &str) {
        let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
        tracing::error!(%approval, because, lost, "question notice not delivered");
    }
}

/// All questions that wait, longest first.
async fn open(store: &dyn Store) -> Result<Vec<ApprovalId>, StoreError> {
    let mut found = vec![];
    loop {
        let page = Page { offset: found.len(), limit: PAGE };
        let held = store.approvals(Scope::Everyone, ApprovalFilter::Pending(page)).await?;
        found.extend(held.iter().map(helve_store::Approval::id));
        if held.len() < PAGE {
            return Ok(found);
        }
    }
}

#[cfg(test)]
mod tests;
