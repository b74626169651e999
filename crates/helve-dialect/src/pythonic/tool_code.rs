//! `<tool_code>…</tool_code>` and ```` ```tool_code ````: Gemma 2 and 3, Gemini, and Helve's own `xml_tag` profile.
//!
//! Odd here: the inside is Python or JSON. Python may be wrapped in `print(…)` and called through `default_api`.

use super::PythonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};
use crate::json_tags::JsonGrammar;

const TAG: Mark = Mark::Tag("<tool_code>");
const FENCE: Mark = Mark::Fence(&["tool_code"]);

static JSON: JsonGrammar = JsonGrammar { close: &["</tool_code>"] };
static PYTHON: PythonGrammar = PythonGrammar { close: &["</tool_code>"], prefixes: &["default_api."] };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "tool_code",
    openers: &[
        Opener { mark: TAG, then: Then::Json, grammar: Grammar::Json(&JSON) },
        Opener { mark: TAG, then: Then::Python, grammar: Grammar::Python(&PYTHON) },
        Opener { mark: FENCE, then: Then::Json, grammar: Grammar::Json(&JSON) },
        Opener { mark: FENCE, then: Then::Python, grammar: Grammar::Python(&PYTHON) },
    ],
    ..Dialect::PLAIN
};
