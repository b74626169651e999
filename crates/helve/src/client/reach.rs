//! Finding the server, or being one.
//!
//! In this order: the server that is named, the one that holds the data directory, the one whose note `running` finds,
//! the one at the default address. Where there is none the command serves itself on a free port of this machine: the
//! same server, so there is one way to do everything. Commands that work in the data directory look in the same order.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use helve_store_sql::{DataDir, DataDirError, Syncs};
use helve_types::{World, hex};
use secrecy::{ExposeSecret, SecretString};

use super::Client;
use super::running::{Holder, answering, holder, noted_data};
use crate::assemble::{install_tls, open_store};
use crate::commands::Common;
use crate::commands::serve::{Serving, Take};
use crate::config::{Config, Environment};
use crate::i18n::tr;
use crate::output::errln;

/// A server that holds the directory and does not answer yet is starting: so often it is looked for, with a pause.
const LOOKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// What every command that speaks to a server takes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Reach {
    #[command(flatten)]
    pub(crate) common: Common,
    /// The server to use [default: HELVE_SERVER, or the one that runs on this machine, or none]
    ///
    /// Without the option and the environment variable HELVE_SERVER, Helve looks for the server that uses the data directory, then for one
    /// that you started with another directory, then for one at the default address; otherwise it uses the data directory
    /// itself. The token, if the server needs one, is read from HELVE_TOKEN or the configuration.
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
}

/// A server, and what keeps it alive if that is this process.
pub(crate) struct Reached {
    pub(crate) client: Client,
    /// The data directory, unless the user named it.
    found: Option<PathBuf>,
    own: Option<Serving>,
}

/// What there is to speak to.
enum Found {
    Server {
        address: String,
        /// Whether the user named it or its directory, and so need not be told of it.
        is_known: bool,
    },
    NoServer,
    /// Another process holds the data directory and has not said where it answers.
    Silent,
}

