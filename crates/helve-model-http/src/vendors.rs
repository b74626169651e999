//! The table of vendors. Differences are data, never `if vendor == …`.
//!
//! If a vendor has one address in China and another one elsewhere, the row has the one in China; for the other the operator
//! sets `base_url`.

mod quirks;

pub(crate) use self::quirks::{CallIds, ChoiceSupport, Choices, FormField, PLAIN, Quirks, ReasoningReturn};
use helve_model::FormSupport;

use crate::protocol::Protocol;
use crate::{anthropic_messages, gemini, ollama, openai_chat};

pub struct Vendor {
    pub name: &'static str,
    pub base_url: &'static str,
    /// The environment variable with the key; none if no key is needed.
    pub key_env: Option<&'static str>,
    pub protocol: &'static Protocol,
    pub(crate) quirks: Quirks,
}

/// Thinking is on unless it is switched off.
const WHILE_THINKING: ChoiceSupport =
    ChoiceSupport::UnlessThinking { parameter: &["thinking", "type"], off: "disabled" };

pub const VENDORS: &[Vendor] = &[
    Vendor {
        name: "openai",
        base_url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            max_tokens: "max_completion_tokens",
            form: FormField::ResponseFormat,
            // The vendor's reasoning models refuse stop texts.
            stops_max: 0,
            ..PLAIN
        },
    },
    Vendor {
        name: "ark",
        base_url: "https://ark.cn-beijing.volces.com/api/v3",
        key_env: Some("ARK_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            reasoning: ReasoningReturn::Field("reasoning_content"),
            echo: &["encrypted_content"],
            ..PLAIN
        },
    },
    // Refuses a history with calls but without their reasoning, and an enforced tool choice while it thinks.
    Vendor {
        name: "deepseek",
        base_url: "https://api.deepseek.com",
        key_env: Some("DEEPSEEK_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            reasoning: ReasoningReturn::FieldWithCalls("reasoning_content"),
            choices: Choices { required: WHILE_THINKING, named: WHILE_THINKING, ..Choices::ALL },
            ..PLAIN
        },
    },
    // Thinking may be on by default, depending on the model; a tool can be named only if it is off.
    Vendor {
        name: "qwen",
        base_url: "https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_env: Some("DASHSCOPE_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            top_k: true,
            choices: Choices {
                named: ChoiceSupport::UnlessThinking { parameter: &["enable_thinking"], off: "false" },
                ..Choices::UNFORCED
            },
            ..PLAIN
        },
    },
    Vendor {
        name: "moonshot",
        base_url: "https://api.moonshot.cn/v1",
        key_env: Some("MOONSHOT_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            max_tokens: "max_completion_tokens",
            reasoning: ReasoningReturn::FieldWithCalls("reasoning_content"),
            choices: Choices::UNFORCED,
            ..PLAIN
        },
    },
    Vendor {
        name: "zhipu",
        base_url: "https://open.bigmodel.cn/api/paas/v4",
        key_env: Some("ZHIPUAI_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            usage_option: false,
            reasoning: ReasoningReturn::Field("reasoning_content"),
            choices: Choices::AUTO,
            ..PLAIN
        },
    },
    // Reasons in the text, between tags, and expects it back there.
    Vendor {
        name: "minimax",
        base_url: "https://api.minimaxi.com/v1",
        key_env: Some("MINIMAX_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            max_tokens: "max_completion_tokens",
            reasoning: ReasoningReturn::Text,
            choices: Choices::AUTO,
            ..PLAIN
        },
    },
    Vendor {
        name: "siliconflow",
        base_url: "https://api.siliconflow.cn/v1",
        key_env: Some("SILICONFLOW_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks { top_k: true, reasoning: ReasoningReturn::Field("reasoning_content"), ..PLAIN },
    },
    // Refuses unknown fields.
    Vendor {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        key_env: Some("MISTRAL_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            seed: "random_seed",
            usage_option: false,
            form: FormField::ResponseFormat,
            call_ids: CallIds::NineAlphanumeric,
            ..PLAIN
        },
    },
    Vendor {
        name: "groq",
        base_url: "https://api.groq.com/openai/v1",
        key_env: Some("GROQ_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            max_tokens: "max_completion_tokens",
            reasoning: ReasoningReturn::Field("reasoning"),
            form: FormField::ResponseFormat,
            ..PLAIN
        },
    },
    Vendor {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        key_env: Some("OPENROUTER_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            top_k: true,
            reasoning: ReasoningReturn::Field("reasoning"),
            echo: &["reasoning_details"],
            form: FormField::ResponseFormat,
            ..PLAIN
        },
    },
    Vendor {
        name: "anthropic",
        base_url: "https://api.anthropic.com",
        key_env: Some("ANTHROPIC_API_KEY"),
        protocol: &anthropic_messages::PROTOCOL,
        quirks: PLAIN,
    },
    Vendor {
        name: "gemini",
        base_url: "https://generativelanguage.googleapis.com",
        key_env: Some("GEMINI_API_KEY"),
        protocol: &gemini::PROTOCOL,
        quirks: Quirks { stops_max: 5, ..PLAIN },
    },
    Vendor {
        name: "ollama",
        base_url: "http://127.0.0.1:11434",
        key_env: None,
        protocol: &ollama::PROTOCOL,
        quirks: Quirks {
            max_tokens: "num_predict",
            reasoning: ReasoningReturn::Field("thinking"),
            choices: Choices::AUTO,
            form: FormField::Format,
            base_endings: &["/v1", "/api"],
            ..PLAIN
        },
    },
    Vendor {
        name: "vllm",
        base_url: "http://127.0.0.1:8000/v1",
        key_env: None,
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            reasoning: ReasoningReturn::Field("reasoning"),
            form: FormField::StructuredOutputs,
            ..PLAIN
        },
    },
    // Treats a named tool as `auto`, without an error.
    Vendor {
        name: "llama_cpp",
        base_url: "http://127.0.0.1:8080/v1",
        key_env: None,
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            reasoning: ReasoningReturn::Field("reasoning_content"),
            choices: Choices::WORDS,
            form: FormField::Grammar,
            ..PLAIN
        },
    },
    Vendor {
        name: "sglang",
        base_url: "http://127.0.0.1:30000/v1",
        key_env: None,
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            reasoning: ReasoningReturn::Field("reasoning_content"),
            form: FormField::Ebnf,
            ..PLAIN
        },
    },
    Vendor {
        name: "lm_studio",
        base_url: "http://127.0.0.1:1234/v1",
        key_env: None,
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks { choices: Choices::WORDS, form: FormField::ResponseFormat, ..PLAIN },
    },
    // Other servers by protocol. llama.cpp, vLLM, Ollama and gateways also speak Anthropic's.
    Vendor {
        name: "anthropic_compatible",
        base_url: "http://127.0.0.1:8080",
        key_env: None,
        protocol: &anthropic_messages::PROTOCOL,
        quirks: PLAIN,
    },
    Vendor {
        name: "gemini_compatible",
        base_url: "http://127.0.0.1:8080",
        key_env: None,
        protocol: &gemini::PROTOCOL,
        quirks: PLAIN,
    },
    // Any other server that speaks OpenAI's protocol.
    Vendor {
        name: "openai_compatible",
        base_url: "http://127.0.0.1:8080/v1",
        key_env: None,
        protocol: &openai_chat::PROTOCOL,
        quirks: PLAIN,
    },
];

