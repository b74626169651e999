//! An answer, read in pieces within its bounds, and without the operator's secrets in it.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode};
use tokio::time::Instant;

use crate::redact::Redactor;
use crate::{Bounds, EgressError, Secrets};

/// An answer whose body is still to be read.
pub struct Incoming {
    response: Response,
    headers: HeaderMap,
    bounds: Bounds,
    deadline: Instant,
    read: usize,
    redactor: Redactor,
    /// The beginning of a character whose end is still to come.
    partial: Vec<u8>,
    ended: bool,
}

impl Incoming {
    pub(crate) fn new(response: Response, bounds: Bounds, deadline: Instant, secrets: &Secrets) -> Self {
        let headers = redact_headers(response.headers(), secrets);
        let redactor = secrets.redactor();
        Self { response, headers, bounds, deadline, read: 0, redactor, partial: vec![], ended: false }
    }

    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The next piece of the body; none at its end.
    pub async fn read_chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        while !self.ended {
            let piece = match self.read_raw_chunk().await? {
                Some(piece) => self.redactor.push(piece),
                None => {
                    self.ended = true;
                    self.redactor.finish()
                }
            };
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// The next piece of the body as text, cut between characters; none at its end.
    pub async fn read_text_piece(&mut self) -> Result<Option<String>, EgressError> {
        while let Some(chunk) = self.read_chunk().await? {
            self.partial.extend_from_slice(&chunk);
            let text = take_whole_characters(&mut self.partial);
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
        let rest = std::mem::take(&mut self.partial);
        Ok((!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned()))
    }

    /// The whole body.
    pub async fn read_bytes(mut self) -> Result<Vec<u8>, EgressError> {
        let mut body = vec![];
        while let Some(chunk) = self.read_chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The whole body as text.
    pub async fn read_text(self) -> Result<String, EgressError> {
        let body = self.read_bytes().await?;
        Ok(String::from_utf8(body)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    async fn read_raw_chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        // What is announced to be too large is not even begun.
        if self.response.content_length().is_some_and(|bytes| bytes > self.bounds.bytes_max as u64) {
            return Err(self.too_large_error());
        }
        let until = self.deadline.min(deadline_after(self.bounds.silence));
        let piece = tokio::time::timeout_at(until, self.response.chunk()).await;
        let piece = piece.map_err(|_| EgressError::Lost("the answer did not come in time".into()))?;
        let piece = piece.map_err(|_| EgressError::Lost("the answer broke off".into()))?;
        let Some(piece) = piece else { return Ok(None) };
        self.refuse_encoded()?;
        self.read += piece.len();
        if self.read > self.bounds.bytes_max {
            return Err(self.too_large_error());
        }
        Ok(Some(piece))
    }

    fn too_large_error(&self) -> EgressError {
        EgressError::TooLarge(format!(
            "the answer is larger than {} bytes and was not read",
            self.bounds.bytes_max
        ))
    }

    /// Every request asks for answers as they are, so there is nothing to unpack, and no bomb to unpack either.
    fn refuse_encoded(&self) -> Result<(), EgressError> {
        let values = self.response.headers().get_all(CONTENT_ENCODING);
        let encoded = values.iter().find(|value| !matches!(value.as_bytes(), b"" | b"identity"));
        let Some(encoded) = encoded else { return Ok(()) };
        Err(EgressError::Lost(format!(
            "the answer is compressed ({}) although it was asked for as it is, and was not read",
            String::from_utf8_lossy(encoded.as_bytes()).chars().take(40).collect::<String>()
        )))
    }
}

/// Nothing takes longer than a day, and a clock has an end.
pub(crate) fn deadline_after(by: Duration) -> Instant {
    Instant::now() + by.min(Duration::from_secs(86_400))
}

/// The headers without secrets, which a server may echo there as well.
fn redact_headers(headers: &HeaderMap, secrets: &Secrets) -> HeaderMap {
    let mut clean = headers.clone();
    for value in clean.values_mut() {
        let redacted = secrets.redact_bytes(value.as_bytes());
        if redacted != value.as_bytes() {
            *value = HeaderValue::from_bytes(&redacted).unwrap_or(HeaderValue::from_static("[secret]"));
        }
    }
    clean
}

/// Takes all whole characters out of the bytes. Bytes that are no text become `�`.
fn take_whole_characters(bytes: &mut Vec<u8>) -> String {
    let mut text = String::new();
    let mut said = 0;
    while let Err(error) = std::str::from_utf8(&bytes[said..]) {
        text.push_str(&String::from_utf8_lossy(&bytes[said..said + error.valid_up_to()]));
        said += error.valid_up_to();
        let Some(wrong) = error.error_len() else {
            bytes.drain(..said);
            return text;
        };
        text.push(char::REPLACEMENT_CHARACTER);
        said += wrong;
    }
    text.push_str(&String::from_utf8_lossy(&bytes[said..]));
    bytes.clear();
    text
}

impl fmt::Debug for Incoming {
    // The address may have a secret in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("status", &self.status())
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_and_what_is_none_is_marked() {
        let text = "a€𝄞z".as_bytes();
        for cut in 0..=text.len() {
            let mut bytes = text[..cut].to_vec();
            let first = take_whole_characters(&mut bytes);
            assert!(bytes.len() < 4);
            bytes.extend_from_slice(&text[cut..]);
            assert_eq!(first + &take_whole_characters(&mut bytes), "a€𝄞z", "{cut}");
            assert!(bytes.is_empty());
        }
        let mut broken = b"a\xff\xc3(b\xe2\x82".to_vec();
        assert_eq!(take_whole_characters(&mut broken), "a\u{fffd}\u{fffd}(b");
        assert_eq!(broken, b"\xe2\x82");
    }
}
