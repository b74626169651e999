//! What every run of a process works with, independent of its driver.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use helve_store::{PeopleDirectory, Recorded, RunJournal, Store, StoreError};
use helve_tool::Catalogue;
use helve_types::{AgentBudget, Fact, ParentCall, RunId, Seal, UserId, World};
use tokio::sync::OnceCell;

use crate::agents::{AgentCatalogue, build_limits};
use crate::budget::{Account, BudgetOwner, Limits};
use crate::feed::{Feed, Feeds};
use crate::metrics::{BudgetCounters, RunCounters};
use crate::settings::RuntimeSettings;
use crate::skills::SkillCatalogue;
use crate::subagents::{SubagentHost, concerns_parent};

/// The store, the world, the tools and the agents of a process, with what the operator decided about them.
pub struct Environment {
    pub store: Arc<dyn Store>,
    pub world: World,
    pub catalogue: Arc<Catalogue>,
    pub agents: AgentCatalogue,
    /// Whose groups decide what they may use; refreshed by the owner of the runtime.
    pub people: PeopleDirectory,
    pub skills: SkillCatalogue,
    pub settings: RuntimeSettings,
    pub feeds: Feeds,
    pub run_counters: RunCounters,
    pub budget_counters: BudgetCounters,
    /// Opens and stops the runs of subagents; set once the process can.
    subagent_host: OnceLock<Arc<dyn SubagentHost>>,
    /// Made when it is first needed.
    seal: OnceCell<Seal>,
}

impl Environment {
    /// The store and the world are those of the catalogue.
    pub fn new(catalogue: Arc<Catalogue>, settings: RuntimeSettings) -> Self {
        let people = PeopleDirectory::default();
        let agents = AgentCatalogue::new(
            &settings.agents,
            &settings.rules,
            catalogue.registry().clone(),
            settings.hooks.clone(),
            people.clone(),
            catalogue.store().clone(),
            catalogue.world().clone(),
        );
        let skills = SkillCatalogue::new(catalogue.store().clone(), catalogue.world().clone());
        Self {
            store: catalogue.store().clone(),
            world: catalogue.world().clone(),
            catalogue,
            agents,
            people,
            skills,
            settings,
            feeds: Feeds::default(),
            run_counters: RunCounters::default(),
            budget_counters: BudgetCounters::default(),
            subagent_host: OnceLock::new(),
            seal: OnceCell::new(),
        }
    }

    /// The journal of a run, whose events readers see when they are durable.
    pub fn open_journal(
        &self,
        run: RunId,
        epoch: u64,
        last_seq: u64,
        parent: Option<&ParentCall>,
    ) -> RunJournal {
        let feed = self.feeds.feed_of_run(run);
        let on_asked = self.settings.on_asked.clone();
        let told = self.subagent_host.get().cloned().zip(parent.map(|parent| parent.run));
        // A store may publish from a thread of its own.
        let told = told.map(|told| (told, tokio::runtime::Handle::current()));
        let publish = Arc::new(move |events: &[Arc<Recorded>]| {
            feed.publish(events);
            if let Some(((host, parent), tasks)) = &told
                && events.iter().any(|recorded| concerns_parent(&recorded.event.fact))
            {
                let (host, parent) = (host.clone(), *parent);
                tasks.spawn(async move { host.notify_parent(parent, run).await });
            }
            let Some(on_asked) = &on_asked else { return };
            for recorded in events {
                match &recorded.event.fact {
                    Fact::ApprovalAsked(question) => on_asked(question.approval),
                    Fact::ApprovalReminded { approval } | Fact::ApprovalEscalated { approval } => {
                        on_asked(*approval);
                    }
                    _ => {}
                }
            }
        });
        RunJournal::new(self.store.clone(), self.world.clone(), run, epoch, last_seq, publish)
    }

    pub fn set_subagent_host(&self, host: Arc<dyn SubagentHost>) {
        // A second one would be of the same process.
        _ = self.subagent_host.set(host);
    }

    pub(crate) fn subagent_host(&self) -> Option<&Arc<dyn SubagentHost>> {
        self.subagent_host.get()
    }

    /// The groups that a user is in now.
    pub fn groups_of_user(&self, user: &str) -> BTreeSet<String> {
        self.people.current().groups_of(&UserId(user.to_owned())).as_ref().clone()
    }

    pub fn feed_of_run(&self, run: RunId) -> Arc<Feed> {
        self.feeds.feed_of_run(run)
    }

    /// The installation's seal, whose key is read once.
    pub async fn load_seal(&self) -> Result<&Seal, StoreError> {
        let read = || async { Ok(Seal::new(self.store.signing_key(self.world.random_secret()).await?)) };
        self.seal.get_or_try_init(read).await
    }

    /// What the user's groups let it use up in a day, in place of what every user may: of several groups the one that
    /// allows most counts, for each kind of limit. None if no group says anything.
    fn limits_by_groups(&self, user: &UserId) -> Option<Limits> {
        let people = self.people.current();
        let names = people.groups_of(user);
        let groups = names.iter().filter_map(|name| people.groups.get(name));
        let limits =
            groups.map(|group| &group.grants.member_day).filter(|day| **day != AgentBudget::default());
        let merged = limits.filter_map(|day| build_limits(day).ok()).reduce(Limits::or_more);
        merged.map(|limits| limits.or_defaults(self.settings.budgets.user_day))
    }

    /// The budgets of the day that a run of this user with this agent draws on, with what was drawn.
    pub async fn load_day_accounts(&self, user: &UserId, agent: &str) -> Result<Vec<Account>, StoreError> {
        let budgets = &self.settings.budgets;
        let by_groups = self.limits_by_groups(user);
        if !budgets.has_daily_budget() && by_groups.is_none() {
            return Ok(vec![]);
        }
        let user_day = by_groups.unwrap_or(budgets.user_day);
        let used = self.store.usage_of_day(self.world.now().day(), user.clone(), agent.into()).await?;
        Ok(vec![
            Account { whose: BudgetOwner::UserDay, limits: user_day, used: used.user },
            Account { whose: BudgetOwner::AgentDay, limits: budgets.agent_day, used: used.agent },
            Account { whose: BudgetOwner::Day, limits: budgets.day, used: used.all },
        ])
    }
}
