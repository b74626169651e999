//! The vendors: most are one row. Differences are data, never `if vendor == …`.
//!
//! Where a vendor has a door in China and one elsewhere, the row has the one in China; the other is a `base_url`.

mod quirks;

pub(crate) use self::quirks::{CallIds, Choices, FormField, PLAIN, Quirks, Returned, Takes};
use helve_model::Holds;

use crate::protocol::Protocol;
use crate::{anthropic_messages, gemini, ollama, openai_chat};

pub struct Vendor {
    pub name: &'static str,
    pub base_url: &'static str,
    /// The environment variable that holds the key; none where no key is needed.
    pub key_env: Option<&'static str>,
    pub protocol: &'static Protocol,
    pub(crate) quirks: Quirks,
}

/// Thinking is on unless it is switched off.
const WHILE_THINKING: Takes = Takes::UnlessThinking { parameter: &["thinking", "type"], off: "disabled" };

pub const VENDORS: &[Vendor] = &[
    Vendor {
        name: "openai",
        base_url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            max_tokens: "max_completion_tokens",
            form: FormField::ResponseFormat,
            // Those of its models that reason refuse them.
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
            reasoning: Returned::Field("reasoning_content"),
            echo: &["encrypted_content"],
            ..PLAIN
        },
    },
    // In a turn with calls it refuses a history without their reasoning, and while it thinks it takes no force.
    Vendor {
        name: "deepseek",
        base_url: "https://api.deepseek.com",
        key_env: Some("DEEPSEEK_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            reasoning: Returned::FieldWithCalls("reasoning_content"),
            choices: Choices { required: WHILE_THINKING, named: WHILE_THINKING, ..Choices::ALL },
            ..PLAIN
        },
    },
    // Thinking may be on by default, depending on the model; a tool can be named only where it is off.
    Vendor {
        name: "qwen",
        base_url: "https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_env: Some("DASHSCOPE_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            top_k: true,
            choices: Choices {
                named: Takes::UnlessThinking { parameter: &["enable_thinking"], off: "false" },
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
            reasoning: Returned::FieldWithCalls("reasoning_content"),
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
            reasoning: Returned::Field("reasoning_content"),
            choices: Choices::AUTO,
            ..PLAIN
        },
    },
    // Thinks in its text, between tags, and wants it back there.
    Vendor {
        name: "minimax",
        base_url: "https://api.minimaxi.com/v1",
        key_env: Some("MINIMAX_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            max_tokens: "max_completion_tokens",
            reasoning: Returned::Text,
            choices: Choices::AUTO,
            ..PLAIN
        },
    },
    Vendor {
        name: "siliconflow",
        base_url: "https://api.siliconflow.cn/v1",
        key_env: Some("SILICONFLOW_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks { top_k: true, reasoning: Returned::Field("reasoning_content"), ..PLAIN },
    },
    // Refuses every field that it does not know.
    Vendor {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        key_env: Some("MISTRAL_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            seed: "random_seed",
            usage_option: false,
            form: FormField::ResponseFormat,
            call_ids: CallIds::Nine,
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
            reasoning: Returned::Field("reasoning"),
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
            reasoning: Returned::Field("reasoning"),
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
            reasoning: Returned::Field("thinking"),
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
            reasoning: Returned::Field("reasoning"),
            form: FormField::StructuredOutputs,
            ..PLAIN
        },
    },
    // It reads a tool's name as `auto`, without a word.
    Vendor {
        name: "llama_cpp",
        base_url: "http://127.0.0.1:8080/v1",
        key_env: None,
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks {
            reasoning: Returned::Field("reasoning_content"),
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
        quirks: Quirks { reasoning: Returned::Field("reasoning_content"), form: FormField::Ebnf, ..PLAIN },
    },
    Vendor {
        name: "lm_studio",
        base_url: "http://127.0.0.1:1234/v1",
        key_env: None,
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks { choices: Choices::WORDS, form: FormField::ResponseFormat, ..PLAIN },
    },
    // Servers at their own address that speak one of the protocols: llama.cpp, vLLM, Ollama and gateways speak
    // Anthropic's, too.
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
    // Everything else that speaks the protocol at its own address.
    Vendor {
        name: "openai_compatible",
        base_url: "http://127.0.0.1:8080/v1",
        key_env: None,
        protocol: &openai_chat::PROTOCOL,
        quirks: PLAIN,
    },
];

pub fn vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

pub(crate) const PROTOCOLS: &[&Protocol] =
    &[&openai_chat::PROTOCOL, &ollama::PROTOCOL, &anthropic_messages::PROTOCOL, &gemini::PROTOCOL];

/// What the servers of a vendor can hold a model to.
pub fn holds(name: &str) -> Holds {
    vendor(name).map_or(Holds::Nothing, |vendor| vendor.quirks.form.holds())
}

/// A protocol by the name that configuration uses for it.
pub fn protocol(name: &str) -> Option<&'static Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.name == name)
}

/// The vendor whose row stands for "any server that speaks this protocol".
pub(crate) fn any_vendor_of(protocol: &Protocol) -> &'static Vendor {
    let speaks = |vendor: &&Vendor| vendor.key_env.is_none() && vendor.protocol.name == protocol.name;
    VENDORS.iter().rfind(speaks).unwrap_or(&VENDORS[VENDORS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vendor_has_a_name_of_its_own_and_an_address_without_a_slash_at_its_end() {
        for (at, vendor) in VENDORS.iter().enumerate() {
            assert!(VENDORS[..at].iter().all(|other| other.name != vendor.name), "{}", vendor.name);
            assert!(!vendor.base_url.ends_with('/'), "{}", vendor.name);
            assert!(protocol(vendor.protocol.name).is_some());
        }
        assert_eq!(any_vendor_of(&openai_chat::PROTOCOL).name, "openai_compatible");
        assert_eq!(any_vendor_of(&ollama::PROTOCOL).name, "ollama");
    }

    #[test]
    fn keys_go_only_where_nobody_can_read_them_on_the_way() {
        for vendor in VENDORS.iter().filter(|vendor| vendor.key_env.is_some()) {
            assert!(vendor.base_url.starts_with("https://"), "{}", vendor.name);
        }
    }

    #[test]
    fn every_protocol_has_a_row_for_any_server_that_speaks_it() {
        for protocol in PROTOCOLS {
            let row = any_vendor_of(protocol);
            assert_eq!((row.protocol.name, row.key_env), (protocol.name, None), "{}", row.name);
        }
    }
}
