//! What users keep besides conversations: files that calls made, and plans of their own.

use helve_types::{CallId, Origin, RunState, Taint, Timestamp, UserId, World};

use super::{Actor, Subject, ok, requested};
use helve_store::{
    FullOutput, KeptFile, PLANS_MAX, Page, PlanBody, PlanChange, PlanRecord, PlanStatus, PlanStep, Scope,
    StoreError, Urgency,
};

fn file(call: &CallId, id: &str, name: &str) -> KeptFile {
    KeptFile {
        id: id.into(),
        call: call.clone(),
        name: name.into(),
        media_type: "image/png".into(),
        bytes: [0, 159, 146, 150].as_slice().into(),
    }
}

pub async fn a_file_is_kept_with_the_facts_it_came_with_and_goes_with_its_conversation(store: Subject) {
    let (mei, eve) = (Actor::new(store.clone(), "mei"), Actor::new(store.clone(), "eve"));
    let mut run = mei.start(mei.new_conversation(), "draw").await;
    let Some(conversation) = run.conversation else { panic!("no conversation") };
    let call = CallId::new(run.run, 1, 0);
    let missing = Err(StoreError::NotFound("file"));

    let mut lost = mei.batch(&mut run, vec![requested(&call)]);
    lost.writer.epoch += 1;
    lost.files.push(file(&call, "aa", "cat.png"));
    assert_eq!(store.append(lost, Urgency::Now).await, Err(StoreError::Fenced(run.run)));
    assert_eq!(store.file(mei.scope(), run.run, "aa".into()).await, missing);

    run.next_seq = 2;
    let mut batch = mei.batch(&mut run, vec![requested(&call)]);
    batch.files.push(file(&call, "aa", "cat.png"));
    ok(store.append(batch, Urgency::Now).await);
    assert_eq!(ok(store.file(mei.scope(), run.run, "aa".into()).await), file(&call, "aa", "cat.png"));
    assert_eq!(ok(store.file(Scope::Everyone, run.run, "aa".into()).await).bytes.len(), 4);
    assert_eq!(store.file(mei.scope(), run.run, "bb".into()).await, missing);
    assert_eq!(store.file(eve.scope(), run.run, "aa".into()).await, missing);
    let other = mei.start(mei.new_conversation(), "another").await;
    assert_eq!(store.file(mei.scope(), other.run, "aa".into()).await, missing);

    mei.finish(&mut run, "done").await;
    ok(store.delete_conversation(mei.scope(), conversation).await);
    assert_eq!(store.file(Scope::Everyone, run.run, "aa".into()).await, missing);
}

pub async fn what_a_user_keeps_is_counted_and_given_back_with_its_conversation(store: Subject) {
    let (mei, eve) = (Actor::new(store.clone(), "mei"), Actor::new(store.clone(), "eve"));
    let of = async |actor: &Actor| ok(store.storage_share_of(actor.user.clone()).await).bytes;
    assert_eq!(of(&mei).await, 0);
    let mut run = mei.start(mei.new_conversation(), &"字".repeat(10_000)).await;
    let Some(conversation) = run.conversation else { panic!("no conversation") };
    let begun = of(&mei).await;
    assert!(begun >= 30_000, "{begun}");
    let call = CallId::new(run.run, 1, 0);
    let mut batch = mei.batch(&mut run, vec![requested(&call)]);
    batch.files.push(KeptFile { bytes: vec![7; 50_000].into(), ..file(&call, "aa", "cat.png") });
    batch.full_outputs.push(FullOutput { call: call.clone(), text: "x".repeat(20_000).into() });
    ok(store.append(batch, Urgency::Now).await);
    let grown = of(&mei).await;
    assert!((70_000..80_000).contains(&(grown - begun)), "{begun} {grown}");
    mei.finish(&mut run, "done").await;
    assert!(of(&mei).await > grown);

    let another = mei.start(mei.new_conversation(), "short").await;
    let both = of(&mei).await;
    ok(store.delete_conversation(mei.scope(), conversation).await);
    let left = of(&mei).await;
    assert!(left > 0 && both - left > 100_000, "{both} {left}");
    assert_eq!(of(&eve).await, 0);
    drop(another);
}

pub async fn runs_that_wait_for_somebody_are_counted_until_they_go_on_or_end(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let waiting = async || ok(store.storage_share_of(mei.user.clone()).await).waiting_runs;
    let mut first = mei.start(mei.new_conversation(), "one").await;
    let mut second = mei.start(mei.new_conversation(), "two").await;
    assert_eq!(waiting().await, 0);
    for (count, run) in [(1, &mut first), (2, &mut second)] {
        let call = CallId::new(run.run, 1, 0);
        let mut batch = mei.batch(run, vec![requested(&call)]);
        batch.state = Some(RunState::WaitingApproval);
        ok(store.append(batch, Urgency::Now).await);
        assert_eq!(waiting().await, count);
    }
    mei.finish(&mut first, "done").await;
    assert_eq!(waiting().await, 1);
    let call = CallId::new(second.run, 1, 1);
    let mut batch = mei.batch(&mut second, vec![requested(&call)]);
    batch.state = Some(RunState::Running);
    ok(store.append(batch, Urgency::Now).await);
    assert_eq!(waiting().await, 0);
}

