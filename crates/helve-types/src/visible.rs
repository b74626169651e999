//! Text with nothing hidden in it, for people who decide by what they see.
//!
//! Characters without a shape of their own, or that turn the order of others around, are named in their place. This is
//! the only table of them: a test writes it to `web/src/lib/hidden-characters.json`, which the page reads.

use std::borrow::Cow;
use std::fmt::Write;

/// First and last of each range of characters that do not show themselves: controls, formats, separators other than
/// the plain blank, what is made to be ignored when text is drawn, what is drawn as nothing, and what has no meaning
/// that others could know. The line end is left out in [`visible`] because it shows itself.
pub const HIDDEN: &[(u32, u32)] = &[
    (0x0000, 0x001F),
    (0x007F, 0x00A0),
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
    // A pattern of Braille without a dot.
    (0x2800, 0x2800),
    (0x3000, 0x3000),
    (0x3164, 0x3164),
    // Halves of characters, which only a text of JavaScript can hold, and private characters.
    (0xD800, 0xF8FF),
    (0xFDD0, 0xFDEF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x16FE4, 0x16FE4),
    (0x1BCA0, 0x1BCA3),
    // The head of a note that is not drawn, and formats of music.
    (0x1D159, 0x1D159),
    (0x1D173, 0x1D17A),
    (0x1FFFE, 0x1FFFF),
    (0x2FFFE, 0x2FFFF),
    // Planes without characters, tags and variants, private planes.
    (0x3FFFE, 0x0010_FFFF),
];

/// Those of [`HIDDEN`] that belong into ordinary text: tabs, blanks of other widths, and what joins or varies letters
/// and emoji. They stay in answers and in code; where a person decides about a call, they are named like the others.
pub const ORDINARY_IN_PROSE: &[(u32, u32)] = &[
    (0x0009, 0x0009),
    (0x00A0, 0x00A0),
    (0x2000, 0x200A),
    (0x200C, 0x200D),
    (0x202F, 0x202F),
    (0x3000, 0x3000),
    (0xFE0E, 0xFE0F),
];

/// The text with every hidden character named, as in `⟨U+202E⟩`. Nothing is left out; line ends stay, being visible.
pub fn show_hidden_chars(text: &str) -> Cow<'_, str> {
    replace_with_code_points(text, is_hidden_char)
}

/// The text of an answer: what steers or hides is named, what is ordinary in prose stays.
pub fn show_hidden_chars_in_prose(text: &str) -> Cow<'_, str> {
    replace_with_code_points(text, |char| is_hidden_char(char) && !is_in_ranges(ORDINARY_IN_PROSE, char))
}

fn replace_with_code_points(text: &str, is_named: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_named) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 32);
    for char in text.chars() {
        if is_named(char) {
            // Writing into a text does not fail.
            _ = write!(shown, "⟨U+{:04X}⟩", u32::from(char));
        } else {
            shown.push(char);
        }
    }
    Cow::Owned(shown)
}

fn is_hidden_char(char: char) -> bool {
    char != '\n' && is_in_ranges(HIDDEN, char)
}

fn is_in_ranges(ranges: &[(u32, u32)], char: char) -> bool {
    let code = u32::from(char);
    let behind = ranges.partition_point(|(first, _)| *first <= code);
    behind.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, last)| code <= *last)
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
            ("a\u{2800}b\u{1d159}c\u{16fe4}\u{4ffff}", "a⟨U+2800⟩b⟨U+1D159⟩c⟨U+16FE4⟩⟨U+4FFFF⟩"),
            ("tag\u{e0041}\u{e000}\u{10ffff}", "tag⟨U+E0041⟩⟨U+E000⟩⟨U+10FFFF⟩"),
        ];
        for (text, shown) in cases {
            assert_eq!(show_hidden_chars(text), shown);
        }
    }

    #[test]
    fn an_answer_keeps_its_emoji_and_wide_blanks_and_hides_nothing_else() {
        let kept = "a\tb 👩\u{200d}👧 ⚠\u{fe0f} 中\u{3000}文";
        assert_eq!(show_hidden_chars_in_prose(kept), kept);
        assert_eq!(
            show_hidden_chars_in_prose("a\u{202e}b\u{1b}[2J\u{200b}\u{ad}"),
            "a⟨U+202E⟩b⟨U+001B⟩[2J⟨U+200B⟩⟨U+00AD⟩"
        );
    }

    #[test]
    fn both_tables_are_in_order_and_no_control_is_missing() {
        for table in [HIDDEN, ORDINARY_IN_PROSE] {
            assert!(table.iter().all(|(first, last)| first <= last));
            assert!(table.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
        let missing = (char::MIN..=char::MAX).find(|char| char.is_control() && !is_in_ranges(HIDDEN, *char));
        assert_eq!(missing, None);
    }

    #[test]
    fn nothing_is_left_out_however_long() {
        let text = "\n".repeat(300) + &"\u{202e}".repeat(10_000);
        let shown = show_hidden_chars(&text);
        assert_eq!(shown.matches('\n').count(), 300);
        assert_eq!(shown.matches("⟨U+202E⟩").count(), 10_000);
    }
}
