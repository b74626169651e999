//! Conversations that become too long for their model.

use std::sync::Arc;

use helve_model::{ModelError, ModelErrorKind, Reply, ScriptedModel};
use helve_runtime::{CompactionSettings, ModelOptions, RuntimeSettings, StartInput, StartRequest};
use helve_store::{Log, Scope, Views};
use helve_types::{ChatCall, ChatMessage, ChatRole, ConversationId, Fact, Message, RunId, Usage};

use crate::lab::{Lab, mei, reply, settle, until};

const TOOL_OUTPUT: &str = "many words many words";

/// A model of which it is known that it reads so much.
fn reads(context_tokens: impl Into<Option<u64>>, replies: impl IntoIterator<Item = Reply>) -> Lab {
    reads_with(context_tokens, replies, CompactionSettings::default())
}

fn reads_with(
    context_tokens: impl Into<Option<u64>>,
    replies: impl IntoIterator<Item = Reply>,
    compaction: CompactionSettings,
) -> Lab {
    let options = ModelOptions { context_tokens: context_tokens.into(), ..ModelOptions::default() };
    let settings = RuntimeSettings { compaction, ..RuntimeSettings::default() };
    Lab::with_models(vec![(Arc::new(ScriptedModel::new(replies)), options)], settings)
}

fn too_long() -> Reply {
    Reply::new().fails(ModelError::new(ModelErrorKind::TooLong, "prompt is too long"))
}

/// So many words, about as many tokens.
fn words(count: usize) -> String {
    "word ".repeat(count).trim_end().to_owned()
}

/// Says something in a conversation, and gives how the run ended.
async fn say(lab: &Lab, conversation: &mut Option<ConversationId>, text: &str) -> (RunId, &'static str) {
    let input = StartInput::Message { conversation: *conversation, text: text.into() };
    let mut started = lab.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    *conversation = started.conversation;
    (started.run, settle(&mut started.follower).await)
}

