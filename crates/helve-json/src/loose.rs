//! Where an object ends that is not quite JSON.
//!
//! Only brackets and quotes count. A quote closes a string only where something follows that can follow a string,
//! so apostrophes and unescaped quotes do not derail the count. Once quotes have proved unreliable, the closing tag
//! after a bracket ends the object whatever the count says.

use crate::closer::MarkMatcher;
use crate::literal::Quote;

pub enum LooseEvent {
    More,
    /// Its brackets are balanced here.
    End(usize),
    /// This closing tag ended it here.
    Tag(usize, &'static str),
}

/// Where in a comment the text is. One begins only behind a blank, a comma or an opening bracket: elsewhere `//` is
/// part of an address.
#[derive(Clone, Copy, PartialEq)]
enum CommentState {
    None,
    /// A slash where a comment may begin.
    Slash,
    Line,
    Block,
    /// A star that may end it.
    Star,
}

pub struct LooseScanner {
    depth: usize,
    text: Option<Quote>,
    escaped: bool,
    /// A quote was seen that closes the string if the next character lets it.
    closing: bool,
    lost: bool,
    comment: CommentState,
    closer: MarkMatcher,
    /// The last character before the tag that may be there, blanks aside.
    nonblank: char,
    nonblank_before_tag: char,
    /// The last character, a blank or not.
    before: char,
}

impl LooseScanner {
    pub fn new(depth: usize) -> Self {
        Self {
            depth,
            text: None,
            escaped: false,
            closing: false,
            lost: false,
            comment: CommentState::None,
            closer: MarkMatcher::default(),
            nonblank: ' ',
            nonblank_before_tag: ' ',
            before: ' ',
        }
    }

    pub fn feed(&mut self, text: &str, from: usize, tags: &[&'static str]) -> LooseEvent {
        for (at, c) in text[from..].char_indices() {
            let end = from + at + c.len_utf8();
            let balanced = self.handle_bracket(c);
            if balanced {
                return LooseEvent::End(end);
            }
            if let Some(tag) = self.match_tag(c, tags) {
                let after_bracket = matches!(self.nonblank_before_tag, '}' | ']');
                if self.text.is_none() || self.lost && after_bracket {
                    return LooseEvent::Tag(end, tag);
                }
            }
            self.before = c;
            if !c.is_whitespace() {
                self.nonblank = c;
            }
        }
        LooseEvent::More
    }

    fn match_tag(&mut self, c: char, tags: &[&'static str]) -> Option<&'static str> {
        let mut bytes = [0; 4];
        let mut whole = None;
        for byte in c.encode_utf8(&mut bytes).bytes() {
            let before = self.closer.matched_bytes();
            whole = self.closer.push_byte(tags, byte);
            if before == 0 || self.closer.matched_bytes() == 1 {
                self.nonblank_before_tag = self.nonblank;
            }
        }
        whole
    }

    /// Takes one character; true when it closes the outermost bracket.
    fn handle_bracket(&mut self, c: char) -> bool {
        if let Some(quote) = self.text {
            if self.closing {
                if c.is_whitespace() {
                    return false;
                }
                self.closing = false;
                if !matches!(c, ',' | ':' | '}' | ']' | '<' | '=' | '，' | '：' | '｝' | '］') {
                    self.lost |= quote == Quote::Double;
                    self.handle_char_in_text(c, quote);
                    return false;
                }
                self.text = None;
            } else {
                self.handle_char_in_text(c, quote);
                return false;
            }
        }
        if self.skip_comment_char(c) {
            return false;
        }
        match c {
            '{' | '[' | '｛' | '［' => self.depth += 1,
            '}' | ']' | '｝' | '］' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => self.text = Quote::from_opening_char(c),
        }
        false
    }

    /// Takes one character outside strings; true where it belongs to a comment.
    fn skip_comment_char(&mut self, c: char) -> bool {
        let may_begin = self.before.is_whitespace() || matches!(self.before, ',' | '{' | '[');
        self.comment = match (self.comment, c) {
            (CommentState::None, '/') if may_begin => CommentState::Slash,
            (CommentState::None, '#') if may_begin => CommentState::Line,
            (CommentState::None, _) => CommentState::None,
            (CommentState::Slash, '/') => CommentState::Line,
            (CommentState::Slash, '*') => CommentState::Block,
            (CommentState::Slash, _) => CommentState::None,
            (CommentState::Line, '\n') => CommentState::None,
            (CommentState::Line, _) => CommentState::Line,
            (CommentState::Star, '/') => {
                self.comment = CommentState::None;
                return true;
            }
            (CommentState::Block | CommentState::Star, '*') => CommentState::Star,
            (CommentState::Block | CommentState::Star, _) => CommentState::Block,
        };
        self.comment != CommentState::None
    }

    fn handle_char_in_text(&mut self, c: char, quote: Quote) {
        if self.escaped {
            self.escaped = false;
        } else if c == '\\' {
            self.escaped = true;
        } else if quote.closes(c) {
            self.closing = true;
        }
    }
}
