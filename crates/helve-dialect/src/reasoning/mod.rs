//! How models mark their reasoning. A markup without calls of its own is a dialect without openers.

pub(crate) mod think;
