//! The contract: one story for every store.
//!
//! `store_contract!(make)` turns each scenario into a test of the implementation that `make` creates. The
//! scenarios only use the port, so they say what all stores promise and nothing about how one keeps it.

mod tools;

use std::sync::{Arc, Mutex};

use helve_types::{
    Answer, ApprovalKind, CallId, ConversationId, Effect, Ending, Fact, Failure, FailureKind, Finding,
    Message, Mode, ModelParams, ModelProfile, Question, RunId, RunInput, RunSetup, RunStarted, RunState,
    Spent, StopReason, Timestamp, ToolChoice, ToolOutput, Trail, Usage, UserId, World,
};

use crate::{
    Append, ApprovalFilter, ApprovalState, AuditEntry, CallState, IdempotencyKey, NewRun, Opened, Page,
    Place, Recorded, Scope, Store, StoreError, Token, TokenRights, Urgency, Whole,
};

pub use self::tools::*;

/// Makes one test for each scenario. `$make` is an expression that gives `Arc<dyn Store>`, awaited.
#[macro_export]
macro_rules! store_contract {
    ($make:expr) => {
        $crate::store_contract!(@tests $make,
            a_run_and_the_users_message_are_kept_together,
            a_busy_conversation_refuses_a_second_run_and_names_the_first,
            a_foreign_conversation_is_not_there,
            a_repeated_key_finds_the_first_run,
            a_key_with_another_body_is_refused,
            a_key_is_good_until_its_time_is_up_and_its_run_is_over,
            events_are_read_from_any_point_in_order,
            a_writer_with_an_old_claim_is_fenced_and_changes_nothing,
            a_lost_batch_makes_the_later_ones_fail,
            a_batch_sent_again_keeps_only_what_is_missing,
            events_are_published_after_they_are_kept_and_in_order,
            the_ledger_row_follows_its_facts,
            a_refused_call_says_in_its_row_who_refused,
            an_approval_is_settled_once,
            open_questions_are_withdrawn_when_the_run_ends,
            questions_past_their_time_are_found,
            a_finished_run_leaves_its_answer_and_frees_the_conversation,
            a_claim_gives_all_that_is_needed_to_go_on,
            resumes_are_counted_until_a_step_is_finished,
            what_steps_take_is_summed_for_the_run_and_its_conversation,
            absurd_usage_neither_fails_a_write_nor_overflows,
            nobody_sees_anothers_things,
            conversations_are_listed_latest_first_in_pages,
            a_deleted_conversation_takes_its_runs_with_it,
            the_whole_of_a_large_output_is_kept,
            a_revoked_token_stays_listed_as_revoked,
            a_models_newest_profile_is_the_one_that_is_kept,
            a_tool_is_kept_with_its_next_number_over_the_version_that_was_seen,
            a_deleted_tool_is_gone_but_its_versions_are_not,
            switches_and_changes_of_tools_are_counted,
            a_healthy_store_says_so,
        );
    };
    (@tests $make:expr, $($name:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                $crate::contract::$name($make.await).await;
            }
        )*
    };
}

type Subject = Arc<dyn Store>;

/// A user with a world, who starts runs and appends to them.
pub struct Actor {
    pub store: Subject,
    pub world: World,
    pub user: UserId,
}

/// A run that the actor owns.
pub struct Started {
    pub run: RunId,
    pub epoch: u64,
    pub next_seq: u64,
    pub conversation: Option<ConversationId>,
    pub history: Vec<Message>,
}

impl Actor {
    pub fn new(store: Subject, user: &str) -> Self {
        Self { store, world: World::real(), user: UserId(user.into()) }
    }

    pub fn scope(&self) -> Scope {
        Scope::User(self.user.clone())
    }

    pub fn new_conversation(&self) -> Place {
        Place::NewConversation { id: self.world.conversation_id(), title: "a talk".into() }
    }

