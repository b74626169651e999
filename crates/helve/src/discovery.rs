//! Servers of models: whether they answer, what they list, and which model is the default.
//!
//! A server on this machine or in its network is looked at again and again, so one that starts later is noticed. One on
//! the internet is asked for its list only if its key is there, in the background, and rarely. All that is listed is
//! offered under its own name; the model of the configuration stays as an alias.

mod kept;
mod names;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use helve_model::ModelError;
use helve_model_http::{HttpModel, HttpModelSettings};
use helve_runtime::{Model, Models, Runtime};
use helve_types::{Notice, Reason};

use self::kept::KeptLists;
use self::names::offered;
use crate::assemble::ModelMaker;
use crate::config::{Config, ModelSettings, Source};
use crate::nearby::nearby_address;

/// The model that is suggested to those who have none, here and in the README: it calls tools and fits most machines.
pub(crate) const OLLAMA_MODEL: &str = "qwen3:8b";

/// A server nearby answers at once; the start waits for no other.
const PATIENCE: Duration = Duration::from_millis(500);
const LOOK_NEARBY: Duration = Duration::from_secs(5);
const ASK_VENDORS: Duration = Duration::from_secs(3600);
const ASK_VENDORS_AGAIN: Duration = Duration::from_secs(60);

pub(crate) struct ModelDiscovery {
    maker: ModelMaker,
    servers: Vec<ModelServer>,
    /// The operator named the default.
    default_is_named: bool,
    /// The default that the operator named, if only a server's list can bring it.
    listed_default: Option<String>,
    /// What is the default where no model works.
    default: String,
    kept: KeptLists,
    state: Mutex<State>,
}

/// The server of one model of the configuration.
struct ModelServer {
    settings: ModelSettings,
    http: HttpModelSettings,
    /// As it was configured: where the server is and what it lists does not depend on the model.
    model: Arc<HttpModel>,
    /// `host:port`, if it is on this machine or in its network.
    near: Option<String>,
}

#[derive(Default)]
struct State {
    /// What is wrong with a model of the configuration.
    problems: BTreeMap<String, Reason>,
    /// The names of all offered models that a server's list brought, by the model of the configuration.
    listed: BTreeMap<String, Vec<String>>,
    /// The models that are asked over HTTP, by name.
    models: BTreeMap<String, Arc<HttpModel>>,
    /// Which listed model each model of the configuration stands for that names none.
    aliases: BTreeMap<String, String>,
}

/// What was seen of a server.
enum Seen {
    Answers,
    Lists(Vec<String>),
    Silent(Reason),
}

impl ModelDiscovery {
    pub(crate) fn new(config: &Config, maker: ModelMaker, models: &[Arc<HttpModel>], may_keep: bool) -> Self {
        let settings_of = |name: &str| config.models.iter().find(|model| model.name == name);
        let server = |model: &Arc<HttpModel>| {
            let settings = settings_of(model.name())?;
            let Source::Http(http) = &settings.source else { return None };
            Some(ModelServer {
                settings: settings.clone(),
                http: (**http).clone(),
                model: model.clone(),
                near: nearby_address(model.url()),
            })
        };
        let by_name = models.iter().map(|model| (model.name().to_owned(), model.clone())).collect();
        Self {
            maker,
            servers: models.iter().filter_map(server).collect(),
            default_is_named: config.default_is_named,
            listed_default: config.listed_default.clone(),
            default: config.default_model.clone(),
            kept: KeptLists::read(&config.data, may_keep),
            state: Mutex::new(State { models: by_name, ..State::default() }),
        }
    }

    /// Offers what servers listed the last time.
    pub(crate) fn offer_kept(&self, models: &Models) {
        for server in self.servers.iter().filter(|server| server.is_listed()) {
            let names = self.kept.names(server.name(), &server.display_url());
            if !names.is_empty() {
                self.offer(server, &names, models);
            }
        }
        self.choose_default(models);
    }

    /// Looks once at all servers nearby.
    pub(crate) async fn look_nearby(&self, runtime: &Runtime) {
        self.look(runtime, |server| server.near.is_some()).await;
    }

    /// Asks vendors on the internet for their lists. Whether all that have one answered.
    pub(crate) async fn ask_vendors(&self, runtime: &Runtime) -> bool {
        self.look(runtime, |server| server.near.is_none() && server.is_listed()).await
    }

