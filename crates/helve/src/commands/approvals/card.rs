//! A question as a person reads it: whole, and with nothing in it that the terminal would obey.

use helve_types::{About, Answer, ApprovalKind, Effect, Notice, OutcomeAnswer, Question, Timestamp, Within};

use super::reply;
use crate::client::{Approval, ApprovalState, ApproverRole, in_gutter, line, when};
use crate::i18n::{Language, language, tr};
use crate::output::padded;

/// Longer ones are cut in lists, where they are only a reminder.
const SUMMARY_CHARS_MAX: usize = 60;

/// The whole question.
pub(crate) fn card(approval: &Approval, now: Timestamp) -> String {
    let state = match approval.state {
        ApprovalState::Pending => tr!("open"),
        ApprovalState::Withdrawn => tr!("withdrawn: its run ended first"),
        ApprovalState::Answered => settled(approval),
    };
    let head = [
        (tr!("question"), approval.question.approval.to_string()),
        (tr!("state"), state),
        (tr!("run"), tr!("{run} of {user}", run = approval.run, user = line(&approval.user))),
        (tr!("asked"), when(approval.asked_at)),
        (tr!("expires"), expiry(approval.question.expires_at, now)),
    ];
    fields(&head) + &deciders(approval) + &what(&approval.question)
}

/// Who decides, who has agreed, and whether the reader may; nothing where it is the user of the run.
fn deciders(approval: &Approval) -> String {
    let Some(approvers) = &approval.question.approvers else { return String::new() };
    let more = approvers.escalate.as_ref().filter(|_| approval.escalated);
    let (users, groups) = more.map_or((&[][..], &[][..]), |more| (&more.users, &more.groups));
    let group = |name: &String| tr!("everybody in {group}", group = line(name));
    let names: Vec<String> = approvers
        .users
        .iter()
        .chain(users)
        .map(|name| line(name))
        .chain(approvers.groups.iter().chain(groups).map(group))
        .collect();
    let who = tr!("{count} of: {names}", count = approvers.approvals, names = names.join(", "));
    let mut shown = vec![(tr!("decided by"), who)];
    if !approval.votes.is_empty() {
        let agreed: Vec<String> = approval.votes.iter().map(|vote| line(&vote.by)).collect();
        shown.push((tr!("agreed"), agreed.join(", ")));
    }
    if let Some(missing) = approval.votes_missing.filter(|missing| *missing > 0) {
        shown.push((tr!("missing"), tr!("{count} more must agree", count = missing)));
    }
    let you = match approval.you {
        Some(ApproverRole::Voted) => Some(tr!("have agreed; others must, too")),
        Some(ApproverRole::OwnRequest) => Some(tr!("asked for this, so another approver must decide")),
        Some(ApproverRole::NotApprover) => Some(tr!("cannot answer; others decide about this")),
        Some(ApproverRole::MayAnswer) | None => None,
    };
    shown.extend(you.map(|you| (tr!("you"), you)));
    if approval.escalated {
        shown.push((tr!("escalated"), tr!("it waited for long, so more people were asked")));
    }
    fields(&shown)
}

/// What a question is about and exactly what would be sent.
pub(crate) fn what(question: &Question) -> String {
    let mut shown = fields(&[(tr!("asks"), asks(question.kind()))]);
    if let Some(asker) = &question.asker {
        let who = tr!("{agent}, run {run}", agent = line(&asker.agent), run = asker.run);
        shown += &fields(&[(tr!("agent"), who)]);
    }
    if let Some(asked) = question.asked_by_model() {
        return shown + &reply::shown(asked);
    }
    let call = question.call();
    if let Some(call) = call {
        shown += &fields(&[(tr!("tool"), line(&call.tool)), (tr!("effect"), effect(call.effect))]);
    }
    shown += &fields(&[(tr!("because"), line(&because(question, language())))]);
    let (sent_at, checked) = match &question.about {
        About::Outcome { sent_at, checked, .. } => (*sent_at, checked.as_ref()),
        About::Permission { .. } | About::Budget | About::User { .. } => (None, None),
    };
    if let Some(sent_at) = sent_at {
        shown +=
            &fields(&[(tr!("sent"), tr!("{when}; it may or may not have happened", when = when(sent_at)))]);
    }
    for (at, warning) in call.map_or(&[][..], |call| &call.warnings).iter().enumerate() {
        let caution = call.and_then(|call| call.cautions.get(at)).map(std::slice::from_ref);
        let warning = in_language(warning, caution.unwrap_or_default(), language());
        shown += &fields(&[(tr!("WARNING"), line(&warning))]);
    }
    for (name, text) in [
        (tr!("arguments"), call.map(|call| &call.arguments)),
        (tr!("request"), call.and_then(|call| call.request.as_ref())),
        (tr!("check"), checked),
    ] {
        if let Some(text) = text {
            shown += &format!("{name}\n{}", in_gutter(text));
        }
    }
    shown
}

/// Why a person is asked, in the reader's language.
pub(crate) fn because(question: &Question, language: Language) -> String {
    in_language(&question.because, &question.reasons, language)
}

