//! The contract: one story for every store.
//!
//! `store_contract!(make)` turns each scenario into a test of the implementation that `make` creates. The
//! scenarios only use the port, so they say what all stores promise and nothing about how one keeps it.

mod access;
mod allowances;
mod audit;
mod belongings;
mod budgets;
mod bus;
mod calls;
mod conversations;
mod executions;
mod journal;
mod opening;
mod people;
mod rows;

use std::sync::Arc;

use helve_store::{Append, NewRun, Opened, Place, Recorded, RunWriter, Scope, Store, StoreError, Urgency};
use helve_types::{
    About, AskedCall, CallId, ConversationId, Effect, Ending, Fact, Message, Mode, ModelParams, Question,
    RunId, RunInput, RunSetup, RunStarted, RunState, Timestamp, ToolChoice, UserId, World,
};

pub use self::access::*;
pub use self::allowances::*;
pub use self::audit::*;
pub use self::belongings::*;
pub use self::budgets::*;
pub use self::bus::*;
pub use self::calls::*;
pub use self::conversations::*;
pub use self::executions::*;
pub use self::journal::*;
pub use self::opening::*;
pub use self::people::*;
pub use self::rows::*;

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
            a_page_of_the_log_ends_with_the_event_that_fills_it,
            a_writer_with_an_old_claim_is_fenced_and_changes_nothing,
            a_lost_batch_makes_the_later_ones_fail,
            a_batch_sent_again_keeps_only_what_is_missing,
            events_are_published_after_they_are_kept_and_in_order,
            what_is_recorded_becomes_durable_though_nobody_waits_for_it,
            what_is_recorded_is_durable_with_the_next_commit_of_any_run,
            the_ledger_row_follows_its_facts,
            the_row_of_a_clients_call_says_who_has_it_and_since_when,
            a_refused_call_says_in_its_row_who_refused,
            a_call_is_found_by_each_thing_that_is_known_of_it,
            a_call_is_found_by_the_state_that_it_is_listed_with,
            the_list_of_calls_goes_on_where_a_page_ended,
            a_call_says_what_became_of_it_and_whose_it_was,
            nobody_finds_anothers_calls,
            it_is_known_when_a_tool_was_sent_to_and_for_whom,
            a_question_of_the_model_holds_its_call_until_the_result_of_its_reply,
            an_approval_is_settled_once,
            open_questions_are_withdrawn_when_the_run_ends,
            questions_past_their_time_are_found,
            open_questions_are_read_by_the_page,
            an_answer_for_always_is_kept_with_it,
            a_consent_is_found_for_its_own_tool_until_its_time_is_up_or_it_is_taken_back,
            a_consent_goes_with_its_conversation_unless_it_reaches_further,
            a_consent_for_a_run_is_in_force_no_longer_than_the_run,
            a_finished_run_leaves_its_answer_and_frees_the_conversation,
            a_claim_gives_all_that_is_needed_to_go_on,
            resumes_are_counted_until_a_step_is_finished_at_its_first_attempt,
            what_steps_take_is_summed_for_the_run_and_its_conversation,
            absurd_usage_neither_fails_a_write_nor_overflows,
            runs_are_found_by_their_state_latest_first,
            the_sums_of_a_day_outlive_a_conversation_and_count_nothing_twice,
            what_is_used_up_is_summed_for_its_day_its_user_and_its_agent,
            nobody_sees_anothers_things,
            conversations_are_listed_latest_first_in_pages,
            a_deleted_conversation_takes_its_runs_with_it,
            the_whole_of_a_large_output_is_kept,
            a_file_is_kept_with_the_facts_it_came_with_and_goes_with_its_conversation,
            the_same_bytes_are_kept_once,
            what_a_user_keeps_is_counted_and_given_back_with_its_conversation,
            runs_that_wait_for_somebody_are_counted_until_they_go_on_or_end,
            the_same_call_makes_one_plan_and_changes_it_once,
            a_change_made_for_another_version_is_refused,
            plans_are_each_users_own_and_the_last_changed_come_first,
            nobody_has_plans_without_end,
            a_revoked_token_stays_listed_as_revoked,
            an_ended_session_is_kept_and_of_one_token_the_last_hundred,
            an_installation_has_one_key,
            a_user_is_read_as_it_was_saved_and_each_change_counts,
            an_identity_is_one_users_until_it_is_given_up,
            a_deleted_user_leaves_no_tokens_sessions_or_memberships,
            a_group_is_read_as_it_was_saved_and_deleted_with_its_memberships,
            sessions_end_one_by_one_by_user_and_by_what_the_provider_knows,
            of_a_users_sessions_the_last_are_kept_and_expired_ones_go,
            a_users_sessions_end_with_a_change_that_says_so,
            a_models_newest_profile_is_the_one_that_is_kept,
            a_row_gets_the_next_number_if_it_was_changed_at_the_version_that_was_seen,
            of_rows_that_are_saved_together_all_are_saved_or_none,
            a_deleted_row_keeps_its_versions_and_its_numbers,
            rows_of_two_kinds_share_nothing_but_their_names,
            every_change_of_a_kind_is_counted_and_a_refused_one_is_not,
            the_last_offer_about_a_row_is_kept_beside_it_until_it_is_deleted,
            an_offer_is_accepted_together_with_the_new_version_or_not_at_all,
            the_offer_about_a_row_is_deleted_with_it,
            a_row_is_saved_together_with_its_grants_or_not_at_all,
            a_grant_is_there_until_it_or_its_row_is_deleted,
            a_file_that_a_definition_names_is_kept_once_under_its_hash,
            every_subscriber_is_woken_by_a_change_of_rows_and_of_tokens,
            entries_of_the_audit_log_are_a_chain_in_which_people_are_pseudonyms,
            an_entry_is_found_by_each_thing_that_is_known_of_it,
            a_person_is_forgotten_and_the_chain_stays_whole,
            tokens_sessions_and_answers_leave_their_entries_and_refused_ones_none,
            a_healthy_store_says_so,
        );
    };
    (@tests $make:expr, $($name:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                $crate::$name($make.await).await;
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
        let events = numbered.map(|(fact, seq)| Arc::new(Recorded::new(seq, self.world.now(), fact)));
        let writer = RunWriter { run: started.run, epoch: started.epoch, on_commit: None };
        Append::from(events.collect::<Vec<_>>()).for_writer(writer)
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
        agent_version: None,
        fallback_models: vec![],
        model_is_chosen: false,
        system: String::new(),
        max_steps: 10,
        tool_choice: ToolChoice::Auto,
        tools: vec![],
        skills: vec![],
        client_tools: vec![],
        params: ModelParams::default(),
        variant: None,
        agent_params: ModelParams::default(),
        mode: Some(Mode::Native),
        stream: true,
        pre_search: false,
        end_when_refused: false,
        language: None,
        request_id: None,
        parent: None,
        woken: 0,
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
        repairs: vec![],
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
        instead: None,
    }
}

fn question(actor: &Actor, call: &CallId, expires_at: Timestamp) -> Question {
    Question {
        approval: actor.world.approval_id(),
        about: About::Permission {
            call: Box::new(AskedCall {
                id: call.clone(),
                tool: "send_mail".into(),
                version: "v1".into(),
                arguments: "{}".into(),
                request: None,
                effect: Effect::NonIdempotent,
                warnings: vec![],
                cautions: vec![],
            }),
            repeats: false,
        },
        because: "it cannot be taken back".into(),
        reasons: vec![],
        approvers: None,
        binding: "hash".into(),
        expires_at,
        asker: None,
    }
}

fn ok<T>(result: Result<T, StoreError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("the store failed: {error}"),
    }
}