async fn messages(lab: &Lab, conversation: Option<ConversationId>) -> Vec<Message> {
    lab.store.messages(Scope::User(mei()), conversation.unwrap()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn old_outputs_are_left_out_before_the_question_is_too_long() {
    // Each output is about 1,100 tokens, of which a model that counts little counts half.
    let calls = |n: u32| reply(&format!(r#"call look {{"q": "long {n}"}}"#));
    let mut replies: Vec<_> = (1..=6).map(calls).collect();
    replies.push(reply("say Done."));
    let lab = reads(3_000, replies);
    let mut started = lab.start("look at all of them").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let log = lab.log(started.run).await;
    assert!(log.contains("history.compacted"), "{log}");
    let asked = lab.model.asked();
    assert_eq!(asked.len(), 7, "no summary was needed");
    let last = asked.last().unwrap();
    assert!(last.contains("[left out: this output of"), "{last}");
    assert!(last.contains("found long 6: many words"), "the newest stays: {last}");
    assert!(!last.contains("found long 1:"), "{last}");
    // Whoever looks sees everything.
    let kept = messages(&lab, started.conversation).await;
    assert!(kept[1].tools().all(|tool| tool.output.as_ref().unwrap().text.contains(TOOL_OUTPUT)));
}

#[tokio::test(start_paused = true)]
async fn a_summary_stands_for_the_oldest_part_in_this_run_and_in_later_ones_also_after_a_restart() {
    let lab = reads(4_000, [reply(&format!("say {}", words(1_700)))]);
    let mut conversation = None;
    say(&lab, &mut conversation, &format!("My cat is called Mimi. {}", words(1_700))).await;
    for turn in [
        reply("say She is called Mimi.").usage(Usage {
            input_tokens: 700,
            output_tokens: 50,
            ..Usage::default()
        }),
        reply("say All right."),
        reply("say Mimi."),
    ] {
        lab.model.then(turn);
    }
    let (run, end) = say(&lab, &mut conversation, &format!("Go on. {}", words(1_700))).await;
    assert_eq!(end, "run.finished");
    let asked = lab.model.asked();
    assert_eq!(asked.len(), 3, "the answer, the summary, the next answer");
    assert!(asked[1].starts_with("system: You keep the memory"), "{}", asked[1]);
    assert!(
        asked[1].contains("PERSON: My cat is called Mimi.") && !asked[1].contains("tools:"),
        "{}",
        asked[1]
    );
    assert!(asked[2].contains("summary of it:]\nShe is called Mimi.\n["), "{}", asked[2]);
    assert!(!asked[2].contains("My cat"), "{}", asked[2]);

    // It is on record before the question, and what it took counts.
    let log = lab.log(run).await;
    let (compacted, said) = (log.find("history.compacted").unwrap(), log.find("text.finished").unwrap());
    assert!(compacted < said, "{log}");
    let spent = lab.store.run(Scope::Everyone, run).await.unwrap().spent;
    assert_eq!(spent.usage.input_tokens, 700 + 10, "the summary and the answer");

    let again = lab.restarted();
    let (_, end) = say(&again, &mut conversation, "What is she called?").await;
    assert_eq!(end, "run.finished");
    let asked = again.model.asked();
    assert_eq!(asked.len(), 4, "nobody asked for another summary");
    let last = asked.last().unwrap();
    assert!(last.contains("She is called Mimi.") && !last.contains("My cat"), "{last}");
    // Everything that was said is still there.
    let kept = messages(&again, conversation).await;
    assert_eq!(kept.len(), 6);
    assert!(kept[0].text().contains("My cat is called Mimi."));
    assert_eq!(kept[3].compactions().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_question_is_made_shorter_and_asked_again_once() {
    let lab = reads(None, [reply(&format!("say {}", words(1_000)))]);
    let mut conversation = None;
    say(&lab, &mut conversation, &format!("First. {}", words(1_000))).await;
    for turn in [
        too_long(),
        reply("say So far so good."),
        reply("say Second."),
        too_long(),
        reply("say S2."),
        too_long(),
    ] {
        lab.model.then(turn);
    }
    let (_, end) = say(&lab, &mut conversation, "And now?").await;
    assert_eq!(end, "run.finished");
    assert!(lab.model.asked()[3].contains("So far so good."));
    // Too long again, and still too long when it is shorter: that is the end, and it says what to do.
    let (run, end) = say(&lab, &mut conversation, &words(1_000)).await;
    let log = lab.log(run).await;
    assert_eq!(end, "run.failed", "{log}");
    assert!(
        log.contains("context_overflow: prompt is too long; the conversation is too long for the model"),
        "{log}"
    );
    assert!(log.contains("begin a new one"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_has_no_past_is_not_asked_again() {
    let lab = reads(None, [too_long()]);
    let mut conversation = None;
    let (run, end) = say(&lab, &mut conversation, &words(1_700)).await;
    assert_eq!((end, lab.model.asked().len()), ("run.failed", 1));
    assert!(lab.log(run).await.contains("context_overflow"));
}

#[tokio::test(start_paused = true)]
async fn where_a_summary_cannot_be_had_a_question_that_may_still_fit_is_asked() {
    let refused = Reply::new().fails(ModelError::new(ModelErrorKind::Refused, "no"));
    for bad in [
        refused,
        reply("say "),
        reply(&format!("say {}", words(5_000))),
        Reply::new().text("half").cut_by_length(),
    ] {
        let lab = reads(4_000, [reply(&format!("say {}", words(1_700)))]);
        let mut conversation = None;
        say(&lab, &mut conversation, &format!("First. {}", words(1_700))).await;
        lab.model.then(bad);
        lab.model.then(reply("say Well."));
        let (run, end) = say(&lab, &mut conversation, &format!("Second. {}", words(1_200))).await;
        let log = lab.log(run).await;
        assert_eq!(end, "run.finished", "{log}");
        assert!(!log.contains("history.compacted"), "{log}");
        let asked = lab.model.asked();
        assert_eq!(asked.len(), 3);
        assert!(asked[2].contains("First."), "nothing was dropped: {}", asked[2]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_did_not_shrink_is_not_tried_again_at_every_step() {
    let lab = reads(4_000, [reply(&format!("say {}", words(1_700)))]);
    let mut conversation = None;
    say(&lab, &mut conversation, &format!("First. {}", words(1_700))).await;
    lab.model.then(reply(&format!("say {}", words(5_000))));
    for n in 0..4 {
        lab.model.then(reply(&format!(r#"call look {{"q": "{n}"}}"#)));
    }
    lab.model.then(reply("say Done."));
    let (run, end) = say(&lab, &mut conversation, &format!("Second. {}", words(1_200))).await;
    assert_eq!(end, "run.finished");
    assert_eq!(lab.model.asked().len(), 1 + 1 + 5, "{}", lab.log(run).await);
    // What the useless summary took is part of what the run took.
    let spent = lab.store.run(Scope::Everyone, run).await.unwrap().spent;
    assert_eq!(spent.usage.input_tokens, 6 * 10);
}

#[tokio::test(start_paused = true)]
async fn another_model_may_write_the_summaries_and_nobody_if_the_operator_says_so() {
    let writer = Arc::new(ScriptedModel::new([reply("say Short.")]).named("writer"));
    let model = Arc::new(ScriptedModel::new([reply(&format!("say {}", words(1_700))), reply("say Yes.")]));
    let options = ModelOptions { context_tokens: Some(4_000), ..ModelOptions::default() };
    let compaction = CompactionSettings { model: Some("writer".into()), ..CompactionSettings::default() };
    let settings = RuntimeSettings { compaction, ..RuntimeSettings::default() };
    let lab = Lab::with_models(vec![(model, options), (writer.clone(), ModelOptions::default())], settings);
    let mut conversation = None;
    say(&lab, &mut conversation, &format!("First. {}", words(1_700))).await;
    let (run, _) = say(&lab, &mut conversation, &format!("Second. {}", words(1_700))).await;
    assert_eq!((writer.asked().len(), lab.model.asked().len()), (1, 2));
    let events = lab.store.events(run, 0, 99).await.unwrap();
    let by = events.iter().find_map(|recorded| match &recorded.event.fact {
        Fact::HistoryCompacted(compaction) => compaction.summary.clone(),
        _ => None,
    });
    assert_eq!(by.unwrap().model, "writer");

    let off = CompactionSettings { enabled: false, ..CompactionSettings::default() };
    let lab = reads_with(4_000, [reply(&format!("say {}", words(1_700))), too_long()], off);
    let mut conversation = None;
    say(&lab, &mut conversation, &format!("First. {}", words(1_700))).await;
    let (run, end) = say(&lab, &mut conversation, &format!("Second. {}", words(1_700))).await;
    assert_eq!((end, lab.model.asked().len()), ("run.failed", 2), "{}", lab.log(run).await);
}

#[tokio::test(start_paused = true)]
async fn a_person_can_stop_a_run_while_its_past_is_summed_up() {
    let lab = reads(4_000, [reply(&format!("say {}", words(1_700))), Reply::new().text("It all").hangs()]);
    let mut conversation = None;
    say(&lab, &mut conversation, &format!("First. {}", words(1_700))).await;
    let input = StartInput::Message { conversation, text: format!("Second. {}", words(1_700)) };
    let mut started = lab.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    while lab.model.asked().len() < 2 {
        tokio::task::yield_now().await;
    }
    lab.runtime.cancel_run(Scope::User(mei()), started.run, "mei".into()).await.unwrap();
    until(&mut started.follower, "run.cancelled").await;
    assert!(!lab.log(started.run).await.contains("history.compacted"));
}

#[tokio::test(start_paused = true)]
async fn a_history_that_a_client_keeps_loses_old_outputs_for_this_request_and_nothing_else() {
    let lab = reads(3_000, [reply("say Fine.")]);
    let said = |role, content: &str| ChatMessage {
        role,
        content: content.into(),
        reasoning: String::new(),
        calls: vec![],
        call_id: None,
    };
    let mut messages = vec![];
    for n in 0..4 {
        messages.push(said(ChatRole::User, &format!("look {n}")));
        let call = ChatCall { id: format!("c{n}"), name: "look".into(), arguments: "{}".into() };
        messages.push(ChatMessage { calls: vec![call], ..said(ChatRole::Assistant, "") });
        let text = format!("found {n}: {}", "many words ".repeat(400));
        messages.push(ChatMessage { call_id: Some(format!("c{n}")), ..said(ChatRole::Tool, &text) });
    }
    messages.push(said(ChatRole::User, "and now?"));
    let mut started =
        lab.runtime.start_run(StartRequest::new(mei(), StartInput::Client { messages })).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let asked = lab.model.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].contains("result: c0 [left out: "), "{}", asked[0]);
    assert!(asked[0].contains("found 3: many words"), "{}", asked[0]);
    assert!(asked[0].contains("user: look 0\n"), "{}", asked[0]);
}

#[tokio::test(start_paused = true)]
async fn where_no_summary_comes_nothing_longer_than_the_model_reads_is_sent_and_none_is_asked_for_at_every_turn()
 {
    let lab = reads(4_000, [reply(&format!("say {}", words(1_700)))]);
    let mut conversation = None;
    say(&lab, &mut conversation, &format!("First. {}", words(1_700))).await;
    // Each with a summary that fails if it is asked for. A word counts as two thirds of a token here.
    let mut asked_before = lab.model.asked().len();
    let mut summaries = 0;
    for n in 0..9 {
        lab.model.then(reply("say "));
        lab.model.then(reply(&format!("say Answer {n}.")));
        let (run, end) = say(&lab, &mut conversation, &format!("Turn {n}. {}", words(900))).await;
        assert_eq!(end, "run.finished", "{}", lab.log(run).await);
        let asked = lab.model.asked();
        for question in &asked[asked_before..] {
            let count = question.matches("word").count();
            assert!(count <= 6_400, "turn {n}: {count} words were sent");
        }
        let turns = asked[asked_before..].iter().filter(|asked| asked.contains("tools: ")).count();
        summaries += asked.len() - asked_before - turns;
        asked_before = asked.len();
    }
    assert!((1..=3).contains(&summaries), "{summaries} summaries were asked for");
    let last = lab.model.asked().pop().unwrap();
    assert!(last.contains("was left out here") && !last.contains("First."), "{last}");
    // What was left out is still on record.
    let kept = messages(&lab, conversation).await;
    assert!(serde_json::to_string(&kept).unwrap().contains("First."));
}
