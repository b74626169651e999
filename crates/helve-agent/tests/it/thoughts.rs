//! Who is shown again what a model thought.

use std::sync::Arc;

use helve_agent::{ModelOptions, RuntimeSettings, StartInput, StartRequest};
use helve_model::{Reply, ScriptedModel};

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
        let mut next = lab.runtime.start(StartRequest::new(mei(), input)).await.unwrap();
        settle(&mut next.follower).await;
        let asked = now.asked().pop().unwrap();
        assert_eq!(asked.contains("thinks: secret"), own, "{subject}: {asked}");
    }
}
