//! Arguments of native calls: what a vendor's field holds where it is not the object that it should be.

use serde_json::Value;

use helve_json::inspect::is_object;
use helve_json::repair::{Closing, Expected, read_with_repairs};
use helve_json::{Repair, Repaired};

use crate::Tools;
use crate::envelope::holds_arguments;

/// Reads the arguments of a call that came apart from text, where they are not an object as they stand: as those in
/// text are read, which may come in a string, be left out, or be broken in a way that has exactly one reading.
///
/// ```
/// let read = helve_dialect::repair_arguments(r#""{\"city\": 'Rome',}""#, "f", &helve_dialect::Tools::unknown()).unwrap();
/// assert_eq!(read.text, r#"{"city": "Rome"}"#);
/// assert_eq!(helve_dialect::repair_arguments(r#"{"city": "Ro"#, "f", &helve_dialect::Tools::unknown()), None);
/// ```
pub fn repair_arguments(text: &str, tool: &str, tools: &Tools) -> Option<Repaired> {
    let is_text = |parameter: &str| tools.is_text_parameter(tool, parameter) == Some(true);
    let expected = Expected { is_text: &is_text, holds_parameters: holds_arguments };
    let object = |text: &str| {
        read_with_repairs(text, Closing::AsWritten, expected).filter(|read| is_object(&read.text))
    };
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Null) => Some(Repaired { text: "{}".to_owned(), changes: vec![] }),
        Ok(Value::String(inner)) if is_object(&inner) => {
            Some(Repaired { text: inner, changes: vec![Repair::Encoding] })
        }
        Ok(Value::String(inner)) => {
            let mut read = object(&inner)?;
            read.changes.push(Repair::Encoding);
            Some(read)
        }
        Ok(_) => None,
        Err(_) => object(text),
    }
}
