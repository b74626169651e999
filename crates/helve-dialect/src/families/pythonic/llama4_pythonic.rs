//! `<|python_start|>[f(a=1)]<|python_end|>`, or the list alone: Llama 4, as any model that writes Python.

use super::pythonic;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "llama4_pythonic",
    models: "Llama 4",
    sample: r#"<|python_start|>[get_weather(city="¤")]<|python_end|>"#,
    openers: pythonic::OPENERS,
    silent: pythonic::SILENT,
    strays: pythonic::STRAYS,
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
            &[(
                r#"<|python_start|>[search(query='Martha\'s', limit=2)]<|python_end|>"#,
                r#"call search {"query": "Martha's", "limit": 2}"#,
            )],
        );
    }
}
