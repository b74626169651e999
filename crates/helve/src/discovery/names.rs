//! Which of the names that a server lists are offered.

/// As many models of one server as people choose from.
const NAMES_MAX: usize = 200;
const NAME_BYTES_MAX: usize = 200;

/// Words in the names of models that do not answer in text, or not to a conversation.
const OTHER_KINDS: &[&str] = &[
    "aqa",
    "audio",
    "babbage",
    "bge-",
    "dall-e",
    "davinci",
    "embed",
    "imagen",
    "gpt-image",
    "minilm",
    "moderation",
    "realtime",
    "rerank",
    "sora",
    "transcribe",
    "tts",
    "veo-",
    "whisper",
];

/// The models of a listing that can be talked with, under the names that requests use.
pub(super) fn offered(listed: Vec<String>) -> Vec<String> {
    let mut names = vec![];
    for name in listed {
        let name = name.strip_prefix("models/").unwrap_or(&name).to_owned();
        let is_name = !name.trim().is_empty()
            && name.len() <= NAME_BYTES_MAX
            && !name.chars().any(|c| c.is_control() || c.is_whitespace());
        if is_name && is_for_chat(&name) && !names.contains(&name) {
            names.push(name);
        }
        if names.len() == NAMES_MAX {
            break;
        }
    }
    names
}

fn is_for_chat(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !OTHER_KINDS.iter().any(|kind| name.contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_for_other_purposes_and_names_that_are_none_are_left_out() {
        let listed = [
            "qwen3:8b",
            "nomic-embed-text:latest",
            "models/gemini-2.5-flash",
            "whisper-1",
            "qwen3:8b",
            "two words",
            "",
            "evil\u{1b}[2J",
        ];
        assert_eq!(offered(listed.map(str::to_owned).to_vec()), ["qwen3:8b", "gemini-2.5-flash"]);
        assert!(offered(vec!["x".repeat(NAME_BYTES_MAX + 1)]).is_empty());
    }

    #[test]
    fn a_server_that_lists_without_end_offers_a_bounded_number() {
        let listed = (0..10_000).map(|number| format!("m{number}")).collect();
        assert_eq!(offered(listed).len(), NAMES_MAX);
    }
}
