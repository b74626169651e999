//! Text inside and between tags, which is nearly always ASCII: its bytes decide, and Unicode is asked only where one of
//! them is something else.

/// The text without the blanks around it.
pub(crate) fn trim(text: &str) -> &str {
    match text.as_bytes() {
        [.., last] if !last.is_ascii_graphic() => text.trim(),
        _ => trim_start(text),
    }
}

/// The text without the blanks before it.
pub(crate) fn trim_start(text: &str) -> &str {
    match text.as_bytes() {
        [first, ..] if may_begin_blank(*first) => text.trim_start(),
        _ => text,
    }
}

/// Whether a blank may begin with this byte. Those beyond ASCII begin with one of four.
fn may_begin_blank(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | 0xC2 | 0xE1..=0xE3)
}

/// Whether there is nothing but blanks.
pub(crate) fn is_blank(text: &str) -> bool {
    match text.bytes().find(|byte| !byte.is_ascii_whitespace()) {
        None => true,
        Some(byte) if byte.is_ascii_graphic() => false,
        Some(_) => text.trim().is_empty(),
    }
}

/// Where the first such character stands; of those in ASCII, which one is wanted shows in the byte.
pub(crate) fn find_char(text: &str, is: impl Fn(char) -> bool) -> Option<usize> {
    let at = text.bytes().position(|byte| !byte.is_ascii() || is(byte as char))?;
    match text.as_bytes()[at].is_ascii() {
        true => Some(at),
        false => text[at..].find(is).map(|further| at + further),
    }
}

/// What stands before and behind the first such byte, which is one of ASCII.
pub(crate) fn split_once(text: &str, byte: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|b| b == byte)?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_blank_begins_otherwise() {
        for c in (char::MIN..=char::MAX).filter(|c| c.is_whitespace()) {
            assert!(may_begin_blank(c.to_string().as_bytes()[0]), "{c:?}");
        }
    }

    #[test]
    fn bytes_and_characters_say_the_same() {
        let texts = [
            "",
            "a",
            " ",
            "\n",
            "ab",
            " ab",
            "ab ",
            "\t a b \r",
            "\u{b}a",
            "a\u{1c}",
            "\u{a0}",
            " \u{a0} ",
            "\u{a0}a",
            "é",
            "é a",
            "a é=b",
            "aĠb=c",
            "=",
            "a=b=c",
            "\u{3000}=\u{3000}",
        ];
        for text in texts {
            assert_eq!(trim(text), text.trim(), "{text:?}");
            assert_eq!(trim_start(text), text.trim_start(), "{text:?}");
            assert_eq!(is_blank(text), text.trim().is_empty(), "{text:?}");
            assert_eq!(split_once(text, b'='), text.split_once('='), "{text:?}");
            let is = |c: char| c.is_whitespace() || matches!(c, '=' | 'Ġ');
            assert_eq!(find_char(text, is), text.find(is), "{text:?}");
        }
    }
}
