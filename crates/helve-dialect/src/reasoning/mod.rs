//! How models mark their reasoning. A markup without calls of its own is a dialect without openers.

pub(crate) mod others;
pub(crate) mod think;
pub(crate) mod think_granite;
pub(crate) mod think_hy;
pub(crate) mod think_seed;
