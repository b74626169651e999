//! Text in which no call is looked for: models without tools.
//!
//! Odd here: nothing.

use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "content_only",
    models: "models without tools",
    sample: "¤",
    found: false,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check_given;

    #[test]
    fn cases() {
        check_given(
            &DIALECT,
            &[("<think>a</think>b <tool_call>{}</tool_call>", "think a | say b <tool_call>{}</tool_call>")],
        );
    }
}
