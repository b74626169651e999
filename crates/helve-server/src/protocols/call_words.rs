//! The words in which `/api/chat` and `/api/agent` say how far a call has come.

use helve_types::CallState;

/// In a stream; none where nothing is sent.
pub(crate) fn word_in_stream(state: CallState) -> Option<&'static str> {
    match state {
        CallState::Requested | CallState::Approved | CallState::Claimed => None,
        CallState::Asked | CallState::Delegated => Some("waiting"),
        CallState::Running => Some("searching"),
        CallState::Finished => Some("done"),
        CallState::Failed | CallState::Refused | CallState::Expired | CallState::Unknown => Some("failed"),
    }
}

/// In the whole answer of `/api/agent`.
pub(crate) fn word_in_answer(state: CallState) -> &'static str {
    match state {
        CallState::Requested
        | CallState::Asked
        | CallState::Approved
        | CallState::Delegated
        | CallState::Claimed
        | CallState::Running => "requested",
        CallState::Finished => "done",
        CallState::Failed | CallState::Refused | CallState::Expired => "failed",
        CallState::Unknown => "unknown",
    }
}
