//! What others wrote, on a terminal: letters stay letters, and whatever would steer the terminal is shown as what it is.
//!
//! A model, a tool or a web page may write any character. An escape sequence could clear the screen, rename the window
//! or make the terminal type; a character that turns the direction of writing could show another call than the one that
//! is approved. In JSON what is shown, `\u001b`, is the same text in another spelling.

use std::borrow::Cow;

/// A text of several lines.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| c == '\n' || c == '\t';
    if !text.chars().any(|c| steers(c) && !harmless(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.replace("\r\n", "\n").chars() {
        if steers(c) && !harmless(c) { spell(c, &mut shown) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// A text that is to stay in its line.
pub(crate) fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        if steers(c) { spell(c, &mut shown) } else { shown.push(c) }
    }
    shown
}

/// A text of several lines behind a mark, so that none of them can be taken for a line of ours.
pub(crate) fn in_gutter(written: &str) -> String {
    text(written).lines().map(|line| format!("  | {line}\n")).collect()
}

/// Whether a character does something instead of being something.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // The direction of writing, and marks of it.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Nothing to be seen: ends of lines and paragraphs, blanks without width, the invisible alphabet.
            | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn spell(c: char, shown: &mut String) {
    match c {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        c if u32::from(c) <= 0xffff => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
        c => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        let cases = [
            ("plain\n\ttext 你好 🦀👩‍👩‍👧", "plain\n\ttext 你好 🦀👩‍👩‍👧"),
            ("\u{1b}]0;title\u{7}\u{1b}[2J", "\\u001b]0;title\\u0007\\u001b[2J"),
            ("\u{9b}31m", "\\u009b31m"),
            ("one\r\ntwo\rthree\u{8}", "one\ntwo\\rthree\\u0008"),
            ("delete \u{202e}gpj.exe", "delete \\u202egpj.exe"),
            ("\u{e0041}", "\\u{e0041}"),
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
}
