//! Agents by name, and the tools each may use.

mod catalogue;
mod check;
mod kind;
mod subagent;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use helve_model::fleet::Forms;
use helve_store::PeopleDirectory;
use helve_tool::{
    CallAccess, Hooks, LOAD_SKILL, Pipeline, Registered, Registry, RegistryError, Rule, Rules, RunSkills,
    SEARCH_WEB, Toolbox, is_skill_tool, matches_wildcard,
};
use helve_types::{
    AgentSubagent, AgentTexts, AgentToolConfig, Language, ModelParams, PinnedTool, ToolSpec, UserId,
};

pub use self::catalogue::{
    AgentCatalogue, AgentChange, AgentError, AgentImport, AgentImportError, ComparedVersion, ListedAgent,
    VersionPair, agent_differences,
};
pub(crate) use self::check::build_limits;
use self::check::subagent_rules;
pub use self::check::{check_budget, read_agent};
pub use self::kind::{AgentDraftKind, AgentDraftRow, AgentRow, AgentRowKind};
use crate::budget::Limits;
use crate::skills::SkillCatalogue;

/// Stands for all skills in the list of an agent's skills.
pub const ALL_SKILLS: &str = "*";

/// What an agent is, as the operator wrote it down or as its row says.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    pub name: String,
    /// The model it uses unless a request names another.
    pub model: Option<String>,
    /// The models that answer in its place; the model's own if empty.
    pub fallback_models: Vec<String>,
    pub system: String,
    pub max_steps: u32,
    /// The tools it may use; none given means all.
    pub tools: Option<Vec<String>>,
    /// Tools that it does without, whatever `tools` says.
    pub without_tools: Vec<String>,
    /// The skills it may load; `*` means all.
    pub skills: Vec<String>,
    /// The agents that it can give tasks to.
    pub subagents: Vec<AgentSubagent>,
    pub params: ModelParams,
    /// Whether the web is searched before the model is first asked, where the request does not say so.
    pub pre_search: Option<bool>,
    pub permissions: Vec<Rule>,
    /// Whether a run ends when a person refuses one of its calls; otherwise the model is told and the run continues.
    pub end_when_refused: bool,
    /// What each of its runs may use up, where that is not what all runs may.
    pub budget: Limits,
    /// How it has single tools, where that is not as they are.
    pub links: BTreeMap<String, AgentToolConfig>,
    /// Who may use it; everybody if nobody is named. `*` stands for any run of characters.
    pub users: Vec<String>,
    /// The groups whose members may use it too.
    pub groups: Vec<String>,
    /// The language that it speaks with people, such as `zh-CN`; that of the conversation if not given.
    pub language: Option<String>,
    /// What people read who choose an agent.
    pub texts: AgentTexts,
    /// The same in other languages.
    pub translations: BTreeMap<String, AgentTexts>,
}

impl AgentSettings {
    /// The language of Helve's own words in its conversations, if it is one that Helve speaks.
    pub fn spoken_language(&self) -> Option<Language> {
        let tag = self.language.as_deref()?.to_ascii_lowercase();
        match tag.split(['-', '_']).next() {
            Some("zh") => Some(Language::Chinese),
            Some("en") => Some(Language::English),
            _ => None,
        }
    }
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            name: "default".into(),
            model: None,
            fallback_models: vec![],
            system: String::new(),
            max_steps: 10,
            tools: None,
            without_tools: vec![],
            skills: vec![ALL_SKILLS.into()],
            subagents: vec![],
            params: ModelParams::default(),
            pre_search: None,
            permissions: vec![],
            end_when_refused: false,
            budget: Limits::default(),
            links: BTreeMap::new(),
            users: vec![],
            groups: vec![],
            language: None,
            texts: AgentTexts::default(),
            translations: BTreeMap::new(),
        }
    }
}

/// An agent ready for use.
pub struct Agent {
    pub settings: AgentSettings,
    /// The hash of its definition, if it is a row.
    pub version: Option<String>,
    /// Under which name its tools hold the guards that it has of its own.
    guards_name: String,
    pub pipeline: Arc<Pipeline>,
    people: PeopleDirectory,
    /// The tools of a run without extras, and the generations of the registry and of the skills that they are from.
    tools: Mutex<Option<((u64, u64), Arc<RunTools>)>>,
}

