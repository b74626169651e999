//! Looking for calls.

use helve_types::{
    CallId, CallState, Fact, Failure, FailureKind, Stage, Timestamp, ToolOutput, Trail, UserId,
};

use super::{Actor, Started, Subject, requested, started};
use helve_store::{
    Execution, ExecutionFilter, ExecutionPage, Mark, Recorded, SENDS_KEPT_MS, Scope, StoreError, Urgency,
};

/// Appends facts that happened at a moment of the scenario's choice.
async fn at(actor: &Actor, run: &mut Started, ms: i64, facts: Vec<Fact>) {
    let mut batch = actor.batch(run, facts);
    for recorded in &mut batch.events {
        let event = &recorded.event;
        *recorded = std::sync::Arc::new(Recorded::new(event.seq, Timestamp(ms), event.fact.clone()));
    }
    assert_eq!(actor.store.append(batch, Urgency::Now).await, Ok(()));
}

fn wanted(call: &CallId, tool: &str) -> Fact {
    match requested(call) {
        Fact::ToolRequested { step, call, provider_id, arguments, repairs, part, replaces, .. } => {
            Fact::ToolRequested {
                step,
                call,
                provider_id,
                tool: tool.into(),
                arguments,
                part,
                replaces,
                repairs,
            }
        }
        other => other,
    }
}

fn finished(call: &CallId, text: &str) -> Fact {
    let trail = Trail(vec![Stage::Cache { found: "hit".into() }]);
    Fact::ToolFinished { call: call.clone(), output: ToolOutput::text(text), trail }
}

fn failed(call: &CallId) -> Fact {
    let failure = Failure::new(FailureKind::TimedOut, "no answer in 20 s");
    Fact::ToolFailed { call: call.clone(), failure, trail: Trail::default() }
}

async fn found(store: &Subject, scope: Scope, filter: ExecutionFilter) -> Vec<Execution> {
    page(store, scope, filter, None, 100).await
}

async fn page(
    store: &Subject,
    scope: Scope,
    filter: ExecutionFilter,
    before: Option<Mark>,
    limit: usize,
) -> Vec<Execution> {
    match store.executions(scope, filter, ExecutionPage { before, limit }).await {
        Ok(found) => found,
        Err(error) => panic!("the calls cannot be listed: {error}"),
    }
}

fn ids(found: &[Execution]) -> Vec<CallId> {
    found.iter().map(|held| held.record.call.id.clone()).collect()
}

pub async fn a_call_is_found_by_each_thing_that_is_known_of_it(store: Subject) {
    let (mei, li) = (Actor::new(store.clone(), "mei"), Actor::new(store.clone(), "li"));
    let mut hers = mei.start(mei.new_conversation(), "one").await;
    let mut his = li.start(li.new_conversation(), "two").await;
    let calls = [CallId::new(hers.run, 1, 0), CallId::new(hers.run, 1, 1), CallId::new(his.run, 1, 0)];
    let [a, b, c] = &calls;
    at(&mei, &mut hers, 1_000, vec![wanted(a, "look")]).await;
    at(&mei, &mut hers, 2_000, vec![wanted(b, "send"), failed(b)]).await;
    at(&li, &mut his, 3_000, vec![wanted(c, "look"), finished(c, "fine")]).await;

    let all = ExecutionFilter::default;
    for (filter, expected) in [
        (all(), vec![c, b, a]),
        (ExecutionFilter { tool: Some("look".into()), ..all() }, vec![c, a]),
        (ExecutionFilter { tool: Some("nothing".into()), ..all() }, vec![]),
        (ExecutionFilter { user: Some(UserId("mei".into())), ..all() }, vec![b, a]),
        (ExecutionFilter { state: Some(CallState::Finished), ..all() }, vec![c]),
        (ExecutionFilter { state: Some(CallState::Failed), ..all() }, vec![b]),
        (ExecutionFilter { state: Some(CallState::Requested), ..all() }, vec![a]),
        (ExecutionFilter { from: Some(Timestamp(2_000)), ..all() }, vec![c, b]),
        (ExecutionFilter { to: Some(Timestamp(2_000)), ..all() }, vec![a]),
        (ExecutionFilter { run: Some(hers.run), ..all() }, vec![b, a]),
        (
            ExecutionFilter {
                tool: Some("look".into()),
                user: Some(UserId("mei".into())),
                state: Some(CallState::Requested),
                from: Some(Timestamp(0)),
                to: Some(Timestamp(9_000)),
                run: Some(hers.run),
            },
            vec![a],
        ),
    ] {
        let found = found(&store, Scope::Everyone, filter.clone()).await;
        let expected: Vec<_> = expected.into_iter().cloned().collect();
        assert_eq!(ids(&found), expected, "{filter:?}");
    }
}