    pub fn new_run(&self, place: Place, text: &str) -> NewRun {
        let message = Message::user(self.world.message_id(), self.world.now(), text);
        let started = Fact::RunStarted(RunStarted {
            agent: "default".into(),
            model: "demo".into(),
            conversation: place.conversation(),
            message: Some(message.id),
            reply: self.world.message_id(),
            text: text.into(),
        });
        NewRun {
            run: self.world.run_id(),
            user: self.user.clone(),
            owner: "contract".into(),
            setup: setup(),
            message: place.conversation().map(|_| message),
            place,
            started: Arc::new(Recorded::new(1, self.world.now(), started)),
            key: None,
        }
    }

    pub async fn open(&self, new: NewRun) -> Result<Started, StoreError> {
        let (run, conversation) = (new.run, new.place.conversation());
        match self.store.open_run(new).await? {
            Opened::New { epoch, history } => Ok(Started { run, epoch, next_seq: 2, conversation, history }),
            Opened::Replayed { run } => panic!("run {run} was replayed"),
        }
    }

    pub async fn start(&self, place: Place, text: &str) -> Started {
        match self.open(self.new_run(place, text)).await {
            Ok(started) => started,
            Err(error) => panic!("the run did not start: {error}"),
        }
    }

    pub fn batch(&self, started: &mut Started, facts: Vec<Fact>) -> Append {
        let first = started.next_seq;
        started.next_seq += facts.len() as u64;
        let numbered = facts.into_iter().zip(first..);
        Append {
            run: started.run,
            epoch: started.epoch,
            events: numbered
                .map(|(fact, seq)| Arc::new(Recorded::new(seq, self.world.now(), fact)))
                .collect(),
            state: None,
            message: None,
            wholes: vec![],
            on_commit: None,
        }
    }

    pub async fn append(&self, started: &mut Started, facts: Vec<Fact>) -> Result<(), StoreError> {
        let batch = self.batch(started, facts);
        self.store.append(batch, Urgency::Now).await
    }

    pub async fn finish(&self, started: &mut Started, answer: &str) {
        let mut batch = self.batch(started, vec![Fact::RunFinished { ending: Ending::Answered }]);
        batch.state = Some(RunState::Completed);
        let mut reply = Message::reply(self.world.message_id(), self.world.now(), started.run, "demo");
        reply.parts.push(helve_types::Part::Text { step: 1, text: answer.into() });
        batch.message = Some(reply);
        assert_eq!(self.store.append(batch, Urgency::Now).await, Ok(()));
    }
}

fn setup() -> RunSetup {
    RunSetup {
        agent: "default".into(),
        model: "demo".into(),
        system: String::new(),
        max_steps: 10,
        tool_choice: ToolChoice::Auto,
        tools: vec![],
        client_tools: vec![],
        params: ModelParams::default(),
        variant: None,
        agent_params: ModelParams::default(),
        mode: Some(Mode::Native),
        stream: true,
        input: RunInput::Conversation,
    }
}

fn text(step: u32, text: &str) -> Fact {
    Fact::TextFinished { step, part: helve_types::PartId::new(step, 1, 0), text: text.into() }
}

fn requested(call: &CallId) -> Fact {
    Fact::ToolRequested {
        step: 1,
        call: call.clone(),
        provider_id: Some("call_1".into()),
        tool: "Send-Mail".into(),
        arguments: r#"{"to": "li"}"#.into(),
        part: None,
        replaces: None,
    }
}

fn started(call: &CallId, attempt: u32) -> Fact {
    Fact::ToolStarted {
        call: call.clone(),
        tool: "send_mail".into(),
        version: "v".into(),
        effect: Effect::NonIdempotent,
        attempt,
        arguments: None,
    }
}

fn question(actor: &Actor, call: &CallId, expires_at: Timestamp) -> Question {
    Question {
        approval: actor.world.approval_id(),
        call: call.clone(),
        kind: ApprovalKind::Permission,
        tool: "send_mail".into(),
        arguments: "{}".into(),
        effect: Effect::NonIdempotent,
        because: "it cannot be taken back".into(),
        binding: "hash".into(),
        expires_at,
    }
}

