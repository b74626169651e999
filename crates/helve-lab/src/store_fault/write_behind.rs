//! The bugs "acknowledged before it is committed" and "told before it is committed": writing is behind.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use helve_store::{Append, NewRun, Opened, Place, Store, StoreError, StoreFuture, Urgency};
use tokio::sync::{mpsc, oneshot};

use super::StoreFault;

/// How far writing is behind; a cache that syncs when it has time.
const LAG: Duration = Duration::from_millis(10);

/// What comes before the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlyReply {
    /// Everything: readers are told, and the writer hears that it is durable.
    Acknowledgement,
    /// Only readers are told; the writer waits.
    Publication,
}

pub(crate) struct WriteBehind {
    queue: mpsc::UnboundedSender<DelayedWrite>,
    early: EarlyReply,
}

enum DelayedWrite {
    Open(Box<NewRun>),
    Append(Box<Append>, oneshot::Sender<Result<(), StoreError>>),
    /// Tells when everything before it is written.
    Mark(oneshot::Sender<()>),
}

impl WriteBehind {
    /// Must be made inside of a runtime, in which it writes.
    pub(crate) fn new(inner: Arc<dyn Store>, early: EarlyReply) -> Self {
        let (queue, mut late) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(work) = late.recv().await {
                match work {
                    DelayedWrite::Open(new) => {
                        tokio::time::sleep(LAG).await;
                        _ = inner.open_run(*new).await;
                    }
                    DelayedWrite::Append(batch, written) => {
                        tokio::time::sleep(LAG).await;
                        _ = written.send(inner.append(*batch, Urgency::Now).await);
                    }
                    DelayedWrite::Mark(reached) => _ = reached.send(()),
                }
            }
        });
        Self { queue, early }
    }

    fn push(&self, work: DelayedWrite) {
        _ = self.queue.send(work);
    }
}

impl StoreFault for WriteBehind {
    fn append(&self, _: &Arc<dyn Store>, mut batch: Append, _: Urgency) -> StoreFuture<'static, ()> {
        if let Some(publish) = batch.writer.on_commit.take() {
            publish(&batch.events);
        }
        let run = batch.writer.run;
        let (written, receipt) = oneshot::channel();
        self.push(DelayedWrite::Append(Box::new(batch), written));
        match self.early {
            EarlyReply::Acknowledgement => Box::pin(std::future::ready(Ok(()))),
            EarlyReply::Publication => {
                Box::pin(async move { receipt.await.unwrap_or(Err(StoreError::Fenced(run))) })
            }
        }
    }

    fn open_run<'a>(&'a self, inner: &'a Arc<dyn Store>, new: NewRun) -> StoreFuture<'a, Opened> {
        // What has to be looked up first cannot be answered from nothing.
        let looked_up = new.key.is_some() || matches!(new.place, Place::Conversation(_));
        if looked_up || self.early == EarlyReply::Publication {
            return inner.open_run(new);
        }
        self.push(DelayedWrite::Open(Box::new(new)));
        Box::pin(std::future::ready(Ok(Opened::New { epoch: 1, history: vec![] })))
    }

    fn before_claim(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let (mark, reached) = oneshot::channel();
        self.push(DelayedWrite::Mark(mark));
        Box::pin(async move { _ = reached.await })
    }
}
