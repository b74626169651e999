//! Outputs that were cut by the pipeline, and read on.

use expect_test::{Expect, expect};
use helve_policy::Rules;
use helve_store::{FullOutput, MemoryStore, NewFacts, Place, RunJournal};
use helve_store_contract::Actor;
use helve_tool::{Outcome, Pipeline, Registry, Toolbox};
use helve_types::{Fact, ToolCall, World};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::testing::{call, context};

fn check(whole: &str, arguments: Value, expect: Expect) {
    let mut arguments = arguments;
    arguments["call"] = json!("x");
    let arguments: Arguments = serde_json::from_value(arguments).unwrap();
    let told =
        read_piece(whole, &arguments).map_or_else(|error| format!("declined: {error}"), |output| output.text);
    expect.assert_eq(&told);
}

const LOG: &str = "one\ntwo\nthree\nfour\nfive\n";

#[test]
fn a_piece_is_given_by_bytes() {
    check(
        LOG,
        json!({}),
        expect![[r#"
        one
        two
        three
        four
        five
        [bytes 0 to 24 of 24: the end]"#]],
    );
    check(
        LOG,
        json!({"offset": 4, "limit": 5}),
        expect![[r#"
        two
        t
        [bytes 4 to 9 of 24; read on with offset 9]"#]],
    );
    check(
        LOG,
        json!({"offset": 24.0}),
        expect!["declined: the output ends at byte 24; give an `offset` before that"],
    );
    check(
        "字字字",
        json!({"offset": 3, "limit": 4}),
        expect![[r#"
        字
        [bytes 3 to 6 of 9; read on with offset 6]"#]],
    );
}

#[test]
fn a_piece_is_given_by_lines() {
    check(
        LOG,
        json!({"from_line": 2, "to_line": 3}),
        expect![[r#"
        two
        three
        [bytes 4 to 14 of 24; read on with offset 14]"#]],
    );
    check(
        LOG,
        json!({"from_line": 5}),
        expect![[r#"
        five
        [bytes 19 to 24 of 24: the end]"#]],
    );
    check(
        LOG,
        json!({"to_line": 1}),
        expect![[r#"
        one
        [bytes 0 to 4 of 24; read on with offset 4]"#]],
    );
    check(
        LOG,
        json!({"from_line": 6}),
        expect!["declined: the output has 5 lines; give a `from_line` among them"],
    );
    check(LOG, json!({"from_line": 3, "to_line": 2}), expect!["declined: `to_line` is before `from_line`"]);
}

#[test]
fn words_are_found_with_their_places() {
    check(
        "Refund of 5\nno\nA REFUND, a refund",
        json!({"search": "refund"}),
        expect![[r#"
        3 places:
        line 1, offset 0: Refund of 5
        line 3, offset 17: A REFUND, a refund
        line 3, offset 27: A REFUND, a refund"#]],
    );
    check(
        "第一行\n退款在此\n",
        json!({"search": "退款"}),
        expect![[r#"
        1 place:
        line 2, offset 10: 退款在此"#]],
    );
    check(LOG, json!({"search": "six"}), expect!["`six` stands nowhere in the 24 bytes of this output."]);
    check(LOG, json!({"search": " "}), expect!["declined: `search` is empty; say what to look for"]);
    let many =
        read_piece(&"x ".repeat(100), &serde_json::from_value(json!({"call": "c", "search": "x"})).unwrap());
    assert!(
        many.unwrap().text.ends_with("[the first 30 of 100 places; search for more words to find fewer]")
    );
}

proptest! {
    #[test]
    fn any_text_can_be_searched_and_read(whole in ".{0,300}", words in ".{1,5}", offset in 0_u32..2_000) {
        let arguments = json!({"call": "c", "search": words});
        _ = read_piece(&whole, &serde_json::from_value(arguments).unwrap());
        let arguments = json!({"call": "c", "offset": offset, "limit": 7});
        _ = read_piece(&whole, &serde_json::from_value(arguments).unwrap());
    }
}

/// A user's run that has kept the whole of one output.
async fn kept(actor: &Actor, place: Place, text: &str) -> (CallContext, CallId) {
    let started = actor.start(place, "go").await;
    let world = actor.world.clone();
    let (store, run) = (actor.store.clone(), started.run);
    let journal = RunJournal::new(store, world, run, started.epoch, 1, Arc::new(|_| {}));
    let id = CallId::new(run, 1, 0);
    let full_outputs = vec![FullOutput { call: id.clone(), text: text.into() }];
    let entry = NewFacts { full_outputs, ..Fact::RunResumed { resume: 1 }.into() };
    journal.commit(entry).await.unwrap();
    let conversation = started.conversation;
    let cx = CallContext { run, conversation, journal, call: id.next_repetition(), ..context(&actor.user.0) };
    (cx, id)
}

#[tokio::test]
async fn only_outputs_of_ones_own_conversation_are_read() {
    let store = Arc::new(MemoryStore::new());
    let mei = Actor::new(store.clone(), "mei");
    let eve = Actor::new(store, "eve");
    let (tool, _) = tool();
    let read = async |cx: &CallContext, id: &CallId| call(&*tool, json!({"call": id}), cx).await;
    let (first, first_id) = kept(&mei, mei.new_conversation(), "first").await;
    assert!(read(&first, &first_id).await.unwrap().text.starts_with("first\n"));
    assert_eq!(
        read(&first, &first_id.next_repetition()).await,
        Err(not_found(&first_id.next_repetition().to_string()))
    );

    let (second, _) = kept(&mei, mei.new_conversation(), "second").await;
    assert_eq!(read(&second, &first_id).await, Err(not_found(&first_id.to_string())));
    let (hers, _) = kept(&eve, eve.new_conversation(), "hers").await;
    assert_eq!(read(&hers, &first_id).await, Err(not_found(&first_id.to_string())));
    // Without a conversation there is only the run itself.
    let (alone, alone_id) = kept(&mei, Place::Nowhere, "alone").await;
    assert!(read(&alone, &alone_id).await.is_ok());
    assert_eq!(read(&alone, &first_id).await, Err(not_found(&first_id.to_string())));
    // A later run of the same conversation reads what an earlier one left.
    let later = CallContext { run: alone.run, journal: alone.journal.clone(), ..first.clone() };
    assert!(read(&later, &first_id).await.is_ok());
}

#[tokio::test]
async fn an_output_that_was_not_cut_is_read_from_the_log() {
    let store = Arc::new(MemoryStore::new());
    let mei = Actor::new(store.clone(), "mei");
    let eve = Actor::new(store, "eve");
    let (tool, _) = tool();
    let (cx, cut) = kept(&mei, mei.new_conversation(), "cut").await;
    let id = CallId::new(cx.run, 1, 1);
    let finished = |call: &CallId, text: &str| Fact::ToolFinished {
        call: call.clone(),
        output: ToolOutput::text(text),
        trail: helve_types::Trail::default(),
    };
    cx.journal
        .commit(vec![finished(&cut, "the beginning [cut: …]"), finished(&id, "all of it")])
        .await
        .unwrap();
    let read = async |cx: &CallContext, id: &CallId| call(&*tool, json!({"call": id}), cx).await;
    assert!(read(&cx, &id).await.unwrap().text.starts_with("all of it\n"));
    assert!(
        read(&cx, &cut).await.unwrap().text.starts_with("cut\n"),
        "the whole wins over what was shown of it"
    );
    let (hers, _) = kept(&eve, eve.new_conversation(), "hers").await;
    assert_eq!(read(&hers, &id).await, Err(not_found(&id.to_string())));
}

#[tokio::test]
async fn the_words_at_a_cut_lead_to_the_rest() {
    let world = World::deterministic();
    let registry = Registry::new();
    let (reader, guards) = tool();
    registry.register(reader, guards, &world).unwrap();
    let (echo, _) = crate::calculator::tool();
    registry.register(echo, Guards { output_bytes_max: 8, ..Guards::default() }, &world).unwrap();
    let store = Arc::new(MemoryStore::new());
    let actor = Actor { world: world.clone(), ..Actor::new(store.clone(), "mei") };
    let started = actor.start(actor.new_conversation(), "go").await;
    let journal = RunJournal::new(store, world, started.run, started.epoch, 1, Arc::new(|_| {}));
    let toolbox = Arc::new(Toolbox::new(registry.list()));
    let execute = async |index: u32, name: &str, arguments: String| {
        let id = CallId::new(started.run, 1, index);
        let cx = CallContext {
            run: started.run,
            conversation: started.conversation,
            call: id.clone(),
            toolbox: toolbox.clone(),
            journal: journal.clone(),
            ..context("mei")
        };
        let call = ToolCall { id, provider_id: None, name: name.into(), arguments, repairs: vec![] };
        match Pipeline::new(Rules::new()).execute_call(&call, &cx).await.unwrap() {
            Outcome::Finished(output) => output.text,
            other => panic!("{other:?}"),
        }
    };
    let cut = execute(0, "calculator", json!({"expression": "10^20"}).to_string()).await;
    let (_, how) = cut.split_once("read on with read_output ").unwrap();
    let rest = execute(1, "read_output", how.trim_end_matches(']').to_owned()).await;
    assert_eq!(rest, "0000000000000\n[bytes 8 to 21 of 21: the end]");
}
