//! One tool call without a model: for the command line and for programs, on record like any other.
//!
//! It is a run whose only call is requested before it is driven; the driver does the rest.

use std::sync::Arc;

use futures_util::StreamExt;
use helve_agent::{DirectCall, DriveError, Driver, DriverParts, Follower, Frame, Run, RunTools};
use helve_store::{IdempotencyKey, NewRun, Opened, Place, Recorded, StoreError};
use helve_tool::{Outcome, Pipeline, Progress, SkippedGuards, Unknown};
use helve_types::{
    CallId, Fact, MessageId, ModelParams, RunId, RunInput, RunSetup, RunStarted, ToolCall, ToolChoice, Trail,
    UserId,
};
use tracing::{Instrument, error_span};

use crate::origin::{CallOrigin, CallPermissions};
use crate::{Runtime, Shared, StartError};

/// How a call is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOptions {
    pub origin: CallOrigin,
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
pub struct ToolCallOutcome {
    pub run: RunId,
    pub call: CallId,
    pub outcome: Outcome,
    /// What each stage decided.
    pub trail: Trail,
    /// The same order had made this call before.
    pub replayed: bool,
}

impl Runtime {
    /// Calls a tool directly. The call is recorded and runs to its end with or without a waiting caller.
    pub async fn call_tool(
        &self,
        user: UserId,
        tool: &str,
        arguments: &str,
        options: CallOptions,
        progress: Progress,
    ) -> Result<ToolCallOutcome, StartError> {
        let shared = self.shared.clone();
        if let Some(run) = shared.find_run_of_key(&user, options.key.as_ref()).await? {
            return shared.load_earlier_call(run).await;
        }
        shared.check_user_budget(&user, options.origin.agent_name()).await?;
        let pass = shared.admit_run(&user).await?;
        let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
        let called = async move {
            let env = shared.env();
            let (run, reply) = (env.world.run_id(), env.world.message_id());
            // The slot is taken before the run is recorded, so that recovery does not resume it.
            let (slot, commands) = shared.slots.take_slot(run).ok_or(StartError::Closing)?;
            let new =
                new_direct_call_run(&shared, run, reply, &user, format!("{tool} {arguments}"), &options);
            let (setup, started) = (new.setup.clone(), new.started.clone());
            let epoch = match env.store.open_run(new).await? {
                Opened::New { epoch, .. } => epoch,
                Opened::Replayed { run } => return shared.load_earlier_call(run).await,
            };
            let feed = env.feed_of_run(run);
            feed.publish(std::slice::from_ref(&started));
            let follower = Follower::from_start(env.store.clone(), feed, run);
            let mut machine = Run::new(run, setup, reply, started.event.at);
            machine.apply(started.event.at, &started.event.fact);
            let call = ToolCall {
                id: CallId::new(run, 1, 0),
                provider_id: None,
                name: tool,
                arguments,
                repairs: vec![],
            };
            let span = error_span!("run", %run);
            let tools = shared.tools_for_direct_call(options.origin, &user, &call);
            let journal = env.open_journal(run, epoch, 1, None);
            journal.record(Fact::tool_requested(call)).await?;
            let parts = DriverParts {
                run: machine,
                user,
                conversation: None,
                history: vec![],
                journal,
                tools,
                commands,
                pass: Some(pass),
                hold: None,
                direct: DirectCall {
                    skip: SkippedGuards { cache: options.skip_cache, limit: options.skip_limit },
                    progress,
                },
            };
            let mut driver = Driver::new(&shared.context, parts);
            match Shared::drive_run(slot, &mut driver).instrument(span).await {
                Ok(_) => shared.read_outcome(run, follower).await,
                Err(DriveError::Halted) => Err(StartError::Closing),
                Err(DriveError::Store(error)) => Err(error.into()),
            }
        };
        let ended = self.shared.context.tasks.spawn(called.in_current_span()).await;
        ended.unwrap_or_else(|error| {
            Err(StoreError::Unavailable(format!("the call broke down: {error}")).into())
        })
    }
}

