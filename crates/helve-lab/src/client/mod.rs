//! The load: clients that start runs, follow them, answer questions, change their minds, and never give up.
//!
//! Clients talk to the server over real HTTP and know nothing of it but what the documentation says. Each keeps a
//! log of what it was promised and shown. When the server dies they wait at the `ServerSwitch`, and go on with the next
//! one as a page would: the same request under the same key, the same stream after the last event.

mod client_call;
mod client_task;
pub(crate) mod connection;
mod follow;
mod log;
mod requested_run;
mod server_switch;
mod watcher;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use helve_types::RunId;
use reqwest::Client;
use tokio::task::JoinSet;

use self::client_task::ClientTask;
pub(crate) use self::connection::{Wire, patience};
pub use self::log::{AcceptedMessage, AcceptedResult, AnsweredQuestion, Claim, ClientLog, Reader, Start};
pub(crate) use self::server_switch::{ServerAddress, ServerSwitch, SwitchState};
use self::watcher::Watcher;
use crate::rng::Rng;

/// Clients that start runs of their own.
const ASKERS: usize = 6;
/// Clients that read along with others' runs, from the beginning.
const WATCHERS: usize = 2;

/// All clients of a round; they end when this is dropped.
pub(crate) struct Clients {
    door: ServerSwitch,
    logs: Vec<SharedLog>,
    _tasks: JoinSet<()>,
}

pub(crate) type SharedLog = Arc<Mutex<ClientLog>>;

/// Runs that anybody may watch.
pub(crate) type Runs = Arc<Mutex<Vec<RunId>>>;

/// What a client has to do with.
#[derive(Clone)]
pub(crate) struct ClientParts {
    door: ServerSwitch,
    http: Client,
    log: SharedLog,
    runs: Runs,
    /// Where the effects of calls go that clients run.
    ledger: String,
    wire: Wire,
    patience: Duration,
}

impl Clients {
    pub(crate) fn start(
        door: &ServerSwitch,
        ledger: &str,
        wire: Wire,
        patience: Duration,
        mut rng: Rng,
    ) -> Result<Self, reqwest::Error> {
        // From another address than the server's: to connect to a port that has just become free, from the same
        // address, can end in a connection with oneself.
        let here = IpAddr::from([127, 0, 0, 2]);
        #[expect(clippy::disallowed_methods, reason = "the lab's clients ask the server that it started")]
        let http = Client::builder().no_proxy().retry(reqwest::retry::never()).local_address(here).build()?;
        let runs = Runs::default();
        let logs: Vec<SharedLog> = (0..ASKERS + WATCHERS).map(|_| SharedLog::default()).collect();
        let mut tasks = JoinSet::new();
        for (number, log) in logs.iter().enumerate() {
            let means = ClientParts {
                door: door.clone(),
                http: http.clone(),
                log: log.clone(),
                runs: runs.clone(),
                ledger: ledger.to_owned(),
                wire,
                patience,
            };
            let rng = rng.fork();
            if number < ASKERS {
                tasks.spawn(ClientTask::new(number, means, rng).run());
            } else {
                tasks.spawn(Watcher::new(number, means, rng).run());
            }
        }
        Ok(Self { door: door.clone(), logs, _tasks: tasks })
    }

    pub(crate) fn size(&self) -> usize {
        self.logs.len()
    }

    pub(crate) fn logs(&self) -> Vec<ClientLog> {
        self.logs.iter().map(|log| lock(log).clone()).collect()
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.door.set(SwitchState::Closed);
    }
}

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
