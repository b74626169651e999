//! Signed tokens: read, and verified with a key of the provider. Pure.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::OpenIdError;

/// A longer token is not looked at.
pub(crate) const TOKEN_BYTES_MAX: usize = 64 << 10;

/// The algorithms that are accepted: all verify with a public key, none with a shared secret.
#[derive(Clone, Copy)]
enum Algorithm {
    Rsa(&'static RsaParameters),
    Curve { name: &'static str, algorithm: &'static dyn VerificationAlgorithm, coordinate_bytes: usize },
    Edwards,
}

fn find_algorithm(name: &str) -> Option<Algorithm> {
    Some(match name {
        "RS256" => Algorithm::Rsa(&RSA_PKCS1_2048_8192_SHA256),
        "RS384" => Algorithm::Rsa(&RSA_PKCS1_2048_8192_SHA384),
        "RS512" => Algorithm::Rsa(&RSA_PKCS1_2048_8192_SHA512),
        "PS256" => Algorithm::Rsa(&RSA_PSS_2048_8192_SHA256),
        "PS384" => Algorithm::Rsa(&RSA_PSS_2048_8192_SHA384),
        "PS512" => Algorithm::Rsa(&RSA_PSS_2048_8192_SHA512),
        "ES256" => {
            Algorithm::Curve { name: "P-256", algorithm: &ECDSA_P256_SHA256_FIXED, coordinate_bytes: 32 }
        }
        "ES384" => {
            Algorithm::Curve { name: "P-384", algorithm: &ECDSA_P384_SHA384_FIXED, coordinate_bytes: 48 }
        }
        "EdDSA" | "Ed25519" => Algorithm::Edwards,
        _ => return None,
    })
}

/// A public key as its provider publishes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Jwk {
    #[serde(default)]
    pub(crate) kty: String,
    #[serde(default)]
    pub(crate) kid: Option<String>,
    #[serde(default, rename = "use")]
    pub(crate) usage: Option<String>,
    #[serde(default)]
    pub(crate) alg: Option<String>,
    #[serde(default)]
    pub(crate) crv: Option<String>,
    #[serde(default)]
    pub(crate) n: Option<String>,
    #[serde(default)]
    pub(crate) e: Option<String>,
    #[serde(default)]
    pub(crate) x: Option<String>,
    #[serde(default)]
    pub(crate) y: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub(crate) alg: String,
    #[serde(default)]
    pub(crate) kid: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

/// A token whose signature was not looked at yet.
#[derive(Debug)]
pub(crate) struct UnverifiedToken<'a> {
    pub(crate) header: Header,
    algorithm: Algorithm,
    signed: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
}

impl std::fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rsa(_) => "RSA",
            Self::Curve { name, .. } => name,
            Self::Edwards => "Ed25519",
        })
    }
}

impl<'a> UnverifiedToken<'a> {
    /// Reads the header. The algorithm must be one of ours, and one of those that the provider says it uses, if it says.
    pub(crate) fn parse(token: &'a str, announced: Option<&[String]>) -> Result<Self, OpenIdError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(OpenIdError::Malformed("it is too long"));
        }
        let not_signed = OpenIdError::Malformed("it is not a signed token");
        let (signed, signature) = token.rsplit_once('.').ok_or(not_signed.clone())?;
        let (header, payload) = signed.split_once('.').ok_or(not_signed.clone())?;
        if payload.contains('.') {
            return Err(not_signed);
        }
        let header: Header = serde_json::from_slice(&decode(header)?)
            .map_err(|_| OpenIdError::Malformed("its header is not JSON"))?;
        let refused = || OpenIdError::Algorithm(header.alg.chars().take(20).collect());
        let algorithm = find_algorithm(&header.alg).ok_or_else(refused)?;
        if announced.is_some_and(|names| !names.contains(&header.alg)) {
            return Err(refused());
        }
        if header.crit.is_some() {
            return Err(OpenIdError::Malformed("its header demands an extension"));
        }
        Ok(Self { signature: decode(signature)?, header, algorithm, signed, payload })
    }

    /// Whether a key can have signed it, by what both say.
    pub(crate) fn fits(&self, key: &Jwk) -> bool {
        let kind = match self.algorithm {
            Algorithm::Rsa(_) => key.kty == "RSA",
            Algorithm::Curve { name, .. } => key.kty == "EC" && key.crv.as_deref() == Some(name),
            Algorithm::Edwards => key.kty == "OKP" && key.crv.as_deref() == Some("Ed25519"),
        };
        let kid = self.header.kid.is_none() || self.header.kid == key.kid;
        let usage = key.usage.as_deref().is_none_or(|usage| usage == "sig");
        kind && kid && usage && key.alg.as_ref().is_none_or(|alg| *alg == self.header.alg)
    }

    /// The claims, if the key has signed them.
    pub(crate) fn verify(&self, key: &Jwk) -> Result<Map<String, Value>, OpenIdError> {
        let number = |text: &Option<String>| decode(text.as_deref().ok_or(OpenIdError::Key)?);
        let (signed, signature) = (self.signed.as_bytes(), &*self.signature);
        let verified = match self.algorithm {
            Algorithm::Rsa(parameters) => {
                let (n, e) = (number(&key.n)?, number(&key.e)?);
                RsaPublicKeyComponents { n: strip_zeros(&n), e: strip_zeros(&e) }
                    .verify(parameters, signed, signature)
            }
            Algorithm::Curve { algorithm, coordinate_bytes, .. } => {
                let (x, y) = (number(&key.x)?, number(&key.y)?);
                if x.len() != coordinate_bytes || y.len() != coordinate_bytes {
                    return Err(OpenIdError::Key);
                }
                let point = [&[4], &*x, &*y].concat();
                UnparsedPublicKey::new(algorithm, point).verify(signed, signature)
            }
            Algorithm::Edwards => UnparsedPublicKey::new(&ED25519, number(&key.x)?).verify(signed, signature),
        };
        verified.map_err(|_| OpenIdError::Signature)?;
        serde_json::from_slice(&decode(self.payload)?)
            .map_err(|_| OpenIdError::Malformed("its claims are no JSON object"))
    }
}