impl Shared {
    /// What a direct call is made with.
    pub(crate) fn tools_for_direct_call(
        &self,
        origin: CallOrigin,
        user: &UserId,
        call: &ToolCall,
    ) -> Arc<RunTools> {
        let CallPermissions { toolbox, rules, stand_ins } =
            CallPermissions::for_call(self, origin, user, call);
        let pipeline = Pipeline::new(rules)
            .with_hooks(self.env().settings.hooks.clone())
            .with_stand_ins(self.env().catalogue.registry().clone(), stand_ins);
        Arc::new(RunTools::for_direct_call(toolbox, Arc::new(pipeline)))
    }

    /// What came of a call that was made before, once it is over.
    async fn load_earlier_call(&self, run: RunId) -> Result<ToolCallOutcome, StartError> {
        let follower = Follower::new(self.env().store.clone(), self.env().feed_of_run(run), run, 0);
        let called = self.read_outcome(run, follower).await?;
        Ok(ToolCallOutcome { replayed: true, ..called })
    }

    /// What came of the call of a run, as its log tells it.
    async fn read_outcome(&self, run: RunId, mut follower: Follower) -> Result<ToolCallOutcome, StartError> {
        let mut came = None;
        while let Some(frame) = follower.next().await {
            let Frame::Event(recorded) = frame? else { continue };
            came = outcome_in_fact(&recorded.event.fact).or(came);
        }
        match came {
            Some((call, outcome, trail)) => {
                Ok(ToolCallOutcome { run, call, outcome, trail, replayed: false })
            }
            None if self.context.shutdown.closing.is_cancelled() => Err(StartError::Closing),
            None => {
                let problem = format!("the call of run {run} has no outcome on record");
                Err(StoreError::Unavailable(problem).into())
            }
        }
    }
}

/// What a fact says has come of a call.
fn outcome_in_fact(fact: &Fact) -> Option<(CallId, Outcome, Trail)> {
    let (call, outcome, trail) = match fact.clone() {
        Fact::ToolFinished { call, output, trail } => (call, Outcome::Finished(output), trail),
        Fact::ToolFailed { call, failure, trail } => (call, Outcome::Failed(failure), trail),
        Fact::ToolRefused { call, failure, trail } => (call, Outcome::Refused(failure), trail),
        Fact::ToolUnknown { call, sent_at, because, request, checked, then, trail, .. } => {
            (call, Outcome::Unknown(Unknown { sent_at, because, request, checked, then }), trail)
        }
        Fact::ToolDelegated { call, tool, arguments, trail } => {
            (call, Outcome::Delegated { tool, arguments: arguments.unwrap_or_default() }, trail)
        }
        Fact::ApprovalAsked(question) => {
            (question.call_id()?.clone(), Outcome::Asked(question), Trail::default())
        }
        _ => return None,
    };
    Some((call, outcome, trail))
}

/// What is put on record before anything else.
fn new_direct_call_run(
    shared: &Shared,
    run: RunId,
    reply: MessageId,
    user: &UserId,
    text: String,
    options: &CallOptions,
) -> NewRun {
    let agent = options.origin.agent_name();
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
        setup: RunSetup { request_id: options.request_id.clone(), ..direct_call_setup(agent) },
        place: Place::Nowhere,
        message: None,
        started: Arc::new(Recorded::new(1, shared.env().world.now(), fact)),
        key: options.key.clone(),
    }
}

fn direct_call_setup(agent: &str) -> RunSetup {
    RunSetup {
        agent: agent.into(),
        model: String::new(),
        agent_version: None,
        fallback_models: vec![],
        model_is_chosen: false,
        system: String::new(),
        max_steps: 1,
        tool_choice: ToolChoice::None,
        tools: vec![],
        skills: vec![],
        client_tools: vec![],
        params: ModelParams::default(),
        variant: None,
        agent_params: ModelParams::default(),
        mode: None,
        stream: false,
        pre_search: false,
        end_when_refused: false,
        language: None,
        request_id: None,
        parent: None,
        woken: 0,
        input: RunInput::Call,
    }
}
