//! Logs for the page's tests: what the page folds out of the events must be the message that was stored.

use expect_test::expect_file;
use helve_model::Reply;
use helve_store::{Log, Recorded, Scope, Views};
use helve_types::{Answer, Question};
use serde_json::{Value, json};

use crate::lab::{Lab, mei, reply, settle};

/// What the person does who is asked.
#[derive(Clone, Copy)]
enum Person {
    Edits,
    Rejects,
    /// Does not answer while the question is open.
    Waits,
}

/// The run's events as they go over the wire, and the message they add up to.
async fn recorded(replies: impl IntoIterator<Item = Reply>, person: Person) -> String {
    recorded_with(replies, person, None).await
}

/// The same, with something that is said while a person is asked.
async fn recorded_with(
    replies: impl IntoIterator<Item = Reply>,
    person: Person,
    said: Option<&str>,
) -> String {
    let lab = Lab::new(replies);
    let mut started = lab.start("please").await;
    if settle(&mut started.follower).await == "waiting_approval" {
        if let Some(said) = said {
            let scope = Scope::User(mei());
            lab.runtime.send_message(scope, started.run, None, said.into(), "mei".into()).await.unwrap();
        }
        let question = lab.questions().await.remove(0);
        let answer = match person {
            Person::Edits => Answer::Approve { arguments: Some(r#"{"q": "edited"}"#.into()), always: None },
            Person::Rejects => Answer::Reject { reason: "not now".into() },
            Person::Waits => {
                lab.world.clock.advance_ms(Question::OPEN_MS);
                Answer::approve()
            }
        };
        let given =
            lab.runtime.answer_approval(Scope::User(mei()), question.approval, answer, "mei".into()).await;
        assert_eq!(given.is_err(), matches!(person, Person::Waits));
        settle(&mut started.follower).await;
    }
    let wire = |event: &Recorded| json!({"id": event.event.seq, "data": serde_json::from_str::<Value>(&event.json).unwrap()});
    let events: Vec<Value> = lab.store.events(started.run, 0, 99).await.unwrap().iter().map(wire).collect();
    let conversation = started.conversation.unwrap();
    let messages = lab.store.messages(Scope::User(mei()), conversation).await.unwrap();
    let text = json!({"events": events, "message": messages[1]});
    serde_json::to_string_pretty(&text).unwrap() + "\n"
}

// Time stands still, so that every call takes none.
#[tokio::test(start_paused = true)]
async fn the_recorded_transcripts_are_up_to_date() {
    let looked = [
        reply(r#"think First look. | say Let me look. | call look {"q": "a"} | call fail {"q": "b"}"#),
        reply("say One of them is there."),
    ];
    expect_file!["../../../../fixtures/transcripts/two-calls.json"]
        .assert_eq(&recorded(looked, Person::Edits).await);
    let approved = [reply(r#"call send {"q": "x"}"#), reply("say Sent.")];
    expect_file!["../../../../fixtures/transcripts/approved-with-edits.json"]
        .assert_eq(&recorded(approved, Person::Edits).await);
    let rejected = [reply(r#"call send {"q": "x"}"#), reply("say As you wish.")];
    expect_file!["../../../../fixtures/transcripts/rejected.json"]
        .assert_eq(&recorded(rejected, Person::Rejects).await);
    let expired = [reply(r#"call send {"q": "x"}"#), reply("say Nobody was there.")];
    expect_file!["../../../../fixtures/transcripts/expired.json"]
        .assert_eq(&recorded(expired, Person::Waits).await);
    let spoken_to = [reply(r#"say Sending. | call send {"q": "x"}"#), reply("say Envoyé.")];
    expect_file!["../../../../fixtures/transcripts/spoken-to.json"]
        .assert_eq(&recorded_with(spoken_to, Person::Edits, Some("Answer in French.")).await);
    let refused = helve_model::ModelError::new(helve_model::ModelErrorKind::Key, "set SOME_KEY");
    expect_file!["../../../../fixtures/transcripts/model-without-key.json"]
        .assert_eq(&recorded([Reply::new().fails(refused)], Person::Edits).await);
}
