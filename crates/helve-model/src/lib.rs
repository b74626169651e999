//! The `Model` port, two models that need no server, and the models of a server as a fleet.
//!
//! A request of vendor-neutral turns goes in, a stream of events comes out. `ScriptedModel` replays the answers of a
//! test; `DemoModel` answers by a few rules and shows Helve to people without keys. The vendors' protocols are in
//! `helve-model-http`; `helve-agent` assembles the events into a message.

mod demo;
mod error;
pub mod fleet;
mod port;
mod scripted;

pub use demo::DemoModel;
pub use error::{ModelError, ModelErrorKind};
pub use port::{
    Form, FormSupport, Model, ModelEvent, ModelRequest, ModelStream, Needs, ToolMode, Turn, TurnCall,
};
pub use scripted::{Reply, ScriptedModel};
