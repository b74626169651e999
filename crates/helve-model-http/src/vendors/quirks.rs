//! In what vendors differ from the letter of their protocol, as data.

use std::borrow::Cow;

use helve_model::{Form, Holds, ModelRequest};
use helve_types::ToolChoice;
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// The name under which the bound on the answer's length is sent.
    pub(crate) max_tokens: &'static str,
    pub(crate) seed: &'static str,
    /// Whether it takes `top_k`, which is no part of OpenAI's protocol.
    pub(crate) top_k: bool,
    /// Whether a stream can be asked for its usage; where not, it comes by itself.
    pub(crate) usage_option: bool,
    pub(crate) reasoning: Returned,
    /// What else of an answer goes back with it, by its name in the message.
    pub(crate) echo: &'static [&'static str],
    pub(crate) choices: Choices,
    pub(crate) form: FormField,
    pub(crate) call_ids: CallIds,
    /// How many texts it takes at which the answer stops; none where its models refuse any.
    pub(crate) stops_max: usize,
    /// What people leave at the end of its address, since another protocol of the same server is there.
    pub(crate) base_endings: &'static [&'static str],
}

pub(crate) const PLAIN: Quirks = Quirks {
    max_tokens: "max_tokens",
    seed: "seed",
    top_k: false,
    usage_option: true,
    reasoning: Returned::Nowhere,
    echo: &[],
    choices: Choices::ALL,
    form: FormField::None,
    call_ids: CallIds::Any,
    stops_max: 4,
    base_endings: &[],
};

/// Where a vendor wants its model's reasoning back, with the assistant's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returned {
    Nowhere,
    /// In a field of this name.
    Field(&'static str),
    /// The same, and empty beside calls whose reasoning is not known: without it the request is refused, also
    /// where another model made the calls.
    FieldWithCalls(&'static str),
    /// Before the text, between `<think>` and `</think>`, as it came.
    Text,
}

/// Which values of `tool_choice` a vendor takes; `auto` is what it does when nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choices {
    pub(crate) none: Takes,
    pub(crate) required: Takes,
    pub(crate) named: Takes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Yes,
    No,
    /// Not while the model thinks, which it may do unless this parameter has this value.
    UnlessThinking {
        parameter: &'static [&'static str],
        off: &'static str,
    },
}

impl Quirks {
    /// Where the answer stops: at what the parameters say, which the vendor may judge, and as far as it takes more, at what
    /// the request adds.
    pub(crate) fn stops<'a>(&self, request: &'a ModelRequest<'_>) -> Vec<&'a str> {
        let mut stops: Vec<&str> = request.params.stop.iter().map(String::as_str).collect();
        for stop in request.stop {
            if stops.len() < self.stops_max && !stops.contains(&&**stop) {
                stops.push(stop);
            }
        }
        stops
    }
}

impl Choices {
    pub(crate) const ALL: Self = Self { none: Takes::Yes, required: Takes::Yes, named: Takes::Yes };
    /// The words, but no tool's name.
    pub(crate) const WORDS: Self = Self { named: Takes::No, ..Self::ALL };
    pub(crate) const UNFORCED: Self = Self { required: Takes::No, ..Self::WORDS };
    pub(crate) const AUTO: Self = Self { none: Takes::No, ..Self::UNFORCED };

    /// Whether the choice itself can be sent.
    pub(crate) fn take(&self, choice: &ToolChoice, params: &Map<String, Value>) -> bool {
        match choice {
            ToolChoice::Auto => true,
            ToolChoice::None => self.none.holds(params),
            ToolChoice::Required => self.required.holds(params),
            ToolChoice::Named(_) => self.named.holds(params),
        }
    }

    /// Whether the server can be made to keep to the choice: without tools none is called, and a tool that is
    /// alone and required is as good as named.
    pub(crate) fn ensure(&self, choice: &ToolChoice, params: &Map<String, Value>) -> bool {
        match choice {
            ToolChoice::Auto | ToolChoice::None => true,
            ToolChoice::Required => self.required.holds(params),
            ToolChoice::Named(_) => self.named.holds(params) || self.required.holds(params),
        }
    }
}

impl Takes {
    fn holds(self, params: &Map<String, Value>) -> bool {
        match self {
            Self::Yes => true,
            Self::No => false,
            Self::UnlessThinking { parameter, off } => {
                let (first, rest) = parameter.split_first().unzip();
                let top = first.and_then(|first| params.get(*first));
                let value = rest.into_iter().flatten().fold(top, |value, step| value?.get(step));
                let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                value.map(text).is_some_and(|text| text == off)
            }
        }
    }
}

/// The field in which a server is told what the answer has to look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormField {
    None,
    /// `response_format` of type `json_schema`. Without `strict`, which refuses most schemas of tools.
    ResponseFormat,
    /// `format`, a schema: Ollama.
    Format,
    /// `grammar`: llama.cpp.
    Grammar,
    /// `structured_outputs`, which took the place of `guided_grammar` and its like: vLLM.
    StructuredOutputs,
    /// `ebnf`, in the same notation: SGLang.
    Ebnf,
}