/// The server's sentence is English; where another language is chosen, the notices say the same in it.
fn in_language(english: &str, notices: &[Notice], language: Language) -> String {
    if language == Language::English || notices.is_empty() {
        return english.to_owned();
    }
    let sentences = notices.iter().map(|notice| notice.sentence(helve_types::Language::Chinese));
    sentences.collect::<Option<Vec<_>>>().map_or_else(|| english.to_owned(), |all| all.join(""))
}

fn fields(fields: &[(String, String)]) -> String {
    fields.iter().map(|(name, value)| format!("{}{value}\n", padded(name, 10))).collect()
}

/// A line of a list.
pub(crate) fn row(approval: &Approval, now: Timestamp) -> String {
    let question = &approval.question;
    let state = match approval.state {
        ApprovalState::Pending => expiry_in(question.expires_at, now),
        ApprovalState::Withdrawn => tr!("withdrawn"),
        ApprovalState::Answered => approval.answer.as_ref().map(word).unwrap_or_default(),
    };
    let call = question.call();
    let asked = question.asked_by_model().map(|asked| &asked.question);
    let mut about = line(asked.unwrap_or(call.map_or(&question.because, |call| &call.arguments)));
    if about.chars().count() > SUMMARY_CHARS_MAX {
        about = about.chars().take(SUMMARY_CHARS_MAX).chain(['…']).collect();
    }
    let kind = match question.kind() {
        ApprovalKind::Permission => tr!("may it run?"),
        ApprovalKind::Outcome => tr!("did it happen?"),
        ApprovalKind::Budget => tr!("spend more?"),
        ApprovalKind::User => tr!("a question"),
    };
    if let Some(asker) = &question.asker {
        about = format!("{about} ({})", line(&asker.agent));
    }
    format!(
        "{}  {}  {}  {} {about}",
        question.approval,
        padded(&state, 13),
        padded(&kind, 14),
        line(call.map_or("", |call| &call.tool))
    )
}

/// How a question was settled, for a second answer.
pub(crate) fn settled(approval: &Approval) -> String {
    let answer = approval.answer.as_ref().map(said).unwrap_or_else(|| tr!("unknown answer"));
    let by = approval.by.as_deref().map(|by| tr!(" by {who}", who = line(by))).unwrap_or_default();
    let at = approval.answered_at.map(|at| tr!(" at {when}", when = when(at))).unwrap_or_default();
    tr!("answered before{by}{at}: {answer}", by = by, at = at, answer = answer)
}

/// An answer in words.
pub(crate) fn said(answer: &Answer) -> String {
    match answer {
        Answer::Approve { arguments, always } => {
            let with = arguments
                .as_deref()
                .map(|text| tr!(" with {arguments}", arguments = line(text)))
                .unwrap_or_default();
            let always = always.as_ref().map(|always| match always.within {
                Within::Run => tr!(", always within this run"),
                Within::Conversation => tr!(", always in this conversation"),
                Within::Agent => tr!(", always with this agent"),
            });
            tr!("approve{with}{always}", with = with, always = always.unwrap_or_default())
        }
        Answer::Reject { reason } if reason.is_empty() => tr!("reject"),
        Answer::Reject { reason } => tr!("reject, because {reason}", reason = line(reason)),
        Answer::Respond { text } => tr!("respond {text}", text = line(text)),
        Answer::Reply { value } => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            tr!("reply {text}", text = line(&text))
        }
        Answer::Decline { reason } if !reason.is_empty() => {
            tr!("decline, because {reason}", reason = line(reason))
        }
        Answer::Outcome { .. } | Answer::Decline { .. } | Answer::Expire => word(answer),
    }
}

fn word(answer: &Answer) -> String {
    match answer {
        Answer::Approve { .. } => tr!("approve"),
        Answer::Reject { .. } => tr!("reject"),
        Answer::Respond { .. } => tr!("respond"),
        Answer::Outcome { answer: OutcomeAnswer::Happened } => tr!("happened"),
        Answer::Outcome { answer: OutcomeAnswer::DidNotHappen } => tr!("did-not-happen"),
        Answer::Outcome { answer: OutcomeAnswer::RunAgain } => tr!("run-again"),
        Answer::Reply { .. } => tr!("reply"),
        Answer::Decline { .. } => tr!("decline"),
        Answer::Expire => tr!("expired"),
    }
}

/// What is asked, with the words that answer it.
pub(super) fn asks(kind: ApprovalKind) -> String {
    match kind {
        ApprovalKind::Permission => tr!("may this call run? (approve, reject, respond)"),
        ApprovalKind::Outcome => tr!("did this call take effect? (happened, did-not-happen, run-again)"),
        ApprovalKind::Budget => tr!("may the run spend more? (approve, reject)"),
        ApprovalKind::User => tr!("the model wants to know something (reply, decline)"),
    }
}

/// The end of the command that answers a question, for a person to change.
pub(crate) fn likely_answer(kind: ApprovalKind) -> &'static str {
    match kind {
        ApprovalKind::Permission | ApprovalKind::Budget => "approve",
        ApprovalKind::Outcome => "happened",
        ApprovalKind::User => "reply …",
    }
}