fn answered(question: &Question, answer: Answer) -> Fact {
    Fact::ApprovalAnswered {
        approval: question.approval,
        call: question.call.clone(),
        answer,
        by: "mei".into(),
    }
}

fn ok<T>(result: Result<T, StoreError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("the store failed: {error}"),
    }
}

pub async fn a_run_and_the_users_message_are_kept_together(store: Subject) {
    let mei = Actor::new(store, "mei");
    let run = mei.start(mei.new_conversation(), "hello").await;
    let Some(conversation) = run.conversation else { panic!("no conversation") };

    let messages = ok(mei.store.messages(mei.scope(), conversation).await);
    assert_eq!(messages.iter().map(Message::text).collect::<Vec<_>>(), ["hello"]);
    let row = ok(mei.store.conversation(mei.scope(), conversation).await);
    assert_eq!((row.messages, row.active_run, &*row.title), (1, Some(run.run), "a talk"));
    let record = ok(mei.store.run(mei.scope(), run.run).await);
    assert_eq!((record.state, record.last_seq, record.setup), (RunState::Running, 1, setup()));
    let log = ok(mei.store.events(run.run, 0, 10).await);
    assert_eq!(log[0].event.fact.kind(), "run.started");
}

pub async fn a_busy_conversation_refuses_a_second_run_and_names_the_first(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut first = mei.start(mei.new_conversation(), "one").await;
    let place = || Place::Conversation(first.conversation.unwrap_or_else(|| panic!("no conversation")));

    let refused = mei.open(mei.new_run(place(), "two")).await.err();
    assert_eq!(refused, Some(StoreError::Busy(first.run)));
    let place = place();
    mei.finish(&mut first, "done").await;
    let second = mei.start(place, "two").await;
    assert_eq!(second.history.iter().map(Message::text).collect::<Vec<_>>(), ["one", "done"]);
}

pub async fn a_foreign_conversation_is_not_there(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "secret").await;
    mei.finish(&mut run, "done").await;
    let eve = Actor::new(store, "eve");
    let Some(conversation) = run.conversation else { panic!("no conversation") };
    let refused = eve.open(eve.new_run(Place::Conversation(conversation), "and?")).await.err();
    assert_eq!(refused, Some(StoreError::NotFound("conversation")));
}

fn key(fingerprint: &str) -> Option<IdempotencyKey> {
    Some(IdempotencyKey {
        route: "POST /api/chat".into(),
        key: "k".into(),
        fingerprint: fingerprint.into(),
        expires_at: Timestamp(i64::MAX),
    })
}

pub async fn a_repeated_key_finds_the_first_run(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let first = NewRun { key: key("body"), ..mei.new_run(mei.new_conversation(), "pay") };
    let again = NewRun { key: key("body"), ..mei.new_run(mei.new_conversation(), "pay") };
    let run = ok(mei.open(first).await);
    assert_eq!(mei.store.open_run(again).await, Ok(Opened::Replayed { run: run.run }));
    assert_eq!(ok(mei.store.conversations(mei.scope(), Page::first(9)).await).len(), 1);

    // Another user's key is another key.
    let eve = Actor::new(store, "eve");
    let hers = NewRun { key: key("body"), ..eve.new_run(eve.new_conversation(), "pay") };
    assert!(eve.open(hers).await.is_ok());
}

pub async fn a_key_with_another_body_is_refused(store: Subject) {
    let mei = Actor::new(store, "mei");
    let first = NewRun { key: key("body"), ..mei.new_run(mei.new_conversation(), "pay 1") };
    let other = NewRun { key: key("other"), ..mei.new_run(mei.new_conversation(), "pay 2") };
    ok(mei.open(first).await);
    assert_eq!(mei.store.open_run(other).await, Err(StoreError::KeyReused));
}

