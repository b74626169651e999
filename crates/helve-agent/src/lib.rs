//! One run: the pure machine that decides, and the driver that gives it hands.
//!
//! `run` decides and `drive` acts; `runtime` has many of them. `transcript` and `ask` say what the model is shown,
//! `listen` what it said; `feed` and `follow` let any number of readers watch. Knows the ports, not what is behind
//! them: no vendor, no SQL, no HTTP.

mod agents;
mod ask;
mod budget;
mod command;
mod compact;
mod drive;
mod feed;
mod follow;
mod listen;
mod metrics;
mod run;
mod runtime;
mod transcript;

pub use agents::AgentSettings;
pub use budget::{Account, Budgets, Limits, Whose};
pub use command::CommandError;
pub use compact::CompactionSettings;
pub use feed::Frame;
pub use follow::Follower;
pub use helve_guard::{AdmissionSettings, AdmissionStatus};
pub use helve_model::Model;
pub use helve_model::fleet::{
    ChooseError, ModelCounters, ModelMetrics, ModelOptions, Models, Origin, PerMillion, Price, PriceSource,
};
pub use metrics::{BudgetCounters, BudgetMetrics, RunCounters, RunMetrics};
pub use run::{Errand, Flaw, Heard, HeardCall, HeardPart, Run, Step, Tools};
pub use runtime::{
    BudgetReport, CallOptions, Called, ClientClaim, Delivered, OnAsked, Order, ProbeError, Runtime,
    RuntimeSettings, ShareSettings, StartError, StartInput, StartRequest, Started,
};
pub use transcript::{Reader, transcript};
