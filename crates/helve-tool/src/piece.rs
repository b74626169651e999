//! A piece of a long text, cut between characters.

/// Some of a text and where it stands in it; positions are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    pub text: &'a str,
    pub start: usize,
    /// Where to read on.
    pub end: usize,
}

/// At most `bytes_max` bytes from `offset` on, and one character at least, so that a reader always gets to the end.
pub fn cut_piece(text: &str, offset: usize, bytes_max: usize) -> Piece<'_> {
    let start = text.floor_char_boundary(offset);
    let end = text.floor_char_boundary(start.saturating_add(bytes_max));
    let end = if end > start { end } else { text.ceil_char_boundary(start.saturating_add(1)) };
    Piece { text: &text[start..end], start, end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_read_one_after_the_other_are_the_text() {
        let text = "a中b🙂c字";
        for bytes_max in 0..20 {
            let (mut read, mut offset) = (String::new(), 0);
            while offset < text.len() {
                let piece = cut_piece(text, offset, bytes_max);
                assert!(piece.text.len() <= bytes_max.max(4), "{piece:?}");
                read.push_str(piece.text);
                offset = piece.end;
            }
            assert_eq!(read, text);
        }
    }

    #[test]
    fn what_is_asked_for_beyond_the_end_is_empty() {
        for offset in [3, 4, usize::MAX] {
            assert_eq!(cut_piece("abc", offset, usize::MAX), Piece { text: "", start: 3, end: 3 });
        }
        assert_eq!(cut_piece("", 0, 0), Piece { text: "", start: 0, end: 0 });
    }

    #[test]
    fn an_offset_inside_a_character_means_its_beginning() {
        assert_eq!(cut_piece("中文", 4, 3), Piece { text: "文", start: 3, end: 6 });
    }
}