impl FormField {
    pub(crate) fn holds(self) -> Holds {
        match self {
            Self::None => Holds::Nothing,
            Self::ResponseFormat | Self::Format => Holds::Schema,
            Self::Grammar | Self::StructuredOutputs | Self::Ebnf => Holds::Grammar,
        }
    }

    /// The field and what stands in it, if the server understands anything of the form.
    pub(crate) fn written(self, form: &Form) -> Option<(&'static str, Value)> {
        let grammar = || json!(form.grammar);
        match self {
            Self::None => None,
            Self::Format => Some(("format", form.schema.clone()?)),
            Self::Grammar if !form.grammar.is_empty() => Some(("grammar", grammar())),
            Self::StructuredOutputs if !form.grammar.is_empty() => {
                Some(("structured_outputs", json!({"grammar": grammar()})))
            }
            Self::Ebnf if !form.grammar.is_empty() => Some(("ebnf", grammar())),
            // All of these servers know this one too.
            Self::ResponseFormat | Self::Grammar | Self::StructuredOutputs | Self::Ebnf => {
                let schema = json!({"name": "answer", "schema": form.schema.as_ref()?});
                Some(("response_format", json!({"type": "json_schema", "json_schema": schema})))
            }
        }
    }
}

/// What the ids of calls have to look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallIds {
    Any,
    /// Nine letters and digits, or the request is refused, also where another model made the call.
    Nine,
}

impl CallIds {
    /// The id as the vendor takes it; equal ids stay equal.
    pub(crate) fn written(self, id: &str) -> Cow<'_, str> {
        const SIGNS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self == Self::Any || fits {
            return Cow::Borrowed(id);
        }
        // FNV-1a: the same in every process, as a history is written anew for each question.
        let mut hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let sign = |_| {
            let sign = SIGNS[(hash % 62) as usize];
            hash /= 62;
            char::from(sign)
        };
        Cow::Owned((0..9).map(sign).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_model_that_thinks_may_not_be_forced_and_one_that_does_not_may() {
        let unless = Takes::UnlessThinking { parameter: &["thinking", "type"], off: "disabled" };
        let choices = Choices { required: unless, named: unless, ..Choices::ALL };
        let cases = [
            (json!({}), false),
            (json!({"thinking": {"type": "enabled"}}), false),
            (json!({"thinking": "disabled"}), false),
            (json!({"thinking": {"type": "disabled"}}), true),
        ];
        for (given, forced) in cases {
            let given = params(given);
            assert_eq!(choices.take(&ToolChoice::Required, &given), forced, "{given:?}");
            assert_eq!(choices.ensure(&ToolChoice::Named("f".into()), &given), forced, "{given:?}");
            assert!(choices.take(&ToolChoice::None, &given) && choices.take(&ToolChoice::Auto, &given));
        }
        let flag = Takes::UnlessThinking { parameter: &["enable_thinking"], off: "false" };
        assert!(flag.holds(&params(json!({"enable_thinking": false}))));
        assert!(!flag.holds(&params(json!({"enable_thinking": true}))));
    }

    #[test]
    fn a_tool_that_cannot_be_named_can_still_be_made_certain() {
        let named = ToolChoice::Named("f".into());
        let none = params(json!({}));
        assert!(!Choices::WORDS.take(&named, &none) && Choices::WORDS.ensure(&named, &none));
        assert!(
            !Choices::UNFORCED.ensure(&named, &none) && !Choices::AUTO.ensure(&ToolChoice::Required, &none)
        );
        assert!(
            !Choices::AUTO.take(&ToolChoice::None, &none) && Choices::AUTO.ensure(&ToolChoice::None, &none)
        );
    }

    #[test]
    fn a_form_goes_where_the_server_looks_for_it() {
        let both = Form { grammar: "root ::= \"a\"".into(), schema: Some(json!({"type": "object"})) };
        let words = Form { schema: None, ..both.clone() };
        let schema =
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}});
        let grammar = json!("root ::= \"a\"");
        let cases = [
            (FormField::None, &both, None),
            (FormField::ResponseFormat, &both, Some(("response_format", schema))),
            (FormField::ResponseFormat, &words, None),
            (FormField::Format, &both, Some(("format", json!({"type": "object"})))),
            (FormField::Format, &words, None),
            (FormField::Grammar, &words, Some(("grammar", grammar.clone()))),
            (FormField::StructuredOutputs, &both, Some(("structured_outputs", json!({"grammar": grammar})))),
            (FormField::Ebnf, &both, Some(("ebnf", grammar))),
        ];
        for (field, form, expected) in cases {
            assert_eq!(field.written(form), expected, "{field:?}");
            assert!(expected.is_none() || field.holds() != Holds::Nothing);
        }
    }

    #[test]
    fn ids_are_rewritten_only_where_they_must_be_and_always_alike() {
        assert_eq!(CallIds::Any.written("call_1"), "call_1");
        assert_eq!(CallIds::Nine.written("D681PevKs"), "D681PevKs");
        let written = CallIds::Nine.written("call_0fypS1hVX");
        assert!(written.len() == 9 && written.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{written}");
        assert_eq!(written, CallIds::Nine.written("call_0fypS1hVX"));
        assert_ne!(written, CallIds::Nine.written("call_0fypS1hVY"));
    }
}
