//! What a status that is no success means: whether anything was done, and what to do about it. Pure.

use std::time::Duration;

use helve_tool::ToolError;

/// What the definition says about statuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusPolicy {
    /// Whether 429, and 503 with `Retry-After`, mean that nothing was done.
    pub(crate) busy_is_not_done: bool,
    /// Statuses below 500 that are signs of illness.
    pub(crate) failure_statuses: Vec<u16>,
    /// Whether the tool changes anything.
    pub(crate) writes: bool,
}

pub(super) fn status_error(
    status: u16,
    pause: Option<Duration>,
    reason: &str,
    terms: &StatusPolicy,
) -> ToolError {
    let said = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let busy = status == 429 || (status == 503 && pause.is_some());
    let not_done = if busy { terms.busy_is_not_done } else { says_not_done(status, terms.writes) };
    let advice = status_advice(status, not_done);
    let message = format!("the other side {} ({status}){said}{advice}", describe_status(status));
    // What was perhaps done comes first: a sign of illness says nothing about it.
    if !not_done {
        ToolError::Lost(message)
    } else if terms.failure_statuses.contains(&status) {
        ToolError::Ailing(message)
    } else if busy {
        ToolError::Busy { message, retry_after: pause }
    } else {
        ToolError::Declined(message)
    }
}

/// Whether the status itself says that nothing was done.
fn says_not_done(status: u16, writes: bool) -> bool {
    match status {
        307 | 308 => true,
        // A form that was taken is answered with where to look next.
        300..=399 => !writes,
        // A proxy says this about a server that may well be at work.
        408 => false,
        400..=499 => true,
        _ => false,
    }
}

fn describe_status(status: u16) -> &'static str {
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

fn status_advice(status: u16, not_done: bool) -> &'static str {
    match status {
        300..=399 if !not_done => {
            "; many answer like this once it is done, so do not repeat it. Operator: let the tool follow `redirects`"
        }
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

    fn terms(busy_is_not_done: bool, failure_statuses: &[u16], writes: bool) -> StatusPolicy {
        StatusPolicy { busy_is_not_done, failure_statuses: failure_statuses.to_vec(), writes }
    }

    fn word(status: u16, pause: Option<u64>, terms: &StatusPolicy) -> &'static str {
        match status_error(status, pause.map(Duration::from_secs), "", terms) {
            ToolError::Declined(_) => "declined",
            ToolError::Ailing(_) => "ailing",
            ToolError::NotSent(_) => "not sent",
            ToolError::Busy { .. } => "busy",
            ToolError::Lost(_) => "lost",
            ToolError::Explained { .. } => "explained",
        }
    }

    #[test]
    fn every_status_says_whether_anything_was_done() {
        for (status, writes) in (300..=599).flat_map(|status| [(status, true), (status, false)]) {
            let expected = match status {
                403 => "ailing",
                429 => "busy",
                408 | 500.. => "lost",
                307 | 308 => "declined",
                300..=399 if writes => "lost",
                _ => "declined",
            };
            assert_eq!(word(status, None, &terms(true, &[403], writes)), expected, "{status} {writes}");
        }
        let by_default = terms(true, &[], true);
        assert_eq!([word(503, Some(3), &by_default), word(500, Some(3), &by_default)], ["busy", "lost"]);
        // Where busy may mean done, it is unknown.
        let unsure = terms(false, &[], true);
        assert_eq!([word(429, Some(3), &unsure), word(503, Some(3), &unsure)], ["lost", "lost"]);
    }

    #[test]
    fn a_sign_of_illness_does_not_say_that_nothing_was_done() {
        let all: Vec<u16> = (300..=599).collect();
        for (status, writes) in (300..=599).flat_map(|status| [(status, true), (status, false)]) {
            for (busy_is_not_done, pause) in [(true, None), (true, Some(3)), (false, None), (false, Some(3))]
            {
                let plain = word(status, pause, &terms(busy_is_not_done, &[], writes));
                let expected = if plain == "lost" { "lost" } else { "ailing" };
                let ill = word(status, pause, &terms(busy_is_not_done, &all, writes));
                assert_eq!(ill, expected, "{status} {writes} {busy_is_not_done} {pause:?}");
            }
        }
    }

    #[test]
    fn the_message_says_how_to_do_better() {
        let terms = terms(true, &[], true);
        assert_eq!(
            status_error(422, None, "`city` is unknown", &terms).to_string(),
            "the other side does not understand these arguments (422): `city` is unknown; correct the arguments \
             and call again"
        );
        assert_eq!(status_error(500, None, "", &terms).to_string(), "the other side failed (500)");
    }
}
