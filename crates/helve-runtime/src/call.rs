//! One tool call without a model: for the command line and for programs, on record like any other.

mod before;

use std::pin::pin;
use std::sync::Arc;

use helve_agent::{Command, CommandError, call_span};
use helve_store::{Entry, IdempotencyKey, NewRun, Opened, Place, Recorded, RunJournal, StoreError};
use helve_tool::{CallContext, Fault, Outcome, Pipeline, Progress, SkippedGuards};
use helve_types::{
    CallId, Cancelled, Ending, Fact, MessageId, ModelParams, RunId, RunInput, RunSetup, RunStarted, RunState,
    ToolCall, ToolChoice, Trail, UserId, language_of,
};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error_span};

use self::before::came_of;
use crate::order::{Order, Terms};
use crate::slots::DriverSlot;
use crate::{Runtime, Shared, StartError};

/// How a call is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOptions {
    pub order: Order,
    /// Neither answered from the cache nor shared with another call.
    pub skip_cache: bool,
    /// Past the limits of the tool and of the user.
    pub skip_limit: bool,
    /// The same order again finds the call that the first one made.
    pub key: Option<IdempotencyKey>,
    /// Of the HTTP request, for tools that tell it to their servers.
    pub request_id: Option<String>,
}

/// A call that was made, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    pub run: RunId,
    pub call: CallId,
    pub outcome: Outcome,
    /// What each stage decided.
    pub trail: Trail,
    /// The same order had made this call before.
    pub replayed: bool,
}

impl Runtime {
    /// Calls a tool on somebody's explicit order. It comes to its end, and on record, whether or not anybody waits.
    pub async fn call_tool(
        &self,
        user: UserId,
        tool: &str,
        arguments: &str,
        options: CallOptions,
        progress: Progress,
    ) -> Result<Called, StartError> {
        let shared = self.shared.clone();
        if let Some(run) = shared.begun_before(&user, options.key.as_ref()).await? {
            return shared.called_before(run).await;
        }
        shared.must_have_budget(&user, options.order.agent()).await?;
        let pass = shared.admit(&user).await?;
        let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
        let called = async move {
            let _turn = pass;
            let (run, reply) = (shared.env().world.run_id(), shared.env().world.message_id());
            // Before it is on record, so that nobody takes it for one that was left behind.
            let slot = shared.slots.take(run).ok_or(StartError::Closing)?;
            let new = new_run(&shared, run, reply, &user, format!("{tool} {arguments}"), &options);
            let started = new.started.clone();
            let epoch = match shared.env().store.open_run(new).await? {
                Opened::New { epoch, .. } => epoch,
                Opened::Replayed { run } => return shared.called_before(run).await,
            };
            let call = ToolCall {
                id: CallId::new(run, 1, 0),
                provider_id: None,
                name: tool.clone(),
                arguments,
                repairs: vec![],
            };
            let journal = shared.env().journal(run, epoch, 1);
            shared.env().feed(run).publish(&[started]);
            let spans = (error_span!("run", %run), call_span(&call.id, &tool));
            let CallOptions { order, request_id, .. } = options;
            let open = Open { run, reply, user, order, request_id, journal, call };
            let skip = SkippedGuards { cache: options.skip_cache, limit: options.skip_limit };
            let call = open.execute(&shared, slot, skip, progress);
            call.instrument(spans.1).instrument(spans.0).await
        };
        let ended = self.shared.context.tasks.spawn(called.in_current_span()).await;
        ended.unwrap_or_else(|error| {
            Err(StoreError::Unavailable(format!("the call broke down: {error}")).into())
        })
    }
}

/// What is put on record before anything else.
fn new_run(
    shared: &Shared,
    run: RunId,
    reply: MessageId,
    user: &UserId,
    text: String,
    options: &CallOptions,
) -> NewRun {
    let agent = options.order.agent();
    let fact = Fact::RunStarted(RunStarted {
        agent: agent.into(),
        model: String::new(),
        conversation: None,
        message: None,
        reply,
        text,
    });
    NewRun {
        run,
        user: user.clone(),
        owner: shared.owner.clone(),
        setup: RunSetup { request_id: options.request_id.clone(), ..setup(agent) },
        place: Place::Nowhere,
        message: None,
        started: Arc::new(Recorded::new(1, shared.env().world.now(), fact)),
        key: options.key.clone(),
    }
}

