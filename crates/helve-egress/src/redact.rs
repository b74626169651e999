//! Secrets taken out of what comes back, whatever form they come back in and wherever the pieces are cut.
//!
//! A form is a string of bytes that gives a secret away: the value itself, and what it becomes in a URL, in a form, in JSON
//! or inside base64, as in an echoed `Authorization: Basic …`.

use std::fmt::Write;
use std::sync::Arc;

use bytes::Bytes;

const MARK: &[u8] = b"[secret]";

/// A value shorter than this is in every text; taking it out would only garble what is said.
pub const SECRET_BYTES_MIN: usize = 4;
/// So few characters of base64 turn up by chance.
const BASE64_CHARS_MIN: usize = 6;

/// All forms of some secrets.
#[derive(Clone, Default)]
pub(crate) struct Forms(Arc<[Vec<u8>]>);

impl Forms {
    pub(crate) fn of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut forms: Vec<Vec<u8>> = vec![];
        for value in values.filter(|value| value.len() >= SECRET_BYTES_MIN) {
            for form in forms_of(value) {
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        Self(forms.into())
    }

    /// All of the bytes, without the secrets.
    pub(crate) fn clean(&self, bytes: &[u8]) -> Vec<u8> {
        let mut clean = vec![];
        self.replace(bytes, bytes.len(), &mut clean);
        clean
    }

    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        self.0.iter().any(|form| memchr::memmem::find(bytes, form).is_some())
    }

    /// Replaces the forms that begin before `until`, the leftmost first and of those the longest, and gives the place up to
    /// which all is said.
    fn replace(&self, bytes: &[u8], until: usize, clean: &mut Vec<u8>) -> usize {
        let find = |form: &[u8], from: usize| Some(memchr::memmem::find(&bytes[from..], form)? + from);
        // Each form is looked for once behind each of its finds, so that an echo without end costs no more than its length.
        let mut nexts: Vec<Option<usize>> = self.0.iter().map(|form| find(form, 0)).collect();
        let mut said = 0;
        loop {
            for (next, form) in nexts.iter_mut().zip(self.0.iter()) {
                if next.is_some_and(|at| at < said) {
                    *next = find(form, said);
                }
            }
            let found =
                nexts.iter().zip(self.0.iter()).filter_map(|(next, form)| Some(((*next)?, form.len())));
            let first = found.min_by_key(|(start, length)| (*start, std::cmp::Reverse(*length)));
            let Some((start, length)) = first.filter(|(start, _)| *start < until) else { break };
            clean.extend_from_slice(&bytes[said..start]);
            clean.extend_from_slice(MARK);
            said = start + length;
        }
        let rest = until.max(said);
        clean.extend_from_slice(&bytes[said..rest]);
        rest
    }

    /// Where the first form begins that more bytes could complete.
    fn unfinished(&self, bytes: &[u8]) -> usize {
        let longest = |form: &Vec<u8>| {
            let most = (form.len() - 1).min(bytes.len());
            (1..=most).rev().find(|length| bytes.ends_with(&form[..*length])).unwrap_or(0)
        };
        bytes.len() - self.0.iter().map(longest).max().unwrap_or(0)
    }
}

/// Takes secrets out of a stream. What may be the beginning of one is held back until it is known.
pub struct Redactor {
    forms: Forms,
    held: Vec<u8>,
}

impl Redactor {
    pub(crate) fn new(forms: Forms) -> Self {
        Self { forms, held: vec![] }
    }

    /// What can be said of the stream up to the end of this piece.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        if self.forms.0.is_empty() {
            return piece;
        }
        self.held.extend_from_slice(&piece);
        let until = self.forms.unfinished(&self.held);
        let mut clean = vec![];
        let said = self.forms.replace(&self.held, until, &mut clean);
        self.held.drain(..said);
        clean.into()
    }

    /// What was held back, once nothing more comes.
    pub fn finish(&mut self) -> Bytes {
        self.forms.clean(&std::mem::take(&mut self.held)).into()
    }
}

fn forms_of(value: &str) -> Vec<Vec<u8>> {
    let json = in_json(value);
    let mut forms = vec![
        value.to_owned(),
        percent(value, |code| format!("%{code:02X}")),
        percent(value, |code| format!("%{code:02x}")),
        url::form_urlencoded::byte_serialize(value.as_bytes()).collect(),
        json.replace('/', "\\/"),
        json,
    ];
    for alphabet in [STANDARD, URL_SAFE] {
        forms.extend((0..3).map(|offset| inside_base64(value.as_bytes(), offset, alphabet)));
    }
    let fits = |form: &String| form.len() >= SECRET_BYTES_MIN;
    forms.into_iter().filter(fits).map(String::into_bytes).collect()
}

fn percent(value: &str, code: impl Fn(u8) -> String) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let one = |byte: u8| if plain(&byte) { char::from(byte).to_string() } else { code(byte) };
    value.bytes().map(one).collect()
}

