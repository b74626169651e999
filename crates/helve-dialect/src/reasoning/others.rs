//! Reasoning in marks of its own, one row each.
//!
//! Odd here: nothing but the marks, and what some models put around the answer that follows.

use crate::Dialect;
use crate::dialect::Reasoning;

macro_rules! marked {
    ($id:ident, $name:literal, [$(($open:literal, $close:literal)),+], [$($silent:literal),*] $(, found: $found:literal)?) => {
        pub(crate) static $id: Dialect = Dialect {
            name: $name,
            reasoning: &[$(Reasoning { open: $open, close: $close }),+],
            silent: &[$($silent),*],
            $(found: $found,)?
            ..Dialect::PLAIN
        };
    };
}

marked!(MM, "think_mm", [("<mm:think>", "</mm:think>")], []);
marked!(MISTRAL, "think_mistral", [("[THINK]", "[/THINK]")], []);
marked!(KIMI, "think_kimi", [("◁think▷", "◁/think▷")], []);
marked!(APERTUS, "think_apertus", [("<|inner_prefix|>", "<|inner_suffix|>")], []);
marked!(
    COHERE,
    "think_cohere",
    [("<|START_THINKING|>", "<|END_THINKING|>")],
    ["<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"]
);
marked!(HUNYUAN, "think_hunyuan", [("<think>", "</think>")], ["<answer>", "</answer>"], found: false);
marked!(ERNIE, "think_ernie", [("<think>", "</think>")], ["<response>", "</response>"], found: false);
marked!(LONGCAT, "think_longcat", [("<longcat_think>", "</longcat_think>")], []);
marked!(SCRATCH, "scratch_pad", [("<scratch_pad>", "</scratch_pad>")], []);

/// Beside calls, too.
pub(crate) const SCRATCH_MARKS: &[Reasoning] =
    &[Reasoning { open: "<scratch_pad>", close: "</scratch_pad>" }];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(&MM, &[("<mm:think>a</mm:think>b", "think a | say b"), ("</mm:think>b", "say b")]);
        check(&MISTRAL, &[("[THINK]a[/THINK]b", "think a | say b")]);
        check(&KIMI, &[("◁think▷a◁/think▷b", "think a | say b")]);
        check(&APERTUS, &[("<|inner_prefix|>a<|inner_suffix|>b", "think a | say b")]);
        let cohere = "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>";
        check(&COHERE, &[(cohere, "think a | say b")]);
        crate::cases::check_given(
            &HUNYUAN,
            &[("<think>\na\n</think>\n<answer>\nb\n</answer>", "think a | say b\n")],
        );
        check(&LONGCAT, &[("<longcat_think>a</longcat_think>b", "think a | say b")]);
    }
}
