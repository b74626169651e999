//! Marks that only this installation can make: on links that answer a question, on results that a client brings.

use std::fmt;

/// The installation's key. It is in the store, so every replica makes and knows the same marks.
#[derive(Clone)]
pub struct Seal([u8; 32]);

impl Seal {
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// A mark on these words for this purpose. Words are told apart by their lengths, so no two lists look alike.
    pub fn sign(&self, purpose: &str, words: &[&str]) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&blake3::derive_key(purpose, &self.0));
        for word in words {
            hasher.update(&(word.len() as u64).to_le_bytes());
            hasher.update(word.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Whether the mark is the one on these words; takes as long for a wrong one as for the right one.
    pub fn verify(&self, mark: &str, purpose: &str, words: &[&str]) -> bool {
        let right = self.sign(purpose, words);
        let same = blake3::Hash::from_hex(mark).ok().zip(blake3::Hash::from_hex(right).ok());
        same.is_some_and(|(given, right)| given == right)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_fits_only_its_words_its_purpose_and_its_key() {
        let seal = Seal::new([7; 32]);
        let mark = seal.sign("helve test link", &["ab", "c"]);
        assert!(seal.verify(&mark, "helve test link", &["ab", "c"]));
        assert!(!seal.verify(&mark, "helve test link", &["a", "bc"]), "words run together");
        assert!(!seal.verify(&mark, "helve test result", &["ab", "c"]), "another purpose");
        assert!(!Seal::new([8; 32]).verify(&mark, "helve test link", &["ab", "c"]), "another key");
        assert!(!seal.verify("", "helve test link", &["ab", "c"]));
        assert!(!seal.verify(&mark[1..], "helve test link", &["ab", "c"]));
    }

    #[test]
    fn the_key_is_not_in_what_is_logged() {
        assert_eq!(format!("{:?}", Seal::new([7; 32])), "Seal(…)");
    }
}
