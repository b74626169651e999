//! What the other side learns of a call: ids in headers, and a signature for those who check it.

use helve_egress::header::{HeaderMap, HeaderName, HeaderValue};
use helve_egress::{Egress, Method, Url};
use helve_tool::{CallContext, DefinitionError};
use helve_types::{CallerField, CallerTerms, Notice, ToolDefinition};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::make::find_secret;

/// In the order in which they are signed.
const FIELDS: [(CallerField, &str); 5] = [
    (CallerField::User, "x-helve-user"),
    (CallerField::Conversation, "x-helve-conversation"),
    (CallerField::Message, "x-helve-message"),
    (CallerField::Run, "x-helve-run"),
    (CallerField::Call, "x-helve-call"),
];
/// The id of the request may have been made up by its sender, so that it is not signed.
const REQUEST: (CallerField, &str) = (CallerField::Request, "x-request-id");
const TIMESTAMP: &str = "x-helve-timestamp";
const SIGNATURE: &str = "x-helve-signature";

/// What a tool tells about its calls.
#[derive(Debug, Default)]
pub(crate) struct CallerIdentity {
    fields: Vec<CallerField>,
    key: Option<SecretString>,
}

impl CallerIdentity {
    pub(crate) fn new(
        definition: &ToolDefinition,
        base: &Url,
        egress: &Egress,
    ) -> Result<Self, DefinitionError> {
        let Some(CallerTerms { send, sign }) = &definition.endpoint.caller else {
            return Ok(Self::default());
        };
        let Some(name) = sign else { return Ok(Self { fields: send.clone(), key: None }) };
        let field = "endpoint.caller.sign";
        // A signature is about one address and one target, and the key of a query is put in after it was made.
        if definition.endpoint.redirects > 0 || crate::make::key_in_query(&definition.endpoint.auth).is_some()
        {
            return Err(DefinitionError::new(field, Notice::definition_signed_needs_plain()));
        }
        let key = find_secret(egress, name, base, field)?.value.clone();
        Ok(Self { fields: send.clone(), key: Some(key) })
    }

    /// The ids that the definition asks for. What a call does not have, such as a conversation, has no header.
    pub(crate) fn put_ids(&self, headers: &mut HeaderMap, cx: &CallContext) {
        for (field, name) in FIELDS.into_iter().chain([REQUEST]) {
            let name = HeaderName::from_static(name);
            let is_sent = self.fields.contains(&field);
            // Only these are ours to say, whatever the row's own headers say.
            let is_ours = field != REQUEST.0 && (!self.fields.is_empty() || self.key.is_some());
            if is_sent || is_ours {
                headers.remove(&name);
            }
            let value = caller_id(field, cx).filter(|_| is_sent);
            if let Some(value) = value.and_then(|text| HeaderValue::try_from(text).ok()) {
                headers.insert(name, value);
            }
        }
    }

    /// The ids that the definition asks for, in a fixed order.
    pub(crate) fn told_ids(&self, cx: &CallContext) -> Vec<String> {
        let sent = FIELDS.into_iter().chain([REQUEST]).filter(|(field, _)| self.fields.contains(field));
        sent.map(|(field, name)| format!("{name}: {}", caller_id(field, cx).unwrap_or_default())).collect()
    }

    /// Signs the request as it is, with the time.
    pub(crate) fn sign(
        &self,
        method: &Method,
        url: &Url,
        headers: &mut HeaderMap,
        body: &[u8],
        now_seconds: i64,
    ) {
        let Some(key) = &self.key else { return };
        let text = text_to_sign(method, url, headers, body, now_seconds);
        // An HMAC takes a key of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.expose_secret().trim().as_bytes()) else {
            return;
        };
        mac.update(text.as_bytes());
        let signature = format!("v1={}", helve_types::hex(&mac.finalize().into_bytes()));
        if let Ok(value) = HeaderValue::try_from(signature) {
            headers.insert(SIGNATURE, value);
        }
        headers.insert(TIMESTAMP, HeaderValue::from(now_seconds));
    }
}

fn text_to_sign(method: &Method, url: &Url, headers: &HeaderMap, body: &[u8], now_seconds: i64) -> String {
    let mut target = url.path().to_owned();
    if let Some(query) = url.query() {
        target.push('?');
        target.push_str(query);
    }
    let ids = FIELDS.iter().map(|(_, name)| {
        headers.get(*name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    });
    let head = [now_seconds.to_string(), method.to_string(), target];
    let body = helve_types::hex(&Sha256::digest(body));
    head.into_iter().chain(ids).chain([body]).collect::<Vec<_>>().join("\n")
}

fn caller_id(field: CallerField, cx: &CallContext) -> Option<String> {
    match field {
        CallerField::User => Some(percent_encoded(&cx.user.0)),
        CallerField::Conversation => cx.conversation.map(|id| id.to_string()),
        CallerField::Message => cx.message.map(|id| id.to_string()),
        CallerField::Run => Some(cx.run.to_string()),
        CallerField::Call => Some(cx.call.to_string()),
        CallerField::Request => cx.request_id.clone(),
    }
}

/// A user's name may have any characters; a header has not.
fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~@:".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests;
