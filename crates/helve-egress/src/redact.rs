//! Secrets taken out of what comes back, whatever form they come back in and wherever the pieces are cut.
//!
//! A form is a string of bytes that gives a secret away: the value itself, and what it becomes in a URL, in a form, in JSON,
//! in hexadecimal or inside base64, as in an echoed `Authorization: Basic …`. Base64 means other bytes in another case; every
//! other form gives the secret away in whatever case it comes.

use std::fmt::Write;
use std::sync::Arc;

use bytes::Bytes;

const MARK: &[u8] = b"[secret]";

/// A value shorter than this is in every text; taking it out would only garble what is said.
pub const SECRET_BYTES_MIN: usize = 4;
/// So few characters of base64 turn up by chance.
const BASE64_CHARS_MIN: usize = 6;

/// A value shorter than this is known in its own case only: in another it is too often just a word.
const OTHER_CASE_BYTES_MIN: usize = 8;

/// All forms of some secrets.
#[derive(Clone, Default)]
pub(crate) struct SecretForms(Arc<[SecretForm]>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct SecretForm {
    /// In small letters if the case does not matter.
    bytes: Vec<u8>,
    any_case: bool,
}

/// Some bytes, as they are and in small letters.
struct SearchedText<'a> {
    exact: &'a [u8],
    small: Vec<u8>,
}

impl<'a> SearchedText<'a> {
    fn new(exact: &'a [u8]) -> Self {
        Self { exact, small: exact.to_ascii_lowercase() }
    }

    fn text_for_form(&self, form: &SecretForm) -> &[u8] {
        if form.any_case { &self.small } else { self.exact }
    }

    fn find(&self, form: &SecretForm, from: usize) -> Option<usize> {
        Some(memchr::memmem::find(&self.text_for_form(form)[from..], &form.bytes)? + from)
    }
}

impl SecretForms {
    pub(crate) fn new<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut forms: Vec<SecretForm> = vec![];
        for value in values.filter(|value| value.len() >= SECRET_BYTES_MIN) {
            for form in secret_forms(value) {
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        Self(forms.into())
    }

    /// All of the bytes, without the secrets.
    pub(crate) fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        let mut clean = vec![];
        self.replace_until(bytes, bytes.len(), &mut clean);
        clean
    }

    pub(crate) fn is_found_in(&self, bytes: &[u8]) -> bool {
        let text = SearchedText::new(bytes);
        self.0.iter().any(|form| text.find(form, 0).is_some())
    }

    /// Replaces the forms that begin before `until`, the leftmost first and of those the longest, and gives the place up to
    /// which all is said.
    fn replace_until(&self, bytes: &[u8], until: usize, clean: &mut Vec<u8>) -> usize {
        let text = SearchedText::new(bytes);
        // Each form is looked for once behind each of its finds, so that an echo without end costs no more than its length.
        let mut nexts: Vec<Option<usize>> = self.0.iter().map(|form| text.find(form, 0)).collect();
        let mut said = 0;
        loop {
            for (next, form) in nexts.iter_mut().zip(self.0.iter()) {
                if next.is_some_and(|at| at < said) {
                    *next = text.find(form, said);
                }
            }
            let found =
                nexts.iter().zip(self.0.iter()).filter_map(|(next, form)| Some(((*next)?, form.bytes.len())));
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
    fn find_unfinished_form(&self, bytes: &[u8]) -> usize {
        let longest_form = self.0.iter().map(|form| form.bytes.len()).max().unwrap_or(0);
        let text = SearchedText::new(&bytes[bytes.len().saturating_sub(longest_form)..]);
        let longest = |form: &SecretForm| {
            let seen = text.text_for_form(form);
            let most = (form.bytes.len() - 1).min(seen.len());
            (1..=most).rev().find(|length| seen.ends_with(&form.bytes[..*length])).unwrap_or(0)
        };
        bytes.len() - self.0.iter().map(longest).max().unwrap_or(0)
    }
}

/// Takes secrets out of a stream. What may be the beginning of one is held back until it is known.
pub struct Redactor {
    forms: SecretForms,
    held: Vec<u8>,
}

impl Redactor {
    pub(crate) fn new(forms: SecretForms) -> Self {
        Self { forms, held: vec![] }
    }

    /// For one secret alone.
    pub fn for_value(value: &str) -> Self {
        Self::new(SecretForms::new(std::iter::once(value)))
    }

    /// What can be said of the stream up to the end of this piece.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        if self.forms.0.is_empty() {
            return piece;
        }
        self.held.extend_from_slice(&piece);
        let until = self.forms.find_unfinished_form(&self.held);
        let mut clean = vec![];
        let said = self.forms.replace_until(&self.held, until, &mut clean);
        self.held.drain(..said);
        clean.into()
    }

    /// What was held back, once nothing more comes.
    pub fn finish(&mut self) -> Bytes {
        self.forms.redact(&std::mem::take(&mut self.held)).into()
    }
}

