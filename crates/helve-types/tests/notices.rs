//! What a message says of an end that was no answer.

use helve_types::{Cancelled, Ending, Fact, Message, MessageId, Notice, Part, RunId, Timestamp};

fn ended(fact: Fact) -> Option<Part> {
    let mut message =
        Message::reply(MessageId(Default::default()), Timestamp(0), RunId(Default::default()), "m");
    message.apply(Timestamp(1), &fact);
    message.parts.pop()
}

#[test]
fn who_stopped_an_answer_and_why_one_failed_is_kept_with_it() {
    let notice = |text: &str, code: &str, by: Option<&str>| {
        Some(Part::Notice {
            text: text.into(),
            code: Some(code.into()),
            notice: None,
            by: by.map(Into::into),
        })
    };
    let stopped = Fact::RunCancelled(Cancelled { by: "mei".into() });
    assert_eq!(ended(stopped), notice("stopped by mei", "cancelled", Some("mei")));
    let failed = Fact::RunFailed { code: "model_key".into(), message: "no".into(), notice: None };
    assert_eq!(ended(failed), notice("no", "model_key", None));
    let told = Some(Box::new(Notice::budget_of_run()));
    let spent = Fact::BudgetSpent { because: "enough".into(), notice: told.clone() };
    let Some(Part::Notice { text, code, notice, by: None }) = ended(spent) else { panic!("no notice") };
    assert_eq!((&*text, code.as_deref(), notice), ("enough", Some("budget_spent"), told));
    let old = serde_json::from_str::<Part>(r#"{"type":"notice","text":"x"}"#).ok();
    assert_eq!(old, Some(Part::Notice { text: "x".into(), code: None, notice: None, by: None }));
}

#[test]
fn an_ending_that_is_no_plain_answer_is_kept_with_the_message() {
    let code_of = |ending| match ended(Fact::RunFinished { ending }) {
        Some(Part::Notice { code, .. }) => code,
        None => None,
        part => panic!("{part:?}"),
    };
    for (ending, code) in [
        (Ending::Answered, None),
        (Ending::ClientTools, None),
        (Ending::StepLimit, Some("step_limit")),
        (Ending::WithoutCall, Some("without_call")),
        (Ending::Repeating, Some("repeating")),
        (Ending::Refused, Some("refused")),
        // The fact that says which budget it was has left its notice before.
        (Ending::BudgetSpent, None),
    ] {
        assert_eq!(code_of(ending).as_deref(), code, "{ending:?}");
        if let (Some(code), Some((word, _))) = (code, ending.lack()) {
            assert_eq!(serde_json::json!(ending), word, "the word of the API");
            assert_eq!(code, word);
        }
    }
}