pub async fn a_key_is_good_until_its_time_is_up_and_its_run_is_over(store: Subject) {
    let mei = Actor::new(store, "mei");
    let expired = || key("body").map(|key| IdempotencyKey { expires_at: Timestamp(0), ..key });
    let again = async || mei.open(NewRun { key: expired(), ..mei.new_run(Place::Nowhere, "pay") }).await;
    let mut first = ok(again().await);
    let repeated = NewRun { key: expired(), ..mei.new_run(Place::Nowhere, "pay") };
    assert_eq!(mei.store.open_run(repeated).await, Ok(Opened::Replayed { run: first.run }));
    mei.finish(&mut first, "paid").await;
    assert_ne!(ok(again().await).run, first.run);
}

pub async fn events_are_read_from_any_point_in_order(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "count").await;
    for n in 1..=9 {
        ok(mei.append(&mut run, vec![text(n, &n.to_string())]).await);
    }
    let seqs = |log: Vec<Recorded>| log.iter().map(|recorded| recorded.event.seq).collect::<Vec<_>>();
    assert_eq!(seqs(ok(mei.store.events(run.run, 0, 99).await)), (1..=10).collect::<Vec<_>>());
    assert_eq!(seqs(ok(mei.store.events(run.run, 7, 2).await)), [8, 9]);
    assert_eq!(seqs(ok(mei.store.events(run.run, 10, 9).await)), [0; 0]);
    let log = ok(mei.store.events(run.run, 4, 1).await);
    assert_eq!(log[0].event.fact, text(4, "4"));
}

pub async fn a_writer_with_an_old_claim_is_fenced_and_changes_nothing(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut old = mei.start(mei.new_conversation(), "go").await;
    let claimed = ok(mei.store.claim(old.run, "another".into(), false).await);
    assert!(claimed.epoch > old.epoch);

    assert_eq!(mei.append(&mut old, vec![text(1, "late")]).await, Err(StoreError::Fenced(old.run)));
    assert_eq!(ok(mei.store.events(old.run, 0, 9).await).len(), 1);
    let mut new = Started { epoch: claimed.epoch, next_seq: 2, ..old };
    ok(mei.append(&mut new, vec![text(1, "mine")]).await);
}

pub async fn a_lost_batch_makes_the_later_ones_fail(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "go").await;
    let _lost = mei.batch(&mut run, vec![text(1, "lost")]);
    assert_eq!(mei.append(&mut run, vec![text(1, "after")]).await, Err(StoreError::Fenced(run.run)));
    assert_eq!(ok(mei.store.events(run.run, 0, 9).await).len(), 1);
}

pub async fn a_batch_sent_again_keeps_only_what_is_missing(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "go").await;
    let mut again = mei.batch(&mut run, vec![text(1, "one"), text(1, "two")]);
    let first = Append { events: vec![again.events[0].clone()], ..batch_like(&again) };
    let state = Some(RunState::WaitingClient);
    again.state = state;
    ok(mei.store.append(first, Urgency::Now).await);
    ok(mei.store.append(again, Urgency::Now).await);
    assert_eq!(ok(mei.store.events(run.run, 1, 9).await).len(), 2);
    assert_eq!(Some(ok(mei.store.run(mei.scope(), run.run).await).state), state);

    run.next_seq = 2;
    let other = mei.batch(&mut run, vec![text(1, "another"), text(1, "two")]);
    assert_eq!(mei.store.append(other, Urgency::Now).await, Err(StoreError::Fenced(run.run)));
}

fn batch_like(batch: &Append) -> Append {
    Append {
        run: batch.run,
        epoch: batch.epoch,
        events: vec![],
        state: None,
        message: None,
        wholes: vec![],
        on_commit: None,
    }
}