    pub(crate) async fn keep_looking(&self, runtime: &Runtime) {
        let nearby = async {
            loop {
                tokio::time::sleep(LOOK_NEARBY).await;
                self.look_nearby(runtime).await;
            }
        };
        if let Some(name) = self.missing_default(runtime.models()) {
            let used = runtime.models().default_name();
            tracing::warn!(
                model = name,
                used,
                "default model listed by no server; another one is used until it is"
            );
        }
        let vendors = async {
            loop {
                let pause = if self.ask_vendors(runtime).await { ASK_VENDORS } else { ASK_VENDORS_AGAIN };
                tokio::time::sleep(pause).await;
            }
        };
        tokio::join!(nearby, vendors);
    }

    /// What is wrong with a model, if anything.
    pub(crate) fn problem(&self, name: &str) -> Option<Reason> {
        let state = self.state();
        let alias = state.listed.iter().find(|(_, names)| names.iter().any(|listed| listed == name));
        state.problems.get(alias.map_or(name, |(alias, _)| alias)).cloned()
    }

    /// The default that the operator named, while no server lists it.
    pub(crate) fn missing_default(&self, models: &Models) -> Option<&str> {
        self.listed_default.as_deref().filter(|name| models.get(name).is_none())
    }

    /// A model that is asked over HTTP, as it is now.
    pub(crate) fn model(&self, name: &str) -> Option<Arc<HttpModel>> {
        self.state().models.get(name).cloned()
    }

    /// The names of the models that the server behind a model of the configuration lists.
    pub(crate) fn listed(&self, name: &str) -> Vec<String> {
        self.state().listed.get(name).cloned().unwrap_or_default()
    }

    async fn look(&self, runtime: &Runtime, which: impl Fn(&ModelServer) -> bool) -> bool {
        let looks = self.servers.iter().filter(|server| which(server));
        let seen = join_all(looks.map(async |server| (server, server.look().await))).await;
        let (mut all_answer, mut has_new) = (true, false);
        for (server, seen) in seen {
            all_answer &= !matches!(seen, Seen::Silent(_));
            has_new |= self.take_in(server, seen, runtime.models());
        }
        self.choose_default(runtime.models());
        if has_new && let Err(error) = runtime.load_model_profiles().await {
            tracing::warn!(%error, "model profiles not read; those known before hold");
        }
        all_answer
    }

    /// Notes what was seen of a server. Whether it offers something new.
    fn take_in(&self, server: &ModelServer, seen: Seen, models: &Models) -> bool {
        let alias = server.name();
        let (problem, names) = match seen {
            Seen::Answers => (None, None),
            Seen::Lists(names) if names.is_empty() && server.near.is_some() => {
                (Some(empty(&server.display_url())), Some(names))
            }
            Seen::Lists(names) => (None, Some(names)),
            // A vendor that does not give its list may answer all the same.
            Seen::Silent(_) if server.near.is_none() => (None, None),
            Seen::Silent(problem) => (Some(problem), None),
        };
        let is_ready = problem.is_none();
        let before = {
            let mut state = self.state();
            match problem.clone() {
                Some(problem) => state.problems.insert(alias.to_owned(), problem),
                None => state.problems.remove(alias),
            }
        };
        if before.is_some() != problem.is_some() {
            match &problem {
                Some(problem) => tracing::debug!(model = alias, %problem, "model server unavailable"),
                None => {
                    tracing::info!(model = alias, address = server.display_url(), "model server available")
                }
            }
        }
        let has_new = names.is_some_and(|names| {
            self.kept.keep(alias, &server.display_url(), &names);
            self.offer(server, &names, models)
        });
        models.set_ready(alias, is_ready);
        for name in self.listed(alias) {
            models.set_ready(&name, is_ready);
        }
        has_new
    }

    /// Offers the models of a list, and takes those away that are no longer in it. Whether one is new.
    fn offer(&self, server: &ModelServer, names: &[String], models: &Models) -> bool {
        let alias = server.name();
        let mut has_new = false;
        let mut now = vec![];
        let before = self.listed(alias);
        for name in names {
            let is_taken =
                |name: &str| !before.iter().any(|known| known == name) && models.get(name).is_some();
            let offered = if is_taken(name) { format!("{alias}/{name}") } else { name.clone() };
            if is_taken(&offered) {
                continue;
            }
            if !before.contains(&offered) {
                has_new |= self.add(server, &offered, name, models);
            }
            now.push(offered);
        }
        for gone in before.iter().filter(|name| !now.contains(name)) {
            models.remove(gone);
            self.state().models.remove(gone);
        }
        let aliased = self.state().aliases.get(alias).cloned();
        if let Some(wanted) = server.aliased(names)
            && aliased.as_ref() != Some(&wanted)
            && self.add(server, alias, &wanted, models)
        {
            has_new = true;
            self.state().aliases.insert(alias.to_owned(), wanted);
        }
        self.state().listed.insert(alias.to_owned(), now);
        has_new
    }

