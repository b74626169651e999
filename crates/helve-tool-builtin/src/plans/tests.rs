//! The four plan tools together, as users meet them: through the pipeline, with their guards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::{Expect, expect};
use helve_policy::Rules;
use helve_store::{MemoryStore, Place, Plans, RunJournal};
use helve_store_contract::Actor;
use helve_tool::{CallContext, Outcome, Page, Pipeline, Registry, Toolbox};
use helve_types::{CallId, RunId, ToolCall, UserId, World};

use super::*;
use crate::testing::context;
use crate::{create_plan, get_plan, list_plans, update_plan};

struct Lab {
    store: Arc<MemoryStore>,
    /// It lives as long as the server.
    _registry: Registry,
    toolbox: Arc<Toolbox>,
    journal: RunJournal,
    run: RunId,
    next: AtomicU32,
}

impl Lab {
    async fn new() -> Self {
        let world = World::deterministic();
        let registry = Registry::new();
        for (tool, guards) in [create_plan::tool(), update_plan::tool(), get_plan::tool(), list_plans::tool()]
        {
            registry.register(tool, guards, &world).unwrap();
        }
        let store = Arc::new(MemoryStore::new());
        let actor = Actor { world: world.clone(), ..Actor::new(store.clone(), "mei") };
        let started = actor.start(Place::Nowhere, "go").await;
        let journal = RunJournal::new(store.clone(), world, started.run, started.epoch, 1, Arc::new(|_| {}));
        let toolbox = Arc::new(Toolbox::new(registry.list()));
        Self { store, _registry: registry, toolbox, journal, run: started.run, next: AtomicU32::new(0) }
    }

    /// A call as a user's run makes it, with the rules that come with Helve.
    async fn outcome(&self, user: &str, id: CallId, tool: &str, arguments: Value) -> Outcome {
        let cx = CallContext {
            run: self.run,
            call: id.clone(),
            toolbox: self.toolbox.clone(),
            journal: self.journal.clone(),
            ..context(user)
        };
        let call = ToolCall {
            id,
            provider_id: None,
            name: tool.into(),
            arguments: arguments.to_string(),
            repairs: vec![],
        };
        let rules = Rules::new().with_layer("operator", crate::default_rules());
        Pipeline::new(rules).execute_call(&call, &cx).await.unwrap()
    }

    fn id(&self) -> CallId {
        CallId::new(self.run, 1, self.next.fetch_add(1, Ordering::Relaxed))
    }

    async fn says(&self, user: &str, tool: &str, arguments: Value) -> String {
        match self.outcome(user, self.id(), tool, arguments).await {
            Outcome::Finished(output) => output.text,
            Outcome::Failed(failure) | Outcome::Refused(failure) => format!("no: {}", failure.message),
            other => panic!("{other:?}"),
        }
    }

    async fn check(&self, tool: &str, arguments: Value, expect: Expect) {
        expect.assert_eq(&self.says("mei", tool, arguments).await);
    }
}

