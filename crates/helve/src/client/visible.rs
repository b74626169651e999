//! What others wrote, on a terminal: letters stay letters, and what would steer the terminal or hide is named.
//!
//! A model, a tool or a web page may write any character. An escape sequence could clear the screen, rename the window
//! or make the terminal type; a character that turns the direction of writing could show another call than the one that
//! is approved. The table of such characters is in `helve-types`, for the terminal and for the pages.

use std::borrow::Cow;

use helve_types::{show_hidden_chars, show_hidden_chars_in_prose};

/// A text of several lines to read, such as an answer. Emoji and wide blanks stay in it.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if !text.contains("\r\n") {
        return show_hidden_chars_in_prose(text);
    }
    Cow::Owned(show_hidden_chars_in_prose(&text.replace("\r\n", "\n")).into_owned())
}

/// A text that is to stay in its line, with every hidden character named.
pub(crate) fn line(text: &str) -> String {
    let spelled = text.trim_end().replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    show_hidden_chars(&spelled).into_owned()
}

/// A text of several lines that a person decides by: every hidden character is named. Behind a mark, so that none of its
/// lines can be taken for a line of ours.
pub(crate) fn in_gutter(written: &str) -> String {
    behind_mark(&show_hidden_chars(&written.replace("\r\n", "\n")))
}

/// A text of several lines to read, behind the same mark.
pub(crate) fn prose_in_gutter(written: &str) -> String {
    behind_mark(&text(written))
}

fn behind_mark(shown: &str) -> String {
    shown.lines().map(|line| format!("  | {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        let cases = [
            ("plain\n\ttext 你好 🦀👩‍👩‍👧", "plain\n\ttext 你好 🦀👩‍👩‍👧"),
            ("\u{1b}]0;title\u{7}\u{1b}[2J", "⟨U+001B⟩]0;title⟨U+0007⟩⟨U+001B⟩[2J"),
            ("\u{9b}31m", "⟨U+009B⟩31m"),
            ("one\r\ntwo\rthree\u{8}", "one\ntwo⟨U+000D⟩three⟨U+0008⟩"),
            ("delete \u{202e}gpj.exe", "delete ⟨U+202E⟩gpj.exe"),
            ("\u{e0041}\u{ad}\u{3164}", "⟨U+E0041⟩⟨U+00AD⟩⟨U+3164⟩"),
        ];
        for (written, shown) in cases {
            assert_eq!(text(written), shown);
        }
    }

    #[test]
    fn a_line_stays_in_its_line_and_a_text_behind_its_mark() {
        assert_eq!(line("a\nb\tc\n"), "a\\nb\\tc");
        assert_eq!(in_gutter("a\neffect    read"), "  | a\n  | effect    read\n");
    }

    #[test]
    fn what_somebody_decides_by_hides_less_than_an_answer() {
        let written = "pay\u{200d}pal\u{2060}\u{3164}\u{fe0f}";
        assert_eq!(prose_in_gutter(written), "  | pay\u{200d}pal⟨U+2060⟩⟨U+3164⟩\u{fe0f}\n");
        assert_eq!(in_gutter(written), "  | pay⟨U+200D⟩pal⟨U+2060⟩⟨U+3164⟩⟨U+FE0F⟩\n");
        assert_eq!(line(written), "pay⟨U+200D⟩pal⟨U+2060⟩⟨U+3164⟩⟨U+FE0F⟩");
    }
}