    fn add(&self, server: &ModelServer, name: &str, vendor_model: &str, models: &Models) -> bool {
        let settings = ModelSettings { name: name.to_owned(), ..server.settings.clone() };
        let http = HttpModelSettings {
            name: name.to_owned(),
            model: vendor_model.to_owned(),
            ..server.http.clone()
        };
        let Ok((model, options)) = self.maker.make(&settings, &http) else { return false };
        models.add_or_replace(model.clone(), options);
        self.state().models.insert(name.to_owned(), model);
        true
    }

    /// The model that the operator named, else the first that works, in the order of the configuration; it beats `demo`,
    /// which always does.
    fn choose_default(&self, models: &Models) {
        let listed = self.listed_default.as_deref().filter(|name| models.get(name).is_some());
        if self.default_is_named && self.listed_default.is_none() {
            return;
        }
        let works = |server: &&ModelServer| {
            let name = server.name();
            let has_key = server.model.missing_key().is_none();
            let lists = || !server.is_listed() || server.near.is_none() || !self.listed(name).is_empty();
            let is_known = || self.model(name).is_some_and(|model| !model.vendor_model().is_empty());
            has_key && self.problem(name).is_none() && lists() && is_known()
        };
        let first = || self.servers.iter().find(works).map_or(self.default.as_str(), ModelServer::name);
        let best = listed.unwrap_or_else(first);
        if models.default_name() != best {
            tracing::info!(model = best, "default model chosen");
            models.set_default(best);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelServer {
    /// The name of its model in the configuration.
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn display_url(&self) -> String {
        self.model.host()
    }

    /// Whether what it lists is offered.
    fn is_listed(&self) -> bool {
        self.settings.lists && self.model.missing_key().is_none()
    }

    async fn look(&self) -> Seen {
        if let (Some(address), false) = (&self.near, self.is_listed()) {
            return if answers(address).await { Seen::Answers } else { Seen::Silent(silent(address)) };
        }
        let patience = if self.near.is_some() { PATIENCE } else { Duration::from_secs(10) };
        match tokio::time::timeout(patience, self.model.list_models()).await {
            Ok(Ok(Some(listing))) => Seen::Lists(offered(listing.names)),
            Ok(Ok(None)) => Seen::Answers,
            // A model server that refuses the question is there nevertheless.
            Ok(Err(error)) => match &self.near {
                Some(address) if !answers(address).await => Seen::Silent(silent(address)),
                _ => Seen::Silent(Reason::new(error.to_string(), error_notice(&error))),
            },
            Err(_) => Seen::Silent(silent(self.near.as_deref().unwrap_or(&self.display_url()))),
        }
    }

    /// Which of the listed models the model of the configuration stands for: the one that it names, or the first.
    fn aliased(&self, names: &[String]) -> Option<String> {
        if self.settings.model_is_named {
            return None;
        }
        let usual = &self.http.model;
        if !usual.is_empty() && names.contains(usual) { Some(usual.clone()) } else { names.first().cloned() }
    }
}

fn silent(address: &str) -> Reason {
    let text = format!("no server answers at {address}; start the server there, or change its address");
    Reason::new(text, Notice::model_server_silent(address))
}

fn error_notice(error: &ModelError) -> Notice {
    Notice { code: error.code().to_owned(), params: BTreeMap::new() }
}

fn empty(address: &str) -> Reason {
    let command = format!("ollama pull {OLLAMA_MODEL}");
    let text = format!("its server at {address} has no model yet; get one, as in: {command}");
    Reason::new(text, Notice::model_server_empty(address, &command))
}

async fn answers(address: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "the operator's own models, on this machine")]
    let connected = tokio::time::timeout(PATIENCE, tokio::net::TcpStream::connect(address)).await;
    matches!(connected, Ok(Ok(_)))
}
