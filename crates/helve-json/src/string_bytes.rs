//! The inside of a JSON string: which bytes mean nothing but themselves, and where the first other stands.

use crate::byte_search;
use crate::work::count_search;

/// Whether the byte means more than itself inside a string. Without branches, for the sake of the search.
const fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Where the first byte stands that means more than itself inside a string.
#[inline]
pub fn find_special(bytes: &[u8]) -> Option<usize> {
    // Most strings are names and short values, so the first bytes are judged in words.
    let (words, _) = bytes.as_chunks();
    let near = &words[..words.len().min(4)];
    for (at, word) in near.iter().enumerate() {
        let specials = special_bits(u64::from_le_bytes(*word));
        if specials != 0 {
            return count_search(0, Some(8 * at + specials.trailing_zeros() as usize / 8));
        }
    }
    let seen = 8 * near.len();
    let far = &bytes[seen..];
    let found = match far.len() {
        0..8 => far.iter().position(|byte| is_special(*byte)),
        _ => find_special_far(far),
    };
    count_search(bytes.len(), found.map(|at| seen + at))
}

/// Quotes and backslashes are searched for by the widest vectors there are. Whether a control character stands before
/// them shows in the least byte.
#[inline(never)]
fn find_special_far(bytes: &[u8]) -> Option<usize> {
    for (at, window) in byte_search::windows(bytes) {
        let marked = memchr::memchr2(b'"', b'\\', window);
        let plain = &window[..marked.unwrap_or(window.len())];
        let found = match min_byte(plain) < b' ' {
            true => plain.iter().position(|byte| is_special(*byte)),
            false => marked,
        };
        if let Some(found) = found {
            return Some(at + found);
        }
    }
    None
}

/// The least byte. Four vectors of least bytes that do not wait for each other are twice as quick as one.
fn min_byte(bytes: &[u8]) -> u8 {
    let (blocks, rest) = bytes.as_chunks::<64>();
    let mut lanes = [u8::MAX; 64];
    for block in blocks {
        lanes.iter_mut().zip(block).for_each(|(lane, byte)| *lane = (*lane).min(*byte));
    }
    let least = |bytes: &[u8]| bytes.iter().fold(u8::MAX, |least, byte| least.min(*byte));
    least(&lanes).min(least(rest))
}

/// The highest bit of each byte that is special; exact up to the first such byte.
const fn special_bits(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (control | quote.wrapping_sub(ONES) & !quote | backslash.wrapping_sub(ONES) & !backslash) & HIGHS
}

/// Bytes that mean nothing but themselves inside a string.
pub static PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut byte = 0;
    while byte < 256 {
        plain[byte] = !is_special(byte as u8);
        byte += 1;
    }
    plain
};

/// The same where tags are looked for in the text that becomes a string.
pub static UNTAGGED: [bool; 256] = {
    let mut plain = PLAIN;
    plain[b'<' as usize] = false;
    plain
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        for special_byte in *b"\"\\\n\0\x1f" {
            for at in (0..60).chain(1020..1100).chain(2040..2130) {
                let mut text = "aé €\u{7f}!#[] ~".repeat(300).into_bytes();
                text[at] = special_byte;
                text[at + 5] = b'"';
                assert_eq!(find_special(&text), Some(at));
                assert_eq!(find_special(&text[..at]), None);
            }
        }
    }
}
