//! A question to the person at the keyboard: which line means which answer. Pure; the chat prints and sends.

use helve_tool::TypedValue;
use helve_types::{Answer, ApprovalKind, OutcomeAnswer, Question, ReplyForm};
use serde_json::Value;

use crate::commands::approvals::answer::{AlwaysWithin, object};
use crate::commands::approvals::reply::{self, field_prompt, read_field, read_form, read_only, typed_fields};
use crate::i18n::tr;

/// What of a question decides how it can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct About<'a> {
    kind: ApprovalKind,
    /// Consent to a circle goes no further than the run that is in it.
    repeats: bool,
    /// What the model wants to know.
    form: Option<&'a ReplyForm>,
}

impl<'a> From<&'a Question> for About<'a> {
    fn from(question: &'a Question) -> Self {
        let form = question.asked_by_model().map(|asked| &asked.form);
        Self { kind: question.kind(), repeats: question.repeats(), form }
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
    /// The next field of a form of which these are filled in.
    Field {
        at: usize,
        typed: Vec<TypedValue>,
    },
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
    pub(super) fn prompt(&self, about: About<'_>) -> String {
        match (self, about.kind) {
            (Self::Choice, ApprovalKind::Permission) => {
                tr!("[y]es, [e]dit, [n]o, [r]espond instead of the tool, [a]lways? ")
            }
            (Self::Choice, ApprovalKind::Outcome) => {
                tr!("did it take effect? [h]appened, [d]id not happen, run [a]gain? ")
            }
            (Self::Choice, ApprovalKind::Budget) => tr!("[y]es, [n]o? "),
            (Self::Choice, ApprovalKind::User) => reply_prompt(about, 0),
            (Self::Field { at, .. }, _) => reply_prompt(about, *at),
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

    pub(super) fn hear(&self, about: About<'_>, said: &str) -> Next {
        let kind = about.kind;
        let said = said.trim();
        let word = said.to_lowercase();
        match (self, kind) {
            (Self::Choice, ApprovalKind::Permission | ApprovalKind::Budget) => choice(kind, said),
            (Self::Choice, ApprovalKind::Outcome) => outcome(&word),
            (Self::Choice, ApprovalKind::User) => reply_line(about, 0, &[], said),
            (Self::Field { at, typed }, _) => reply_line(about, *at, typed, said),
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

/// What is asked for where the model wants to know something: the reply, or the next field of its form.
fn reply_prompt(about: About<'_>, at: usize) -> String {
    let Some(form) = about.form else { return String::new() };
    match typed_fields(form).get(at) {
        Some(field) => field_prompt(field),
        None => reply::prompt(form),
    }
}

/// A line that is the reply, or one field of it; what does not fit is asked for again.
fn reply_line(about: About<'_>, at: usize, typed: &[TypedValue], said: &str) -> Next {
    let Some(form) = about.form else { return Next::Ask(Asking::Choice) };
    let reply = |value: Result<Value, String>| match value {
        Ok(value) => Next::Send(Answer::Reply { value }),
        Err(problem) => Next::Again(problem),
    };
    let fields = typed_fields(form);
    let Some(field) = fields.get(at) else { return reply(read_only(form, said)) };
    match read_field(field, said) {
        Err(problem) => Next::Again(problem),
        Ok(more) => {
            let typed = [typed, &more].concat();
            if at + 1 < fields.len() {
                Next::Ask(Asking::Field { at: at + 1, typed })
            } else {
                reply(read_form(form, &typed))
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
    use helve_tool::{WrittenQuestion, read_question};
    use serde_json::json;

    use super::*;

    fn about(kind: ApprovalKind) -> About<'static> {
        About { kind, repeats: false, form: None }
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

    #[test]
    fn a_form_is_asked_for_field_by_field_and_sent_when_all_fit() {
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "seats": {"type": "integer", "maximum": 9}},
            "required": ["name", "seats"]
        });
        let written = WrittenQuestion { question: "?", form: Some(&schema), ..WrittenQuestion::default() };
        let form = read_question(written).unwrap().form;
        let about = About { form: Some(&form), ..about(ApprovalKind::User) };
        assert!(Asking::Choice.prompt(about).starts_with("name, text"));
        assert!(matches!(Asking::Choice.hear(about, ""), Next::Again(_)));
        let Next::Ask(second) = Asking::Choice.hear(about, "y") else { panic!("not asked on") };
        assert!(second.prompt(about).starts_with("seats, a whole number"));
        assert!(matches!(second.hear(about, "10"), Next::Again(_)));
        let value = json!({"name": "y", "seats": 9});
        assert_eq!(second.hear(about, "9"), Next::Send(Answer::Reply { value }));
    }
}
