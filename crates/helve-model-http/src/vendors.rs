//! The vendors: most are one row. Differences are data, never `if vendor == …`.

use crate::protocol::Protocol;
use crate::{anthropic_messages, gemini, openai_chat};

pub struct Vendor {
    pub name: &'static str,
    pub base_url: &'static str,
    /// The environment variable that holds the key; none where no key is needed.
    pub key_env: Option<&'static str>,
    pub protocol: &'static Protocol,
    pub(crate) quirks: Quirks,
}

/// In what a vendor differs from the letter of its protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// The name under which the bound on the answer's length is sent.
    pub(crate) max_tokens: &'static str,
    /// Reasoning must be sent back with the assistant's turns.
    pub(crate) echo_reasoning: bool,
}

const PLAIN: Quirks = Quirks { max_tokens: "max_tokens", echo_reasoning: false };

pub const VENDORS: &[Vendor] = &[
    Vendor {
        name: "openai",
        base_url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks { max_tokens: "max_completion_tokens", ..PLAIN },
    },
    Vendor {
        name: "ark",
        base_url: "https://ark.cn-beijing.volces.com/api/v3",
        key_env: Some("ARK_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks { echo_reasoning: true, ..PLAIN },
    },
    Vendor {
        name: "deepseek",
        base_url: "https://api.deepseek.com",
        key_env: Some("DEEPSEEK_API_KEY"),
        protocol: &openai_chat::PROTOCOL,
        quirks: Quirks { echo_reasoning: true, ..PLAIN },
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
        quirks: PLAIN,
    },
    // Through its OpenAI-style door, until its own protocol has a folder here.
    Vendor {
        name: "ollama",
        base_url: "http://127.0.0.1:11434/v1",
        key_env: None,
        protocol: &openai_chat::PROTOCOL,
        quirks: PLAIN,
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
    // llama.cpp, vLLM, SGLang, LM Studio and everything else that speaks the protocol at its own address.
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
    &[&openai_chat::PROTOCOL, &anthropic_messages::PROTOCOL, &gemini::PROTOCOL];

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
    }

    #[test]
    fn every_protocol_has_a_row_for_any_server_that_speaks_it() {
        for protocol in PROTOCOLS {
            let row = any_vendor_of(protocol);
            assert_eq!((row.protocol.name, row.key_env), (protocol.name, None), "{}", row.name);
        }
    }
}