impl Reach {
    /// The server that is named or running, or one of our own.
    pub(crate) async fn reach(&self, take: Take) -> anyhow::Result<Reached> {
        let environment = Environment::of_process();
        let mut config = self.load_beside_server(&environment)?;
        let token = config.token.clone();
        for _ in 0..LOOKS {
            match self.find(&config, &environment).await? {
                Found::Server { address, is_known } => {
                    if !is_known {
                        tell_server(&address);
                    }
                    return Reached::server(&address, token);
                }
                Found::NoServer => {
                    if let Some(reached) = serve_inside(&mut config, take).await? {
                        return Ok(reached);
                    }
                }
                Found::Silent => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
        // It did not say where it is; the configuration may.
        Reached::server(&config.local_address(), token)
    }

    /// The server that is named or running, if there is one, and the configuration as a command has it. Says which server
    /// it is, or that there is none.
    pub(crate) async fn running(&self) -> anyhow::Result<(Option<Client>, Config)> {
        let environment = Environment::of_process();
        let config = self.load_beside_server(&environment)?;
        let mut found = Found::Silent;
        for _ in 0..LOOKS {
            found = self.find(&config, &environment).await?;
            if !matches!(found, Found::Silent) {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        let address = match found {
            Found::Server { address, .. } => address,
            Found::Silent => config.local_address(),
            Found::NoServer => {
                let data = config.data.display();
                errln!(
                    "{}",
                    tr!(
                        "no server is running; this command checks with its own environment variables and the data directory \
                         {data}",
                        data = data
                    )
                );
                return Ok((None, config));
            }
        };
        tell_server(&address);
        Ok((Some(Client::new(&address, config.token.clone())?), config))
    }

    /// Whether the command line or the environment names the server.
    pub(crate) fn names_server(&self) -> bool {
        self.named_server(&Environment::of_process()).is_some()
    }

    async fn find(&self, config: &Config, environment: &Environment) -> anyhow::Result<Found> {
        if let Some(address) = self.named_server(environment) {
            return Ok(Found::Server { address, is_known: true });
        }
        Ok(match holder(&config.data)? {
            // Who named its directory knows the server.
            Holder::Server(address) => Found::Server { address, is_known: config.data_is_named },
            Holder::Silent => Found::Silent,
            Holder::Free if config.data_is_named => Found::NoServer,
            Holder::Free => match answering(config).await {
                Some(address) => Found::Server { address, is_known: false },
                None => Found::NoServer,
            },
        })
    }

    /// The configuration with the data directory that a command works in: the one that is named, or that of the server
    /// that runs. Says which one it is unless it was named.
    pub(crate) fn load_shared(&self) -> anyhow::Result<Config> {
        let environment = Environment::of_process();
        let config = self.load_beside_server(&environment)?;
        let server = self.named_server(&environment);
        let held = holder(&config.data)?;
        match (server, &held) {
            (Some(url), Holder::Server(address)) if is_same_server(&url, address) => {}
            (Some(url), _) => bail!(tr!(
                "this command works in the data directory of a server, and the one at {url} does not use {data}; \
                 run it on that server's machine, as its user, with --data if it is not found",
                url = url,
                data = config.data.display()
            )),
            (None, _) => {}
        }
        // Who named the directory knows it.
        if !config.data_is_named {
            tell_directory(&config.data, &held);
        }
        Ok(config)
    }

    /// The configuration, with the directory of a running server where none is named.
    fn load_beside_server(&self, environment: &Environment) -> anyhow::Result<Config> {
        let config = self.common.load(None)?;
        if config.data_is_named || matches!(holder(&config.data)?, Holder::Server(_) | Holder::Silent) {
            return Ok(config);
        }
        let Some(data) = noted_data(environment) else { return Ok(config) };
        let config = Common { data: Some(data), ..self.common.clone() }.load(None)?;
        Ok(Config { data_is_named: false, ..config })
    }

    /// The server that the command line or the environment names.
    fn named_server(&self, environment: &Environment) -> Option<String> {
        let named = self.server.clone().filter(|url| !url.trim().is_empty());
        named.or_else(|| environment.text("HELVE_SERVER")).map(|given| with_scheme(given.trim()))
    }
}

/// The address of a server that may be named as `host:port`.
fn with_scheme(given: &str) -> String {
    let port = given.rsplit_once(':').and_then(|(host, port)| (!host.is_empty()).then_some(port));
    let is_authority =
        !given.contains(['/', '@']) && port.is_some_and(|port| port.trim().parse::<u16>().is_ok());
    if is_authority { format!("http://{given}") } else { given.to_owned() }
}

/// Whether two addresses are those of one server on this machine.
fn is_same_server(one: &str, other: &str) -> bool {
    let plain = |url: &str| url.trim_end_matches('/').replace("//localhost:", "//127.0.0.1:");
    plain(one) == plain(other)
}

fn tell_server(address: &str) {
    errln!("{}", tr!("using the server at {address}", address = address));
}

fn tell_directory(data: &Path, held: &Holder) {
    let data = data.display();
    match held {
        Holder::Server(address) => {
            errln!(
                "{}",
                tr!("using the data of the server at {address}: {data}", address = address, data = data)
            )
        }
        Holder::Silent => errln!("{}", tr!("using the data of a running server: {data}", data = data)),
        Holder::Free => {
            errln!("{}", tr!("no server is running; using the data directory {data}", data = data))
        }
    }
}

impl Reached {
    fn server(address: &str, token: Option<SecretString>) -> anyhow::Result<Self> {
        Ok(Self { client: Client::new(address, token)?, found: None, own: None })
    }

    /// Whether the server ends with this command.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Says, where there is no other server, what this command does about it.
    pub(crate) fn tell(&self, what: &str) {
        if self.is_own() {
            let found =
                self.found.as_ref().map(|data| tr!(" (data directory {data})", data = data.display()));
            errln!(
                "{}",
                tr!("no server is running: {what}{found}", what = what, found = found.unwrap_or_default())
            );
        }
    }

    /// Leaves the server; one of our own ends, and its runs with it, to be taken up by the next.
    pub(crate) async fn leave(self) -> anyhow::Result<()> {
        let Some(serving) = self.own else { return Ok(()) };
        serving.drain(Duration::ZERO).await;
        serving.close().await
    }
}

/// The whole server inside this process, or none if another one was quicker.
async fn serve_inside(config: &mut Config, take: Take) -> anyhow::Result<Option<Reached>> {
    install_tls();
    config.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let world = World::real();
    let shown = own_token(config, &world).await?;
    let serving = match Serving::open(config, &world, vec![], take).await {
        Ok(serving) => serving,
        Err(error) if error.downcast_ref::<DataDirError>().is_some_and(is_in_use) => return Ok(None),
        Err(error) => return Err(error),
    };
    let client = Client::new(&format!("http://{}", serving.address), shown)?;
    let found = (!config.data_is_named).then(|| config.data.clone());
    Ok(Some(Reached { client, found, own: Some(serving) }))
}

fn is_in_use(error: &DataDirError) -> bool {
    matches!(error, DataDirError::InUse { .. })
}

/// The token that this command shows to its own server. The owner of the data directory needs none, but where others
/// have theirs the server wants one, so it is given one that no other process knows.
async fn own_token(config: &mut Config, world: &World) -> anyhow::Result<Option<SecretString>> {
    install_tls();
    let dir = DataDir::open_shared(&config.data)?;
    let store = open_store(config, dir, world, Syncs::default()).await?.store;
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
        config.token = Some(hex(&world.random_secret()).into());
    }
    Ok(if known { given } else { config.token.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_be_named_without_its_scheme() {
        for (given, meant) in [
            ("127.0.0.1:8890", "http://127.0.0.1:8890"),
            ("localhost:8890", "http://localhost:8890"),
            ("[::1]:8890", "http://[::1]:8890"),
            ("https://helve.example/x", "https://helve.example/x"),
            // No address: left as it is, so that the user is told.
            ("localhost", "localhost"),
            ("target/debug/helve", "target/debug/helve"),
            ("127.0.0.1:port", "127.0.0.1:port"),
            (":8890", ":8890"),
        ] {
            assert_eq!(with_scheme(given), meant);
        }
        for refused in ["localhost", "target/debug/helve", "127.0.0.1:port", ":8890", "ftp://x:1"] {
            assert!(Client::new(&with_scheme(refused), None).is_err(), "{refused}");
        }
    }
}