pub async fn events_are_published_after_they_are_kept_and_in_order(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "go").await;
    let published = Arc::new(Mutex::new(Vec::new()));
    let mut receipts = vec![];
    for n in 1..=5 {
        let mut batch = mei.batch(&mut run, vec![text(n, "a"), text(n, "b")]);
        let seen = published.clone();
        batch.on_commit = Some(Box::new(move |events| {
            if let Ok(mut seen) = seen.lock() {
                seen.extend(events.iter().map(|recorded| recorded.event.seq));
            }
        }));
        let urgency = if n % 2 == 0 { Urgency::Now } else { Urgency::Soon };
        receipts.push(mei.store.append(batch, urgency));
    }
    for receipt in receipts {
        ok(receipt.await);
    }
    let seen = published.lock().map(|seen| seen.clone()).unwrap_or_default();
    assert_eq!(seen, (2..=11).collect::<Vec<u64>>());
    assert_eq!(ok(mei.store.events(run.run, 0, 99).await).len(), 11);
}

async fn row(actor: &Actor, run: &Started) -> crate::CallRecord {
    ok(actor.store.calls(run.run).await).pop().unwrap_or_else(|| panic!("no ledger row"))
}

pub async fn the_ledger_row_follows_its_facts(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let call = CallId::new(run.run, 1, 0);

    ok(mei.append(&mut run, vec![requested(&call)]).await);
    let planned = row(&mei, &run).await;
    assert_eq!((planned.state, planned.attempt, &*planned.call.name), (CallState::Planned, 0, "Send-Mail"));
    assert_eq!(planned.call.provider_id.as_deref(), Some("call_1"));
    assert_eq!(planned.call.arguments, r#"{"to": "li"}"#);

    ok(mei.append(&mut run, vec![started(&call, 1)]).await);
    let sent = row(&mei, &run).await;
    assert_eq!((sent.state, sent.attempt, &*sent.call.name), (CallState::Started, 1, "send_mail"));
    assert_eq!(sent.effect, Some(Effect::NonIdempotent));

    let done = Fact::ToolFinished {
        call: call.clone(),
        output: ToolOutput::text("sent"),
        trail: Trail(vec![helve_types::Stage::Run { attempt: 1, ms: 3 }]),
    };
    ok(mei.append(&mut run, vec![done]).await);
    let done = row(&mei, &run).await;
    assert_eq!((done.state, done.trail.0.len()), (CallState::Succeeded, 1));
    assert!(done.ended_at.is_some());
}

pub async fn a_refused_call_says_in_its_row_who_refused(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let cases = [
        (FailureKind::Denied, CallState::Denied),
        (FailureKind::Unanswered, CallState::Expired),
        (FailureKind::UnknownTool, CallState::Failed),
    ];
    for (index, (kind, state)) in (0u32..).zip(cases) {
        let call = CallId::new(run.run, 1, index);
        let refused = Fact::ToolRefused {
            call: call.clone(),
            failure: Failure::new(kind, "no"),
            trail: Trail::default(),
        };
        ok(mei.append(&mut run, vec![requested(&call), refused]).await);
        let rows = ok(mei.store.calls(run.run).await);
        assert_eq!(rows.iter().find(|row| row.call.id == call).map(|row| row.state), Some(state));
    }
}

pub async fn an_approval_is_settled_once(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let call = CallId::new(run.run, 1, 0);
    let asked = question(&mei, &call, Timestamp(i64::MAX));
    ok(mei.append(&mut run, vec![requested(&call), Fact::ApprovalAsked(asked.clone())]).await);
    assert_eq!(row(&mei, &run).await.state, CallState::Asked);
    assert_eq!(ok(mei.store.approvals(mei.scope(), ApprovalFilter::Pending).await).len(), 1);

    let approve = Answer::Approve { arguments: None };
    ok(mei.append(&mut run, vec![answered(&asked, approve.clone())]).await);
    assert_eq!(row(&mei, &run).await.state, CallState::Approved);
    let held = ok(mei.store.approval(mei.scope(), asked.approval).await);
    assert!(matches!(&held.state, ApprovalState::Answered { answer, .. } if *answer == approve));
    assert_eq!(ok(mei.store.approvals(mei.scope(), ApprovalFilter::Pending).await), []);

    let reject = answered(&asked, Answer::Reject { reason: String::new() });
    let second = mei.batch(&mut run, vec![reject]);
    assert_eq!(mei.store.append(second, Urgency::Now).await, Err(StoreError::AlreadyAnswered));
    let all = ApprovalFilter::All(Page::first(9));
    assert_eq!(ok(mei.store.approvals(mei.scope(), all).await), [held]);
}

pub async fn open_questions_are_withdrawn_when_the_run_ends(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let call = CallId::new(run.run, 1, 0);
    let asked = question(&mei, &call, Timestamp(i64::MAX));
    ok(mei.append(&mut run, vec![requested(&call), Fact::ApprovalAsked(asked.clone())]).await);
    mei.finish(&mut run, "stopped").await;
    let held = ok(mei.store.approval(mei.scope(), asked.approval).await);
    assert_eq!(held.state, ApprovalState::Withdrawn);
}

pub async fn questions_past_their_time_are_found(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let call = CallId::new(run.run, 1, 0);
    let asked = question(&mei, &call, Timestamp(1_000));
    ok(mei.append(&mut run, vec![requested(&call), Fact::ApprovalAsked(asked.clone())]).await);
    assert_eq!(ok(mei.store.expired_approvals(Timestamp(999)).await), []);
    let late = ok(mei.store.expired_approvals(Timestamp(1_000)).await);
    assert_eq!(late.iter().map(crate::Approval::id).collect::<Vec<_>>(), [asked.approval]);
}

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

pub async fn a_claim_gives_all_that_is_needed_to_go_on(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut first = mei.start(mei.new_conversation(), "one").await;
    mei.finish(&mut first, "first answer").await;
    let Some(conversation) = first.conversation else { panic!("no conversation") };
    let mut second = mei.start(Place::Conversation(conversation), "two").await;
    ok(mei.append(&mut second, vec![text(1, "so far")]).await);

    let waiting = ok(mei.store.running_runs().await);
    assert_eq!(waiting.iter().map(|record| record.run).collect::<Vec<_>>(), [second.run]);
    let claimed = ok(mei.store.claim(second.run, "again".into(), true).await);
    assert_eq!(claimed.history.iter().map(Message::text).collect::<Vec<_>>(), ["one", "first answer"]);
    assert_eq!(claimed.events.len(), 2);
    assert_eq!(claimed.record.setup, setup());
    assert_eq!(claimed.record.conversation, Some(conversation));
}

pub async fn resumes_are_counted_until_a_step_is_finished(store: Subject) {
    let mei = Actor::new(store, "mei");
    let run = mei.start(mei.new_conversation(), "crash me").await;
    for n in 1..=2 {
        let claimed = ok(mei.store.claim(run.run, "again".into(), true).await);
        assert_eq!(claimed.record.resumes, n);
    }
    let claimed = ok(mei.store.claim(run.run, "answering".into(), false).await);
    assert_eq!(claimed.record.resumes, 2);
    let mut run = Started { epoch: claimed.epoch, ..run };
    let finished = Fact::StepFinished {
        step: 1,
        attempt: 3,
        reason: StopReason::Stop,
        mode: Mode::Native,
        usage: Usage::default(),
        cost_nanos: None,
        model: None,
        echo: None,
    };
    ok(mei.append(&mut run, vec![finished]).await);
    assert_eq!(ok(mei.store.run(mei.scope(), run.run).await).resumes, 0);
}

pub async fn what_steps_take_is_summed_for_the_run_and_its_conversation(store: Subject) {
    let mei = Actor::new(store, "mei");
    let step = |step, cost_nanos| Fact::StepFinished {
        step,
        attempt: 1,
        reason: StopReason::Stop,
        mode: Mode::Native,
        usage: Usage {
            input_tokens: 10,
            output_tokens: 5,
            cached_tokens: 4,
            cache_write_tokens: 2,
            reasoning_tokens: 1,
        },
        cost_nanos,
        model: None,
        echo: None,
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
    ok(mei.append(&mut second, vec![step(1, Some(50)), step(2, None)]).await);

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
    assert_eq!(of_run(second.run).await, steps(2, Some(50)));
    assert_eq!(of_talk().await, steps(4, Some(750)));
    let listed = ok(mei.store.conversations(mei.scope(), Page::first(9)).await);
    assert_eq!(listed[0].spent, steps(4, Some(750)));
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
        echo: None,
    };
    ok(mei.append(&mut run, vec![step(1), step(2)]).await);
    let spent = ok(mei.store.run(mei.scope(), run.run).await).spent;
    assert_eq!((spent.usage.input_tokens, spent.cost_nanos), (Spent::MAX, Some(Spent::MAX)));
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
    assert_eq!(ok(store.runs(eve.clone(), Page::first(9)).await), []);
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
    assert_eq!(ok(store.approvals(eve, ApprovalFilter::Pending).await), []);
    assert!(store.run(Scope::Everyone, run.run).await.is_ok());
}

pub async fn conversations_are_listed_latest_first_in_pages(store: Subject) {
    let mut mei = Actor::new(store, "mei");
    mei.world = World::still();
    let mut ids = vec![];
    for _ in 0..4 {
        mei.world.clock.advance_ms(1_000);
        ids.extend(mei.start(mei.new_conversation(), "hi").await.conversation);
    }
    ids.reverse();
    let page = |offset, limit| Page { offset, limit };
    let listed = |rows: Vec<crate::Conversation>| rows.iter().map(|row| row.id).collect::<Vec<_>>();
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

pub async fn the_whole_of_a_large_output_is_kept(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "read").await;
    let call = CallId::new(run.run, 1, 0);
    let mut batch = mei.batch(&mut run, vec![requested(&call)]);
    batch.wholes.push(Whole { call: call.clone(), text: "long".repeat(1_000) });
    ok(mei.store.append(batch, Urgency::Now).await);
    assert_eq!(ok(mei.store.whole_output(call.clone()).await).len(), 4_000);
    assert_eq!(mei.store.whole_output(call.again()).await, Err(StoreError::NotFound("output")));
}

pub async fn a_revoked_token_stays_listed_as_revoked(store: Subject) {
    let token = Token {
        id: "t1".into(),
        secret_hash: [7; 32],
        user: UserId("mei".into()),
        rights: TokenRights::Admin,
        note: "laptop".into(),
        created_at: Timestamp(1),
        revoked_at: None,
    };
    ok(store.create_token(token.clone()).await);
    assert_eq!(ok(store.tokens().await), std::slice::from_ref(&token));
    ok(store.revoke_token("t1".into(), Timestamp(5)).await);
    assert_eq!(ok(store.tokens().await), [Token { revoked_at: Some(Timestamp(5)), ..token }]);
    assert_eq!(store.revoke_token("t2".into(), Timestamp(5)).await, Err(StoreError::NotFound("token")));
}

pub async fn a_models_newest_profile_is_the_one_that_is_kept(store: Subject) {
    assert!(ok(store.model_profiles().await).is_empty());
    let first = ModelProfile::unknown(Timestamp(1), "llama at http://localhost");
    let newest = ModelProfile { native: Finding::no("it said so"), at: Timestamp(2), ..first.clone() };
    for profile in [&first, &newest] {
        ok(store.keep_model_profile("local".into(), profile.clone()).await);
    }
    assert_eq!(ok(store.model_profiles().await), [("local".to_owned(), newest)]);
}

pub async fn a_healthy_store_says_so(store: Subject) {
    ok(store.check().await);
    let entry = AuditEntry {
        at: Timestamp(1),
        by: "mei".into(),
        action: "breaker.reset".into(),
        detail: "search_web".into(),
    };
    ok(store.audit(entry).await);
    ok(store.close().await);
}