#[tokio::test]
async fn a_plan_is_made_changed_and_looked_at_without_asking_anybody() {
    let lab = Lab::new().await;
    let trip = json!({"title": " A  trip\n", "content": "by train", "steps": ["pack", "go\nthere"]});
    lab.check(
        "create_plan",
        trip,
        expect![[r#"
        Plan 1 (version 1, active): A trip
        by train
        1. [ ] pack
        2. [ ] go there"#]],
    )
    .await;
    lab.check(
        "update_plan",
        json!({"plan_id": 1, "done": [1.0], "add_steps": ["return"]}),
        expect![[r#"
        Plan 1 (version 2, active): A trip
        by train
        1. [x] pack
        2. [ ] go there
        3. [ ] return"#]],
    )
    .await;
    lab.check(
        "update_plan",
        json!({"plan_id": 1, "steps": ["rest", "pack"], "content": ""}),
        expect![[r#"
        Plan 1 (version 3, active): A trip
        1. [ ] rest
        2. [x] pack"#]],
    )
    .await;
    lab.check(
        "update_plan",
        json!({"plan_id": 1, "not_done": [2], "status": "done", "title": "旅行"}),
        expect![[r#"
        Plan 1 (version 4, done): 旅行
        1. [ ] rest
        2. [ ] pack"#]],
    )
    .await;
    lab.check("list_plans", json!({}), expect!["Plan 1 (done, 0/2): 旅行"]).await;
    lab.check(
        "list_plans",
        json!({"status": "active"}),
        expect!["There are no such plans. create_plan makes one."],
    )
    .await;
}

#[tokio::test]
async fn what_cannot_be_done_is_said_in_words_that_help() {
    let lab = Lab::new().await;
    lab.says("mei", "create_plan", json!({"title": "x", "steps": ["a"]})).await;
    lab.check(
        "get_plan",
        json!({"plan_id": 9}),
        expect!["no: the user has no plan 9; list_plans shows the plans there are with their numbers"],
    )
    .await;
    lab.check(
        "update_plan",
        json!({"plan_id": 1, "done": [2]}),
        expect!["no: there is no step 2; the plan has steps 1 to 1"],
    )
    .await;
    lab.check("update_plan", json!({"plan_id": 1, "version": 7, "done": [1]}), expect!["no: plan 1 is at version 1 now, so nothing was changed; look at it with get_plan and decide again"]).await;
    lab.check(
        "create_plan",
        json!({"title": " \n "}),
        expect!["no: `title` is empty; say in a few words what the plan is for"],
    )
    .await;
    lab.check(
        "create_plan",
        json!({"title": "x", "steps": ["ok", " "]}),
        expect!["no: a step is empty; say what is to be done, or leave it out"],
    )
    .await;
    lab.check(
        "create_plan",
        json!({"title": "x", "steps": ["字".repeat(501)]}),
        expect!["no: `steps` has more than 500 characters; shorten it"],
    )
    .await;
    let more = json!({"plan_id": 1, "add_steps": vec!["s"; 100]});
    lab.check("update_plan", more, expect!["no: a plan has 100 steps at most; make two plans of it"]).await;
}

#[tokio::test]
async fn reads_are_stored_for_each_user_and_end_when_that_user_writes() {
    let lab = Lab::new().await;
    for user in ["mei", "eve"] {
        lab.says(user, "create_plan", json!({"title": format!("{user}'s"), "steps": ["a"]})).await;
        assert!(lab.says(user, "get_plan", json!({"plan_id": 1})).await.contains("version 1"));
    }
    // Behind the tools' back, so that a stored answer shows.
    for user in ["mei", "eve"] {
        let by = lab.id();
        let body = PlanBody { title: "changed".into(), ..PlanBody::default() };
        let change = helve_tool::PlanChange { number: 1, over: 1, body, by, at: Timestamp(1) };
        lab.store.change_plan(UserId(user.into()), change).await.unwrap();
    }
    assert!(lab.says("mei", "get_plan", json!({"plan_id": 1})).await.contains("version 1"));
    lab.says("mei", "update_plan", json!({"plan_id": 1, "title": "again"})).await;
    assert!(lab.says("mei", "get_plan", json!({"plan_id": 1})).await.contains("version 3"));
    assert!(lab.says("eve", "get_plan", json!({"plan_id": 1})).await.contains("eve's"));
}

#[tokio::test]
async fn the_same_call_sent_again_has_one_effect() {
    let lab = Lab::new().await;
    let (make, change) = (lab.id(), lab.id());
    for _ in 0..2 {
        lab.outcome("mei", make.clone(), "create_plan", json!({"title": "x", "steps": ["a"]})).await;
    }
    for _ in 0..2 {
        let arguments = json!({"plan_id": 1, "version": 1, "add_steps": ["b"]});
        let outcome = lab.outcome("mei", change.clone(), "update_plan", arguments).await;
        let Outcome::Finished(output) = outcome else { panic!("{outcome:?}") };
        assert_eq!(output.text, "Plan 1 (version 2, active): x\n1. [ ] a\n2. [ ] b");
    }
    assert_eq!(lab.store.plans(UserId("mei".into()), Page::first(9)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn changes_one_after_the_other_are_all_made() {
    let lab = Lab::new().await;
    lab.says("mei", "create_plan", json!({"title": "x"})).await;
    for n in 0..5 {
        lab.says("mei", "update_plan", json!({"plan_id": 1, "add_steps": [format!("step {n}")]})).await;
    }
    let plan = lab.store.plan(UserId("mei".into()), 1).await.unwrap();
    assert_eq!((plan.version, plan.body.steps.len()), (6, 5));
}
