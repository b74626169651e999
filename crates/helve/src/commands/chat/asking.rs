//! A question to the person at the keyboard: which line means which answer. Pure; the chat prints and sends.

use helve_types::{Answer, ApprovalKind, OutcomeAnswer, Question};

use crate::commands::approvals::answer::{AlwaysWithin, object};
use crate::i18n::tr;

/// What of a question decides how it can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct About {
    kind: ApprovalKind,
    /// Consent to a circle goes no further than the run that is in it.
    repeats: bool,
}

impl From<&Question> for About {
    fn from(question: &Question) -> Self {
        Self { kind: question.kind(), repeats: question.repeats() }
    }
}

/// What the next line is taken for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Asking {
    #[default]
    Choice,
    /// Other arguments, in one line.
    Arguments,
    /// These arguments, if the person still wants them.
    Edited(String),
    Reason,
    Response,
    Always,
}

/// What follows a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Send(Answer),
    Ask(Asking),
    /// The person wants to change the arguments.
    Edit,
    /// It meant nothing: why.
    Again(String),
}

impl Asking {
    /// What the person is asked for.
    pub(super) fn prompt(&self, about: About) -> String {
        match (self, about.kind) {
            (Self::Choice, ApprovalKind::Permission) => {
                tr!("[y]es, [e]dit, [n]o, [r]espond instead of the tool, [a]lways? ")
            }
            (Self::Choice, ApprovalKind::Outcome) => {
                tr!("did it take effect? [h]appened, [d]id not happen, run [a]gain? ")
            }
            (Self::Choice, ApprovalKind::Budget) => tr!("[y]es, [n]o? "),
            (Self::Arguments, _) => tr!("other arguments, as a JSON object (empty: back): "),
            (Self::Edited(_), _) => tr!("send this? [y]es, [e]dit again, [b]ack? "),
            (Self::Reason, _) => tr!("why not? (the model is told; may be empty): "),
            (Self::Response, _) => tr!("the result for the model (empty: back): "),
            (Self::Always, _) if about.repeats => {
                tr!("do not ask about this tool in this [r]un (empty: back)? ")
            }
            (Self::Always, _) => {
                tr!("do not ask about this tool in: [r]un, [c]onversation, [a]gent (empty: back)? ")
            }
        }
    }

    pub(super) fn hear(&self, about: About, said: &str) -> Next {
        let kind = about.kind;
        let said = said.trim();
        let word = said.to_lowercase();
        match (self, kind) {
            (Self::Choice, ApprovalKind::Permission | ApprovalKind::Budget) => choice(kind, said),
            (Self::Choice, ApprovalKind::Outcome) => outcome(&word),
            (Self::Arguments | Self::Response | Self::Always, _) if said.is_empty() => {
                Next::Ask(Self::Choice)
            }
            (Self::Arguments, _) => match object(said) {
                Ok(arguments) => Next::Ask(Self::Edited(arguments)),
                Err(error) => Next::Again(error.to_string()),
            },
            (Self::Edited(arguments), _) => match word.as_str() {
                "y" | "yes" => {
                    Next::Send(Answer::Approve { arguments: Some(arguments.clone()), always: None })
                }
                "e" | "edit" => Next::Edit,
                "b" | "back" => Next::Ask(Self::Choice),
                _ => Next::Again(tr!("type y, e or b")),
            },
            (Self::Reason, _) => Next::Send(Answer::Reject { reason: said.into() }),
            (Self::Response, _) => Next::Send(Answer::Respond { text: said.into() }),
            (Self::Always, _) => {
                let within = match word.as_str() {
                    "r" | "run" => AlwaysWithin::Run,
                    _ if about.repeats => return Next::Again(tr!("type r, or nothing to go back")),
                    "c" | "conversation" => AlwaysWithin::Conversation,
                    "a" | "agent" => AlwaysWithin::Agent,
                    _ => return Next::Again(tr!("type r, c or a")),
                };
                Next::Send(Answer::Approve { arguments: None, always: Some(within.always()) })
            }
        }
    }
}