/// The tools of a run, in every form that is needed.
pub struct RunTools {
    pub toolbox: Arc<Toolbox>,
    /// As far as reading a model's text needs them.
    pub words: helve_dialect::Tools,
    /// What answers that call them have to look like.
    pub forms: Forms,
    /// What every call passes.
    pub pipeline: Arc<Pipeline>,
    /// What the agent lets one run use up.
    pub budget: Limits,
    /// Who may use the agent.
    pub audience: Audience,
}

/// Who may use an agent: everybody if nobody is named.
#[derive(Debug, Clone, Default)]
pub struct Audience {
    users: Vec<String>,
    groups: Vec<String>,
}

impl Audience {
    pub fn admits(&self, user: &UserId, groups: &BTreeSet<String>) -> bool {
        let Self { users, groups: admitted } = self;
        let in_group = |pattern: &String| groups.iter().any(|group| matches_wildcard(pattern, group));
        (users.is_empty() && admitted.is_empty())
            || users.iter().any(|pattern| matches_wildcard(pattern, &user.0))
            || admitted.iter().any(in_group)
    }
}

impl RunTools {
    /// A run has its tools for skills if it has skills, and its skills if it has a tool that loads them.
    pub fn new(tools: impl IntoIterator<Item = Arc<Registered>>, skills: RunSkills, agent: &Agent) -> Self {
        let (pipeline, budget) = (agent.pipeline.clone(), agent.settings.budget);
        let mut tools: Vec<_> = tools.into_iter().collect();
        let can_load = tools.iter().any(|tool| tool.spec().name == LOAD_SKILL);
        let skills = if can_load { skills } else { RunSkills::default() };
        if skills.is_empty() {
            tools.retain(|tool| tool.spec().client || !is_skill_tool(&tool.spec().name));
        }
        let toolbox = Toolbox::new(tools).with_skills(skills);
        let words = toolbox.specs().map(|spec| (spec.name.clone(), spec.parameters.clone()));
        let words = helve_dialect::Tools::new(words);
        let (toolbox, forms) = (Arc::new(toolbox), Forms::default());
        Self { words, toolbox, forms, pipeline, budget, audience: agent.audience() }
    }

    /// For a call without a model: nothing is read in a model's text.
    pub fn for_direct_call(toolbox: Toolbox, pipeline: Arc<Pipeline>) -> Self {
        let words = helve_dialect::Tools::new([]);
        let (toolbox, forms) = (Arc::new(toolbox), Forms::default());
        let (budget, audience) = (Limits::default(), Audience::default());
        Self { toolbox, words, forms, pipeline, budget, audience }
    }

    /// The same with tools that no registry knows.
    #[must_use]
    pub fn with_more(self: &Arc<Self>, more: Vec<Arc<Registered>>, agent: &Agent) -> Arc<Self> {
        match more.is_empty() {
            true => self.clone(),
            false => {
                let tools = self.toolbox.tools().iter().cloned().chain(more);
                Arc::new(Self::new(tools, self.toolbox.skills().clone(), agent))
            }
        }
    }

    /// Whether the web can be searched before a model is asked: the server's own tool is there and has its key.
    pub fn can_pre_search(&self) -> bool {
        self.toolbox.find(SEARCH_WEB).is_some_and(|tool| tool.is_configured())
    }

    /// The server's tools of the run, with their versions.
    pub fn pinned_tools(&self) -> Vec<PinnedTool> {
        let servers = self.toolbox.tools().iter().filter(|tool| !tool.spec().client);
        servers
            .map(|tool| PinnedTool { name: tool.spec().name.clone(), version: tool.version().to_owned() })
            .collect()
    }
}

impl Agent {
    pub fn new(
        settings: AgentSettings,
        operator: &[Rule],
        registry: &Arc<Registry>,
        hooks: &Arc<Hooks>,
        people: &PeopleDirectory,
    ) -> Self {
        let rules = Rules::new().with_layer("operator", operator.to_vec()).with_layer(
            "agent",
            [settings.permissions.clone(), subagent_rules(&settings.subagents)].concat(),
        );
        let pipeline =
            Pipeline::new(rules.clone()).with_hooks(hooks.clone()).with_stand_ins(registry.clone(), rules);
        let guards_name = settings.name.clone();
        Self {
            settings,
            version: None,
            guards_name,
            pipeline: Arc::new(pipeline),
            people: people.clone(),
            tools: Mutex::default(),
        }
    }

