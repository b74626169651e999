//! Starting a run: what was asked for, made definite, and on record before anything happens.

use std::collections::BTreeSet;
use std::sync::Arc;

use helve_agent::{
    Agent, AgentError, AgentSettings, DirectCall, Driver, DriverParts, Follower, ListedAgent, Run, RunTools,
    skills_prompt,
};
use helve_guard::AdmissionPermit;
use helve_model::fleet::prompt_mode::{find_profile, join_prompts};
use helve_model::fleet::{ChooseError, ModelChoice, choose_model, format_names};
use helve_store::{IdempotencyKey, NewRun, Opened, Place, Recorded, StoreError};
use helve_tool::{Registered, RegistryError};
use helve_types::{
    ChatMessage, ChatRole, ConversationId, Fact, Message, MessageId, Mode, ModelParams, ParentCall, Reason,
    RunId, RunInput, RunSetup, RunStarted, Timestamp, ToolChoice, ToolSpec, UserId,
};

use crate::Runtime;

const TITLE_CHARS_MAX: usize = 60;

#[derive(Debug, Clone)]
pub struct StartRequest {
    pub user: UserId,
    /// The default agent if none is named.
    pub agent: Option<String>,
    /// Whether the agent's draft is to be tried, in place of the agent itself.
    pub draft: bool,
    /// The agent's model, or the default, if none is named; `name:variant` names a variant of it too.
    pub model: Option<String>,
    pub variant: Option<String>,
    pub input: StartInput,
    /// Tools that the client will run itself.
    pub client_tools: Vec<ToolSpec>,
    pub tool_choice: ToolChoice,
    pub params: ModelParams,
    /// Added to the agent's system prompt.
    pub system: Option<String>,
    /// Tools of the agent that this run does without.
    pub without_tools: BTreeSet<String>,
    /// Whether the web is searched for what is said before the model is first asked; if not said, as the agent or else the
    /// model has it.
    pub pre_search: Option<bool>,
    /// Overrides how the model calls tools.
    pub mode: Option<Mode>,
    /// Whether a client streams the answer.
    pub stream: bool,
    /// Of the HTTP request, for tools that tell it to their servers.
    pub request_id: Option<String>,
    /// How often in a row the conversation went on because work in the background had ended.
    pub woken: u32,
    pub key: Option<IdempotencyKey>,
}

impl StartRequest {
    pub fn new(user: UserId, input: StartInput) -> Self {
        Self {
            user,
            agent: None,
            draft: false,
            model: None,
            variant: None,
            input,
            client_tools: vec![],
            tool_choice: ToolChoice::Auto,
            params: ModelParams::default(),
            system: None,
            without_tools: BTreeSet::new(),
            pre_search: None,
            mode: None,
            stream: true,
            request_id: None,
            woken: 0,
            key: None,
        }
    }
}

#[derive(Debug, Clone)]
pub enum StartInput {
    /// The server keeps the conversation; a new one begins where none is named.
    Message { conversation: Option<ConversationId>, text: String },
    /// The client keeps it and sends all of it.
    Client { messages: Vec<ChatMessage> },
    /// Another run gives a task to this one, which is known by its id before it is opened.
    Task { run: RunId, text: String, parent: Box<ParentCall> },
}

/// A request that was made definite.
pub(crate) struct RunPlan {
    agent: Arc<Agent>,
    tools: Arc<RunTools>,
    request: StartRequest,
    /// The model, and what is said.
    definite: (ModelChoice, String),
}

