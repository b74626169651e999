//! Models of several kinds, and what is found out about them.

use crate::{Reply as Script, ScriptedModel};
use expect_test::{Expect, expect};
use helve_types::Answered;

use super::*;

/// The findings in words, and how many questions they took.
async fn check(replies: impl IntoIterator<Item = Script>, expected: Expect) {
    let model = ScriptedModel::new(replies);
    let profiles = ["json_strict", "hermes"].map(|name| Profile::named(name).unwrap());
    let mut progress = |_: &str| {};
    let probe = Probe::new(&model, "m at here", Timestamp(1), profiles.to_vec(), &mut progress);
    let text = match probe.run().await {
        Err(error) => format!("failed: {error}\n"),
        Ok(profile) => {
            let mut text = String::new();
            for (name, finding) in profile.findings() {
                let is = match finding.is {
                    Answered::Yes => "yes",
                    Answered::No => "no",
                    Answered::Unknown => "?",
                };
                text.push_str(&format!("{name}: {is} ({})\n", finding.because));
            }
            text.push_str(&format!(
                "rejects {:?}, prompt {:?}, dialect {:?}, {} questions\n",
                profile.rejects, profile.prompt, profile.dialect, profile.questions
            ));
            text
        }
    };
    expected.assert_eq(&text);
}

