//! What a provider says of itself. Pure.

use helve_egress::Url;
use serde::Deserialize;

use crate::OpenIdError;

/// The part of the document that is used.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Document {
    issuer: String,
    pub(crate) authorization_endpoint: Endpoint,
    pub(crate) token_endpoint: Endpoint,
    pub(crate) jwks_uri: Endpoint,
    #[serde(default)]
    pub(crate) userinfo_endpoint: Option<Endpoint>,
    #[serde(default)]
    pub(crate) end_session_endpoint: Option<Endpoint>,
    #[serde(default)]
    pub(crate) id_token_signing_alg_values_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

/// An address in the document.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Endpoint(pub(crate) Url);

impl TryFrom<String> for Endpoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Url::parse(&text).map(Self).map_err(|error| format!("an endpoint is no address: {error}"))
    }
}

/// Where the document of an issuer is.
pub(crate) fn document_url(issuer: &str) -> Result<Url, OpenIdError> {
    let address = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    Url::parse(&address).map_err(|error| OpenIdError::BadAnswer(format!("`{issuer}` is no address: {error}")))
}

impl Document {
    /// The document must be about the issuer that is configured, and its endpoints no less protected.
    pub(crate) fn parse(text: &str, issuer: &str) -> Result<Self, OpenIdError> {
        let document: Self = serde_json::from_str(text)
            .map_err(|error| OpenIdError::BadAnswer(format!("the discovery document: {error}")))?;
        if document.issuer != issuer {
            return Err(OpenIdError::BadAnswer(format!(
                "the provider calls itself `{}`, and `issuer` in [auth.oidc] is `{issuer}`; they must be the same",
                document.issuer
            )));
        }
        let plain = issuer.starts_with("http:");
        let required = [&document.authorization_endpoint, &document.token_endpoint, &document.jwks_uri];
        let optional = [&document.userinfo_endpoint, &document.end_session_endpoint];
        for Endpoint(url) in required.into_iter().chain(optional.into_iter().flatten()) {
            if url.scheme() != "https" && !(plain && url.scheme() == "http") {
                return Err(OpenIdError::BadAnswer(format!("`{url}` is not reached by https")));
            }
        }
        let methods = document.code_challenge_methods_supported.as_deref();
        if methods.is_some_and(|methods| methods.iter().all(|method| method != "S256")) {
            return Err(OpenIdError::BadAnswer("the provider does not support PKCE with S256".into()));
        }
        Ok(document)
    }

    /// Whether the client's secret goes into the body; the header is what all providers know.
    pub(crate) fn wants_secret_in_body(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
        let has = |name: &str| methods.iter().any(|method| method == name);
        has("client_secret_post") && !has("client_secret_basic")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parse(issuer: &str, change: Value) -> Result<Document, OpenIdError> {
        let mut document = json!({
            "issuer": "https://id.example",
            "authorization_endpoint": "https://id.example/auth",
            "token_endpoint": "https://id.example/token",
            "jwks_uri": "https://keys.example/jwks",
        });
        document.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        Document::parse(&document.to_string(), issuer)
    }

    #[test]
    fn a_document_of_another_issuer_or_with_an_unprotected_endpoint_is_refused() {
        let ours = "https://id.example";
        assert!(parse(ours, json!({})).is_ok());
        assert!(parse("https://id.example/", json!({})).is_err());
        assert!(parse(ours, json!({"issuer": "https://evil.example"})).is_err());
        for name in [
            "authorization_endpoint",
            "token_endpoint",
            "jwks_uri",
            "userinfo_endpoint",
            "end_session_endpoint",
        ] {
            assert!(parse(ours, json!({name: "http://id.example/x"})).is_err(), "{name}");
            assert!(parse(ours, json!({name: "javascript:alert(1)"})).is_err(), "{name}");
        }
        assert!(parse(ours, json!({"code_challenge_methods_supported": ["plain"]})).is_err());
        assert!(parse(ours, json!({"code_challenge_methods_supported": ["plain", "S256"]})).is_ok());
        let near = json!({"issuer": "http://localhost:1", "token_endpoint": "http://localhost:1/token"});
        assert!(parse("http://localhost:1", near).is_ok());
    }

    #[test]
    fn the_document_of_an_issuer_is_below_its_path() {
        for issuer in ["https://id.example/realms/main", "https://id.example/realms/main/"] {
            let expected = "https://id.example/realms/main/.well-known/openid-configuration";
            assert_eq!(document_url(issuer).unwrap().as_str(), expected);
        }
    }
}
