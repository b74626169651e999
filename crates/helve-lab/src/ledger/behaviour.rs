//! How an effect is carried out: what the caller asks for in the payload's `then`.
//!
//! Words, in any order: `wait MS` before it happens, `slow MS` before the answer, `error` and `drop` instead of an
//! answer although it happened, `decline` and `busy` instead of the effect, `once` for only the first time.

use std::time::Duration;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EffectBehaviour {
    pub(super) wait: Duration,
    pub(super) slow: Duration,
    pub(super) instead: Option<ReplyFault>,
    pub(super) once: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyFault {
    /// It happened, and the answer is an error.
    Error,
    /// It happened, and there is no answer.
    Drop,
    /// It does not happen; the answer is no.
    Decline,
    /// It does not happen now.
    Busy,
}

impl ReplyFault {
    pub(super) fn happens(self) -> bool {
        matches!(self, Self::Error | Self::Drop)
    }
}

impl EffectBehaviour {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut manner = Self::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let mut ms = || {
                let number = words.next().and_then(|ms| ms.parse().ok());
                number.map(Duration::from_millis).ok_or_else(|| format!("`{word}` wants milliseconds"))
            };
            match word {
                "wait" => manner.wait = ms()?,
                "slow" => manner.slow = ms()?,
                "error" => manner.instead = Some(ReplyFault::Error),
                "drop" => manner.instead = Some(ReplyFault::Drop),
                "decline" => manner.instead = Some(ReplyFault::Decline),
                "busy" => manner.instead = Some(ReplyFault::Busy),
                "once" => manner.once = true,
                other => return Err(format!("the ledger knows no `{other}`")),
            }
        }
        Ok(manner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_how_it_is_done() {
        let manner = EffectBehaviour::parse("slow 40 drop once").unwrap();
        assert_eq!(manner.slow, Duration::from_millis(40));
        assert_eq!((manner.instead, manner.once), (Some(ReplyFault::Drop), true));
        assert_eq!(EffectBehaviour::parse("").unwrap(), EffectBehaviour::default());
        assert!(EffectBehaviour::parse("slow").is_err());
        assert!(EffectBehaviour::parse("explode").is_err());
    }
}