/// Some providers write numbers with zeros before them.
fn strip_zeros(number: &[u8]) -> &[u8] {
    let first = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    number.get(first..).unwrap_or_default()
}

fn decode(text: &str) -> Result<Vec<u8>, OpenIdError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| OpenIdError::Malformed("a part of it is not base64url"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// RFC 7515, appendix A.2.
    const RSA_TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    const RSA_N: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";

    fn rsa_key() -> Jwk {
        serde_json::from_value(json!({"kty": "RSA", "n": RSA_N, "e": "AQAB"})).unwrap()
    }

    #[test]
    fn a_token_of_the_standard_is_verified_and_a_changed_one_is_not() {
        let token = UnverifiedToken::parse(RSA_TOKEN, None).unwrap();
        assert!(token.fits(&rsa_key()));
        assert_eq!(token.verify(&rsa_key()).unwrap()["iss"], "joe");
        let (signed, signature) = RSA_TOKEN.rsplit_once('.').unwrap();
        let (header, _) = signed.split_once('.').unwrap();
        let payload = URL_SAFE_NO_PAD.encode(br#"{"iss": "eve"}"#);
        let changed = format!("{header}.{payload}.{signature}");
        let changed = UnverifiedToken::parse(&changed, None).unwrap();
        assert_eq!(changed.verify(&rsa_key()), Err(OpenIdError::Signature));
    }

    #[test]
    fn an_algorithm_without_a_public_key_is_refused_before_anything_is_verified() {
        for alg in ["none", "None", "HS256", "HS512", "RS1", ""] {
            let header = URL_SAFE_NO_PAD.encode(json!({"alg": alg}).to_string());
            for token in [format!("{header}.e30."), format!("{header}.e30.AAAA")] {
                let error = UnverifiedToken::parse(&token, None).unwrap_err();
                assert_eq!(error, OpenIdError::Algorithm(alg.into()), "{token}");
            }
        }
        let announced = ["ES256".to_owned()];
        let error = UnverifiedToken::parse(RSA_TOKEN, Some(&announced)).unwrap_err();
        assert_eq!(error, OpenIdError::Algorithm("RS256".into()));
    }

    #[test]
    fn a_key_for_something_else_does_not_fit() {
        let token = UnverifiedToken::parse(RSA_TOKEN, None).unwrap();
        let other = |key: Jwk| assert!(!token.fits(&key), "{key:?}");
        other(Jwk { kty: "EC".into(), ..rsa_key() });
        other(Jwk { usage: Some("enc".into()), ..rsa_key() });
        other(Jwk { alg: Some("PS256".into()), ..rsa_key() });
        assert!(token.fits(&Jwk { kid: Some("any".into()), ..rsa_key() }));
    }

    #[test]
    fn what_is_no_token_is_refused_without_a_panic() {
        let long = "a".repeat(TOKEN_BYTES_MAX + 1);
        for text in ["", ".", "..", "...", "a.b.c", "e30.e30.e30", "e30.e30.e30.e30.e30", "é.é.é", &*long]
        {
            assert!(
                UnverifiedToken::parse(text, None).is_err(),
                "{}",
                &text.chars().take(20).collect::<String>()
            );
        }
        let crit = URL_SAFE_NO_PAD.encode(r#"{"alg": "RS256", "crit": ["b64"]}"#);
        assert!(UnverifiedToken::parse(&format!("{crit}.e30.AAAA"), None).is_err());
        for key in [
            json!({"kty": "RSA"}),
            json!({"kty": "RSA", "n": "", "e": ""}),
            json!({"kty": "RSA", "n": "AAAA", "e": "!"}),
        ] {
            let key: Jwk = serde_json::from_value(key).unwrap();
            assert!(UnverifiedToken::parse(RSA_TOKEN, None).unwrap().verify(&key).is_err());
        }
    }
}
