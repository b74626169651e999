//! Text with nothing hidden in it, for people who decide by what they see.
//!
//! Characters without a shape of their own, or that turn the order of others around, are named in its place. The page
//! does the same (`web/src/lib/visible-text.ts`).

use std::borrow::Cow;
use std::fmt::Write;

/// What has no shape, besides controls: formats, separators other than the plain blank, what is made to be ignored when
/// text is drawn, and what nobody but two parties knows the meaning of.
const HIDDEN: &[(u32, u32)] = &[
    (0x00A0, 0x00A0),
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x0600, 0x0605),
    (0x061C, 0x061C),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x115F, 0x1160),
    (0x1680, 0x1680),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2000, 0x200F),
    (0x2028, 0x202F),
    (0x205F, 0x206F),
    (0x3000, 0x3000),
    (0x3164, 0x3164),
    (0xE000, 0xF8FF),
    (0xFDD0, 0xFDEF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
    (0xF0000, 0x0010_FFFF),
];

/// The text with every hidden character named, as in `⟨U+202E⟩`. Nothing is left out; line ends stay, being visible.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 32);
    for char in text.chars() {
        if is_hidden(char) {
            // Writing into a text does not fail.
            _ = write!(shown, "⟨U+{:04X}⟩", u32::from(char));
        } else {
            shown.push(char);
        }
    }
    Cow::Owned(shown)
}

fn is_hidden(char: char) -> bool {
    let code = u32::from(char);
    char != '\n' && (char.is_control() || HIDDEN.iter().any(|(first, last)| (*first..=*last).contains(&code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_hide_is_named_and_everything_else_stays() {
        let cases = [
            ("plain <b>text</b> & more", "plain <b>text</b> & more"),
            ("line\nline", "line\nline"),
            ("中文 é 😀 क्षि", "中文 é 😀 क्षि"),
            ("rm \u{202e}fdp.exe\u{202c}", "rm ⟨U+202E⟩fdp.exe⟨U+202C⟩"),
            ("a\u{2066}b\u{2069}", "a⟨U+2066⟩b⟨U+2069⟩"),
            ("pay\u{200b}pal\u{200d}\u{feff}", "pay⟨U+200B⟩pal⟨U+200D⟩⟨U+FEFF⟩"),
            ("a\tb\r\u{0}\u{1b}[2J\u{7f}\u{85}", "a⟨U+0009⟩b⟨U+000D⟩⟨U+0000⟩⟨U+001B⟩[2J⟨U+007F⟩⟨U+0085⟩"),
            ("a\u{2028}b\u{2029}c\u{a0}d\u{3000}e", "a⟨U+2028⟩b⟨U+2029⟩c⟨U+00A0⟩d⟨U+3000⟩e"),
            ("x\u{ad}y\u{3164}z\u{fe0f}", "x⟨U+00AD⟩y⟨U+3164⟩z⟨U+FE0F⟩"),
            ("tag\u{e0041}\u{e000}\u{10ffff}", "tag⟨U+E0041⟩⟨U+E000⟩⟨U+10FFFF⟩"),
        ];
        for (text, shown) in cases {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn nothing_is_left_out_however_long() {
        let text = "\n".repeat(300) + &"\u{202e}".repeat(10_000);
        let shown = visible(&text);
        assert_eq!(shown.matches('\n').count(), 300);
        assert_eq!(shown.matches("⟨U+202E⟩").count(), 10_000);
    }
}
