//! The families of dialects: in each folder a grammar (`mod.rs`), the automaton that reads it (`body.rs`), and a file for
//! each dialect. `reasoning` has no calls, and so no automaton.

pub(crate) mod channels;
pub(crate) mod framed;
pub(crate) mod function_xml;
pub(crate) mod gemma;
pub(crate) mod json_tags;
pub(crate) mod nested_xml;
pub(crate) mod pythonic;
pub(crate) mod reasoning;
