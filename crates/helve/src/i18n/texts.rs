//! The table: every English text with its Chinese, by the part of the command line that it belongs to.

mod arguments;
mod audit;
mod configuration;
mod definitions;
mod foreign;
mod help;
mod keeping;
mod messages;
mod operating;

/// Texts of one part: the English as it stands in the code, and the Chinese.
pub(super) type Texts = &'static [(&'static str, &'static str)];

pub(super) const ALL: &[Texts] = &[
    arguments::TEXTS,
    audit::TEXTS,
    configuration::TEXTS,
    help::TEXTS,
    keeping::TEXTS,
    messages::TEXTS,
    operating::TEXTS,
];

/// What other crates say, in patterns.
pub(super) const FOREIGN: &[Texts] = &[foreign::FOREIGN, definitions::DEFINITIONS];