/// A letter or a word; a reason and a response may stand behind theirs.
fn choice(kind: ApprovalKind, said: &str) -> Next {
    let (word, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
    let (word, rest) = (word.to_lowercase(), rest.trim());
    let about_call = kind == ApprovalKind::Permission;
    match (word.as_str(), rest) {
        ("y" | "yes", "") => Next::Send(Answer::approve()),
        ("n" | "no", "") => Next::Ask(Asking::Reason),
        ("n" | "no", reason) => Next::Send(Answer::Reject { reason: reason.into() }),
        ("e" | "edit", "") if about_call => Next::Edit,
        ("r" | "respond", "") if about_call => Next::Ask(Asking::Response),
        ("r" | "respond", text) if about_call => Next::Send(Answer::Respond { text: text.into() }),
        ("a" | "always", "") if about_call => Next::Ask(Asking::Always),
        _ if about_call => Next::Again(tr!("type y, e, n, r or a; nothing happens until you say")),
        _ => Next::Again(tr!("type y or n; nothing happens until you say")),
    }
}

fn outcome(word: &str) -> Next {
    let answer = match word {
        "h" | "happened" => OutcomeAnswer::Happened,
        "d" | "did not happen" | "did-not-happen" => OutcomeAnswer::DidNotHappen,
        "a" | "again" | "run-again" | "run again" => OutcomeAnswer::RunAgain,
        _ => return Next::Again(tr!("type h, d or a; nothing happens until you say")),
    };
    Next::Send(Answer::Outcome { answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(kind: ApprovalKind) -> About {
        About { kind, repeats: false }
    }

    #[test]
    fn a_line_means_what_was_asked_for_and_nothing_by_accident() {
        use ApprovalKind::{Budget, Outcome, Permission};
        let reject = |reason: &str| Next::Send(Answer::Reject { reason: reason.into() });
        let cases = [
            (Asking::Choice, Permission, "y", Next::Send(Answer::approve())),
            (Asking::Choice, Permission, " YES ", Next::Send(Answer::approve())),
            (Asking::Choice, Permission, "n", Next::Ask(Asking::Reason)),
            (Asking::Choice, Permission, "n too dear", reject("too dear")),
            (Asking::Choice, Permission, "r 42", Next::Send(Answer::Respond { text: "42".into() })),
            (Asking::Choice, Permission, "e", Next::Edit),
            (Asking::Choice, Permission, "a", Next::Ask(Asking::Always)),
            (Asking::Choice, Budget, "y", Next::Send(Answer::approve())),
            (Asking::Reason, Permission, "", reject("")),
            (Asking::Response, Permission, "", Next::Ask(Asking::Choice)),
            (Asking::Arguments, Permission, r#"{"x": 1}"#, Next::Ask(Asking::Edited(r#"{"x":1}"#.into()))),
            (
                Asking::Choice,
                Outcome,
                "d",
                Next::Send(Answer::Outcome { answer: OutcomeAnswer::DidNotHappen }),
            ),
        ];
        for (asking, kind, said, expected) in cases {
            assert_eq!(asking.hear(about(kind), said), expected, "{said:?}");
        }
        for (kind, said) in [
            (Permission, ""),
            (Permission, "yes please, and also buy milk"),
            (Permission, "h"),
            (Budget, "a"),
            (Budget, "r 42"),
            (Outcome, "y"),
        ] {
            assert!(matches!(Asking::Choice.hear(about(kind), said), Next::Again(_)), "{said:?}");
        }
        assert!(matches!(Asking::Arguments.hear(about(Permission), "[1]"), Next::Again(_)));
        let edited = Asking::Edited("{}".into()).hear(about(Permission), "y");
        assert_eq!(edited, Next::Send(Answer::Approve { arguments: Some("{}".into()), always: None }));
        let Next::Send(always) = Asking::Always.hear(about(Permission), "c") else {
            panic!("nothing is sent")
        };
        assert!(always.fits(Permission));
        let circle = About { repeats: true, ..about(Permission) };
        assert!(matches!(Asking::Always.hear(circle, "c"), Next::Again(_)));
        assert!(matches!(Asking::Always.hear(circle, "r"), Next::Send(_)));
    }
}