fn tokyo() -> Script {
    Script::new().call("time", r#"{"zone": "Asia/Tokyo"}"#)
}

fn says(text: &str) -> Script {
    Script::new().text(text).done()
}

fn refuses(message: &str) -> Script {
    Script::new().fails(ModelError::new(ModelErrorKind::Refused, message))
}

#[tokio::test]
async fn a_model_that_can_do_everything_is_known_after_four_questions() {
    let both = tokyo().call("time", r#"{"zone": "Europe/London"}"#).done();
    let script = [tokyo().done(), both, tokyo().done(), says("Hello!")];
    check(
        script,
        expect![[r#"
            native calls: yes (it called `time {"zone": "Asia/Tokyo"}`)
            calls in text: no (its call came as a call)
            parallel calls: yes (it made 2 calls in one message)
            required calls: yes (it called the tool although nothing was asked)
            streams arguments: yes (they came in 2 pieces)
            names its end: yes (a message with a call ends with `tool_calls`)
            reasons: no (it answered at once)
            reasoning open: no (it closed no reasoning that it had not opened)
            wants reasoning back: no (it shows no reasoning)
            rich schemas: yes (a tool with every keyword was taken)
            rejects [], prompt None, dialect None, 4 questions
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_server_that_wants_the_reasoning_back_and_refuses_a_keyword_is_found_out() {
    let thinks = Script::new().reasoning("a clock knows").call("time", r#"{"zone": "Asia/Tokyo"}"#).done();
    let start = [
        thinks,
        tokyo().done(),
        says("Good morning to you."),
        refuses("reasoning_content must be passed back"),
        says("It is 09:41."),
        refuses("`pattern` is not supported"),
        says("Hello!"),
        refuses("`pattern` is not supported"),
        refuses("`pattern` is not supported"),
    ];
    let rest = (1..tools::KEYWORDS.len()).map(|_| says("Hello!"));
    check(
        start.into_iter().chain(rest),
        expect![[r#"
            native calls: yes (it called `time {"zone": "Asia/Tokyo"}`)
            calls in text: no (its call came as a call)
            parallel calls: no (it made one call where two were wanted)
            required calls: no (it said: Good morning to you.)
            streams arguments: yes (they came in 2 pieces)
            names its end: yes (a message with a call ends with `tool_calls`)
            reasons: yes (it thought: a clock knows)
            reasoning open: no (it closed no reasoning that it had not opened)
            wants reasoning back: yes (without it the server says: reasoning_content must be passed back)
            rich schemas: no (`pattern` is not supported)
            rejects ["pattern"], prompt None, dialect None, 21 questions
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_down_in_the_midst_says_nothing_about_schemas() {
    let down = || Script::new().fails(ModelError::new(ModelErrorKind::Unavailable, "it is\ngone"));
    let both = tokyo().call("time", r#"{"zone": "Europe/London"}"#).done();
    let script = [tokyo().done(), both, tokyo().done()];
    check(
        script.into_iter().chain((0..9).map(|_| down())),
        expect![[r#"
            native calls: yes (it called `time {"zone": "Asia/Tokyo"}`)
            calls in text: no (its call came as a call)
            parallel calls: yes (it made 2 calls in one message)
            required calls: yes (it called the tool although nothing was asked)
            streams arguments: yes (they came in 2 pieces)
            names its end: yes (a message with a call ends with `tool_calls`)
            reasons: no (it answered at once)
            reasoning open: no (it closed no reasoning that it had not opened)
            wants reasoning back: no (it shows no reasoning)
            rich schemas: ? (it is gone)
            rejects [], prompt None, dialect None, 6 questions
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_model_that_only_talks_is_tried_with_prompts_until_it_writes_a_call() {
    let written = r#"<tool_call>{"name": "time", "arguments": {"zone": "Asia/Tokyo"}}</tool_call>"#;
    let script = [says("It is late."), says("I cannot know."), says("No idea."), says(written)];
    check(
        script,
        expect![[r#"
            native calls: no (it said: I cannot know.)
            calls in text: ? (it made no call)
            parallel calls: ? (not asked)
            required calls: ? (not asked)
            streams arguments: ? (not asked)
            names its end: ? (not asked)
            reasons: no (it answered at once)
            reasoning open: no (it closed no reasoning that it had not opened)
            wants reasoning back: ? (not asked)
            rich schemas: ? (not asked)
            rejects [], prompt Some("hermes"), dialect Some("hermes"), 4 questions
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_server_that_refuses_tools_is_asked_in_the_prompt() {
    let no_tools = Script::new().fails(ModelError::new(ModelErrorKind::NoTools, "it does not support tools"));
    let bare = r#"{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "time", "arguments": "{\"zone\": \"Asia/Tokyo\"}"}}]}"#;
    check(
        [no_tools, says(bare)],
        expect![[r#"
            native calls: no (it does not support tools)
            calls in text: ? (not asked)
            parallel calls: ? (not asked)
            required calls: ? (not asked)
            streams arguments: ? (not asked)
            names its end: ? (not asked)
            reasons: ? (not asked)
            reasoning open: ? (not asked)
            wants reasoning back: ? (not asked)
            rich schemas: ? (not asked)
            rejects [], prompt Some("json_strict"), dialect Some("json_bare"), 2 questions
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_for_a_while_says_nothing_about_its_model() {
    let down = || Script::new().fails(ModelError::new(ModelErrorKind::Unavailable, "overloaded"));
    check([down(), down(), down(), says("Hello!")], expect!["failed: overloaded\n"]).await;
}

#[tokio::test]
async fn a_model_that_was_cut_off_in_its_thoughts_is_not_judged() {
    let cut = Script::new().reasoning("let me think about clocks").cut_by_length();
    let call = r#"<tool_call>{"name": "time", "arguments": {"zone": "Asia/Tokyo"}}</tool_call>"#;
    check(
        [cut, says(call)],
        expect![[r#"
            native calls: ? (its answer was cut before it came to a call)
            calls in text: ? (it made no call)
            parallel calls: ? (not asked)
            required calls: ? (not asked)
            streams arguments: ? (not asked)
            names its end: ? (not asked)
            reasons: yes (it thought: let me think about clocks)
            reasoning open: ? (its answer was cut before it came to an end)
            wants reasoning back: ? (not asked)
            rich schemas: ? (not asked)
            rejects [], prompt Some("json_strict"), dialect Some("hermes"), 2 questions
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_model_that_cannot_be_asked_at_all_has_no_profile() {
    let script = [refuses("the model `x` does not exist"), refuses("the model `x` does not exist")];
    check(script, expect!["failed: the model `x` does not exist\n"]).await;
}
