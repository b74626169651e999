//! `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{…}<｜tool▁call▁end｜>…`: DeepSeek V3.1.
//!
//! Odd here: nothing but the head tells it from version 3, so one reader serves both.

use super::deepseek_v3;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "deepseek_v31",
    models: "DeepSeek V3.1",
    sample: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"¤\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    openers: deepseek_v3::OPENERS,
    strays: deepseek_v3::STRAYS,
    sections: deepseek_v3::SECTIONS,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[
                (
                    "<think>a</think>b<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{\"query\": \"x\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                    "think a | say b | call search {\"query\": \"x\"} | call time {}",
                ),
                (
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>\"query\": 2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                    "broken",
                ),
                (
                    r#"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>"{\"query\": \"x\"}"<｜tool▁call▁end｜><｜tool▁calls▁end｜>"#,
                    r#"call search {"query": "x"} (Encoding)"#,
                ),
                (
                    "<｜tool▁call▁begin｜>time<｜tool▁sep｜><｜tool▁sep｜>{}<｜tool▁call▁end｜>",
                    "call time {}",
                ),
                (
                    "<｜tool▁call▁begin｜>time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁call▁end｜>",
                    "call time {}",
                ),
                (
                    "<|tool▁calls▁begin|><|tool▁call▁begin|>time<|tool▁sep|>{}<|tool▁call▁end|><|tool▁calls▁end|>",
                    "call time {}",
                ),
            ],
        );
    }
}
