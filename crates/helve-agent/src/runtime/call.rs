//! One tool call without a model: for the command line and for programs, on record like any other.

use std::sync::Arc;

use helve_store::{Entry, NewRun, Opened, Place, Recorded, RunJournal};
use helve_tool::{Action, CallContext, Fault, Outcome, Pipeline, Progress, Rule, Rules, Skip, Toolbox};
use helve_types::{
    CallId, Ending, Fact, MessageId, ModelParams, RunId, RunInput, RunSetup, RunStarted, RunState, ToolCall,
    ToolChoice, UserId,
};
use tokio_util::sync::CancellationToken;

use super::{Runtime, StartError};

/// How the call is made; by default with every guard, and silently.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    pub progress: Progress,
    /// Guards to leave out. Whoever passes this on has seen to it that the caller has the admin right.
    pub skip: Skip,
}

impl From<Progress> for CallOptions {
    fn from(progress: Progress) -> Self {
        Self { progress, ..Self::default() }
    }
}

const AGENT: &str = "command line";

impl Runtime {
    /// Calls a tool on a person's explicit order, which is the consent it needs where a rule would ask. What the
    /// operator forbids stays forbidden.
    pub async fn call_tool(
        &self,
        user: UserId,
        tool: &str,
        arguments: &str,
        options: impl Into<CallOptions>,
    ) -> Result<Outcome, StartError> {
        let (run, reply) = (self.shared.world.run_id(), self.shared.world.message_id());
        let new = self.new_call(run, reply, user.clone(), format!("{tool} {arguments}"));
        let journal = self.open_call(new).await?;
        let call = ToolCall {
            id: CallId::new(run, 1, 0),
            provider_id: None,
            name: tool.into(),
            arguments: arguments.into(),
        };
        journal.note(requested(&call));
        let cx = self.call_context(&call, (run, reply, user), journal.clone(), options.into());
        let operator = &self.shared.settings.rules;
        let plain = Rules::new().with_layer("operator", operator.clone());
        let pipeline = Pipeline::new(ordered(operator))
            .with_hooks(self.shared.settings.hooks.clone())
            .with_stand_ins(self.shared.registry.clone(), plain);
        match pipeline.execute(&call, &cx).await {
            Ok(outcome) => {
                let end = Fact::RunFinished { ending: Ending::Answered };
                journal.commit(Entry { state: Some(RunState::Completed), ..end.into() }).await?;
                Ok(outcome)
            }
            Err(Fault::Journal(error)) => Err(error.into()),
        }
    }

    /// A run that is nothing but the call.
    fn new_call(&self, run: RunId, reply: MessageId, user: UserId, text: String) -> NewRun {
        let setup = RunSetup {
            agent: AGENT.into(),
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
        };
        let began = Fact::RunStarted(RunStarted {
            agent: setup.agent.clone(),
            model: String::new(),
            conversation: None,
            message: None,
            reply,
            text,
        });
        NewRun {
            run,
            user,
            owner: self.shared.owner.clone(),
            setup,
            place: Place::Nowhere,
            message: None,
            started: Arc::new(Recorded::new(1, self.shared.world.now(), began)),
            key: None,
        }
    }

    async fn open_call(&self, new: NewRun) -> Result<RunJournal, StartError> {
        let (run, shared) = (new.run, &self.shared);
        let epoch = match shared.store.open_run(new).await? {
            Opened::New { epoch, .. } => epoch,
            Opened::Replayed { .. } => unreachable!("there is no key to replay"),
        };
        Ok(RunJournal::new(shared.store.clone(), shared.world.clone(), run, epoch, 1, Arc::new(|_| {})))
    }

    fn call_context(
        &self,
        call: &ToolCall,
        (run, reply, user): (RunId, MessageId, UserId),
        journal: RunJournal,
        options: CallOptions,
    ) -> CallContext {
        CallContext {
            run,
            conversation: None,
            message: Some(reply),
            call: call.id.clone(),
            user,
            agent: AGENT.into(),
            attempts_before: 0,
            grant: None,
            skip: options.skip,
            toolbox: Arc::new(Toolbox::new(self.shared.registry.all())),
            journal,
            cancel: CancellationToken::new(),
            progress: options.progress,
            world: self.shared.world.clone(),
        }
    }
}

fn requested(call: &ToolCall) -> Fact {
    Fact::ToolRequested {
        step: 1,
        call: call.id.clone(),
        provider_id: None,
        tool: call.name.clone(),
        arguments: call.arguments.clone(),
        part: None,
        replaces: None,
    }
}

/// The operator's rules for somebody who has decided already: to ask is to allow, and to deny is to deny.
fn ordered(operator: &[Rule]) -> Rules {
    let decided = operator.iter().map(|rule| match rule.action {
        Action::Ask => Rule { action: Action::Allow, ..rule.clone() },
        Action::Allow | Action::Deny => rule.clone(),
    });
    // Where no rule speaks, the effect would ask.
    let allow = Rule {
        tool: None,
        tag: None,
        effect: None,
        agent: None,
        user: None,
        action: Action::Allow,
        because: "ordered on the command line".into(),
    };
    Rules::new().with_layer("operator", decided.collect()).with_layer("command line", vec![allow])
}
