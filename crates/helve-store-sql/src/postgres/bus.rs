//! Wake-ups between processes, on a connection of their own, which also keeps a second server away.
//!
//! A notification may be lost while the connection is down, so subscribers are told to look at everything when it is back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_store::{Bus, LocalBus, RowKind, Wakeup, Wakeups};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_postgres::{AsyncMessage, Client};

use super::columns::describe;
use super::{CHANNEL, PostgresError, PostgresSettings, PostgresStore};

/// How long a server waits for another one to let go of the database: one that was killed is noticed soon.
const LOCK_MAX: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(200);
/// How often the connection is looked at when nothing comes.
const PROBE: Duration = Duration::from_secs(30);
const PROBE_MAX: Duration = Duration::from_secs(10);
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);

const LOCK: &str = "SELECT pg_try_advisory_lock(hashtext(current_schema()), hashtext('helve server'))";

impl Bus for PostgresStore {
    fn subscribe(&self) -> Wakeups {
        self.listener.bus.subscribe()
    }
}

/// What other processes are told.
pub(super) fn encode_notice(wakeup: Wakeup) -> String {
    match wakeup {
        Wakeup::Rows(kind) => format!("rows {}", kind.as_str()),
        Wakeup::Access => "access".into(),
        Wakeup::Missed => "all".into(),
    }
}

/// Wakes subscribers of this process, and remembers the kinds of rows it knows.
#[derive(Clone, Default)]
pub(super) struct Waker {
    bus: LocalBus,
    kinds: Arc<Mutex<HashMap<&'static str, RowKind>>>,
}

impl Waker {
    pub(super) fn wake(&self, wakeup: Wakeup) {
        if let Wakeup::Rows(kind) = wakeup {
            self.kinds.lock().unwrap_or_else(PoisonError::into_inner).insert(kind.as_str(), kind);
        }
        self.bus.wake(wakeup);
    }

    /// A kind that this process has not changed yet has no name here: its subscribers look at everything.
    fn handle_notice(&self, notice: &str) {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = notice.strip_prefix("rows ").and_then(|name| kinds.get(name).copied());
        let wakeup = match kind {
            Some(kind) => Wakeup::Rows(kind),
            None if notice == "access" => Wakeup::Access,
            None => Wakeup::Missed,
        };
        self.bus.wake(wakeup);
    }
}

pub(super) struct WakeupListener {
    waker: Waker,
    bus: LocalBus,
    is_server: bool,
    task: AbortHandle,
}

/// A connection that listens.
struct Line {
    client: Client,
    messages: UnboundedReceiver<AsyncMessage>,
    driver: AbortHandle,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl WakeupListener {
    pub(super) async fn open(settings: &PostgresSettings, is_server: bool) -> Result<Self, PostgresError> {
        let place = settings.to_string();
        let unusable = |problem| PostgresError::Unusable { place: place.clone(), problem };
        let line = Line::open(settings).await.map_err(unusable)?;
        if is_server {
            let until = Instant::now() + LOCK_MAX;
            while !line.take_lock().await.map_err(unusable)? {
                if Instant::now() > until {
                    return Err(PostgresError::InUse { place });
                }
                tokio::time::sleep(LOCK_PAUSE).await;
            }
        }
        let waker = Waker::default();
        let bus = waker.bus.clone();
        let listening = keep_listening(settings.clone(), line, waker.clone(), is_server);
        Ok(Self { waker, bus, is_server, task: tokio::spawn(listening).abort_handle() })
    }

    pub(super) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    pub(super) fn is_server(&self) -> bool {
        self.is_server
    }

    pub(super) fn close(&self) {
        self.task.abort();
    }
}

impl Drop for WakeupListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Line {
    async fn open(settings: &PostgresSettings) -> Result<Self, String> {
        let (sender, messages) = unbounded_channel();
        let (client, driver) = settings.connect(sender).await?;
        let line = Self { client, messages, driver };
        let listen = format!("LISTEN {CHANNEL}");
        line.client.batch_execute(&listen).await.map_err(|error| describe(&error))?;
        Ok(line)
    }

    async fn take_lock(&self) -> Result<bool, String> {
        let row = self.client.query_one(LOCK, &[]).await.map_err(|error| describe(&error))?;
        row.try_get(0).map_err(|error| describe(&error))
    }

    /// Until the connection ends.
    async fn listen(&mut self, waker: &Waker) {
        loop {
            match tokio::time::timeout(PROBE, self.messages.recv()).await {
                Ok(Some(AsyncMessage::Notification(notification))) => {
                    waker.handle_notice(notification.payload())
                }
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(_) => {
                    let probe = self.client.batch_execute("SELECT 1");
                    if !matches!(tokio::time::timeout(PROBE_MAX, probe).await, Ok(Ok(()))) {
                        return;
                    }
                }
            }
        }
    }
}

async fn keep_listening(settings: PostgresSettings, first: Line, waker: Waker, is_server: bool) {
    let mut line = first;
    loop {
        line.listen(&waker).await;
        tracing::warn!("database connection for wake-ups lost; connecting again");
        line = connect_again(&settings, is_server).await;
        tracing::info!("database connection for wake-ups is back");
        waker.bus.wake(Wakeup::Missed);
    }
}

async fn connect_again(settings: &PostgresSettings, is_server: bool) -> Line {
    let mut pause = PAUSE_MIN;
    loop {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
        match Line::open(settings).await {
            Ok(line) if !is_server => return line,
            Ok(line) => match line.take_lock().await {
                Ok(true) => return line,
                // Runs that it takes over can no longer be written to from here.
                Ok(false) => tracing::error!("database in use by another server"),
                Err(problem) => tracing::debug!(%problem, "database not locked"),
            },
            Err(problem) => tracing::debug!(%problem, "database not reached"),
        }
    }
}
