//! Putting a secret into a request, at the last moment and only for hosts that may have it.

use reqwest::Request;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::ExposeSecret;
use url::{Host, Url};

use crate::policy::Target;
use crate::redact::encode_base64;
use crate::{Credential, EgressError, Secret, Secrets, why_header_is_refused};

impl Credential {
    pub fn secret(&self) -> &str {
        match self {
            Self::Bearer { secret }
            | Self::Header { secret, .. }
            | Self::Query { secret, .. }
            | Self::Basic { secret, .. } => secret,
        }
    }

    /// Puts the value into the request, which has nothing of it if that is refused.
    pub(crate) fn attach(
        &self,
        request: &mut Request,
        target: &Target,
        secrets: &Secrets,
    ) -> Result<(), EgressError> {
        let secret = find_permitted_secret(self.secret(), target, secrets)?;
        let value = secret.value.expose_secret().trim();
        match self {
            Self::Bearer { .. } => set_header(request, AUTHORIZATION, &format!("Bearer {value}"), secret),
            Self::Basic { username, .. } => {
                let pair = encode_base64(format!("{username}:{value}").as_bytes());
                set_header(request, AUTHORIZATION, &format!("Basic {pair}"), secret)
            }
            Self::Header { name, .. } => set_header(request, header_name(name)?, value, secret),
            Self::Query { name, .. } => {
                set_query(request.url_mut(), name, value);
                Ok(())
            }
        }
    }
}

/// The secret, if there is one of this name and the target may have it.
fn find_permitted_secret<'a>(
    name: &str,
    target: &Target,
    secrets: &'a Secrets,
) -> Result<&'a Secret, EgressError> {
    let Some(secret) = secrets.get(name) else {
        return Err(EgressError::Refused(format!(
            "there is no secret `{name}`, so nothing was sent. Operator: add `[secrets.{name}]` with `env` or `file` and \
             `hosts = [\"{target}\"]`"
        )));
    };
    if !secret.has_value() {
        return Err(EgressError::Refused(format!(
            "the secret `{name}` has no value, so nothing was sent. Operator: set the variable or the file that \
             `[secrets.{name}]` names, and start again"
        )));
    }
    let host = match &target.host {
        Host::Domain(name) => Host::Domain(name.as_str()),
        Host::Ipv4(ip) => Host::Ipv4(*ip),
        Host::Ipv6(ip) => Host::Ipv6(*ip),
    };
    if !secret.is_for(&host, target.port) {
        return Err(EgressError::Refused(format!(
            "the secret `{name}` is not for `{target}`, so nothing was sent. Operator: if it may have it, add \
             \"{target}\" to `hosts` in `[secrets.{name}]`"
        )));
    }
    if !target.https && !target.listed {
        return Err(EgressError::Refused(format!(
            "the secret `{name}` is not sent over plain HTTP, so nothing was sent; use https. Operator: if `{target}` is \
             near enough for that, set `allow = [\"{target}\"]` in `[egress]`"
        )));
    }
    Ok(secret)
}

fn header_name(name: &str) -> Result<HeaderName, EgressError> {
    let refused =
        |why: &str| EgressError::Refused(format!("`{name}` cannot be the header of a secret: {why}"));
    if let Some(why) = why_header_is_refused(name).filter(|_| !name.eq_ignore_ascii_case("cookie")) {
        return Err(refused(why));
    }
    HeaderName::try_from(name).map_err(|_| refused("it is no header's name"))
}

fn set_header(
    request: &mut Request,
    name: HeaderName,
    value: &str,
    secret: &Secret,
) -> Result<(), EgressError> {
    let mut value = HeaderValue::try_from(value).map_err(|_| {
        EgressError::Refused(format!(
            "the secret `{}` has characters that no header can have, so nothing was sent; operator: correct it",
            secret.name
        ))
    })?;
    value.set_sensitive(true);
    request.headers_mut().insert(name, value);
    Ok(())
}

/// A server that sends us on may have copied the parameter; there is one of it all the same.
pub(crate) fn set_query(url: &mut Url, name: &str, value: &str) {
    let others: Vec<(String, String)> =
        url.query_pairs().filter(|(key, _)| key != name).map(to_owned_pair).collect();
    if others.len() < url.query_pairs().count() {
        url.query_pairs_mut().clear().extend_pairs(others);
    }
    url.query_pairs_mut().append_pair(name, value);
}

fn to_owned_pair((key, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)) -> (String, String) {
    (key.into_owned(), value.into_owned())
}
