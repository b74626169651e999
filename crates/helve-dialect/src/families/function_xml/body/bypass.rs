//! What need not pass the body before what follows it.

use super::{TagBody, TagState};
use crate::body::Bypass;
use helve_json::byte_search::{ByteSet, all_but};
use helve_json::string_bytes;

impl TagBody {
    /// Argument text goes straight out. Nothing else tells anything before a tag is whole.
    pub(crate) fn bypass(&self) -> Bypass {
        match self.state {
            TagState::Value if self.value.in_cdata => Bypass::Nothing,
            _ if !self.beginning.is_empty() => match self.is_decided_by_brackets() {
                // What seemed to be a tag is none where another begins.
                true => Bypass::Deferred(&TAG),
                false => Bypass::Nothing,
            },
            TagState::Value if self.split.is_some() => match self.closing_element() {
                Some(_) => Bypass::Nothing,
                None => Bypass::Deferred(&TAGGED),
            },
            TagState::Value if self.value.is_plain_text() => Bypass::Arguments(&string_bytes::UNTAGGED),
            TagState::Value if self.value.is_growing() => Bypass::Deferred(&TAGGED),
            TagState::Word => Bypass::Deferred(&LINE),
            TagState::Call if self.call.in_json => Bypass::Nothing,
            TagState::Call => Bypass::Deferred(&CALL),
            TagState::Key | TagState::AfterJson => Bypass::Deferred(&TAGGED),
            TagState::Between if self.calls == 0 => Bypass::Deferred(&TAGGED),
            TagState::Json if self.json.is_plain_text() => Bypass::Arguments(&string_bytes::PLAIN),
            TagState::Value | TagState::Between | TagState::Kind | TagState::Json => Bypass::Nothing,
        }
    }
}

static TAGGED: ByteSet = all_but(b">");
static TAG: ByteSet = all_but(b"<>");
/// A name may end with its line.
static LINE: ByteSet = all_but(b">\n");
/// Arguments may be one JSON object.
static CALL: ByteSet = all_but(b">{");

#[cfg(test)]
mod tests {
    use crate::cases::{check, check_given};
    use crate::families::function_xml::{deepseek_v32, glm45, minicpm5, qwen3_coder};

    #[test]
    fn what_passed_by_is_read_as_if_it_had_not() {
        let in_value = |written: &str| {
            let (before, behind) = ("<function=search>\n<parameter=query>\n", "\n</parameter>\n</function>");
            format!("<tool_call>\n{before}{written}{behind}\n</tool_call>")
        };
        // A tag that is too long is data up to its limit, and what follows is read again.
        for length in [253, 254, 255, 256, 257, 300] {
            let long = format!("<{}</parameter>", "x".repeat(length));
            let expected = format!("call search {{\"query\": \"{long}\"}}");
            check(&qwen3_coder::DIALECT, &[(&in_value(&long), &expected)]);
            let wide = format!("<{}>", "é".repeat(length / 2));
            let expected = format!("call search {{\"query\": \"{wide}\"}}");
            check(&qwen3_coder::DIALECT, &[(&in_value(&wide), &expected)]);
        }
        let long_name = format!("<tool_call>{}</tool_call>", "n".repeat(300));
        check(&glm45::DIALECT, &[(&long_name, &format!("say {long_name}"))]);
        check(
            &deepseek_v32::DIALECT,
            &[(
                "<|DSML|function_calls>\n<|DSML|invoke name=\"f\">\n<|DSML|parameter name=\"a|b\" string=\"false\">[1,\n \"x < y\"] </|DSML|parameter>\n</|DSML|invoke>\n</|DSML|function_calls>",
                "call f {\"a|b\": [1,\n \"x < y\"]}",
            )],
        );
    }

    #[test]
    fn what_passed_by_one_section_is_not_read_into_the_next() {
        check_given(
            &minicpm5::DIALECT,
            &[(
                "<think>\n<function name=\"search\"></think>\n<function name=\"time\"><a b",
                "think <function name=\"search\"> | cut time",
            )],
        );
    }
}
