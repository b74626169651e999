//! What a verified token says, and whether it is meant for us. Pure.

use helve_types::Timestamp;
use serde_json::{Map, Value};

use crate::OpenIdError;

/// How far the provider's clock may be from ours.
const LEEWAY_SECONDS: i64 = 60;
/// An older token is not one that was just asked for.
const AGE_MAX_SECONDS: i64 = 600;
/// A longer subject is none.
const SUBJECT_BYTES_MAX: usize = 255;
const BACKCHANNEL_LOGOUT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// What a token has to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) now: Timestamp,
}

/// Which sessions a provider has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogoutToken {
    pub subject: Option<String>,
    pub sid: Option<String>,
}

/// The claims that every token has: who made it, for whom, and when.
fn check_common(claims: &Map<String, Value>, expected: Expected<'_>) -> Result<(), OpenIdError> {
    let issuer = text(claims, "iss").unwrap_or_default();
    if issuer != expected.issuer {
        return Err(OpenIdError::Issuer(issuer.chars().take(200).collect()));
    }
    let audiences: Vec<&str> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let party = text(claims, "azp");
    let is_meant = audiences.contains(&expected.client_id)
        && party.is_none_or(|party| party == expected.client_id)
        && (audiences.len() == 1 || party.is_some());
    if !is_meant {
        return Err(OpenIdError::Audience);
    }
    let now = expected.now.0.div_euclid(1_000);
    let made = seconds(claims, "iat").ok_or(OpenIdError::Malformed("it does not say when it was made"))?;
    let is_over = seconds(claims, "exp").is_some_and(|end| now >= end.saturating_add(LEEWAY_SECONDS));
    let is_early = made > now + LEEWAY_SECONDS
        || seconds(claims, "nbf").is_some_and(|begin| begin > now + LEEWAY_SECONDS);
    if is_over || is_early || made < now - AGE_MAX_SECONDS - LEEWAY_SECONDS {
        return Err(OpenIdError::Expired);
    }
    Ok(())
}

pub(crate) fn check_id_token(
    claims: &Map<String, Value>,
    nonce: &str,
    expected: Expected<'_>,
) -> Result<String, OpenIdError> {
    check_common(claims, expected)?;
    if seconds(claims, "exp").is_none() {
        return Err(OpenIdError::Malformed("it does not say when it ends"));
    }
    if text(claims, "nonce") != Some(nonce) {
        return Err(OpenIdError::Nonce);
    }
    subject(claims).ok_or(OpenIdError::Malformed("it names nobody"))
}

pub(crate) fn check_logout_token(
    claims: &Map<String, Value>,
    expected: Expected<'_>,
) -> Result<LogoutToken, OpenIdError> {
    check_common(claims, expected)?;
    let is_logout = claims.get("events").and_then(|events| events.get(BACKCHANNEL_LOGOUT)).is_some();
    // A token with a nonce is one of a sign-in.
    if !is_logout || claims.contains_key("nonce") {
        return Err(OpenIdError::Malformed("it is not about a logout"));
    }
    let token = LogoutToken { subject: subject(claims), sid: text(claims, "sid").map(str::to_owned) };
    if token.subject.is_none() && token.sid.is_none() {
        return Err(OpenIdError::Malformed("it names nobody"));
    }
    Ok(token)
}

pub(crate) fn subject(claims: &Map<String, Value>) -> Option<String> {
    let subject = text(claims, "sub")?;
    let is_good =
        !subject.is_empty() && subject.len() <= SUBJECT_BYTES_MAX && !subject.chars().any(char::is_control);
    is_good.then(|| subject.to_owned())
}

pub(crate) fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    claims.get(name)?.as_str()
}

fn seconds(claims: &Map<String, Value>, name: &str) -> Option<i64> {
    let value = claims.get(name)?;
    #[expect(clippy::cast_possible_truncation, reason = "a time beyond the range ends at its border")]
    value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn claims(change: Value) -> Map<String, Value> {
        let mut claims = json!({
            "iss": "https://id.example", "aud": "helve", "sub": "1", "nonce": "n", "iat": NOW, "exp": NOW + 300
        });
        let all = claims.as_object_mut().unwrap();
        for (name, value) in change.as_object().unwrap() {
            match value {
                Value::Null => _ = all.remove(name),
                value => _ = all.insert(name.clone(), value.clone()),
            }
        }
        all.clone()
    }

    fn expected() -> Expected<'static> {
        Expected { issuer: "https://id.example", client_id: "helve", now: Timestamp(NOW * 1_000) }
    }

    #[test]
    fn an_id_token_is_accepted_only_if_it_is_from_there_for_us_and_for_this_sign_in() {
        use OpenIdError as E;
        let cases = [
            (json!({}), None),
            (json!({"aud": ["helve"]}), None),
            (json!({"aud": ["helve", "other"], "azp": "helve"}), None),
            (json!({"exp": NOW - 59}), None),
            (json!({"iss": "https://id.example/"}), Some(E::Issuer("https://id.example/".into()))),
            (json!({"iss": null}), Some(E::Issuer(String::new()))),
            (json!({"aud": "other"}), Some(E::Audience)),
            (json!({"aud": null}), Some(E::Audience)),
            (json!({"aud": ["helve", "other"]}), Some(E::Audience)),
            (json!({"aud": ["helve", "other"], "azp": "other"}), Some(E::Audience)),
            (json!({"azp": "other"}), Some(E::Audience)),
            (json!({"exp": NOW - 60}), Some(E::Expired)),
            (json!({"exp": null}), Some(E::Malformed("it does not say when it ends"))),
            (json!({"exp": "soon"}), Some(E::Malformed("it does not say when it ends"))),
            (json!({"iat": NOW + 61}), Some(E::Expired)),
            (json!({"iat": NOW - 661}), Some(E::Expired)),
            (json!({"iat": null}), Some(E::Malformed("it does not say when it was made"))),
            (json!({"nbf": NOW + 61}), Some(E::Expired)),
            (json!({"nonce": "m"}), Some(E::Nonce)),
            (json!({"nonce": null}), Some(E::Nonce)),
            (json!({"sub": null}), Some(E::Malformed("it names nobody"))),
            (json!({"sub": ""}), Some(E::Malformed("it names nobody"))),
            (json!({"sub": "a\nb"}), Some(E::Malformed("it names nobody"))),
            (json!({"exp": i64::MAX}), None),
            (json!({"exp": 1e300, "iat": -1e300}), Some(E::Expired)),
        ];
        for (change, error) in cases {
            let checked = check_id_token(&claims(change.clone()), "n", expected());
            assert_eq!(checked.err(), error, "{change}");
        }
    }

    #[test]
    fn a_logout_token_says_so_names_somebody_and_is_none_of_a_sign_in() {
        let logout = |change: Value| {
            let mut all = json!({"nonce": null, "events": {BACKCHANNEL_LOGOUT: {}}, "sid": "s"});
            all.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            check_logout_token(&claims(all), expected())
        };
        let both = LogoutToken { subject: Some("1".into()), sid: Some("s".into()) };
        assert_eq!(logout(json!({})), Ok(both));
        assert!(logout(json!({"sub": null, "exp": null})).is_ok());
        assert!(logout(json!({"sub": null, "sid": null})).is_err());
        assert!(logout(json!({"events": null})).is_err());
        assert!(logout(json!({"events": {"other": {}}})).is_err());
        assert!(logout(json!({"nonce": "n"})).is_err());
        assert_eq!(logout(json!({"aud": "other"})), Err(OpenIdError::Audience));
        assert_eq!(logout(json!({"exp": NOW - 100})), Err(OpenIdError::Expired));
    }
}
