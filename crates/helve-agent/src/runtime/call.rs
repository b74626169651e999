//! One tool call without a model: for the command line, on record like any other.

use std::sync::Arc;

use helve_store::{Entry, NewRun, Opened, Place, Recorded, RunJournal};
use helve_tool::{Action, CallContext, Fault, Outcome, Pipeline, Progress, Rule, Rules, Toolbox};
use helve_types::{
    CallId, Ending, Fact, ModelParams, RunInput, RunSetup, RunStarted, RunState, ToolCall, ToolChoice, UserId,
};
use tokio_util::sync::CancellationToken;

use super::{Runtime, StartError};

impl Runtime {
    /// Calls a tool on a person's explicit order, which is the consent it needs where a rule would ask. What the
    /// operator forbids stays forbidden.
    pub async fn call_tool(
        &self,
        user: UserId,
        tool: &str,
        arguments: &str,
        progress: Progress,
    ) -> Result<Outcome, StartError> {
        let shared = &self.shared;
        let world = &shared.world;
        let (run, reply) = (world.run_id(), world.message_id());
        let setup = RunSetup {
            agent: "command line".into(),
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
        let fact = Fact::RunStarted(RunStarted {
            agent: setup.agent.clone(),
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
            setup,
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
        let cx = CallContext {
            run,
            conversation: None,
            message: Some(reply),
            call: call.id.clone(),
            user,
            agent: "command line".into(),
            attempts_before: 0,
            grant: None,
            toolbox: Arc::new(Toolbox::new(shared.catalogue.registry().all())),
            journal: journal.clone(),
            cancel: CancellationToken::new(),
            progress,
            world: world.clone(),
        };
        let Fault::Journal(fault) =
            match Pipeline::new(ordered(&shared.settings.rules)).execute(&call, &cx).await {
                Ok(outcome) => {
                    let end = Fact::RunFinished { ending: Ending::Answered };
                    journal.commit(Entry { state: Some(RunState::Completed), ..end.into() }).await?;
                    return Ok(outcome);
                }
                Err(fault) => fault,
            };
        Err(fault.into())
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
