//! The language of a conversation, as far as Helve's own words in it need one.

use serde::{Deserialize, Serialize};

use crate::{ChatMessage, ChatRole, Message, Part, Role};

/// A language of the texts for models and people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    #[default]
    English,
    Chinese,
}

/// A cheap guess from the beginning of a text.
pub fn language_of(text: &str) -> Language {
    const ENOUGH: usize = 2_000;
    let (mut han, mut letters) = (0, 0);
    for c in text.chars().take(ENOUGH) {
        match c {
            // Kana beside Han characters are Japanese, for which English is no worse.
            '\u{3040}'..='\u{30ff}' => return Language::English,
            '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' => han += 1,
            c if c.is_alphabetic() => letters += 1,
            _ => {}
        }
    }
    // A Han character says about as much as four letters; names and code are often Latin.
    if han > 0 && han * 4 >= letters { Language::Chinese } else { Language::English }
}

/// Whether a message is in any language: numbers and JSON, such as the result of a client's tool, are in none.
pub fn has_language(text: &str) -> bool {
    let text = text.trim();
    text.chars().take(2_000).any(char::is_alphabetic) && !is_json(text)
}

/// The language of what people say in a conversation, message by message.
///
/// It changes rarely, since everything that a model is told before changes with it and prompt caches are lost. Han
/// characters are a sign that cannot be mistaken; in a Chinese conversation a single message in Latin letters often is
/// a name, a line of a log or a command, so English needs two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConversationLanguage {
    /// None before the first message.
    current: Option<Language>,
    /// The last message was in English, in a conversation that is not.
    english_last: bool,
}

impl ConversationLanguage {
    pub fn prevailing(self) -> Language {
        self.current.unwrap_or_default()
    }

    /// Takes in what a person said.
    pub fn add(&mut self, text: &str) {
        if !has_language(text) {
            return;
        }
        match (language_of(text), self.current) {
            (Language::English, Some(Language::Chinese)) if !self.english_last => self.english_last = true,
            (language, _) => *self = Self { current: Some(language), english_last: false },
        }
    }

    pub fn add_messages(&mut self, messages: &[Message]) {
        for message in messages.iter().filter(|message| message.role == Role::User) {
            for part in &message.parts {
                if let Part::Text { text, .. } = part {
                    self.add(text);
                }
            }
        }
    }

    pub fn add_client_messages(&mut self, messages: &[ChatMessage]) {
        for message in messages.iter().filter(|message| message.role == ChatRole::User) {
            self.add(&message.content);
        }
    }
}

fn is_json(text: &str) -> bool {
    text.starts_with(['{', '[', '"']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_guessed_from_the_script() {
        let cases = [
            ("What is the weather in Rome?", Language::English),
            ("罗马的天气怎么样？", Language::Chinese),
            ("帮我用 search_web 查一下 Rust 2024 的新特性", Language::Chinese),
            ("What does 你好 mean in English, please?", Language::English),
            ("東京の天気は？", Language::English),
            ("12 + 30", Language::English),
            ("", Language::English),
        ];
        for (text, language) in cases {
            assert_eq!(language_of(text), language, "{text}");
        }
    }

    #[test]
    fn the_language_of_a_conversation_changes_only_with_what_people_say() {
        use Language::{Chinese, English};
        for (said, language) in [
            (&[][..], English),
            (&["计算所有素数之和"][..], Chinese),
            (
                &["计算所有素数之和", r#"{"tool_call_result": {"toolCallId": "call_1", "result": 76127}}"#],
                Chinese,
            ),
            (&["计算", "12 + 30", "ok"], Chinese),
            (&["计算", "ls -la", "继续"], Chinese),
            (&["计算", "Please answer in English.", "And the next one?"], English),
            (&["Hello", "请用中文回答"], Chinese),
            (&[r#"{"a": 1}"#, "Hello"], English),
        ] {
            let mut conversation = ConversationLanguage::default();
            said.iter().for_each(|text| conversation.add(text));
            assert_eq!(conversation.prevailing(), language, "{said:?}");
        }
    }
}
