//! `Here is my thought process: … Here is my response: …`: Granite 3.2.
//!
//! Odd here: plain words, so they are not looked for unasked. Either wording may follow the other.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[
    Reasoning { open: "Here is my thought process:", close: "Here is my response:" },
    Reasoning { open: "Here is my thought process:", close: "Here's my response:" },
    Reasoning { open: "Here's my thought process:", close: "Here's my response:" },
    Reasoning { open: "Here's my thought process:", close: "Here is my response:" },
];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_granite",
    models: "Granite 3.2",
    sample: "Here is my thought process: ¤ Here is my response:",
    reasoning: MARKS,
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
            &[
                ("Here is my thought process: a Here is my response: b", "think a  | say b"),
                ("Here is my thought process: a\n\nHere's my response: b", "think a | say b"),
                (
                    "Here's my thought process: a Here is my response: b\nHere is my response: c Here's my response: d",
                    "think a  | say b\nHere is my response: c Here's my response: d",
                ),
                ("Here is my response: b", "say b"),
                ("Here is the answer.", "say Here is the answer."),
            ],
        );
    }
}
