//! The search for the next byte that matters, over long runs of bytes that do not.

use memchr::{memchr, memchr2, memchr3};

use crate::work::{count_bytes, count_search};

/// The bytes in windows, with where each begins, for searches that need more than one pass. Each is twice as long as the
/// one before, so that the passes over what lies behind the find cost no more than those before it.
pub fn windows(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    let mut len = 512;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let window = &rest[..rest.len().min(len)];
        let begin = at;
        at += window.len();
        // Beyond this, a second pass would no longer find the bytes in the nearest cache.
        len = (2 * len).min(8192);
        Some((begin, window))
    })
}

/// As far as this, looking at byte after byte is quicker than beginning a search.
const NEAR: usize = 16;

/// Where the first such byte stands. Whole blocks are judged at once, which the compiler turns into a few vector
/// instructions as long as the judgement has no branches.
#[inline]
pub fn find(bytes: &[u8], matters: impl Fn(u8) -> bool) -> Option<usize> {
    let (near, far) = bytes.split_at(bytes.len().min(NEAR));
    let found = near.iter().position(|byte| matters(*byte));
    if found.is_some() || far.is_empty() {
        return count_search(near.len(), found);
    }
    count_search(bytes.len(), find_far(far, matters).map(|at| at + NEAR))
}

#[inline(never)]
fn find_far(bytes: &[u8], matters: impl Fn(u8) -> bool) -> Option<usize> {
    let (blocks, _) = bytes.as_chunks::<32>();
    let idle = |block: &&[u8; 32]| !block.iter().fold(false, |any, byte| any | matters(*byte));
    let skipped = 32 * blocks.iter().take_while(idle).count();
    bytes[skipped..].iter().position(|byte| matters(*byte)).map(|at| skipped + at)
}

/// Where the first such byte stands, which is mostly near.
#[inline]
pub fn find_byte(bytes: &[u8], byte: u8) -> Option<usize> {
    let (near, far) = bytes.split_at(bytes.len().min(NEAR));
    let found = near.iter().position(|one| *one == byte);
    if found.is_some() || far.is_empty() {
        return count_search(near.len(), found);
    }
    count_search(bytes.len(), memchr(byte, far).map(|at| at + NEAR))
}

/// Whether the text begins with the mark. Most marks are so short that the call of a library would cost more than a
/// look at their two ends, which overlap.
#[inline]
pub fn begins(text: &[u8], mark: impl AsRef<[u8]>) -> bool {
    let mark = mark.as_ref();
    let Some(text) = text.get(..mark.len()) else { return false };
    // Asked one after the other: a table of all lengths would be a jump that the processor cannot predict.
    let len = mark.len();
    if (4..8).contains(&len) {
        matches_both_ends::<4>(text, mark)
    } else if (8..16).contains(&len) {
        matches_both_ends::<8>(text, mark)
    } else if (16..=32).contains(&len) {
        matches_both_ends::<16>(text, mark)
    } else if (2..4).contains(&len) {
        matches_both_ends::<2>(text, mark)
    } else {
        text == mark
    }
}

#[inline]
fn matches_both_ends<const N: usize>(text: &[u8], mark: &[u8]) -> bool {
    text.first_chunk::<N>() == mark.first_chunk::<N>() && text.last_chunk::<N>() == mark.last_chunk::<N>()
}

/// For each byte whether it is one of them.
pub type ByteSet = [bool; 256];

/// Whether the text is made of these bytes only.
#[inline]
pub fn all_in(set: &ByteSet, text: &str) -> bool {
    count_bytes(text.len());
    // Four at a time, without a branch between them: most pieces of a stream are that long.
    let (fours, rest) = text.as_bytes().as_chunks::<4>();
    let holds = |byte: &u8| set[*byte as usize];
    fours.iter().all(|[a, b, c, d]| holds(a) & holds(b) & holds(c) & holds(d)) && rest.iter().all(holds)
}

/// All bytes but these.
pub const fn all_but(bytes: &[u8]) -> ByteSet {
    let mut set = [true; 256];
    let mut at = 0;
    while at < bytes.len() {
        set[bytes[at] as usize] = false;
        at += 1;
    }
    set
}

/// A set of bytes to stop at.
pub struct StopBytes {
    table: [bool; 256],
    bytes: Vec<u8>,
}

impl StopBytes {
    pub fn new(bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut stops = Self { table: [false; 256], bytes: Vec::new() };
        for byte in bytes {
            if !stops.has(byte) {
                stops.table[byte as usize] = true;
                stops.bytes.push(byte);
            }
        }
        stops
    }

    #[inline]
    pub fn has(&self, byte: u8) -> bool {
        self.table[byte as usize]
    }

    #[inline]
    pub fn find(&self, bytes: &[u8]) -> Option<usize> {
        let (near, far) = bytes.split_at(bytes.len().min(NEAR));
        let near = near.iter().position(|byte| self.has(*byte));
        if near.is_some() || far.is_empty() {
            return count_search(bytes.len(), near);
        }
        count_search(bytes.len(), self.find_far(far).map(|at| at + NEAR))
    }

    fn find_far(&self, bytes: &[u8]) -> Option<usize> {
        match *self.bytes.as_slice() {
            [] => None,
            [a] => memchr(a, bytes),
            [a, b] => memchr2(a, b, bytes),
            [a, b, c] => memchr3(a, b, c, bytes),
            [a, b, c, d] => find_either(bytes, |some| memchr2(a, b, some), |some| memchr2(c, d, some)),
            [a, b, c, d, e] => find_either(bytes, |some| memchr2(a, b, some), |some| memchr3(c, d, e, some)),
            // So many stops that the runs between them are short.
            _ => bytes.iter().position(|byte| self.has(*byte)),
        }
    }
}

/// Two searches of a few bytes each are quicker than one of all of them: they have the widest vectors there are.
fn find_either(
    bytes: &[u8],
    some: impl Fn(&[u8]) -> Option<usize>,
    others: impl Fn(&[u8]) -> Option<usize>,
) -> Option<usize> {
    for (at, window) in windows(bytes) {
        let first = some(window);
        let before = &window[..first.unwrap_or(window.len())];
        if let Some(found) = others(before).or(first) {
            return Some(at + found);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_told_from_what_differs_in_one_letter() {
        let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        for len in 0..letters.len() {
            let mark = &letters[..len];
            assert!(begins(letters.as_bytes(), mark));
            assert!(len == 0 || !begins(&letters.as_bytes()[..len - 1], mark));
            for at in 0..len {
                let mut other = letters.as_bytes().to_vec();
                other[at] = b'-';
                assert!(!begins(&other, mark));
            }
        }
    }

    #[test]
    fn the_first_stop_is_found_wherever_it_stands() {
        for count in 0..7 {
            let set = &b"<`[{]\n"[..count.min(6)];
            let stops = StopBytes::new(set.iter().copied());
            for at in (0..100).chain(1000..1100) {
                for stop in set {
                    let mut text = vec![b'a'; 1200];
                    text[at] = *stop;
                    text[1110] = set[0];
                    assert_eq!(stops.find(&text), Some(at));
                    assert_eq!(find(&text, |byte| stops.has(byte)), Some(at));
                    assert_eq!(find_byte(&text, *stop).min(Some(at)), Some(at));
                }
            }
            assert_eq!(stops.find(&[b'a'; 99]), None);
        }
    }
}
