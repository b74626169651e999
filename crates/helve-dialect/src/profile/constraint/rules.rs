//! Rules as they are written down, and how values are spelled in them.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::views::to_python;
use helve_json::coerce::quote_text;

/// How values are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    Json,
    /// JSON inside a JSON string.
    Quoted,
    /// Python literals.
    Python,
    /// Text as it is, and JSON for everything else.
    Text,
}

/// The rules of a grammar. A rule is added once what it uses is there, except for `root`, which comes first.
pub(super) struct Rules {
    pub(super) notation: Notation,
    text: String,
    count: usize,
}

/// Where to go back to when a tool turns out to be too much.
pub(super) struct Mark {
    text: usize,
}

impl Rules {
    pub(super) fn new(notation: Notation) -> Self {
        Self { notation, text: String::new(), count: 0 }
    }

    /// Adds a rule and says what it is called.
    pub(super) fn add_rule(&mut self, about: &str, body: &str) -> String {
        let name = self.reserve_name(about);
        self.define_rule(&name, body);
        name
    }

    /// A name for a rule that uses itself.
    pub(super) fn reserve_name(&mut self, about: &str) -> String {
        self.count += 1;
        format!("{about}-{}", self.count)
    }

    pub(super) fn define_rule(&mut self, name: &str, body: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{name} ::= {body}");
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { text: self.text.len() }
    }

    pub(super) fn roll_back_to(&mut self, mark: &Mark) {
        self.text.truncate(mark.text);
    }

    pub(super) fn into_grammar(self, root: &str) -> String {
        format!("root ::= {root}\n{}{}", self.text, self.notation.value_rules())
    }
}

impl Notation {
    /// The rules of any value: JSON's, but for its constants and how a string is written.
    fn value_rules(self) -> String {
        let constants = match self {
            Self::Json | Self::Text | Self::Quoted => r#""true" | "false" | "null""#,
            Self::Python => r#""True" | "False" | "None""#,
        };
        let (quote, escape) = match self {
            Self::Json | Self::Text | Self::Python => (r#""\"""#, r#""\\" ( ["\\/bfnrt]"#),
            Self::Quoted => (r#""\\\"""#, r#""\\\\" ( "\\\"" | "\\\\" | [/bfnrt]"#),
        };
        format!(
            r#"value ::= object | array | string | number | {constants}
object ::= "{{" s ( member ( "," s member )* s )? "}}"
member ::= string ":" s value
array ::= "[" s ( value ( "," s value )* s )? "]"
string ::= {quote} char* {quote}
char ::= [^"\\\x00-\x1F\x7F] | {escape} | "u" [0-9a-fA-F]{{4}} )
number ::= integer ( "." [0-9]{{1,18}} )? ( [eE] [-+]? [0-9]{{1,3}} )?
integer ::= "-"? ( "0" | [1-9] [0-9]{{0,18}} )
s ::= " "?
"#
        )
    }

    /// The quotes around a string, as a literal.
    pub(super) fn quote_literal(self) -> &'static str {
        match self {
            Self::Json | Self::Python | Self::Text => r#""\"""#,
            Self::Quoted => r#""\\\"""#,
        }
    }

    /// Exactly this value, as a literal.
    pub(super) fn value_literal(self, value: &Value) -> String {
        match self {
            Self::Json | Self::Text => literal(&value.to_string()),
            Self::Python => literal(&to_python(value)),
            Self::Quoted => {
                let text = quote_text(&value.to_string());
                literal(text.get(1..text.len() - 1).unwrap_or_default())
            }
        }
    }
}

/// A text that has to stand there; nothing where it is empty.
pub(super) fn literal(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for c in text.chars() {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            c if c.is_ascii_control() => {
                let _ = write!(written, "\\x{:02X}", u32::from(c));
            }
            c => written.push(c),
        }
    }
    written.push('"');
    written
}

/// Any character but these.
pub(super) fn any_char_except(chars: impl IntoIterator<Item = char>) -> String {
    let mut written = "[^".to_owned();
    for c in chars {
        if c.is_ascii_alphanumeric() || !c.is_ascii() {
            written.push(c);
        } else {
            let _ = write!(written, "\\x{:02X}", u32::from(c));
        }
    }
    written.push(']');
    written
}