pub struct StartedRun {
    pub run: RunId,
    pub conversation: Option<ConversationId>,
    /// The same request had started this run before.
    pub replayed: bool,
    pub follower: Follower,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("there is no agent `{name}`; the agents are: {known}")]
    UnknownAgent { name: String, known: String },

    #[error("the agent `{0}` is switched off")]
    AgentDisabled(String),

    #[error("there is no draft of the agent `{0}`")]
    UnknownDraft(String),

    #[error("the agent `{name}` cannot be used: {problem}")]
    AgentUnusable { name: String, problem: String },

    #[error(transparent)]
    Model(#[from] ChooseError),

    #[error("there is no prompt profile `{0}`")]
    UnknownProfile(String),

    #[error("a call of `{name}` is required, but there is no such tool; the tools are: {known}")]
    UnknownTool { name: String, known: String },

    #[error("the message is empty")]
    Empty,

    #[error(transparent)]
    Tool(#[from] RegistryError),

    #[error(
        "you have as many runs at work and waiting as one user may have; wait until one has ended, or try again later"
    )]
    ShareTaken { after_s: u32 },

    #[error("the server has as many runs as it can take, and more of them waiting; try again later")]
    Full { after_s: u32 },

    #[error("the disk of the server is almost full, so nothing new is begun; make room there")]
    StorageFull,

    #[error(
        "{waiting} of your runs wait for a person or a client, and one user may have {max}; answer or stop some of them \
         (`GET /api/approvals`, `GET /api/runs`), or let the operator raise `waiting_runs_per_user_max` in [limits]"
    )]
    TooManyWaiting { waiting: u64, max: u64 },

    #[error(
        "your conversations, outputs and files take up {bytes} bytes, and one user may keep {max}; delete conversations \
         (`DELETE /api/conversations/{{conversation}}`), or let the operator raise `stored_bytes_per_user_max` in [limits]"
    )]
    UserStorageFull { bytes: u64, max: u64 },

    #[error("{}; there is more from the next day on, which begins at midnight UTC", because.text)]
    BudgetSpent { because: Box<Reason>, renews_at: Timestamp, after_s: u32 },

    #[error("the server is going down; try again in a moment")]
    Closing,

    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Runtime {
    /// Starts a run; it is recorded, and goes on with or without a follower.
    pub async fn start_run(&self, request: StartRequest) -> Result<StartedRun, StartError> {
        let shared = &self.shared;
        if let Some(run) = shared.find_run_of_key(&request.user, request.key.as_ref()).await? {
            return self.open_replayed(run).await;
        }
        let plan = self.plan_run(request).await?;
        shared.check_user_budget(&plan.request.user, &plan.agent.settings.name).await?;
        // In front of the record: what is on record is never refused.
        let pass = shared.admit_run(&plan.request.user).await?;
        self.open_run(plan, Some(pass)).await
    }

    /// Makes a request definite: which agent, tools and model are meant.
    pub(crate) async fn plan_run(&self, mut request: StartRequest) -> Result<RunPlan, StartError> {
        let agent = self.find_usable_agent(&request)?;
        let tools = self.tools_for_run(&agent, &request).await?;
        check_tool_choice(&request.tool_choice, &tools)?;
        let definite = self.choose_model_and_text(&agent.settings, &request)?;
        request.mode = request.mode.map(|mode| self.resolve_mode(mode)).transpose()?;
        Ok(RunPlan { agent, tools, request, definite })
    }

    /// Puts a run on record and lets a driver work on it. A run without a permit waits for its turn before it works.
    pub(crate) async fn open_run(
        &self,
        plan: RunPlan,
        pass: Option<AdmissionPermit>,
    ) -> Result<StartedRun, StartError> {
        let shared = &self.shared;
        let RunPlan { agent, tools, request, definite } = plan;
        let (new, reply) = self.build_new_run(&agent, &tools, request, definite);
        let (run, user, setup, started) = (new.run, new.user.clone(), new.setup.clone(), new.started.clone());
        let conversation = new.place.conversation();
        // The slot is taken before the run is recorded, so that recovery does not resume it.
        let (slot, commands) = shared.slots.take_slot(run).ok_or(StartError::Closing)?;

        let world = &shared.env().world;
        world.failpoint("run.before_open");
        let (epoch, history) = match shared.env().store.open_run(new).await? {
            Opened::New { epoch, history } => (epoch, history),
            Opened::Replayed { run } => return self.open_replayed(run).await,
        };
        world.failpoint("run.after_open");
        shared.env().run_counters.count_started();

        let feed = shared.env().feed_of_run(run);
        feed.publish(std::slice::from_ref(&started));
        let follower = Follower::from_start(shared.env().store.clone(), feed, run);
        let mut machine = Run::new(run, setup, reply, started.event.at);
        machine.apply(started.event.at, &started.event.fact);
        let parent = machine.setup().parent.clone();
        let journal = shared.env().open_journal(run, epoch, 1, parent.as_deref());
        let parts = DriverParts {
            run: machine,
            user,
            conversation,
            history,
            journal,
            tools,
            commands,
            pass,
            hold: None,
            direct: DirectCall::default(),
        };
        shared.spawn_driver(slot, Driver::new(&shared.context, parts));
        Ok(StartedRun { run, conversation, replayed: false, follower })
    }

    /// Which model is meant and what is said, if the request makes sense.
    fn choose_model_and_text(
        &self,
        agent: &AgentSettings,
        request: &StartRequest,
    ) -> Result<(ModelChoice, String), StartError> {
        let chosen = self.choose_model_for_run(agent, request)?;
        let text = text_of_input(&request.input).ok_or(StartError::Empty)?;
        if request.model.is_some() {
            self.shared.context.models.record_last_model(&request.user, &chosen.model, true);
        }
        Ok((chosen, text))
    }

    /// Everything that will hold for the run, with the fact that it began, and the id of the message that it will write.
    fn build_new_run(
        &self,
        agent: &Agent,
        tools: &RunTools,
        request: StartRequest,
        (ModelChoice { model, variant }, text): (ModelChoice, String),
    ) -> (NewRun, MessageId) {
        let world = &self.shared.env().world;
        let settings = &agent.settings;
        let now = world.now();
        let reply = world.message_id();
        let (mut parent, mut run) = (None, None);
        let (place, message, input) = match request.input {
            StartInput::Task { run: id, parent: call, .. } => {
                (run, parent) = (Some(id), Some(call));
                (Place::Nowhere, None, RunInput::Conversation)
            }
            StartInput::Message { conversation, .. } => {
                let place = match conversation {
                    Some(id) => Place::Conversation(id),
                    None => {
                        Place::NewConversation { id: world.conversation_id(), title: title_from_text(&text) }
                    }
                };
                let message = Message::user(world.message_id(), now, text.clone());
                (place, Some(message), RunInput::Conversation)
            }
            StartInput::Client { messages } => (Place::Nowhere, None, RunInput::Client { messages }),
        };
        let run = run.unwrap_or_else(|| world.run_id());
        let began = Fact::RunStarted(RunStarted {
            agent: settings.name.clone(),
            model: model.clone(),
            conversation: place.conversation(),
            message: message.as_ref().map(|message| message.id),
            reply,
            text,
        });
        let may_search = request.tool_choice != ToolChoice::None && tools.can_pre_search();
        let pre_search = may_search && self.wants_pre_search(settings, &model, request.pre_search);
        let setup = RunSetup {
            agent: settings.name.clone(),
            agent_version: agent.version.clone(),
            model,
            // A model that the request names has its own.
            fallback_models: if request.model.is_some() { vec![] } else { settings.fallback_models.clone() },
            model_is_chosen: request.model.is_some(),
            system: build_system_prompt(settings, tools, request.system.as_deref()),
            max_steps: settings.max_steps,
            tool_choice: request.tool_choice,
            tools: tools.pinned_tools(),
            skills: tools.toolbox.skills().to_pinned(),
            client_tools: request.client_tools,
            params: request.params,
            variant,
            agent_params: settings.params.clone(),
            mode: request.mode,
            stream: request.stream,
            pre_search,
            end_when_refused: settings.end_when_refused,
            language: settings.spoken_language(),
            request_id: request.request_id,
            parent,
            woken: request.woken,
            input,
        };
        let new = NewRun {
            run,
            user: request.user,
            owner: self.shared.owner.clone(),
            setup,
            place,
            message,
            started: Arc::new(Recorded::new(1, now, began)),
            key: request.key,
        };
        (new, reply)
    }

    async fn open_replayed(&self, run: RunId) -> Result<StartedRun, StartError> {
        let record = self.shared.env().store.run(helve_store::Scope::Everyone, run).await?;
        let follower = self.follow_run(run, 0);
        Ok(StartedRun { run, conversation: record.conversation, replayed: true, follower })
    }

    /// The agent of the request, or the default one, if the user may use it. To others it does not exist.
    fn find_usable_agent(&self, request: &StartRequest) -> Result<Arc<Agent>, StartError> {
        let agents = &self.shared.env().agents;
        let unknown = |name: &str| {
            let known = agents.enabled_agents();
            let known = known.iter().filter(|agent| agent.admits(&request.user));
            let known = format_names(known.map(|agent| agent.settings.name.as_str()));
            StartError::UnknownAgent { name: name.to_owned(), known }
        };
        let Some(address) = request.agent.as_deref() else {
            let agent = agents.default_agent().filter(|agent| agent.admits(&request.user));
            return agent.ok_or_else(|| unknown("default"));
        };
        let listed = agents.get(address);
        if request.draft && listed.is_some() {
            return agents.draft_agent(address).map_err(|error| match error {
                AgentError::MissingDraft(name) | AgentError::Configured(name) => {
                    StartError::UnknownDraft(name)
                }
                other => StartError::AgentUnusable { name: address.into(), problem: other.to_string() },
            });
        }
        match listed {
            Some(listed) if listed.agent.as_ref().is_some_and(|agent| !agent.admits(&request.user)) => {
                Err(unknown(address))
            }
            Some(listed) if !listed.is_enabled() => Err(StartError::AgentDisabled(listed.name().into())),
            Some(ListedAgent { agent: Some(agent), problem: None, .. }) => Ok(agent),
            Some(listed) => Err(StartError::AgentUnusable {
                name: listed.name().into(),
                problem: listed.problem.unwrap_or_default(),
            }),
            None => Err(unknown(address)),
        }
    }

    /// The model of the request, of its agent, or the user's default. A request that names only a variant means one of the
    /// model that it would get anyway.
    fn choose_model_for_run(
        &self,
        agent: &AgentSettings,
        request: &StartRequest,
    ) -> Result<ModelChoice, StartError> {
        let models = &self.shared.context.models;
        let variant = request.variant.as_deref();
        if let Some(name) = request.model.as_deref() {
            return Ok(choose_model(models, name, variant)?);
        }
        let own = agent.model.clone().unwrap_or_else(|| models.default_for_user(&request.user));
        let own = choose_model(models, &own, None)?;
        if variant.is_some() { Ok(choose_model(models, &own.model, variant)?) } else { Ok(own) }
    }

    /// Whether the web is to be searched first: as the request says, or else the agent, or else the model.
    fn wants_pre_search(&self, agent: &AgentSettings, model: &str, asked: Option<bool>) -> bool {
        let of_model = || self.shared.context.models.options(model)?.pre_search;
        asked.or(agent.pre_search).or_else(of_model).unwrap_or_default()
    }

    /// The mode with the profile's own name, by which it is kept and looked up from here on.
    fn resolve_mode(&self, mode: Mode) -> Result<Mode, StartError> {
        let Mode::Prompt(name) = &mode else { return Ok(mode) };
        let profile = find_profile(&mode, &self.shared.env().settings.profiles);
        let profile = profile.ok_or_else(|| StartError::UnknownProfile(name.clone()))?;
        Ok(Mode::Prompt(profile.name().into()))
    }

    async fn tools_for_run(
        &self,
        agent: &Agent,
        request: &StartRequest,
    ) -> Result<Arc<RunTools>, StartError> {
        let subagents = self.agents().subagent_tools(agent, &request.user);
        let plain =
            agent.tools_for_user(self.registry(), self.skills(), &request.user).with_more(subagents, agent);
        if request.client_tools.is_empty() && request.without_tools.is_empty() {
            return Ok(plain);
        }
        let mut tools: Vec<Arc<Registered>> = plain.toolbox.tools().to_vec();
        tools.retain(|tool| !request.without_tools.contains(&tool.spec().name));
        for tool in agent.build_client_tools(&request.client_tools, &request.user).await {
            tools.push(tool?);
        }
        Ok(Arc::new(RunTools::new(tools, plain.toolbox.skills().clone(), agent)))
    }
}