pub fn find_vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

pub(crate) const PROTOCOLS: &[&Protocol] =
    &[&openai_chat::PROTOCOL, &ollama::PROTOCOL, &anthropic_messages::PROTOCOL, &gemini::PROTOCOL];

/// Which forms of an answer the servers of a vendor can enforce.
pub fn form_support(name: &str) -> FormSupport {
    find_vendor(name).map_or(FormSupport::None, |vendor| vendor.quirks.form.support())
}

/// A protocol by its name in the configuration.
pub fn find_protocol(name: &str) -> Option<&'static Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.name == name)
}

/// The row for any server that speaks this protocol.
pub(crate) fn compatible_vendor(protocol: &Protocol) -> &'static Vendor {
    let speaks = |vendor: &&Vendor| vendor.key_env.is_none() && vendor.protocol.name == protocol.name;
    VENDORS.iter().rfind(speaks).unwrap_or(&VENDORS[VENDORS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_have_unique_names_and_addresses_without_a_final_slash() {
        for (at, vendor) in VENDORS.iter().enumerate() {
            assert!(VENDORS[..at].iter().all(|other| other.name != vendor.name), "{}", vendor.name);
            assert!(!vendor.base_url.ends_with('/'), "{}", vendor.name);
            assert!(find_protocol(vendor.protocol.name).is_some());
        }
        assert_eq!(compatible_vendor(&openai_chat::PROTOCOL).name, "openai_compatible");
        assert_eq!(compatible_vendor(&ollama::PROTOCOL).name, "ollama");
    }

    #[test]
    fn vendors_with_keys_have_encrypted_addresses() {
        for vendor in VENDORS.iter().filter(|vendor| vendor.key_env.is_some()) {
            assert!(vendor.base_url.starts_with("https://"), "{}", vendor.name);
        }
    }

    #[test]
    fn every_protocol_has_a_row_for_compatible_servers() {
        for protocol in PROTOCOLS {
            let row = compatible_vendor(protocol);
            assert_eq!((row.protocol.name, row.key_env), (protocol.name, None), "{}", row.name);
        }
    }
}
