//! One run: the pure machine that decides, and the driver that gives it hands.
//!
//! `run` decides and `drive` acts. `transcript` and `ask` say what the model is shown, `listen` what it said; `feed` and
//! `follow` let any number of readers watch. `environment` and `context` are what drivers share. Which runs have a driver
//! is known to `helve-runtime`. Knows the ports, not what is behind them: no vendor, no SQL, no HTTP.

mod agents;
mod ask;
mod budget;
mod client_results;
mod command;
mod compact;
mod context;
mod drive;
mod environment;
mod feed;
mod follow;
mod leases;
mod listen;
mod metrics;
mod probe;
mod run;
mod settings;
mod transcript;

pub use agents::{Agent, AgentSettings, Kit};
pub use budget::{Account, Budgets, Limits, Whose, nothing_left};
pub use client_results::{ClientClaim, ClientResult};
pub use command::{BY_TIME, Command, CommandError, Reply};
pub use compact::CompactionSettings;
pub use context::{DriverContext, Shutdown};
pub use drive::{DirectCall, DriveError, Driver, DriverParts, Left, StepHold, call_span, ending};
pub use environment::Environment;
pub use feed::{Feed, Feeds, Frame};
pub use follow::Follower;
pub use helve_guard::{AdmissionSettings, AdmissionStatus};
pub use helve_model::Model;
pub use helve_model::fleet::{
    ChooseError, ModelCounters, ModelMetrics, ModelOptions, Models, Origin, PerMillion, Price, PriceSource,
};
pub use leases::Leases;
pub use metrics::{BudgetCounters, BudgetMetrics, RunCounters, RunMetrics};
pub use probe::ProbeError;
pub use run::{
    CallAction, Flaw, ModelMessage, ModelMessageCall, ModelMessagePart, Run, SAID_BYTES_MAX, Step, Tools,
};
pub use settings::{OnAsked, RuntimeSettings, ShareSettings};
pub use transcript::{Reader, transcript};
