//! What runs leave in conversations, and who sees it.

use helve_types::{
    CallId, Compaction, Fact, Mode, RunId, RunState, Spent, StopReason, Summary, Timestamp, Usage, UserId,
    World,
};

use super::{Actor, Subject, ok, question, requested};
use helve_store::{ApprovalFilter, Page, Place, RunFilter, Scope, StoreError};

pub async fn a_finished_run_leaves_its_answer_and_frees_the_conversation(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "hi").await;
    mei.finish(&mut run, "hello").await;
    let Some(conversation) = run.conversation else { panic!("no conversation") };
    let row = ok(mei.store.conversation(mei.scope(), conversation).await);
    assert_eq!((row.messages, row.active_run), (2, None));
    let messages = ok(mei.store.messages(mei.scope(), conversation).await);
    assert_eq!(messages[1].text(), "hello");
    assert_eq!(messages[1].model.as_deref(), Some("demo"));
    let record = ok(mei.store.run(mei.scope(), run.run).await);
    assert_eq!(record.state, RunState::Completed);
    assert!(record.ended_at.is_some());
    assert_eq!(ok(mei.store.running_runs().await), []);
}

pub async fn what_steps_take_is_summed_for_the_run_and_its_conversation(store: Subject) {
    let mei = Actor::new(store, "mei");
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 5,
        cached_tokens: 4,
        cache_write_tokens: 2,
        reasoning_tokens: 1,
    };
    let summed_up = Fact::HistoryCompacted(Compaction {
        step: 3,
        pruned: vec![],
        client_messages: 0,
        summary: Some(Summary {
            text: "much was said".into(),
            through: None,
            messages: 0,
            through_step: 1,
            model: "m".into(),
            usage,
            cost_nanos: Some(8),
        }),
        tokens_before: 10,
        tokens_after: 5,
    });
    let step = |step, cost_nanos| Fact::StepFinished {
        step,
        attempt: 1,
        reason: StopReason::Stop,
        mode: Mode::Native,
        usage,
        cost_nanos,
        model: None,
        fingerprint: None,
        echo: None,
        params: None,
    };
    let mut first = mei.start(mei.new_conversation(), "one").await;
    let Some(conversation) = first.conversation else { panic!("no conversation") };
    let of_run = async |run| ok(mei.store.run(mei.scope(), run).await).spent;
    let of_talk = async || ok(mei.store.conversation(mei.scope(), conversation).await).spent;
    assert_eq!(of_run(first.run).await, Spent::default());
    ok(mei.append(&mut first, vec![step(1, None)]).await);
    assert_eq!(of_talk().await.cost_nanos, None);
    ok(mei.append(&mut first, vec![step(2, Some(700))]).await);
    mei.finish(&mut first, "an answer").await;
    let mut second = mei.start(Place::Conversation(conversation), "two").await;
    ok(mei.append(&mut second, vec![step(1, Some(50)), step(2, None), summed_up]).await);

    let steps = |count: u64, cost_nanos| Spent {
        usage: Usage {
            input_tokens: 10 * count,
            output_tokens: 5 * count,
            cached_tokens: 4 * count,
            cache_write_tokens: 2 * count,
            reasoning_tokens: count,
        },
        cost_nanos,
    };
    assert_eq!(of_run(first.run).await, steps(2, Some(700)));
    assert_eq!(of_run(second.run).await, steps(3, Some(58)));
    assert_eq!(of_talk().await, steps(5, Some(758)));
    let listed = ok(mei.store.conversations(mei.scope(), Page::first(9)).await);
    assert_eq!(listed[0].spent, steps(5, Some(758)));
}

pub async fn absurd_usage_neither_fails_a_write_nor_overflows(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "one").await;
    let usage = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
    let step = |step| Fact::StepFinished {
        step,
        attempt: 1,
        reason: StopReason::Stop,
        mode: Mode::Native,
        usage,
        cost_nanos: Some(u64::MAX),
        model: None,
        fingerprint: None,
        echo: None,
        params: None,
    };
    ok(mei.append(&mut run, vec![step(1), step(2)]).await);
    let spent = ok(mei.store.run(mei.scope(), run.run).await).spent;
    assert_eq!((spent.usage.input_tokens, spent.cost_nanos), (Spent::MAX, Some(Spent::MAX)));
}