fn secret_forms(value: &str) -> Vec<SecretForm> {
    let json = json_escape(value);
    let each = |show: &dyn Fn(u8) -> String| value.bytes().map(show).collect::<String>();
    let plain = [
        value.to_owned(),
        percent_encode(value, |byte| format!("%{byte:02X}")),
        percent_encode(value, |byte| format!("%{byte:02x}")),
        url::form_urlencoded::byte_serialize(value.as_bytes()).collect(),
        json.replace('/', "\\/"),
        json,
        value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect(),
    ];
    let any_case = value.len() >= OTHER_CASE_BYTES_MIN;
    let plain = plain.into_iter().map(|text| SecretForm::new(text, any_case));
    // Numbers are written in either case, whatever the length.
    let numbers = [each(&|byte| format!("{byte:02x}")), each(&|byte| format!("%{byte:02x}"))];
    let numbers = numbers.into_iter().map(|text| SecretForm::new(text, true));
    let base64 = [STANDARD, URL_SAFE].into_iter().flat_map(|alphabet| {
        (0..3).map(move |offset| SecretForm::new(base64_inside(value.as_bytes(), offset, alphabet), false))
    });
    let fits = |form: &SecretForm| form.bytes.len() >= SECRET_BYTES_MIN;
    plain.chain(numbers).chain(base64).filter(fits).collect()
}

impl SecretForm {
    fn new(text: String, any_case: bool) -> Self {
        let bytes = if any_case { text.to_ascii_lowercase() } else { text }.into_bytes();
        Self { bytes, any_case }
    }
}

fn percent_encode(value: &str, code: impl Fn(u8) -> String) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let one = |byte: u8| if plain(&byte) { char::from(byte).to_string() } else { code(byte) };
    value.bytes().map(one).collect()
}

/// The value as it stands in a JSON string.
fn json_escape(value: &str) -> String {
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
fn base64_inside(value: &[u8], offset: usize, alphabet: &[u8; 64]) -> String {
    let bytes = [&[0; 2][..offset], value].concat();
    let sure = (offset * 8).div_ceil(6)..bytes.len() * 8 / 6;
    let inside: String = base64_digits(&bytes)
        .map(|digit| char::from(alphabet[digit]))
        .take(sure.end)
        .skip(sure.start)
        .collect();
    if inside.len() < BASE64_CHARS_MIN { String::new() } else { inside }
}

/// The bytes as numbers of six bits.
fn base64_digits(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.chunks(3).flat_map(|three| {
        let byte = |index: usize| usize::from(three.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        (0..=three.len()).map(move |index| bits >> (18 - 6 * index) & 63)
    })
}

/// Base64 with padding, as `Authorization: Basic` wants it.
pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    let digits: String = base64_digits(bytes).map(|digit| char::from(STANDARD[digit])).collect();
    let padding = "=".repeat(digits.len().next_multiple_of(4) - digits.len());
    digits + &padding
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CANARY: &str = "sk-canary/0123+45 \"67\"é";

    fn forms() -> SecretForms {
        SecretForms::new([CANARY, "sk-canary-long", "sk-canary"].into_iter())
    }

    fn cleaned(text: &str) -> String {
        String::from_utf8(forms().redact(text.as_bytes())).unwrap()
    }

    #[test]
    fn base64_is_what_others_write() {
        for (plain, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("user:päss", "dXNlcjpww6Rzcw==")]
        {
            assert_eq!(encode_base64(plain.as_bytes()), encoded);
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
            let basic = encode_base64(format!("{user}:{CANARY}").as_bytes());
            let cleaned = cleaned(&format!("Authorization: Basic {basic}"));
            assert!(cleaned.contains("[secret]") && cleaned.len() < 36 + user.len() * 2, "{cleaned}");
        }
        assert_eq!(cleaned("sk-canary-long sk-canary"), "[secret] [secret]");
        assert_eq!(cleaned("sk-cana"), "sk-cana");
    }

    #[test]
    fn numbers_other_cases_and_other_escapes_of_a_secret_are_taken_out() {
        let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
        let percents: String = CANARY.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let units: String = CANARY.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        let upper = CANARY.to_ascii_uppercase();
        for form in [hex.clone(), hex.to_uppercase(), percents.clone(), percents.to_lowercase(), units, upper]
        {
            assert_eq!(cleaned(&format!("x={form}&y")), "x=[secret]&y");
        }
        assert_eq!(cleaned("SK-Canary-LONG"), "[secret]");
        let base64_of_another = "C2STY2FUYXJ5LWXVBMC=";
        assert_eq!(
            cleaned(base64_of_another),
            base64_of_another,
            "base64 in another case says something else"
        );
    }

    #[test]
    fn a_short_secret_is_known_in_its_own_case_and_as_numbers() {
        let clean = |text: &str| {
            String::from_utf8(SecretForms::new(["Test"].into_iter()).redact(text.as_bytes())).unwrap()
        };
        assert_eq!(
            clean("a test of Test, 54657374 and %54%65%73%74"),
            "a test of [secret], [secret] and [secret]"
        );
    }

    #[test]
    fn what_is_too_short_to_be_a_secret_is_left_alone() {
        assert_eq!(SecretForms::new(["abc", ""].into_iter()).redact(b"abcabc"), b"abcabc");
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
            prop_assert_eq!(&said, &forms().redact(text.as_bytes()));
            prop_assert!(!String::from_utf8_lossy(&said).contains("sk-canary"));
        }
    }
}
