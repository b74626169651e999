//! Where in a call the next character stands, and which characters mean nothing there.

use helve_json::byte_search::{ByteSet, all_but};
use helve_json::is_blank;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum GemmaState {
    /// Nothing of it was read.
    Begin,
    Name,
    Key,
    QuotedKey,
    Colon,
    Value,
    Word,
    Text,
    /// Text between ordinary quotes, of which this is one.
    Quoted(u8),
    /// Behind a backslash in such text.
    Escaped(u8),
    AfterValue,
    /// Behind the first of two brackets that end the call.
    Doubled,
    /// The call is whole; its closing mark may follow.
    Ready,
    /// No call; only the closing mark ends it.
    Broken,
}

impl GemmaState {
    /// The bytes of which it makes nothing.
    pub(super) fn idle_bytes(self) -> &'static ByteSet {
        match self {
            Self::Begin | Self::Name => &NAME,
            Self::Key => &KEY,
            Self::Word => &WORD,
            Self::QuotedKey | Self::Text | Self::Broken => &TEXT,
            Self::Quoted(_) => &QUOTED,
            Self::Escaped(_) => &NONE,
            Self::Colon | Self::Value | Self::AfterValue | Self::Doubled | Self::Ready => &BLANKS,
        }
    }
}

static NAME: ByteSet = all_but(b"{(<");
static KEY: ByteSet = all_but(b":,{})<");
static WORD: ByteSet = all_but(b",}])<");
static TEXT: ByteSet = all_but(b"<");
static QUOTED: ByteSet = all_but(b"\"'\\<");
static NONE: ByteSet = [false; 256];
static BLANKS: ByteSet = {
    let mut blanks = NONE;
    let mut byte = 0;
    while byte < 128 {
        blanks[byte] = is_blank(byte as u8 as char);
        byte += 1;
    }
    blanks
};