pub async fn a_call_is_found_by_the_state_that_it_is_listed_with(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "one").await;
    let calls: Vec<_> = (0..4).map(|index| CallId::new(run.run, 1, index)).collect();
    let [a, b, c, d] = &calls[..] else { return };
    at(&mei, &mut run, 1_000, calls.iter().map(|call| wanted(call, "look")).collect()).await;
    let delegated = Fact::ToolDelegated {
        call: b.clone(),
        tool: "look".into(),
        arguments: None,
        trail: Trail::default(),
    };
    at(&mei, &mut run, 2_000, vec![delegated, failed(c), finished(d, "fine")]).await;
    // The run is over with calls that are not.
    mei.finish(&mut run, "done").await;
    let listed = found(&store, Scope::Everyone, ExecutionFilter::default()).await;
    assert_eq!(listed.len(), 4);
    for held in &listed {
        for scope in [Scope::Everyone, mei.scope()] {
            let filter = ExecutionFilter { state: Some(held.record.state), ..ExecutionFilter::default() };
            let found = found(&store, scope, filter).await;
            assert_eq!(ids(&found), std::slice::from_ref(&held.record.call.id), "{:?}", held.record.state);
        }
    }
    let of =
        |call: &CallId| listed.iter().find(|held| held.record.call.id == *call).map(|held| held.record.state);
    assert_eq!((of(a), of(b)), (Some(CallState::Requested), Some(CallState::Delegated)));
}

pub async fn the_list_of_calls_goes_on_where_a_page_ended(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "one").await;
    let calls: Vec<_> = (0..5).map(|index| CallId::new(run.run, 1, index)).collect();
    // All in one moment but the last: the order must not depend on time alone.
    at(&mei, &mut run, 1_000, calls[..4].iter().map(|call| wanted(call, "look")).collect()).await;
    at(&mei, &mut run, 2_000, vec![wanted(&calls[4], "look")]).await;

    let (mut seen, mut before) = (vec![], None);
    loop {
        let next = page(&store, Scope::Everyone, ExecutionFilter::default(), before, 2).await;
        let Some(last) = next.last() else { break };
        before = Some(last.to_mark());
        seen.extend(next.iter().map(|held| held.record.call.id.clone()));
        // What is new comes at the beginning and does not move the pages.
        let late = CallId::new(run.run, 2, u32::try_from(seen.len()).unwrap_or(0));
        at(&mei, &mut run, 3_000, vec![wanted(&late, "look")]).await;
    }
    let expected: Vec<_> = calls.iter().rev().cloned().collect();
    assert_eq!(seen, expected);
}

pub async fn a_call_says_what_became_of_it_and_whose_it_was(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "one").await;
    let [good, bad, lost] = [0, 1, 2].map(|index| CallId::new(run.run, 1, index));
    let output = ToolOutput { whole_bytes: Some(70_000), ..ToolOutput::text("the beginning") };
    let because = "the server stopped".to_owned();
    let cut_off = Fact::ToolUnknown {
        call: lost.clone(),
        sent_at: Timestamp(1_000),
        because,
        request: None,
        checked: None,
        then: helve_types::OnUnknown::TellModel,
        trail: Trail(vec![Stage::Run { attempt: 1, ms: 7 }]),
        labels: None,
    };
    let facts = vec![
        requested(&good),
        requested(&bad),
        requested(&lost),
        started(&good, 2),
        Fact::ToolFinished { call: good.clone(), output, trail: Trail::default() },
        failed(&bad),
        cut_off,
    ];
    at(&mei, &mut run, 1_000, facts).await;

    let look = async |call: &CallId| match store.execution(Scope::Everyone, call.clone()).await {
        Ok(held) => held,
        Err(error) => panic!("there is no call {call}: {error}"),
    };
    let held = look(&good).await;
    assert_eq!((held.user.0.as_str(), held.agent.as_str()), ("mei", "default"));
    assert_eq!(held.record.call.name, "send_mail", "the repaired name");
    assert_eq!((held.record.attempt, held.record.version.as_deref()), (2, Some("v")));
    assert_eq!((held.record.output_bytes, held.record.failure), (Some(70_000), None));
    let held = look(&bad).await;
    assert_eq!(held.record.failure, Some(FailureKind::TimedOut));
    assert_eq!(held.record.problem.as_deref(), Some("no answer in 20 s"));
    assert_eq!((held.record.output_bytes, held.record.ended_at), (None, Some(Timestamp(1_000))));
    let held = look(&lost).await;
    assert_eq!((held.record.state, held.record.failure), (CallState::Unknown, None));
    assert_eq!(held.record.problem.as_deref(), Some("the server stopped"));
    assert_eq!(held.record.trail, Trail(vec![Stage::Run { attempt: 1, ms: 7 }]));

    // A person found out, or the call was sent again: what is known now counts.
    at(&mei, &mut run, 2_000, vec![finished(&lost, "it was there")]).await;
    let held = look(&lost).await;
    assert_eq!((held.record.state, held.record.problem), (CallState::Finished, None));
    assert_eq!(held.record.output_bytes, Some(12));
}

