//! What a tool is, which exist, and the guarded pipeline every call passes.
//!
//! Owns the `Tool` port, the registry of tools, and the `Pipeline`, which is the only way to run one: a tool
//! is run through a `Permit`, and only the gate makes permits. Knows neither HTTP nor SQL, nor which model
//! asked; what a call does to the world is put on record through the run's journal before it is done.

mod bound;
mod catalogue;
mod check;
mod context;
mod gate;
mod guards;
mod metrics;
mod outcome;
mod permit;
mod pipeline;
mod registry;
mod repair;
mod tool;
mod toolbox;

// What guards and rules are made of, for those who configure tools.
pub use helve_guard::{BreakerSettings, LimitSettings};
pub use helve_policy::{Access, Action, Rule, Rules};

pub use catalogue::{
    Catalogue, CatalogueError, Change, DefinitionError, Listed, Made, Maker, Over, read_definition,
};
pub use check::check_schema;
pub use context::{CallContext, Grant, Progress};
pub use guards::{CachePolicy, CacheScope, Guards, Limits};
pub use metrics::ToolMetrics;
pub use outcome::{Fault, Outcome, settled_by};
pub use pipeline::Pipeline;
pub use registry::{Registered, Registry, RegistryError, ToolStatus};
pub use tool::{Request, Tool, ToolError, ToolFuture, schema_of};
pub use toolbox::Toolbox;
