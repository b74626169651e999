//! Removes keys from answers and errors, since some servers repeat parts of a request.

use std::borrow::Cow;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use helve_egress::Redactor;
use helve_model::ModelError;
use secrecy::{ExposeSecret, SecretString};

const HIDDEN: &str = "[hidden]";
/// A shorter key is no secret, and it would occur in ordinary text.
const KEY_BYTES_MIN: usize = 4;
/// A shorter key is a placeholder such as `ollama` or `EMPTY`, which answers may contain as a word.
const REAL_KEY_BYTES_MIN: usize = 16;
/// Prefixes of keys of well-known services and of signed tokens.
const KEY_PREFIXES: &[&str] = &[
    "sk-", "sk_", "pk-", "pk_", "rk_", "gsk_", "xai-", "AIza", "hf_", "hv_", "tvly-", "nvapi-", "ghp_",
    "AKIA", "eyJ",
];

/// Removes the key from the pieces of an answer, in every form and also across pieces.
pub(super) fn redact_stream<E: Send + 'static>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    key: Option<&SecretString>,
) -> impl Stream<Item = Result<Bytes, E>> + Send + 'static {
    let key = key.map(|key| key.expose_secret().trim()).filter(|key| key.len() >= REAL_KEY_BYTES_MIN);
    let mut redactor = key.map(Redactor::for_value);
    pieces.map(Some).chain(stream::iter([None])).filter_map(move |piece| {
        let cleaned = match (piece, &mut redactor) {
            (Some(Ok(piece)), Some(redactor)) => Some(Ok(redactor.push(piece))),
            (Some(piece), _) => Some(piece),
            (None, redactor) => redactor.as_mut().map(|redactor| Ok(redactor.finish())),
        };
        std::future::ready(cleaned.filter(|cleaned| cleaned.as_ref().map_or(true, |piece| !piece.is_empty())))
    })
}

/// Removes the key, and everything that looks like a key, from an error.
pub(super) fn redact_error(error: ModelError, key: Option<&SecretString>) -> ModelError {
    ModelError { message: redact(&error.message, key), ..error }
}

pub(super) fn redact(text: &str, key: Option<&SecretString>) -> String {
    let key = key.map(|key| key.expose_secret().trim()).filter(|key| key.len() >= KEY_BYTES_MIN);
    let text = key.map_or(Cow::Borrowed(text), |key| remove_key(text, key).into());
    let mut cleaned = String::with_capacity(text.len());
    let mut after_bearer = false;
    let mut rest = &*text;
    while let Some(first) = rest.chars().next() {
        let is_inside = is_key_char(first);
        let end = rest.find(|c| is_key_char(c) != is_inside).unwrap_or(rest.len());
        let (piece, more) = rest.split_at(end);
        rest = more;
        if !is_inside {
            cleaned.push_str(piece);
            continue;
        }
        let begins =
            KEY_PREFIXES.iter().any(|begin| piece.starts_with(begin) && piece.len() >= begin.len() + 4);
        let hidden = begins || (after_bearer && piece.len() >= 8);
        cleaned.push_str(if hidden { HIDDEN } else { piece });
        after_bearer = piece.eq_ignore_ascii_case("bearer");
    }
    cleaned
}

/// Removes a key in any form, also one that is cut off at the end of the text.
fn remove_key(text: &str, key: &str) -> String {
    let mut text = text.replace(key, HIDDEN);
    if key.len() >= REAL_KEY_BYTES_MIN {
        let mut redactor = Redactor::for_value(key);
        let mut bytes = redactor.push(Bytes::from(text)).to_vec();
        bytes.extend_from_slice(&redactor.finish());
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    let beginnings = key.char_indices().rev().map(|(at, _)| &key[..at]);
    let cut = beginnings.take_while(|begin| begin.len() >= KEY_BYTES_MIN).find(|begin| text.ends_with(begin));
    if let Some(begin) = cut {
        text.truncate(text.len() - begin.len());
        text.push_str(HIDDEN);
    }
    text
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.*+/=~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn clean(pieces: &[&str], key: &str) -> String {
        let pieces: Vec<Result<Bytes, ()>> =
            pieces.iter().map(|piece| Ok(Bytes::copy_from_slice(piece.as_bytes()))).collect();
        let cleaned: Vec<_> =
            redact_stream(stream::iter(pieces), Some(&SecretString::from(key))).collect().await;
        cleaned.into_iter().map(|piece| String::from_utf8(piece.unwrap().to_vec()).unwrap()).collect()
    }

    #[test]
    fn an_error_contains_the_key_in_no_form() {
        let key = "7f3c-0123456789-ours";
        let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
        for form in [key.to_owned(), key.to_uppercase(), hex.clone(), hex.to_uppercase()] {
            let told = redact(&format!("bad key {form}, sorry"), Some(&SecretString::from(key)));
            assert!(!told.contains(&form), "{told}");
            assert!(told.starts_with("bad key ") && told.ends_with(", sorry"), "{told}");
        }
    }

    #[tokio::test]
    async fn an_answer_contains_no_key_and_placeholder_keys_stay() {
        let key = "7f3c-0123456789-ours";
        assert_eq!(clean(&["a 7f3c-01234", "56789-ours b 7F3C"], key).await, "a [secret] b 7F3C");
        assert_eq!(clean(&["data: 7f3c-0123456789-our"], key).await, "data: 7f3c-0123456789-our");
        assert_eq!(clean(&["ollama/llama is ollama"], "ollama").await, "ollama/llama is ollama");
    }

    #[test]
    fn text_that_looks_like_a_key_is_hidden_and_the_rest_stays() {
        let key = SecretString::from("7f3c-ours");
        let cases = [
            ("Incorrect API key provided: sk-proj-ab12***wxyz.", "Incorrect API key provided: [hidden]"),
            ("bad key \"sk-SECRET123\", try again", "bad key \"[hidden]\", try again"),
            ("Authorization: bearer abc.def-123 was refused", "Authorization: bearer [hidden] was refused"),
            ("a Bearer token is needed", "a Bearer token is needed"),
            ("key 7f3c-ours: 7f3c-ours", "key [hidden]: [hidden]"),
            ("cut off in the key 7f3c-o", "cut off in the key [hidden]"),
            ("the risk-free task-list of sk- is too long", "the risk-free task-list of sk- is too long"),
            ("模型 `gemma:2b` does not support tools", "模型 `gemma:2b` does not support tools"),
        ];
        for (text, expected) in cases {
            assert_eq!(redact(text, Some(&key)), expected);
        }
    }
}
