//! What a message says of an end that was no answer.

use helve_types::{Cancelled, Fact, Message, MessageId, Notice, Part, RunId, Timestamp};

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
    let failed = Fact::RunFailed { code: "model_key".into(), message: "no".into() };
    assert_eq!(ended(failed), notice("no", "model_key", None));
    let told = Some(Box::new(Notice::budget_of_run()));
    let spent = Fact::BudgetSpent { because: "enough".into(), notice: told.clone() };
    let Some(Part::Notice { text, code, notice, by: None }) = ended(spent) else { panic!("no notice") };
    assert_eq!((&*text, code.as_deref(), notice), ("enough", Some("budget_spent"), told));
    let old = serde_json::from_str::<Part>(r#"{"type":"notice","text":"x"}"#).ok();
    assert_eq!(old, Some(Part::Notice { text: "x".into(), code: None, notice: None, by: None }));
}
