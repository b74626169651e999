//! Differences between vendors of the same protocol, as data.

use std::borrow::Cow;

use helve_model::{Form, FormSupport, ModelRequest};
use helve_types::ToolChoice;
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// The vendor's name of the limit on the length of an answer.
    pub(crate) max_tokens: &'static str,
    pub(crate) seed: &'static str,
    /// Whether the vendor accepts `top_k`, which is not part of OpenAI's protocol.
    pub(crate) top_k: bool,
    /// Whether a stream reports usage only on request.
    pub(crate) usage_option: bool,
    pub(crate) reasoning: ReasoningReturn,
    /// Further members of an answer's message that are sent back with it.
    pub(crate) echo: &'static [&'static str],
    pub(crate) choices: Choices,
    pub(crate) form: FormField,
    pub(crate) call_ids: CallIds,
    /// The most stop texts that the vendor accepts; 0 if its models refuse any.
    pub(crate) stops_max: usize,
    /// Paths of other protocols of the server that operators may leave at the end of the base address.
    pub(crate) base_endings: &'static [&'static str],
}

pub(crate) const PLAIN: Quirks = Quirks {
    max_tokens: "max_tokens",
    seed: "seed",
    top_k: false,
    usage_option: true,
    reasoning: ReasoningReturn::Never,
    echo: &[],
    choices: Choices::ALL,
    form: FormField::None,
    call_ids: CallIds::Any,
    stops_max: 4,
    base_endings: &[],
};

/// How a model's reasoning is sent back with the assistant's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReasoningReturn {
    Never,
    /// In a field of this name.
    Field(&'static str),
    /// In a field of this name, which is empty beside calls whose reasoning is not known: the vendor refuses calls
    /// without the field, also calls of another model.
    FieldWithCalls(&'static str),
    /// Before the text, between `<think>` and `</think>`.
    Text,
}

/// Which values of `tool_choice` a vendor accepts; `auto` is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choices {
    pub(crate) none: ChoiceSupport,
    pub(crate) required: ChoiceSupport,
    pub(crate) named: ChoiceSupport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChoiceSupport {
    Yes,
    No,
    /// Only if the model does not think, which it may do unless this parameter has this value.
    UnlessThinking {
        parameter: &'static [&'static str],
        off: &'static str,
    },
}

impl Quirks {
    /// The stop texts: all of the parameters, which the vendor may refuse, and those of the request up to the vendor's
    /// limit.
    pub(crate) fn stop_texts<'a>(&self, request: &'a ModelRequest<'_>) -> Vec<&'a str> {
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
    pub(crate) const ALL: Self =
        Self { none: ChoiceSupport::Yes, required: ChoiceSupport::Yes, named: ChoiceSupport::Yes };
    /// Everything except the name of a tool.
    pub(crate) const WORDS: Self = Self { named: ChoiceSupport::No, ..Self::ALL };
    pub(crate) const UNFORCED: Self = Self { required: ChoiceSupport::No, ..Self::WORDS };
    pub(crate) const AUTO: Self = Self { none: ChoiceSupport::No, ..Self::UNFORCED };

    /// Whether the vendor accepts this choice.
    pub(crate) fn accepts(&self, choice: &ToolChoice, params: &Map<String, Value>) -> bool {
        match choice {
            ToolChoice::Auto => true,
            ToolChoice::None => self.none.allows(params),
            ToolChoice::Required => self.required.allows(params),
            ToolChoice::Named(_) => self.named.allows(params),
        }
    }

    /// Whether the request can enforce the choice. `none` is enforced by declaring no tools, a named tool by declaring it
    /// alone with `required`.
    pub(crate) fn can_enforce(&self, choice: &ToolChoice, params: &Map<String, Value>) -> bool {
        match choice {
            ToolChoice::Auto | ToolChoice::None => true,
            ToolChoice::Required => self.required.allows(params),
            ToolChoice::Named(_) => self.named.allows(params) || self.required.allows(params),
        }
    }
}

impl ChoiceSupport {
    fn allows(self, params: &Map<String, Value>) -> bool {
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

/// The field of a request that sets the form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormField {
    None,
    /// `response_format` of type `json_schema`, without `strict`, which refuses most schemas of tools.
    ResponseFormat,
    /// `format`, a schema: Ollama.
    Format,
    /// `grammar`: llama.cpp.
    Grammar,
    /// `structured_outputs`, the successor of `guided_grammar`: vLLM.
    StructuredOutputs,
    /// `ebnf`, in the same notation: SGLang.
    Ebnf,
}

impl FormField {
    pub(crate) fn support(self) -> FormSupport {
        match self {
            Self::None => FormSupport::None,
            Self::ResponseFormat | Self::Format => FormSupport::Schema,
            Self::Grammar | Self::StructuredOutputs | Self::Ebnf => FormSupport::Grammar,
        }
    }