pub async fn nobody_finds_anothers_calls(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "one").await;
    let call = CallId::new(run.run, 1, 0);
    at(&mei, &mut run, 1_000, vec![requested(&call)]).await;

    let li = Scope::User(UserId("li".into()));
    let hers = ExecutionFilter { user: Some(UserId("mei".into())), ..ExecutionFilter::default() };
    let of_run = ExecutionFilter { run: Some(run.run), ..ExecutionFilter::default() };
    for filter in [ExecutionFilter::default(), hers, of_run] {
        assert_eq!(found(&store, li.clone(), filter.clone()).await, vec![], "{filter:?}");
    }
    let missing = Err(StoreError::NotFound("call"));
    assert_eq!(store.execution(li, call.clone()).await, missing);
    assert!(store.execution(mei.scope(), call.clone()).await.is_ok());
    assert_eq!(store.execution(Scope::Everyone, call.next_repetition()).await, missing);
}

pub async fn it_is_known_when_a_tool_was_sent_to_and_for_whom(store: Subject) {
    let (mei, li) = (Actor::new(store.clone(), "mei"), Actor::new(store.clone(), "li"));
    let mut hers = mei.start(mei.new_conversation(), "one").await;
    let mut his = li.start(li.new_conversation(), "two").await;
    let [a, b, c] = [CallId::new(hers.run, 1, 0), CallId::new(his.run, 1, 0), CallId::new(his.run, 1, 1)];
    let instead = match started(&c, 1) {
        Fact::ToolStarted { call, tool, version, effect, attempt, arguments, .. } => {
            let instead = Some("post_letter".into());
            Fact::ToolStarted { call, tool, version, effect, attempt, arguments, instead }
        }
        other => other,
    };
    at(&mei, &mut hers, 1_000, vec![wanted(&a, "send_mail"), started(&a, 1), started(&a, 2)]).await;
    at(&li, &mut his, 2_000, vec![wanted(&b, "send_mail"), started(&b, 1), wanted(&c, "send_mail"), instead])
        .await;
    // A call that was never sent, such as one that was answered from the cache.
    let cached = CallId::new(hers.run, 1, 1);
    at(&mei, &mut hers, 2_500, vec![wanted(&cached, "send_mail"), finished(&cached, "kept")]).await;
    at(&mei, &mut hers, 3_000, vec![started(&a, 3)]).await;

    let sends = async |tool: &str, user: Option<&str>, since: i64, limit: usize| {
        let user = user.map(|user| UserId(user.into()));
        match store.send_times(tool.into(), user, Timestamp(since), limit).await {
            Ok(times) => times.into_iter().map(|at| at.0).collect::<Vec<_>>(),
            Err(error) => panic!("nobody can say when {tool} was sent to: {error}"),
        }
    };
    assert_eq!(sends("send_mail", None, 0, 100).await, [3_000, 2_000, 1_000, 1_000]);
    assert_eq!(sends("send_mail", None, 1_001, 100).await, [3_000, 2_000]);
    assert_eq!(sends("send_mail", None, 0, 3).await, [3_000, 2_000, 1_000]);
    assert_eq!(sends("send_mail", Some("li"), 0, 100).await, [2_000]);
    assert_eq!(sends("post_letter", None, 0, 100).await, [2_000]);
    assert!(sends("nothing", None, 0, 100).await.is_empty());

    // A user who forgets the conversation does not make the other side forget the calls.
    mei.finish(&mut hers, "done").await;
    let Some(conversation) = hers.conversation else { panic!("a run without a conversation") };
    assert_eq!(store.delete_conversation(mei.scope(), conversation).await, Ok(()));
    assert_eq!(sends("send_mail", None, 0, 100).await, [3_000, 2_000, 1_000, 1_000]);
    // What no window can reach back to is not kept.
    at(&li, &mut his, 2_001 + SENDS_KEPT_MS, vec![started(&b, 2)]).await;
    assert_eq!(sends("send_mail", None, 0, 100).await, [2_001 + SENDS_KEPT_MS, 3_000]);
}
