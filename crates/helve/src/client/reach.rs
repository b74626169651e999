//! Finding the server, or being one.
//!
//! A running server holds the data directory and says in it where it answers. Where nobody holds it, the command does,
//! and serves itself on a free port of this machine: the same server, so there is one way to do everything.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use helve_store::Store;
use helve_store_sql::{DataDir, DataDirError, SqliteStore};
use helve_types::{World, hex};
use secrecy::{ExposeSecret, SecretString};

use super::Client;
use crate::assemble::install_tls;
use crate::commands::Common;
use crate::commands::serve::{Serving, Take};
use crate::config::Config;
use crate::nearby::choose_ollama_model;

/// A server that holds the directory and does not answer yet is starting: so often it is looked for, with a pause.
const LOOKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// What every command that speaks to a server takes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Reach {
    #[command(flatten)]
    pub(crate) common: Common,
    /// The server to speak to [default: the one that uses the data directory, or one inside this command]
    ///
    /// Its token, if it wants one, is read from HELVE_TOKEN or the configuration.
    #[arg(long, value_name = "URL", global = true, env = "HELVE_SERVER_URL")]
    server: Option<String>,
}

/// A server, and what keeps it alive if that is this process.
pub(crate) struct Reached {
    pub(crate) client: Client,
    own: Option<Serving>,
}

impl Reach {
    /// The server that is named or running, or one of our own.
    pub(crate) async fn reach(&self, take: Take) -> anyhow::Result<Reached> {
        let mut config = self.common.load(None)?;
        let token = config.token.clone();
        if let Some(url) = self.server.as_deref().filter(|url| !url.trim().is_empty()) {
            return Ok(Reached { client: Client::new(url, token)?, own: None });
        }
        for _ in 0..LOOKS {
            match holder(&config)? {
                Holder::Nobody => {
                    if let Some(reached) = serve_inside(&mut config, take).await? {
                        return Ok(reached);
                    }
                }
                Holder::Server(address) => {
                    return Ok(Reached { client: Client::new(&address, token)?, own: None });
                }
                Holder::Silent => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
        // It did not say where it is; the configuration may.
        Ok(Reached { client: Client::new(&format!("http://{}", config.listen), token)?, own: None })
    }
}

impl Reached {
    /// Whether the server ends with this command.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Says, where there is no other server, what this command does about it.
    pub(crate) fn tell(&self, what: &str) {
        if self.is_own() {
            eprintln!("no server is running: {what}");
        }
    }

    /// Leaves the server; one of our own ends, and its runs with it, to be taken up by the next.
    pub(crate) async fn leave(self) -> anyhow::Result<()> {
        let Some(serving) = self.own else { return Ok(()) };
        serving.drain(Duration::ZERO).await;
        serving.close().await
    }
}

enum Holder {
    Nobody,
    Server(String),
    /// Somebody holds the directory and has not said where to find them.
    Silent,
}

fn holder(config: &Config) -> anyhow::Result<Holder> {
    match DataDir::hold(&config.data) {
        Ok(_) => Ok(Holder::Nobody),
        Err(error @ DataDirError::InUse { .. }) => {
            Ok(error.address().map_or(Holder::Silent, |address| Holder::Server(address.to_owned())))
        }
        Err(error) => Err(error.into()),
    }
}

/// The whole server inside this process, or none if another one was quicker.
async fn serve_inside(config: &mut Config, take: Take) -> anyhow::Result<Option<Reached>> {
    install_tls();
    choose_ollama_model(config).await;
    config.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let world = World::real();
    let shown = own_token(config, &world).await?;
    let serving = match Serving::open(config, &world, vec![], take).await {
        Ok(serving) => serving,
        Err(error) if error.downcast_ref::<DataDirError>().is_some_and(is_in_use) => return Ok(None),
        Err(error) => return Err(error),
    };
    let client = Client::new(&format!("http://{}", serving.address), shown)?;
    Ok(Some(Reached { client, own: Some(serving) }))
}

fn is_in_use(error: &DataDirError) -> bool {
    matches!(error, DataDirError::InUse { .. })
}

/// The token that this command shows to its own server. Whoever has the data directory needs none, but where others
/// have theirs the server wants one, so it is given one that nobody else knows.
async fn own_token(config: &mut Config, world: &World) -> anyhow::Result<Option<SecretString>> {
    let store = SqliteStore::open(DataDir::share(&config.data)?, world.now())?;
    let stored = store.tokens().await?;
    store.close().await?;
    let given = config.token.clone();
    let known = given
        .as_ref()
        .and_then(|token| token.expose_secret().split_once('.'))
        .is_some_and(|(id, _)| stored.iter().any(|token| token.id == id && token.revoked_at.is_none()));
    if known {
        // Made with `helve token`: it says whose things these are, so it must not become the operator's.
        config.token = None;
    } else if given.is_none() && (!stored.is_empty() || config.needs_token().is_some()) {
        config.token = Some(hex(&world.secret()).into());
    }
    Ok(if known { given } else { config.token.clone() })
}
