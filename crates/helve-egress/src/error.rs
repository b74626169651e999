//! Why there is no answer, by what may be done next.

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// It must not leave: its scheme, its address, its credential. Nothing was sent, or nothing but questions that were
    /// answered with a redirect that must not be followed.
    #[error("{0}")]
    Refused(String),

    /// The other side could not be reached. Nothing was sent.
    #[error("{0}")]
    NotSent(String),

    /// It was sent, and its outcome is unknown.
    #[error("{0}")]
    Lost(String),

    /// It was answered, with more than is read.
    #[error("{0}")]
    TooLarge(String),
}

impl EgressError {
    /// The same, about an address that only the answer before has named.
    pub(crate) fn of_redirect_target(self) -> Self {
        let led = |why: String| format!("the answer is a redirect, and {why}");
        match self {
            Self::Refused(why) => Self::Refused(led(why)),
            Self::NotSent(why) => Self::NotSent(led(why)),
            Self::Lost(why) => Self::Lost(led(why)),
            Self::TooLarge(why) => Self::TooLarge(why),
        }
    }

    /// The same, of a request of which a part may have had an effect already: its outcome is unknown.
    pub(crate) fn or_lost_after_effect(self, acted: bool) -> Self {
        match self {
            Self::Refused(why) | Self::NotSent(why) if acted => Self::Lost(why),
            error => error,
        }
    }
}
