//! One tool call without a model: for the command line and for programs, on record like any other.

use std::sync::Arc;

use helve_store::{Entry, NewRun, Opened, Place, Recorded, RunJournal, StoreError};
use helve_tool::{CallContext, Fault, Outcome, Pipeline, Progress, Skip};
use helve_types::{
    CallId, Ending, Fact, MessageId, ModelParams, RunId, RunInput, RunSetup, RunStarted, RunState, ToolCall,
    ToolChoice, Trail, UserId,
};
use tracing::{Instrument, Span, error_span};

use super::order::{Order, Terms};
use super::{Runtime, Shared, StartError};

/// Names are what models and callers write: no longer than this in a log.
const NAME_CHARS_MAX: usize = 64;

/// How a call is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallOptions {
    pub order: Order,
    /// Neither answered from the cache nor shared with another call.
    pub skip_cache: bool,
    /// Past the limits of the tool and of the user.
    pub skip_limit: bool,
}

/// A call that was made, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    pub run: RunId,
    pub call: CallId,
    pub outcome: Outcome,
    /// What each stage decided.
    pub trail: Trail,
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
        shared.must_have_budget(&user, options.order.agent()).await?;
        let pass = shared.admit(&user).await?;
        let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
        let called = async move {
            let _turn = pass;
            let open = Open::new(&shared, user, &tool, &arguments, options.order).await?;
            let spans = (error_span!("run", run = %open.run), call_span(&open.call.id, &tool));
            let call = open.execute(&shared, options, progress);
            call.instrument(spans.1).instrument(spans.0).await
        };
        let ended = self.shared.tasks.spawn(called.in_current_span()).await;
        ended.unwrap_or_else(|error| {
            Err(StoreError::Unavailable(format!("the call broke down: {error}")).into())
        })
    }
}

/// What every line about a call names.
pub(crate) fn call_span(call: &CallId, tool: &str) -> Span {
    let tool: String = tool.chars().take(NAME_CHARS_MAX).collect();
    error_span!("call", %call, tool)
}

/// A run that is one call.
struct Open {
    run: RunId,
    user: UserId,
    agent: &'static str,
    reply: MessageId,
    journal: RunJournal,
    call: ToolCall,
}

impl Open {
    /// Puts the run and the call on record.
    async fn new(
        shared: &Shared,
        user: UserId,
        tool: &str,
        arguments: &str,
        order: Order,
    ) -> Result<Self, StartError> {
        let world = &shared.world;
        let (run, reply, agent) = (world.run_id(), world.message_id(), order.agent());
        let fact = Fact::RunStarted(RunStarted {
            agent: agent.into(),
            model: String::new(),
            conversation: None,
            message: None,
            reply,
            text: format!("{tool} {arguments}"),
        });
        let new = NewRun {
            run,
            user: user.clone(),
            owner: shared.owner.clone(),
            setup: setup(agent),
            place: Place::Nowhere,
            message: None,
            started: Arc::new(Recorded::new(1, world.now(), fact)),
            key: None,
        };
        let epoch = match shared.store.open_run(new).await? {
            Opened::New { epoch, .. } => epoch,
            Opened::Replayed { .. } => unreachable!("there is no key to replay"),
        };
        let journal = RunJournal::new(shared.store.clone(), world.clone(), run, epoch, 1, Arc::new(|_| {}));
        let call = ToolCall {
            id: CallId::new(run, 1, 0),
            provider_id: None,
            name: tool.into(),
            arguments: arguments.into(),
        };
        journal.note(Fact::ToolRequested {
            step: 1,
            call: call.id.clone(),
            provider_id: None,
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            part: None,
            replaces: None,
        });
        Ok(Self { run, user, agent, reply, journal, call })
    }

    async fn execute(
        self,
        shared: &Shared,
        options: CallOptions,
        progress: Progress,
    ) -> Result<Called, StartError> {
        let Self { run, user, agent, reply, journal, call } = self;
        let terms = Terms::of(shared, options.order, &user, &call);
        let cx = CallContext {
            run,
            conversation: None,
            message: Some(reply),
            call: call.id.clone(),
            user,
            agent: agent.into(),
            attempts_before: 0,
            grant: None,
            // A person orders it: no model has read anything.
            taint: Arc::default(),
            skip: Skip { cache: options.skip_cache, limit: options.skip_limit },
            toolbox: Arc::new(terms.toolbox),
            journal: journal.clone(),
            cancel: shared.halt.clone(),
            progress,
            world: shared.world.clone(),
        };
        let pipeline = Pipeline::new(terms.rules)
            .with_hooks(shared.settings.hooks.clone())
            .with_stand_ins(shared.catalogue.registry().clone(), terms.stand_ins);
        let outcome = match pipeline.execute(&call, &cx).await {
            Ok(outcome) => outcome,
            Err(Fault::Journal(error)) => return Err(error.into()),
        };
        let trail = trail_of(&journal);
        let end = Fact::RunFinished { ending: Ending::Answered };
        journal.commit(Entry { state: Some(RunState::Completed), ..end.into() }).await?;
        Ok(Called { run, call: call.id, outcome, trail })
    }
}

fn setup(agent: &str) -> RunSetup {
    RunSetup {
        agent: agent.into(),
        model: String::new(),
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
        input: RunInput::Call,
    }
}

/// What was put on record about the stages.
fn trail_of(journal: &RunJournal) -> Trail {
    let written = journal.take_written();
    let trail = written.iter().rev().find_map(|recorded| match &recorded.event.fact {
        Fact::ToolFinished { trail, .. }
        | Fact::ToolFailed { trail, .. }
        | Fact::ToolRefused { trail, .. } => Some(trail.clone()),
        _ => None,
    });
    trail.unwrap_or_default()
}
