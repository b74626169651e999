//! Agents that give tasks to other agents.

use std::sync::Arc;

use expect_test::expect;
use helve_agent::SubagentLimits;
use helve_model::{Reply, ScriptedModel};
use helve_runtime::{
    AgentSettings, Limits, ModelOptions, RuntimeSettings, StartInput, StartRequest, StartedRun,
};
use helve_store::{Log, Page, RunFilter, RunRecord, Scope, Views};
use helve_types::{AgentSubagent, Always, Answer, Fact, RunId, RunState, SubagentConfig, Within};

use crate::lab::{Lab, mei, reply, settle};

/// An agent with a model of its own.
fn agent(name: &str, subagents: Vec<AgentSubagent>) -> AgentSettings {
    AgentSettings { name: name.into(), model: Some(name.into()), subagents, ..AgentSettings::default() }
}

fn in_background(agent: &str) -> AgentSubagent {
    let config = SubagentConfig { background: true, ..SubagentConfig::default() };
    AgentSubagent { config, ..AgentSubagent::new(agent) }
}

fn settings(agents: Vec<AgentSettings>) -> RuntimeSettings {
    RuntimeSettings { agents, ..RuntimeSettings::default() }
}

/// A server with one model for each agent.
fn lab<const N: usize>(settings: RuntimeSettings, scripts: [(&str, Vec<Reply>); N]) -> Lab {
    let model = |(name, replies): (&str, Vec<Reply>)| {
        (Arc::new(ScriptedModel::new(replies).named(name)), ModelOptions::default())
    };
    Lab::with_models(scripts.into_iter().map(model).collect(), settings)
}

async fn ask(lab: &Lab, agent: &str) -> StartedRun {
    let input = StartInput::Message { conversation: None, text: "please".into() };
    let request = StartRequest { agent: Some(agent.into()), ..StartRequest::new(mei(), input) };
    lab.runtime.start_run(request).await.unwrap()
}

/// The runs that work for others, oldest first.
async fn subagents(lab: &Lab) -> Vec<RunRecord> {
    let mut all = lab.store.runs(Scope::Everyone, RunFilter::default(), Page::first(99)).await.unwrap();
    all.retain(|record| record.setup.parent.is_some());
    all.reverse();
    all
}