pub async fn runs_are_found_by_their_state_latest_first(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut over = mei.start(mei.new_conversation(), "one").await;
    mei.finish(&mut over, "done").await;
    let one = mei.start(mei.new_conversation(), "two").await.run;
    let two = mei.start(mei.new_conversation(), "three").await.run;
    // Ids tell the order, to the millisecond and then by chance.
    let latest_first = |mut runs: Vec<RunId>| {
        runs.sort_by(|a, b| b.cmp(a));
        runs
    };
    let found = async |state, page| {
        let runs = ok(mei.store.runs(mei.scope(), RunFilter { state }, page).await);
        runs.iter().map(|record| record.run).collect::<Vec<_>>()
    };
    let all = Page::first(9);
    assert_eq!(found(None, all).await, latest_first(vec![one, two, over.run]));
    let running = latest_first(vec![one, two]);
    assert_eq!(found(Some(RunState::Running), all).await, running);
    assert_eq!(found(Some(RunState::Running), Page { offset: 1, limit: 1 }).await, running[1..]);
    assert_eq!(found(Some(RunState::Completed), all).await, [over.run]);
    assert_eq!(found(Some(RunState::NeedsAttention), all).await, []);
}

pub async fn nobody_sees_anothers_things(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "secret").await;
    let call = CallId::new(run.run, 1, 0);
    let asked = question(&mei, &call, Timestamp(i64::MAX));
    ok(mei.append(&mut run, vec![requested(&call), Fact::ApprovalAsked(asked.clone())]).await);
    let Some(conversation) = run.conversation else { panic!("no conversation") };

    let eve = Scope::User(UserId("eve".into()));
    assert_eq!(store.run(eve.clone(), run.run).await, Err(StoreError::NotFound("run")));
    assert_eq!(ok(store.runs(eve.clone(), RunFilter::default(), Page::first(9)).await), []);
    assert_eq!(
        store.conversation(eve.clone(), conversation).await,
        Err(StoreError::NotFound("conversation"))
    );
    assert_eq!(store.messages(eve.clone(), conversation).await, Err(StoreError::NotFound("conversation")));
    assert_eq!(ok(store.conversations(eve.clone(), Page::first(9)).await), []);
    assert_eq!(
        store.rename_conversation(eve.clone(), conversation, "mine".into()).await,
        Err(StoreError::NotFound("conversation"))
    );
    assert_eq!(
        store.delete_conversation(eve.clone(), conversation).await,
        Err(StoreError::NotFound("conversation"))
    );
    assert_eq!(store.approval(eve.clone(), asked.approval).await, Err(StoreError::NotFound("approval")));
    assert_eq!(ok(store.approvals(eve, ApprovalFilter::Pending(Page::first(9))).await), []);
    assert!(store.run(Scope::Everyone, run.run).await.is_ok());
}

pub async fn conversations_are_listed_latest_first_in_pages(store: Subject) {
    let mut mei = Actor::new(store, "mei");
    mei.world = World::deterministic();
    let mut ids = vec![];
    for _ in 0..4 {
        mei.world.clock.advance_ms(1_000);
        ids.extend(mei.start(mei.new_conversation(), "hi").await.conversation);
    }
    ids.reverse();
    let page = |offset, limit| Page { offset, limit };
    let listed = |rows: Vec<helve_store::Conversation>| rows.iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(listed(ok(mei.store.conversations(mei.scope(), page(0, 9)).await)), ids);
    assert_eq!(listed(ok(mei.store.conversations(mei.scope(), page(1, 2)).await)), ids[1..3]);
    ok(mei.store.rename_conversation(mei.scope(), ids[0], "new name".into()).await);
    assert_eq!(ok(mei.store.conversation(mei.scope(), ids[0]).await).title, "new name");
}

pub async fn a_deleted_conversation_takes_its_runs_with_it(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "forget me").await;
    let Some(conversation) = run.conversation else { panic!("no conversation") };
    let call = CallId::new(run.run, 1, 0);
    ok(mei.append(&mut run, vec![requested(&call)]).await);
    assert_eq!(
        mei.store.delete_conversation(mei.scope(), conversation).await,
        Err(StoreError::Busy(run.run))
    );
    mei.finish(&mut run, "done").await;
    ok(mei.store.delete_conversation(mei.scope(), conversation).await);
    assert_eq!(mei.store.run(mei.scope(), run.run).await, Err(StoreError::NotFound("run")));
    assert_eq!(ok(mei.store.events(run.run, 0, 9).await), []);
    assert_eq!(ok(mei.store.calls(run.run).await), []);
    assert_eq!(ok(mei.store.conversations(mei.scope(), Page::first(9)).await), []);
}
