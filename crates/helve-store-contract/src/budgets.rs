//! What days have used up.

use std::sync::Arc;

use helve_types::{CallId, Effect, Fact, Mode, StopReason, Timestamp, Usage, Used, UserId};

use super::{Actor, Started, Subject, ok};
use helve_store::{Append, DayUsed, Recorded, Urgency};

const NOON: Timestamp = Timestamp(20_000 * 24 * 60 * 60 * 1_000 + 12 * 60 * 60 * 1_000);

fn step(tokens: u64, cost_nanos: Option<u64>) -> Fact {
    Fact::StepFinished {
        step: 1,
        attempt: 1,
        reason: StopReason::Stop,
        mode: Mode::Native,
        usage: Usage { input_tokens: tokens, output_tokens: 1, ..Usage::default() },
        cost_nanos,
        model: None,
        fingerprint: None,
        echo: None,
        params: None,
    }
}

fn sent(started: &Started, attempt: u32) -> Fact {
    Fact::ToolStarted {
        call: CallId::new(started.run, 1, 0),
        tool: "t".into(),
        version: "v".into(),
        effect: Effect::Read,
        attempt,
        arguments: None,
        instead: None,
    }
}

/// Facts of that moment, each after so many milliseconds of work.
fn batch(mei: &Actor, started: &mut Started, at: Timestamp, facts: Vec<(Fact, u64)>) -> Append {
    let first = started.next_seq;
    let numbered = facts.into_iter().zip(first..);
    let events = numbered.map(|((fact, ms), seq)| Arc::new(Recorded::new(seq, at, fact).with_active_ms(ms)));
    let events: Vec<_> = events.collect();
    started.next_seq += events.len() as u64;
    Append { events, ..mei.batch(started, vec![]) }
}

async fn start(actor: &Actor, agent: &str) -> Started {
    let mut new = actor.new_run(actor.new_conversation(), "go");
    new.setup.agent = agent.into();
    ok(actor.open(new).await)
}

async fn used_on(store: &Subject, at: Timestamp, user: &str, agent: &str) -> DayUsed {
    ok(store.usage_of_day(at.day(), UserId(user.into()), agent.into()).await)
}

pub async fn what_is_used_up_is_summed_for_its_day_its_user_and_its_agent(store: Subject) {
    let (mei, ada) = (Actor::new(store.clone(), "mei"), Actor::new(store.clone(), "ada"));
    for (actor, agent, tokens) in [(&mei, "clerk", 9), (&mei, "cook", 19), (&ada, "clerk", 29)] {
        let mut started = start(actor, agent).await;
        let facts = vec![(sent(&started, 1), 0), (sent(&started, 2), 0), (step(tokens, Some(5)), 1_000)];
        // Queued and not waited for: it counts all the same.
        let appended = store.append(batch(actor, &mut started, NOON, facts), Urgency::Soon);
        let used = used_on(&store, NOON, &actor.user.0, agent).await;
        assert!(used.all.calls > 0);
        ok(appended.await);
        let tomorrow = batch(actor, &mut started, NOON.next_day(), vec![(step(99, None), 0)]);
        ok(store.append(tomorrow, Urgency::Now).await);
    }
    let sum = |runs: u64, tokens| Used { cost_nanos: runs * 5, tokens, calls: runs, active_ms: runs * 1_000 };
    let used = used_on(&store, NOON, "mei", "clerk").await;
    assert_eq!(used, DayUsed { user: sum(2, 30), agent: sum(2, 40), all: sum(3, 60) });
    let next = used_on(&store, NOON.next_day(), "mei", "clerk").await;
    assert_eq!((next.user.tokens, next.user.cost_nanos, next.all.tokens), (200, 0, 300));
    assert_eq!(used_on(&store, Timestamp(0), "mei", "clerk").await, DayUsed::default());
    assert_eq!(used_on(&store, NOON, "nobody", "none").await.user, Used::default());
}

pub async fn the_sums_of_a_day_outlive_a_conversation_and_count_nothing_twice(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut started = start(&mei, "clerk").await;
    let first = batch(&mei, &mut started, NOON, vec![(step(9, None), 7)]);
    let again = Append { events: first.events.clone(), ..mei.batch(&mut started, vec![]) };
    ok(store.append(first, Urgency::Now).await);
    ok(store.append(again, Urgency::Now).await);
    let mut absurd = step(u64::MAX, Some(u64::MAX));
    for _ in 0..2 {
        if let Fact::StepFinished { step, .. } = &mut absurd {
            *step += 1;
        }
        ok(store
            .append(batch(&mei, &mut started, NOON.next_day(), vec![(absurd.clone(), 1)]), Urgency::Now)
            .await);
    }
    mei.finish(&mut started, "done").await;
    ok(store
        .delete_conversation(mei.scope(), started.conversation.unwrap_or_else(|| mei.world.conversation_id()))
        .await);
    let used = used_on(&store, NOON, "mei", "clerk").await.user;
    assert_eq!((used.tokens, used.active_ms), (10, 7));
    assert!(used_on(&store, NOON.next_day(), "mei", "clerk").await.all.tokens >= 1 << 52);
}