    /// The field and its value, if the server supports a representation of the form.
    pub(crate) fn encode(self, form: &Form) -> Option<(&'static str, Value)> {
        let grammar = || json!(form.grammar);
        match self {
            Self::None => None,
            Self::Format => Some(("format", form.schema.clone()?)),
            Self::Grammar if !form.grammar.is_empty() => Some(("grammar", grammar())),
            Self::StructuredOutputs if !form.grammar.is_empty() => {
                Some(("structured_outputs", json!({"grammar": grammar()})))
            }
            Self::Ebnf if !form.grammar.is_empty() => Some(("ebnf", grammar())),
            // These servers support `response_format`, too.
            Self::ResponseFormat | Self::Grammar | Self::StructuredOutputs | Self::Ebnf => {
                let schema = json!({"name": "answer", "schema": form.schema.as_ref()?});
                Some(("response_format", json!({"type": "json_schema", "json_schema": schema})))
            }
        }
    }
}

/// The form of call ids that a vendor accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallIds {
    Any,
    /// Exactly nine letters and digits, also for calls of another model.
    NineAlphanumeric,
}

impl CallIds {
    /// The id in the form that the vendor accepts; equal ids stay equal.
    pub(crate) fn rewrite(self, id: &str) -> Cow<'_, str> {
        const SIGNS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self == Self::Any || fits {
            return Cow::Borrowed(id);
        }
        // FNV-1a gives the same id in every process: the history is encoded again for each request.
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
    fn a_tool_choice_can_be_enforced_only_if_the_model_does_not_think() {
        let unless = ChoiceSupport::UnlessThinking { parameter: &["thinking", "type"], off: "disabled" };
        let choices = Choices { required: unless, named: unless, ..Choices::ALL };
        let cases = [
            (json!({}), false),
            (json!({"thinking": {"type": "enabled"}}), false),
            (json!({"thinking": "disabled"}), false),
            (json!({"thinking": {"type": "disabled"}}), true),
        ];
        for (given, forced) in cases {
            let given = params(given);
            assert_eq!(choices.accepts(&ToolChoice::Required, &given), forced, "{given:?}");
            assert_eq!(choices.can_enforce(&ToolChoice::Named("f".into()), &given), forced, "{given:?}");
            assert!(choices.accepts(&ToolChoice::None, &given) && choices.accepts(&ToolChoice::Auto, &given));
        }
        let flag = ChoiceSupport::UnlessThinking { parameter: &["enable_thinking"], off: "false" };
        assert!(flag.allows(&params(json!({"enable_thinking": false}))));
        assert!(!flag.allows(&params(json!({"enable_thinking": true}))));
    }

    #[test]
    fn a_tool_that_cannot_be_named_can_be_required_alone() {
        let named = ToolChoice::Named("f".into());
        let none = params(json!({}));
        assert!(!Choices::WORDS.accepts(&named, &none) && Choices::WORDS.can_enforce(&named, &none));
        assert!(
            !Choices::UNFORCED.can_enforce(&named, &none)
                && !Choices::AUTO.can_enforce(&ToolChoice::Required, &none)
        );
        assert!(
            !Choices::AUTO.accepts(&ToolChoice::None, &none)
                && Choices::AUTO.can_enforce(&ToolChoice::None, &none)
        );
    }

    #[test]
    fn each_form_is_encoded_in_the_field_of_its_server() {
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
            assert_eq!(field.encode(form), expected, "{field:?}");
            assert!(expected.is_none() || field.support() != FormSupport::None);
        }
    }

    #[test]
    fn call_ids_are_rewritten_only_if_needed_and_always_to_the_same_id() {
        assert_eq!(CallIds::Any.rewrite("call_1"), "call_1");
        assert_eq!(CallIds::NineAlphanumeric.rewrite("D681PevKs"), "D681PevKs");
        let written = CallIds::NineAlphanumeric.rewrite("call_0fypS1hVX");
        assert!(written.len() == 9 && written.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{written}");
        assert_eq!(written, CallIds::NineAlphanumeric.rewrite("call_0fypS1hVX"));
        assert_ne!(written, CallIds::NineAlphanumeric.rewrite("call_0fypS1hVY"));
    }
}