/// Waits until a run is in this state.
async fn reaches(lab: &Lab, run: RunId, state: RunState) {
    for _ in 0..100_000 {
        if lab.store.run(Scope::Everyone, run).await.unwrap().state == state {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it is {:?}:\n{}", lab.store.run(Scope::Everyone, run).await.unwrap().state, lab.log(run).await);
}

fn two(clerk: Vec<Reply>, expert: Vec<Reply>) -> Lab {
    let agents = vec![agent("clerk", vec![AgentSubagent::new("expert")]), agent("expert", vec![])];
    lab(settings(agents), [("clerk", clerk), ("expert", expert)])
}

fn asks_expert(then: &str) -> Vec<Reply> {
    vec![reply(r#"call ask_expert {"task": "Look it up."}"#), reply(then)]
}

#[tokio::test]
async fn a_task_becomes_a_run_of_its_own_and_its_answer_the_result_of_the_call() {
    let lab =
        two(asks_expert("say The expert says 42."), vec![reply(r#"call look {"q": "x"}"#), reply("say 42.")]);
    let started = ask(&lab, "clerk").await;
    reaches(&lab, started.run, RunState::Completed).await;
    lab.check_log(
        started.run,
        expect![[r#"
        1 run.started please
        2 tool.requested ask_expert {"task": "Look it up."}
        3 step.finished ToolCalls native
        4 subagent.started expert: Look it up.
        5 run.waiting waiting_subagent
        6 tool.finished 42.
        7 subagent.ended Completed with 1 calls
        8 text.finished The expert says 42.
        9 step.finished Stop native
        10 run.finished Answered
    "#]],
    )
    .await;
    let child = &subagents(&lab).await[0];
    lab.check_log(
        child.run,
        expect![[r#"
        1 run.started Look it up.
        2 tool.requested look {"q": "x"}
        3 step.finished ToolCalls native
        4 tool.started look attempt 1
        5 tool.finished found x
        6 text.finished 42.
        7 step.finished Stop native
        8 run.finished Answered
    "#]],
    )
    .await;
    let parent = child.setup.parent.as_deref().unwrap();
    assert_eq!((parent.run, parent.root, parent.depth()), (started.run, started.run, 1));
    assert_eq!((parent.conversation, child.conversation), (started.conversation, None));
    assert!(lab.store.unreported_subagents().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_a_subagent_asks_is_shown_with_the_call_and_answered_once_for_both() {
    let lab = two(asks_expert("say Done."), vec![reply(r#"call send {"q": "x"}"#), reply("say Sent.")]);
    let started = ask(&lab, "clerk").await;
    reaches(&lab, started.run, RunState::WaitingApproval).await;
    let child = subagents(&lab).await[0].run;
    let question = lab.questions().await.remove(0);
    let asker = question.asker.clone().unwrap();
    assert_eq!((asker.agent.as_str(), asker.run, asker.parent), ("expert", child, started.run));
    assert_eq!(asker.conversation, started.conversation);
    lab.runtime
        .answer_approval(Scope::User(mei()), question.approval, Answer::approve(), "mei".into())
        .await
        .unwrap();
    reaches(&lab, started.run, RunState::Completed).await;
    lab.check_log(
        started.run,
        expect![[r#"
        1 run.started please
        2 tool.requested ask_expert {"task": "Look it up."}
        3 step.finished ToolCalls native
        4 subagent.started expert: Look it up.
        5 run.waiting waiting_subagent
        6 subagent.asked expert: send
        7 run.waiting waiting_approval
        8 subagent.answered {"decision":"approve"} by mei
        9 tool.finished Sent.
        10 subagent.ended Completed with 1 calls
        11 text.finished Done.
        12 step.finished Stop native
        13 run.finished Answered
    "#]],
    )
    .await;
}

#[tokio::test]
async fn an_always_given_to_the_parent_does_not_cover_the_subagent() {
    let clerk = vec![
        reply(r#"call send {"q": "a"}"#),
        reply(r#"call ask_expert {"task": "Send it too."}"#),
        reply("say Done."),
    ];
    let lab = two(clerk, vec![reply(r#"call send {"q": "a"}"#), reply("say Sent.")]);
    let started = ask(&lab, "clerk").await;
    for within in [Within::Agent, Within::Run] {
        reaches(&lab, started.run, RunState::WaitingApproval).await;
        let question = lab.questions().await.remove(0);
        let always = Always { within, arguments: Default::default(), days: None };
        let answer = Answer::Approve { arguments: None, always: Some(always) };
        lab.runtime
            .answer_approval(Scope::User(mei()), question.approval, answer, "mei".into())
            .await
            .unwrap();
    }
    reaches(&lab, started.run, RunState::Completed).await;
}

#[tokio::test]
async fn a_stop_of_the_parent_stops_the_tree() {
    let agents = vec![
        agent("clerk", vec![AgentSubagent::new("expert")]),
        agent("expert", vec![AgentSubagent::new("helper")]),
        agent("helper", vec![]),
    ];
    let scripts = [
        ("clerk", asks_expert("say Never.")),
        ("expert", vec![reply(r#"call ask_helper {"task": "Wait."}"#), reply("say Never.")]),
        ("helper", vec![reply(r#"call hang {"q": "x"}"#), reply("say Never.")]),
    ];
    let lab = lab(settings(agents), scripts);
    let started = ask(&lab, "clerk").await;
    reaches(&lab, started.run, RunState::WaitingSubagent).await;
    while subagents(&lab).await.len() < 2 {
        tokio::task::yield_now().await;
    }
    lab.runtime.cancel_run(Scope::User(mei()), started.run, "mei".into()).await.unwrap();
    for run in [started.run, subagents(&lab).await[0].run, subagents(&lab).await[1].run] {
        reaches(&lab, run, RunState::Cancelled).await;
    }
}

#[tokio::test]
async fn a_stop_of_the_subagent_alone_tells_the_parent_so() {
    let lab = two(asks_expert("say It was stopped."), vec![reply(r#"call hang {"q": "x"}"#)]);
    let started = ask(&lab, "clerk").await;
    reaches(&lab, started.run, RunState::WaitingSubagent).await;
    while subagents(&lab).await.is_empty() {
        tokio::task::yield_now().await;
    }
    let child = subagents(&lab).await[0].run;
    lab.runtime.cancel_run(Scope::User(mei()), child, "mei".into()).await.unwrap();
    reaches(&lab, started.run, RunState::Completed).await;
    let log = lab.log(started.run).await;
    assert!(log.contains("tool.failed the run of the agent `expert` was stopped by mei"), "{log}");
}

#[tokio::test]
async fn an_agent_that_asks_for_one_above_it_is_refused() {
    let agents = vec![
        agent("clerk", vec![AgentSubagent::new("expert")]),
        agent("expert", vec![AgentSubagent::new("clerk"), AgentSubagent::new("expert")]),
    ];
    let expert = vec![
        reply(r#"call ask_clerk {"task": "You do it."} | call ask_expert {"task": "Or I again."}"#),
        reply("say Then I do it."),
    ];
    let lab = lab(settings(agents), [("clerk", asks_expert("say Done.")), ("expert", expert)]);
    let started = ask(&lab, "clerk").await;
    reaches(&lab, started.run, RunState::Completed).await;
    let children = subagents(&lab).await;
    assert_eq!(children.len(), 1);
    let log = lab.log(children[0].run).await;
    assert_eq!(log.matches("is already at work on this task above you").count(), 2, "{log}");
}

#[tokio::test]
async fn depth_and_numbers_are_limited() {
    let agents = vec![agent("clerk", vec![AgentSubagent::new("expert")]), agent("expert", vec![])];
    let clerk = vec![
        reply(
            r#"call ask_expert {"task": "1"} | call ask_expert {"task": "2"} | call ask_expert {"task": "3"}"#,
        ),
        reply("say Done."),
    ];
    for (limits, told) in [
        (SubagentLimits { depth_max: 0, ..Default::default() }, "0 levels deep"),
        (SubagentLimits { per_run_max: 2, ..Default::default() }, "ask other agents 2 times"),
        (SubagentLimits { per_tree_max: 2, ..Default::default() }, "2 runs of other agents"),
    ] {
        let settings = RuntimeSettings { subagents: limits, ..settings(agents.clone()) };
        let lab = lab(
            settings,
            [("clerk", clerk.clone()), ("expert", vec![reply("say a"), reply("say b"), reply("say c")])],
        );
        let started = ask(&lab, "clerk").await;
        reaches(&lab, started.run, RunState::Completed).await;
        let log = lab.log(started.run).await;
        assert!(log.contains(told), "{log}");
        assert_eq!(subagents(&lab).await.len(), if limits.depth_max == 0 { 0 } else { 2 });
    }
}

#[tokio::test]
async fn a_subagent_gets_its_share_of_the_calls_that_are_left_and_what_it_uses_counts() {
    let clerk = AgentSettings {
        budget: Limits { calls: Some(7), ..Limits::default() },
        ..agent("clerk", vec![AgentSubagent::new("expert")])
    };
    let look = |q: &str| reply(&format!(r#"call look {{"q": "{q}"}}"#));
    let scripts = [
        (
            "clerk",
            vec![reply(r#"call ask_expert {"task": "Look."}"#), look("a"), look("b"), look("c"), look("d")],
        ),
        ("expert", ["1", "2", "3", "4", "5"].map(look).to_vec()),
    ];
    let lab = lab(settings(vec![clerk, agent("expert", vec![])]), scripts);
    let started = ask(&lab, "clerk").await;
    reaches(&lab, started.run, RunState::Completed).await;
    let child = &subagents(&lab).await[0];
    // Seven are left when the first is asked for, and half of them is three.
    assert_eq!(child.setup.parent.as_ref().unwrap().budget.calls, Some(3));
    let finished = |log: String| log.matches("tool.finished found").count();
    assert_eq!(finished(lab.log(child.run).await), 3);
    // One call of the subagent, its three, and three of its own.
    assert_eq!(finished(lab.log(started.run).await), 3);
    assert!(lab.log(started.run).await.contains("BudgetSpent"));
}

#[tokio::test]
async fn a_subagent_in_the_background_wakes_its_conversation() {
    let agents = vec![agent("clerk", vec![in_background("expert")]), agent("expert", vec![])];
    let clerk = vec![
        reply(r#"call ask_expert {"task": "Send it.", "background": true}"#),
        reply("say It is on its way."),
    ];
    let expert = vec![reply(r#"call send {"q": "x"}"#), reply("say It is sent.")];
    let lab = lab(settings(agents), [("clerk", clerk), ("expert", expert)]);
    let started = ask(&lab, "clerk").await;
    reaches(&lab, started.run, RunState::Completed).await;
    let child = subagents(&lab).await[0].run;
    lab.model.then(reply(&format!(r#"call ask_expert {{"result_of": "{child}"}}"#)));
    lab.model.then(reply("say The expert has sent it."));
    reaches(&lab, child, RunState::WaitingApproval).await;
    let question = lab.questions().await.remove(0);
    lab.runtime
        .answer_approval(Scope::User(mei()), question.approval, Answer::approve(), "mei".into())
        .await
        .unwrap();
    let conversation = started.conversation.unwrap();
    let woken = loop {
        let runs = lab.store.runs(Scope::Everyone, RunFilter::default(), Page::first(9)).await.unwrap();
        let is_next =
            |record: &&RunRecord| record.conversation == Some(conversation) && record.run != started.run;
        if let Some(record) = runs.iter().find(is_next) {
            break record.run;
        }
        tokio::task::yield_now().await;
    };
    reaches(&lab, woken, RunState::Completed).await;
    lab.check_log(woken, expect![[r#"
        1 run.started The agent `expert` has ended its work in the background (run 018bcfe5-6800-7000-8000-00000000000e). To get its answer, call `ask_expert` with `result_of`: "018bcfe5-6800-7000-8000-00000000000e".
        2 tool.requested ask_expert {"result_of": "018bcfe5-6800-7000-8000-00000000000e"}
        3 step.finished ToolCalls native
        4 subagent.started expert:
        5 tool.finished It is sent.
        6 subagent.ended Completed with 1 calls
        7 text.finished The expert has sent it.
        8 step.finished Stop native
        9 run.finished Answered
    "#]]).await;
    assert!(lab.store.unreported_subagents().await.unwrap().is_empty());
}

#[tokio::test]
async fn work_in_the_background_needs_somebody_to_tell() {
    let agents = vec![agent("clerk", vec![in_background("expert")]), agent("expert", vec![])];
    let clerk =
        vec![reply(r#"call ask_expert {"task": "Send it.", "background": true}"#), reply("say Then not.")];
    let lab = lab(settings(agents), [("clerk", clerk), ("expert", vec![])]);
    let message = helve_types::ChatMessage {
        role: helve_types::ChatRole::User,
        content: "please".into(),
        reasoning: String::new(),
        calls: vec![],
        call_id: None,
    };
    let input = StartInput::Client { messages: vec![message] };
    let request = StartRequest { agent: Some("clerk".into()), ..StartRequest::new(mei(), input) };
    let mut started = lab.runtime.start_run(request).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert!(lab.log(started.run).await.contains("tool.refused this run belongs to no conversation"));
    assert!(subagents(&lab).await.is_empty());
}

#[tokio::test]
async fn a_missing_subagent_is_left_out() {
    let agents = vec![agent("clerk", vec![AgentSubagent::new("ghost")])];
    let lab = lab(settings(agents), [("clerk", vec![reply("say Hello.")])]);
    let started = ask(&lab, "clerk").await;
    reaches(&lab, started.run, RunState::Completed).await;
    let record = lab.store.run(Scope::Everyone, started.run).await.unwrap();
    assert!(record.setup.tools.iter().all(|tool| !tool.name.starts_with("ask_")));
    let clerk = lab.runtime.agents().find("clerk").unwrap();
    assert_eq!(lab.runtime.agents().missing_subagents(&clerk), ["ghost"]);
}

#[tokio::test]
async fn what_a_subagent_has_read_is_in_the_run_that_asked_it() {
    let lab = two(asks_expert("say Done."), vec![reply(r#"call send {"q": "x"}"#), reply("say Sent.")]);
    let started = ask(&lab, "clerk").await;
    reaches(&lab, started.run, RunState::WaitingApproval).await;
    let record = &subagents(&lab).await[0];
    assert_eq!(record.setup.parent.as_ref().unwrap().taint, Default::default());
    let log = lab.store.events(started.run, 0, 99).await.unwrap();
    assert!(log.iter().any(|recorded| matches!(recorded.event.fact, Fact::SubagentAsked(_))));
}

/// A crash at each labelled point of both runs: the child is opened once, its effect happens once, and the parent gets one
/// result.
#[tokio::test]
async fn a_crash_at_any_moment_opens_one_run_and_repeats_nothing() {
    for point in [
        "subagent.before_open",
        "subagent.after_open",
        "tool.before_outcome",
        "tool.after_outcome",
        "subagent.before_ended",
        "subagent.before_result",
        "subagent.after_result",
        "run.before_end",
        "run.after_end",
    ] {
        let allow = serde_json::from_value(serde_json::json!({"action": "allow"})).unwrap();
        let agents = vec![agent("clerk", vec![AgentSubagent::new("expert")]), agent("expert", vec![])];
        let settings = RuntimeSettings { rules: vec![allow], ..settings(agents) };
        let step_again = || reply("say Done.");
        // A step that was cut off is asked for again.
        let clerk = vec![reply(r#"call ask_expert {"task": "Send it."}"#), step_again(), step_again()];
        let expert = vec![reply(r#"call send {"q": "x"}"#), step_again(), step_again()];
        let lab = lab(settings, [("clerk", clerk), ("expert", expert)]);
        let dying = lab.dying_at(point);
        let run = ask(&dying, "clerk").await.run;
        while dying.runtime.active_runs() > 0 {
            tokio::task::yield_now().await;
        }
        let next = lab.restarted();
        for _ in 0..50 {
            next.runtime.sweep_once().await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            if next.store.run(Scope::Everyone, run).await.unwrap().state == RunState::Completed {
                break;
            }
        }
        let log = next.log(run).await;
        let children = subagents(&next).await;
        let told = format!("{point}:\n{log}");
        assert!(log.contains("run.finished"), "{told}");
        assert_eq!(children.len(), 1, "{told}");
        assert_eq!(log.matches("subagent.started").count(), 1, "{told}");
        assert_eq!(log.matches("subagent.ended").count(), 1, "{told}");
        assert_eq!(log.matches("tool.finished").count(), 1, "{told}");
        let of_child = next.log(children[0].run).await;
        assert!(of_child.contains("run.finished"), "{told}\n{of_child}");
        // A call that cannot be taken back and was cut off is a question, and this lab allows everything else.
        let sent = lab.runs.load(std::sync::atomic::Ordering::Relaxed);
        assert!(sent <= 1, "{told}\n{of_child}");
    }
}