/// The value as it stands in a JSON string.
fn in_json(value: &str) -> String {
    let mut escaped = String::new();
    for c in value.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            '\t' => escaped.push_str("\\t"),
            c if c.is_control() => _ = write!(escaped, "\\u{:04x}", u32::from(c)),
            c => escaped.push(c),
        }
    }
    escaped
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The characters that the value alone decides when it stands in base64 behind `offset` other bytes, modulo three.
fn inside_base64(value: &[u8], offset: usize, alphabet: &[u8; 64]) -> String {
    let bytes = [&[0; 2][..offset], value].concat();
    let sure = (offset * 8).div_ceil(6)..bytes.len() * 8 / 6;
    let inside: String =
        digits(&bytes).map(|digit| char::from(alphabet[digit])).take(sure.end).skip(sure.start).collect();
    if inside.len() < BASE64_CHARS_MIN { String::new() } else { inside }
}

/// The bytes as numbers of six bits.
fn digits(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.chunks(3).flat_map(|three| {
        let byte = |index: usize| usize::from(three.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        (0..=three.len()).map(move |index| bits >> (18 - 6 * index) & 63)
    })
}

/// Base64 with padding, as `Authorization: Basic` wants it.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let digits: String = digits(bytes).map(|digit| char::from(STANDARD[digit])).collect();
    let padding = "=".repeat(digits.len().next_multiple_of(4) - digits.len());
    digits + &padding
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CANARY: &str = "sk-canary/0123+45 \"67\"é";

    fn forms() -> Forms {
        Forms::of([CANARY, "sk-canary-long", "sk-canary"].into_iter())
    }

    fn cleaned(text: &str) -> String {
        String::from_utf8(forms().clean(text.as_bytes())).unwrap()
    }

    #[test]
    fn base64_is_what_others_write() {
        for (plain, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("user:päss", "dXNlcjpww6Rzcw==")]
        {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }

    #[test]
    fn every_form_of_a_secret_is_taken_out() {
        assert_eq!(cleaned(&format!("a {CANARY} b")), "a [secret] b");
        assert_eq!(cleaned("x=sk-canary%2F0123%2B45%20%2267%22%C3%A9&y"), "x=[secret]&y");
        assert_eq!(cleaned("x=sk-canary%2f0123%2b45%20%2267%22%c3%a9&y"), "x=[secret]&y");
        assert_eq!(cleaned("x=sk-canary%2F0123%2B45+%2267%22%C3%A9&y"), "x=[secret]&y");
        assert_eq!(cleaned(r#"{"k":"sk-canary/0123+45 \"67\"é"}"#), r#"{"k":"[secret]"}"#);
        assert_eq!(cleaned(r#"{"k":"sk-canary\/0123+45 \"67\"é"}"#), r#"{"k":"[secret]"}"#);
        for user in ["", "u", "us", "use", "user@example.com"] {
            let basic = base64(format!("{user}:{CANARY}").as_bytes());
            let cleaned = cleaned(&format!("Authorization: Basic {basic}"));
            assert!(cleaned.contains("[secret]") && cleaned.len() < 36 + user.len() * 2, "{cleaned}");
        }
        assert_eq!(cleaned("sk-canary-long sk-canary"), "[secret] [secret]");
        assert_eq!(cleaned("sk-cana"), "sk-cana");
    }

    #[test]
    fn what_is_too_short_to_be_a_secret_is_left_alone() {
        assert_eq!(Forms::of(["abc", ""].into_iter()).clean(b"abcabc"), b"abcabc");
    }

    fn stream(text: &[u8], cuts: &[usize]) -> Vec<u8> {
        let mut redactor = Redactor::new(forms());
        let (mut said, mut from) = (vec![], 0);
        for cut in cuts.iter().map(|cut| cut % (text.len() + 1)).chain([text.len()]) {
            if cut >= from {
                said.extend_from_slice(&redactor.push(Bytes::copy_from_slice(&text[from..cut])));
                from = cut;
            }
        }
        said.extend_from_slice(&redactor.finish());
        said
    }

    proptest! {
        #[test]
        fn a_secret_is_caught_wherever_the_pieces_are_cut(
            words in prop::collection::vec(prop::sample::select(&[
                CANARY, "sk-canary", "sk-canary-long", "sk-", "sk-canary/0123", "-", "é", "c2stY2FuYXJ5LWxvbmc=",
            ]), 0..8),
            mut cuts in prop::collection::vec(any::<usize>(), 0..10),
        ) {
            let text = words.concat();
            cuts.iter_mut().for_each(|cut| *cut %= text.len() + 1);
            cuts.sort_unstable();
            let said = stream(text.as_bytes(), &cuts);
            prop_assert_eq!(&said, &forms().clean(text.as_bytes()));
            prop_assert!(!String::from_utf8_lossy(&said).contains("sk-canary"));
        }
    }
}
