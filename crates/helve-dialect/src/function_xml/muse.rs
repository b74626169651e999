//! The calls of Muse and Beam: `<atem:invoke name="tool.f">` with its parameters, or parameters alone where the head of
//! the message names the tool.

use super::{Element, TagGrammar};
use crate::Tools;

pub(crate) static GRAMMAR: TagGrammar = TagGrammar {
    namespaces: &["atem:", "rfl:"],
    elements: &[
        ("function_calls", Element::Wrapper),
        ("invoke", Element::Call),
        ("parameter", Element::Parameter),
        ("|eom|", Element::End),
        ("|eot|", Element::End),
    ],
    one_line_in: "rfl:",
    headed: true,
    name,
    ..TagGrammar::PLAIN
};

/// A doubled name, `f.f`, where only `f` is declared.
fn name<'n>(name: &'n str, tools: &Tools) -> &'n str {
    match name.split_once('.') {
        Some((first, second)) if first == second && tools.resolve(first).is_some() => first,
        _ => name,
    }
}
