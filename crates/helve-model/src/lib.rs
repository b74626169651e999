//! What it means to ask a model.
//!
//! Owns the `Model` port: a request of neutral turns goes in, a stream of events comes out. `ScriptedModel`
//! says what a test wrote down; `DemoModel` lives by a few rules and shows Helve to people without keys.
//! Vendors' wires are in `helve-model-http`; what the events add up to is the agent's business.

mod demo;
mod error;
mod port;
mod scripted;

pub use demo::DemoModel;
pub use error::{ModelError, ModelErrorKind};
pub use port::{Form, Holds, Model, ModelEvent, ModelRequest, ModelStream, Needs, ToolMode, Turn, TurnCall};
pub use scripted::{Reply, ScriptedModel};
