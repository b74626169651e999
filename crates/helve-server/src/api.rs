//! Helve's own API: one module for each resource.

pub(crate) mod agents;
pub(crate) mod allowances;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod budgets;
pub(crate) mod call_tool;
pub(crate) mod client_calls;
pub(crate) mod conversations;
pub(crate) mod doctor;
pub(crate) mod executions;
pub(crate) mod files;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod links;
pub(crate) mod messages;
pub(crate) mod metrics;
pub(crate) mod model_probe;
pub(crate) mod models;
pub(crate) mod monitoring;
pub(crate) mod people;
pub(crate) mod runs;
pub(crate) mod sign_in;
pub(crate) mod skills;
pub(crate) mod tools;
mod versions;
