//! How models mark their reasoning. A markup without calls of its own is a dialect without openers.

pub(crate) mod scratch_pad;
pub(crate) mod think;
pub(crate) mod think_apertus;
pub(crate) mod think_cohere;
pub(crate) mod think_ernie;
pub(crate) mod think_granite;
pub(crate) mod think_hunyuan;
pub(crate) mod think_hy;
pub(crate) mod think_kimi;
pub(crate) mod think_longcat;
pub(crate) mod think_mistral;
pub(crate) mod think_mm;
pub(crate) mod think_seed;