    /// The same as a draft, whose calls do not count for the agent's own limits.
    #[must_use]
    fn into_draft(self) -> Self {
        // No name of an agent has this character.
        Self { guards_name: format!("{}#draft", self.settings.name), ..self }
    }

    /// All tools the agent may use for this user. What is switched off or can never be allowed is not even shown to
    /// the model.
    pub fn tools_for_user(
        &self,
        registry: &Registry,
        skills: &SkillCatalogue,
        user: &UserId,
    ) -> Arc<RunTools> {
        let generation = (registry.generation(), skills.generation());
        let mut cached = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((from, tools)) = &*cached
            && *from == generation
        {
            return tools.clone();
        }
        let all = registry.list();
        let usable = |tool: &Arc<Registered>| tool.is_usable() && self.has(tool.spec(), user);
        let usable = all.iter().filter(|tool| usable(tool));
        let usable = usable.filter_map(|tool| self.link(tool, true));
        let tools = Arc::new(RunTools::new(usable, skills.select(&self.settings.skills), self));
        // Rules about single users make tools of single users.
        if !self.pipeline.rules().mention_users() {
            *cached = Some((generation, tools.clone()));
        }
        tools
    }

    /// The tool as the agent has it; none if it cannot have it in that way any more. `is_latest` is false for what a
    /// run goes on with.
    pub fn link(&self, tool: &Arc<Registered>, is_latest: bool) -> Option<Arc<Registered>> {
        let Some(config) = self.settings.links.get(&tool.spec().name) else { return Some(tool.clone()) };
        match tool.linked(&self.guards_name, config, is_latest) {
            Ok(linked) => Some(linked),
            Err(problem) => {
                let (agent, tool) = (&self.settings.name, &tool.spec().name);
                tracing::warn!(agent, tool, %problem, "tool left out: what its agent says about it does not fit it");
                None
            }
        }
    }

    /// Why it does not have tools that are there, by the tools' names.
    pub fn link_problems(&self, registry: &Registry) -> Vec<(String, String)> {
        let problem = |(name, config): (&String, &AgentToolConfig)| {
            let problem = registry.get(name)?.check_link(config).err()?;
            Some((name.clone(), problem.to_string()))
        };
        self.settings.links.iter().filter_map(problem).collect()
    }

    /// Whether a user may use it at all.
    pub fn admits(&self, user: &UserId) -> bool {
        self.audience().admits(user, &self.people.current().groups_of(user))
    }

    fn audience(&self) -> Audience {
        let AgentSettings { users, groups, .. } = &self.settings;
        Audience { users: users.clone(), groups: groups.clone() }
    }

    /// The tools that a client brings, but for those that can never be allowed.
    pub async fn build_client_tools(
        &self,
        brought: &[ToolSpec],
        user: &UserId,
    ) -> Vec<Result<Arc<Registered>, RegistryError>> {
        let mut tools = Registered::all_for_client(brought.to_vec()).await;
        tools.retain(|tool| tool.as_ref().map_or(true, |tool| !self.forbids(tool.spec(), user)));
        tools
    }

    /// Whether the user may use it, and it has the tool and may ever call it for this user.
    pub fn may_use(&self, spec: &ToolSpec, user: &UserId) -> bool {
        self.admits(user) && self.has(spec, user)
    }

    /// Whether it has the tool at all, and may ever call it for this user.
    fn has(&self, spec: &ToolSpec, user: &UserId) -> bool {
        let settings = &self.settings;
        // Who has skills has the tools that load them.
        let is_for_skills = is_skill_tool(&spec.name) && !settings.skills.is_empty();
        let listed = is_for_skills || settings.tools.as_ref().is_none_or(|names| names.contains(&spec.name));
        listed && !settings.without_tools.contains(&spec.name) && !self.forbids(spec, user)
    }

    pub(crate) fn forbids(&self, spec: &ToolSpec, user: &UserId) -> bool {
        self.pipeline.rules().forbids(&CallAccess {
            tool: &spec.name,
            leads_to: spec.leads_to.as_deref(),
            tags: &spec.tags,
            effect: spec.effect,
            client: spec.client,
            agent: &self.settings.name,
            user: &user.0,
            groups: &self.people.current().groups_of(user),
            arguments: &serde_json::Value::Null,
        })
    }
}
