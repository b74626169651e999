//! `<think>…</think>` and its relatives: DeepSeek, Qwen, GLM, Kimi and most others.
//!
//! Odd here: the prompt often holds the opening mark, so the text begins inside; marks come doubled, and closing
//! ones come alone.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[
    Reasoning { open: "<think>", close: "</think>" },
    Reasoning { open: "<thinking>", close: "</thinking>" },
    Reasoning { open: "<thought>", close: "</thought>" },
    Reasoning { open: "<reasoning>", close: "</reasoning>" },
];

pub(crate) static DIALECT: Dialect = Dialect { name: "think", reasoning: MARKS, ..Dialect::PLAIN };
