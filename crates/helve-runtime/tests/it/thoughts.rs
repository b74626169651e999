//! Who is shown again what a model thought.

use std::sync::Arc;

use helve_model::{Reply, ScriptedModel};
use helve_runtime::{ModelOptions, RuntimeSettings, StartInput, StartRequest};

use crate::lab::{Lab, mei, settle};

#[tokio::test(start_paused = true)]
async fn what_a_model_thought_is_not_sent_to_another_one_that_was_given_its_name() {
    let named = |reply: Reply| Arc::new(ScriptedModel::new([reply]).named("a"));
    let at = |subject: &str| ModelOptions { subject: subject.into(), ..ModelOptions::default() };
    let before = named(Reply::new().reasoning("secret").text("Hello.").done());
    let lab = Lab::with_models(vec![(before, at("old at https://one"))], RuntimeSettings::default());
    let mut first = lab.start("hi").await;
    settle(&mut first.follower).await;
    for (subject, own) in [("new at https://one", false), ("old at https://one", true)] {
        let now = named(Reply::new().text("And now?").done());
        let lab = lab.restarted_with(vec![(now.clone(), at(subject))]);
        let input = StartInput::Message { conversation: first.conversation, text: "and?".into() };
        let mut next = lab.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
        settle(&mut next.follower).await;
        let asked = now.asked().pop().unwrap();
        assert_eq!(asked.contains("thinks: secret"), own, "{subject}: {asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_begins_inside_reasoning_is_read_so_unless_its_server_tells_the_reasoning_by_itself() {
    let left_in = || Reply::new().text("They greet.</th").text("ink>\n\nHello.").done();
    let told = || Reply::new().reasoning("They greet.").text("Hello.").done();
    for (open, reply, thought) in [
        (Some(true), left_in(), true),
        (Some(true), told(), true),
        (None, left_in(), false),
        (None, told(), true),
    ] {
        let options = ModelOptions { reasoning_open: open, ..ModelOptions::default() };
        let model = Arc::new(ScriptedModel::new([reply]).named("a"));
        let lab = Lab::with_models(vec![(model, options)], RuntimeSettings::default());
        let mut run = lab.start("hi").await;
        settle(&mut run.follower).await;
        let log = lab.log(run.run).await;
        let expected = match thought {
            true => "2 reasoning.finished They greet.\n3 text.finished Hello.\n",
            // Nobody said so, and what was shown cannot be taken back.
            false => "2 text.finished They greet.Hello.\n",
        };
        assert!(log.contains(expected), "{open:?}: {log}");
    }
}
