//! Calls written as Python: `f(a=1, b="x")`, one or many, in brackets or not.
//!
//! Arguments are turned into JSON as they stream. Only literals count: a name, a sum or a nested call as a value is
//! a program, not a call, and so is a call that is only a part of its statement. Arguments without names fill the tool's
//! required parameters in their order.

mod body;
pub(crate) mod lfm2;
pub(crate) mod llama4_pythonic;
pub(crate) mod olmo3;
#[expect(clippy::module_inception, reason = "a family and its plainest dialect share the name")]
pub(crate) mod pythonic;
pub(crate) mod raven;
pub(crate) mod tool_code;

pub(crate) use body::PythonBody;

/// What encloses the calls, and what is left out of their names.
pub(crate) struct PythonGrammar {
    /// The closing tags; the section may end without one.
    pub(crate) close: &'static [&'static str],
    /// Modules that models put before the name.
    pub(crate) prefixes: &'static [&'static str],
    /// The calls stand in a fence, which says that all of it is code.
    pub(crate) fenced: bool,
}

impl PythonGrammar {
    /// What a grammar is unless it says otherwise.
    pub(crate) const PLAIN: Self = Self { close: &[], prefixes: &[], fenced: false };
}