/// The agent's own prompt, then its skills, then what the request adds: what changes most is last, so that prompt caches
/// hit.
fn build_system_prompt(agent: &AgentSettings, tools: &RunTools, added: Option<&str>) -> String {
    // The language of one message would change the prompt from run to run.
    let skills = skills_prompt(tools.toolbox.skills(), agent.spoken_language().unwrap_or_default());
    join_prompts(&join_prompts(&agent.system, &skills), added.unwrap_or_default())
}

/// A tool that must be called has to be there.
fn check_tool_choice(choice: &ToolChoice, tools: &RunTools) -> Result<(), StartError> {
    match choice {
        ToolChoice::Named(name) if tools.toolbox.find(name).is_none() => Err(StartError::UnknownTool {
            name: name.clone(),
            known: format_names(tools.toolbox.specs().map(|spec| spec.name.as_str())),
        }),
        _ => Ok(()),
    }
}

/// What the person said, if anything.
fn text_of_input(input: &StartInput) -> Option<String> {
    let text = match input {
        StartInput::Message { text, .. } | StartInput::Task { text, .. } => text,
        StartInput::Client { messages } => {
            let last = messages.iter().rev().find(|message| message.role == ChatRole::User);
            &last.or(messages.last())?.content
        }
    };
    (!text.trim().is_empty()).then(|| text.clone())
}

/// A conversation is called by its first words until a person gives it a name.
fn title_from_text(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut title: String = line.chars().take(TITLE_CHARS_MAX).collect();
    if line.chars().count() > TITLE_CHARS_MAX {
        title.push('…');
    }
    title
}
