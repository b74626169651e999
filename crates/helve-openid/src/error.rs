//! Why nobody was signed in.

/// Each has a code, by which the page has a sentence; the text is for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenIdError {
    #[error("the provider cannot be reached: {0}")]
    Unreachable(String),

    #[error("the provider's answer cannot be used: {0}")]
    BadAnswer(String),

    #[error("the provider refused: {0}")]
    Refused(String),

    /// The answer is not one to a sign-in that this browser began, or came too late.
    #[error("the answer belongs to no sign-in that this browser has begun within the last ten minutes")]
    State,

    #[error("the token is from `{0}`, which is not the configured issuer")]
    Issuer(String),

    #[error("the token is not for this client")]
    Audience,

    #[error("the token is signed with `{0}`, which is not accepted")]
    Algorithm(String),

    #[error("the provider has no key that fits the token")]
    Key,

    #[error("the token's signature is wrong")]
    Signature,

    #[error("the token has expired, or is not valid yet")]
    Expired,

    #[error("the token belongs to another sign-in")]
    Nonce,

    #[error("the token cannot be read: {0}")]
    Malformed(&'static str),
}
