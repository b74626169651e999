//! What a status that is no success means: whether anything was done, and what to do about it. Pure.

use std::time::Duration;

use helve_tool::ToolError;

/// What the definition says about statuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Whether 429, and 503 with `Retry-After`, mean that nothing was done.
    pub(crate) busy_is_not_done: bool,
    /// Statuses below 500 that are signs of illness.
    pub(crate) failure_statuses: Vec<u16>,
}

pub(super) fn refused(status: u16, pause: Option<Duration>, reason: &str, terms: &Terms) -> ToolError {
    let said = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let busy = status == 429 || (status == 503 && pause.is_some());
    let message = format!("the other side {} ({status}){said}{}", what(status), advice(status));
    if terms.failure_statuses.contains(&status) {
        return ToolError::Ailing(message);
    }
    match status {
        _ if busy && terms.busy_is_not_done => ToolError::Busy { message, retry_after: pause },
        // A proxy says this about a server that may well be at work.
        408 | 429 => ToolError::Lost(message),
        300..=499 => ToolError::Declined(message),
        _ => ToolError::Lost(message),
    }
}

fn what(status: u16) -> &'static str {
    match status {
        300..=399 => "says that this has moved, which is not followed",
        400 | 422 => "does not understand these arguments",
        401 => "does not know who is asking",
        402 => "wants to be paid",
        403 => "does not allow this",
        404 | 410 => "has nothing there",
        405 => "does not take this method",
        406 | 415 => "does not speak this format",
        408 => "gave up waiting",
        409 | 412 => "says that this does not fit the present state",
        413 | 414 | 431 => "says that this is too much at once",
        429 => "is asked too often",
        503 => "is not available",
        504 => "was not answered in time itself",
        500..=599 => "failed",
        _ => "refused",
    }
}

fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => {
            "; answer without it. Operator: correct the tool's address, or let it follow `redirects`"
        }
        400 | 406 | 415 | 422 => "; correct the arguments and call again",
        401 | 403 => "; answer without it and say so. Operator: check the tool's `auth` and its secret",
        404 | 410 => {
            "; check the arguments: what they name may not exist. Operator: if it does, check the tool's address"
        }
        405 => "; answer without it. Operator: check the tool's `method`",
        409 | 412 => "; look at the present state before calling again",
        413 | 414 | 431 => "; send less",
        400..=428 | 430..=499 => "; do not repeat the same call",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(status: u16, pause: Option<u64>, busy_is_not_done: bool) -> &'static str {
        let terms = Terms { busy_is_not_done, failure_statuses: vec![403] };
        match refused(status, pause.map(Duration::from_secs), "", &terms) {
            ToolError::Declined(_) => "declined",
            ToolError::Ailing(_) => "ailing",
            ToolError::NotSent(_) => "not sent",
            ToolError::Busy { .. } => "busy",
            ToolError::Lost(_) => "lost",
        }
    }

    #[test]
    fn every_status_says_whether_anything_was_done() {
        for status in 300..=599 {
            let expected = match status {
                403 => "ailing",
                429 => "busy",
                408 | 500.. => "lost",
                _ => "declined",
            };
            assert_eq!(word(status, None, true), expected, "{status}");
        }
        assert_eq!(word(503, Some(3), true), "busy");
        assert_eq!(word(500, Some(3), true), "lost");
        // Where busy may mean done, nobody knows.
        assert_eq!([word(429, Some(3), false), word(503, Some(3), false)], ["lost", "lost"]);
    }

    #[test]
    fn the_message_says_how_to_do_better() {
        let terms = Terms { busy_is_not_done: true, failure_statuses: vec![] };
        assert_eq!(
            refused(422, None, "`city` is unknown", &terms).to_string(),
            "the other side does not understand these arguments (422): `city` is unknown; correct the arguments \
             and call again"
        );
        assert_eq!(refused(500, None, "", &terms).to_string(), "the other side failed (500)");
    }
}