pub async fn the_same_bytes_are_kept_once(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "draw").await;
    for (index, name) in [(0, "first.png"), (1, "second.png")] {
        let call = CallId::new(run.run, 1, index);
        let mut batch = mei.batch(&mut run, vec![requested(&call)]);
        batch.files.push(file(&call, "aa", name));
        ok(store.append(batch, Urgency::Now).await);
    }
    assert_eq!(ok(store.file(mei.scope(), run.run, "aa".into()).await).name, "first.png");
}

fn plan(title: &str) -> PlanBody {
    let steps =
        vec![PlanStep { text: "pack".into(), done: true }, PlanStep { text: "go".into(), done: false }];
    let page = Origin { source: "read_page".into(), place: Some("blog.test".into()) };
    let taint = Some(Taint { private: vec![], untrusted: vec![page] });
    PlanBody { title: title.into(), content: "by train".into(), steps, status: PlanStatus::Active, taint }
}

pub async fn the_same_call_makes_one_plan_and_changes_it_once(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let run = World::real().run_id();
    let call = |index| CallId::new(run, 1, index);
    for _ in 0..2 {
        let made = ok(store.create_plan(mei.user.clone(), call(0), plan("a trip"), Timestamp(5)).await);
        let expected = PlanRecord {
            number: 1,
            version: 1,
            body: plan("a trip"),
            changed_by: None,
            created_at: Timestamp(5),
            updated_at: Timestamp(5),
        };
        assert_eq!(made, expected);
    }
    let body = PlanBody { status: PlanStatus::Done, ..plan("a trip") };
    for _ in 0..2 {
        let change = PlanChange { number: 1, over: 1, body: body.clone(), by: call(1), at: Timestamp(9) };
        let changed = ok(store.change_plan(mei.user.clone(), change).await);
        assert_eq!((changed.version, &changed.body, changed.changed_by), (2, &body, Some(call(1))));
        assert_eq!((changed.created_at, changed.updated_at), (Timestamp(5), Timestamp(9)));
    }
    // Made again after it was changed, it is found as it is now.
    let found = ok(store.create_plan(mei.user.clone(), call(0), plan("a trip"), Timestamp(11)).await);
    assert_eq!((found.version, found.body), (2, body));
    assert_eq!(ok(store.plans(mei.user.clone(), Page::first(9)).await).len(), 1);
}

pub async fn a_change_made_for_another_version_is_refused(store: Subject) {
    let user = UserId("mei".into());
    let run = World::real().run_id();
    let call = |index| CallId::new(run, 1, index);
    ok(store.create_plan(user.clone(), call(0), plan("a trip"), Timestamp(5)).await);
    let change = |number, over, by| PlanChange { number, over, body: plan("b"), by, at: Timestamp(6) };
    ok(store.change_plan(user.clone(), change(1, 1, call(1))).await);
    let refused = store.change_plan(user.clone(), change(1, 1, call(2))).await;
    assert_eq!(refused, Err(StoreError::Changed(2)));
    let nowhere = store.change_plan(user.clone(), change(2, 1, call(3))).await;
    assert_eq!(nowhere, Err(StoreError::NotFound("plan")));
    assert_eq!(ok(store.plan(user, 1).await).version, 2);
}

pub async fn plans_are_each_users_own_and_the_last_changed_come_first(store: Subject) {
    let (mei, eve) = (UserId("mei".into()), UserId("eve".into()));
    let run = World::real().run_id();
    let call = |index| CallId::new(run, 1, index);
    for index in 0..3 {
        let at = Timestamp(10 + i64::from(index));
        ok(store.create_plan(mei.clone(), call(index), plan("m"), at).await);
    }
    let hers = ok(store.create_plan(eve.clone(), call(9), plan("e"), Timestamp(1)).await);
    assert_eq!(hers.number, 1);
    let change = PlanChange { number: 1, over: 1, body: plan("first"), by: call(5), at: Timestamp(99) };
    ok(store.change_plan(mei.clone(), change).await);
    let numbers = |plans: Vec<PlanRecord>| plans.iter().map(|plan| plan.number).collect::<Vec<_>>();
    assert_eq!(numbers(ok(store.plans(mei.clone(), Page::first(9)).await)), [1, 3, 2]);
    assert_eq!(numbers(ok(store.plans(mei.clone(), Page { offset: 1, limit: 1 }).await)), [3]);
    assert_eq!(numbers(ok(store.plans(eve.clone(), Page::first(9)).await)), [1]);
    assert_eq!(ok(store.plan(eve.clone(), 1).await).body, plan("e"));
    assert_eq!(store.plan(eve, 2).await, Err(StoreError::NotFound("plan")));
}

pub async fn nobody_has_plans_without_end(store: Subject) {
    let user = UserId("mei".into());
    let run = World::real().run_id();
    let make = |index| store.create_plan(user.clone(), CallId::new(run, 1, index), plan("m"), Timestamp(1));
    for index in 0..PLANS_MAX {
        ok(make(index).await);
    }
    assert_eq!(make(PLANS_MAX).await, Err(StoreError::Full("plan")));
    // What was made is found, also when there is no more room.
    assert_eq!(ok(make(PLANS_MAX - 1).await).number, PLANS_MAX);
}