/// A run that is one call, and that is on record.
struct Open {
    run: RunId,
    reply: MessageId,
    user: UserId,
    order: Order,
    request_id: Option<String>,
    journal: RunJournal,
    call: ToolCall,
}

impl Open {
    /// What the call is made with.
    fn terms(&self, shared: &Shared, cancel: CancellationToken) -> (Pipeline, CallContext) {
        let terms = Terms::of(shared, self.order, &self.user, &self.call);
        let cx = CallContext {
            run: self.run,
            conversation: None,
            message: Some(self.reply),
            call: self.call.id.clone(),
            user: self.user.clone(),
            agent: self.order.agent().into(),
            request_id: self.request_id.clone(),
            language: language_of(&self.call.arguments),
            attempts_before: 0,
            grant: None,
            // A person orders it: no model has read anything.
            taint: Arc::default(),
            skip: SkippedGuards::default(),
            early: helve_tool::Early::No,
            toolbox: Arc::new(terms.toolbox),
            journal: self.journal.clone(),
            cancel,
            progress: Progress::default(),
            world: shared.env().world.clone(),
        };
        let pipeline = Pipeline::new(terms.rules)
            .with_hooks(shared.env().settings.hooks.clone())
            .with_stand_ins(shared.env().catalogue.registry().clone(), terms.stand_ins);
        (pipeline, cx)
    }

    async fn execute(
        self,
        shared: &Shared,
        (slot, mut commands): (DriverSlot, UnboundedReceiver<Command>),
        skip: SkippedGuards,
        progress: Progress,
    ) -> Result<Called, StartError> {
        let cancel = shared.context.shutdown.halt.child_token();
        let (pipeline, cx) = self.terms(shared, cancel.clone());
        let cx = CallContext { skip, progress, ..cx };
        let Self { run, journal, call, .. } = self;
        let requested = Fact::ToolRequested {
            step: 1,
            call: call.id.clone(),
            provider_id: None,
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            part: None,
            replaces: None,
            repairs: vec![],
        };
        journal.record(requested).await?;
        let mut stopped_by = None;
        let mut executed = pin!(pipeline.execute(&call, &cx));
        let outcome = loop {
            tokio::select! {
                executed = &mut executed => match executed {
                    Ok(outcome) => break outcome,
                    Err(Fault::Journal(error)) => return Err(error.into()),
                },
                Some(command) = commands.recv() => match command {
                    Command::Cancel { by, reply } => {
                        stopped_by.get_or_insert(by);
                        cancel.cancel();
                        _ = reply.send(Ok(()));
                    }
                    other => other.reply(Err(CommandError::NobodyListens)),
                },
            }
        };
        let trail = trail_of(&journal);
        let (end, state) = match stopped_by {
            Some(by) => (Fact::RunCancelled(Cancelled { by }), RunState::Cancelled),
            None => (Fact::RunFinished { ending: Ending::Answered }, RunState::Completed),
        };
        journal.commit(Entry { state: Some(state), ..end.into() }).await?;
        leave(&slot, &mut commands);
        Ok(Called { run, call: call.id.clone(), outcome, trail, replayed: false })
    }
}

/// Nobody who spoke in the last moment is left without an answer.
fn leave(slot: &DriverSlot, commands: &mut UnboundedReceiver<Command>) {
    while !slot.release(commands) {
        while let Ok(command) = commands.try_recv() {
            command.reply(Err(CommandError::Over));
        }
    }
}

fn setup(agent: &str) -> RunSetup {
    RunSetup {
        agent: agent.into(),
        model: String::new(),
        model_is_chosen: false,
        system: String::new(),
        max_steps: 1,
        tool_choice: ToolChoice::None,
        tools: vec![],
        client_tools: vec![],
        params: ModelParams::default(),
        variant: None,
        agent_params: ModelParams::default(),
        mode: None,
        stream: false,
        pre_search: false,
        end_when_refused: false,
        request_id: None,
        input: RunInput::Call,
    }
}

/// What was put on record about the stages.
fn trail_of(journal: &RunJournal) -> Trail {
    let written = journal.take_written();
    let came = written.iter().rev().find_map(|recorded| came_of(&recorded.event.fact));
    came.map(|(_, _, trail)| trail).unwrap_or_default()
}