fn effect(effect: Effect) -> String {
    match effect {
        Effect::Read => tr!("read: changes nothing"),
        Effect::Idempotent => tr!("idempotent: repeating it changes nothing more"),
        Effect::NonIdempotent => tr!("non_idempotent: takes effect every time it is sent"),
    }
}

fn expiry(at: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", when(at), expiry_in(at, now))
}

fn expiry_in(at: Timestamp, now: Timestamp) -> String {
    if at <= now {
        return tr!("expired");
    }
    let minutes = at.since_ms(now) / 60_000;
    match (minutes / 1_440, minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => tr!("{minutes} min left", minutes = minutes),
        (0, hours, minutes) => tr!("{hours} h {minutes} min left", hours = hours, minutes = minutes),
        (days, hours, _) => tr!("{days} d {hours} h left", days = days, hours = hours),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use helve_types::{ApprovalId, AskedCall, CallId, RunId};

    use super::*;

    fn asked() -> Approval {
        let run = RunId(Default::default());
        Approval {
            run: run.to_string(),
            user: "mei\u{1b}[2J".into(),
            question: Question {
                approval: ApprovalId(Default::default()),
                about: About::Permission {
                    call: Box::new(AskedCall {
                        id: CallId::new(run, 1, 0),
                        tool: "send".into(),
                        version: String::new(),
                        arguments: "{\"to\":\"a\\u001bb\",\"x\":\"c\u{202e}d\"}".into(),
                        request: Some("POST https://example.com/\n\neffect    read".into()),
                        effect: Effect::NonIdempotent,
                        warnings: vec!["it goes to\neffect    read".into()],
                        cautions: vec![],
                    }),
                    repeats: false,
                },
                because: "it changes something".into(),
                reasons: vec![],
                approvers: None,
                binding: String::new(),
                expires_at: Timestamp(90_061_000),
                asker: None,
            },
            asked_at: Timestamp(1_000),
            state: ApprovalState::Pending,
            answer: None,
            by: None,
            answered_at: None,
            votes: vec![],
            votes_missing: None,
            escalated: false,
            you: None,
        }
    }

    #[test]
    fn a_card_shows_all_of_it_and_nobody_but_us_writes_its_lines() {
        expect![[r#"
            question  00000000-0000-0000-0000-000000000000
            state     open
            run       00000000-0000-0000-0000-000000000000 of mei⟨U+001B⟩[2J
            asked     1970-01-01T00:00:01Z
            expires   1970-01-02T01:01:01Z (1 d 1 h left)
            asks      may this call run? (approve, reject, respond)
            tool      send
            effect    non_idempotent: takes effect every time it is sent
            because   it changes something
            WARNING   it goes to\neffect    read
            arguments
              | {"to":"a\u001bb","x":"c⟨U+202E⟩d"}
            request
              | POST https://example.com/
              | 
              | effect    read
        "#]]
        .assert_eq(&card(&asked(), Timestamp(0)));
    }

    #[test]
    fn a_chinese_reader_is_told_in_chinese_why_a_person_is_asked() {
        let mut question = asked().question;
        question.reasons = vec![Notice::asks_for_lasting_change()];
        assert_eq!(because(&question, Language::English), "it changes something");
        let chinese = because(&question, Language::Chinese);
        assert!(!chinese.is_empty() && !chinese.contains(|c: char| c.is_ascii_alphabetic()), "{chinese}");
        question.reasons.clear();
        assert_eq!(because(&question, Language::Chinese), "it changes something");
    }

    #[test]
    fn whoever_is_asked_what_became_of_a_call_is_told_what_was_sent_and_what_its_check_says() {
        let mut approval = asked();
        if let About::Permission { call, .. } = approval.question.about {
            let (sent_at, checked) = (Some(Timestamp(2_000)), Some("one mail\u{1b}[2J to a".into()));
            approval.question.about = About::Outcome { call, sent_at, checked };
        }
        let shown = card(&approval, Timestamp(0));
        for told in [
            "sent      1970-01-01T00:00:02Z; it may or may not have happened\n",
            "request\n  | POST https://example.com/\n",
            "check\n  | one mail⟨U+001B⟩[2J to a\n",
        ] {
            assert!(shown.contains(told), "{shown}");
        }
    }

    #[test]
    fn a_row_is_one_line_and_says_how_it_stands() {
        let mut approval = asked();
        if let About::Permission { call, .. } = &mut approval.question.about {
            call.arguments = "x".repeat(100);
        }
        let shown = row(&approval, Timestamp(90_000_000));
        assert!(shown.ends_with(&format!("send {}…", "x".repeat(60))), "{shown}");
        assert!(shown.contains("1 min left"), "{shown}");
        approval.state = ApprovalState::Answered;
        approval.answer = Some(Answer::Reject { reason: "no\nway".into() });
        approval.by = Some("li".into());
        assert!(row(&approval, Timestamp(0)).contains("  reject "));
        assert_eq!(settled(&approval), "answered before by li: reject, because no\\nway");
    }
}
