//! The language of a conversation, as far as Helve's own words in it need one.

/// A language in which Helve speaks to models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
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
}
