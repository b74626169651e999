//! `helve serve`: from nothing to answering requests, and back to nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use helve_server::{App, ListenSettings};
use helve_store::Wakeup;
use helve_store_sql::DataDir;
use helve_types::World;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::doctor::Examined;
use super::{Common, start_logging};
use crate::assemble::{Assembly, Extras, Hold, application, assemble, install_tls, trusted_proxies};
use crate::client::leave_note;
use crate::config::{Config, Environment, local_address};
use crate::i18n::tr;
use crate::output::outln;
use crate::process::fit_connections;

/// How often tokens that were made or revoked meanwhile are noticed.
const TOKENS: std::time::Duration = std::time::Duration::from_secs(5);

/// How often a model that another process has probed meanwhile is noticed.
const PROFILES: std::time::Duration = std::time::Duration::from_secs(30);

/// How often tools that another process has made or changed are noticed.
const TOOLS: std::time::Duration = std::time::Duration::from_secs(1);

/// How often the room on the disk is measured.
const DISK: std::time::Duration = std::time::Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// The address to listen on [default: 127.0.0.1:8890]; an address other than loopback needs a token
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
}

pub(super) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let mut config = args.common.load(args.listen.clone())?;
    start_logging(&config.log, config.log_format);
    fit_connections(&mut config);
    leave_note(&config, &Environment::of_process());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .with_context(|| tr!("the runtime cannot be started"))?;
    install_tls();
    runtime.block_on(async { serve(&config, &World::real(), vec![]).await })?;
    // Threads that still block, such as a last read, are not waited for.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// Serves until the process is told to stop.
pub async fn serve(config: &Config, world: &World, extras: impl Into<Extras>) -> anyhow::Result<()> {
    let serving = Serving::open(config, world, extras, Take::Up).await?;
    // A reader of the next line may tell it to stop.
    let mut signals = StopSignals::listen()?;
    outln!("{}", tr!("listening on http://{address}", address = serving.address));
    signals.stop().await;
    tracing::info!(runs = serving.assembly.runtime.driven_runs(), "server stopping");
    let going_down = async {
        serving.drain(config.drain).await;
        serving.close().await
    };
    tokio::select! {
        closed = going_down => closed,
        // At the second signal the process ends at once: what is on disk is enough.
        () = signals.stop() => {
            tracing::warn!("server stopped at once: second signal; runs continue at the next start");
            Ok(())
        }
    }
}

/// What becomes of the runs that are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    /// Those that were interrupted are taken up, and the watch over the others is kept.
    Up,
    /// They are left as they are until a command is for them: for commands that do one thing.
    Nothing,
}

/// A server at work in this process.
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    assembly: Assembly,
    stop: CancellationToken,
    server: tokio::task::JoinHandle<()>,
    watch: Option<tokio::task::JoinHandle<()>>,
}

impl Serving {
    pub(crate) async fn open(
        config: &Config,
        world: &World,
        extras: impl Into<Extras>,
        take: Take,
    ) -> anyhow::Result<Self> {
        // The system chooses a port for 0. It is taken first: links and the guard of the own port need to know it.
        let (config, reserved) = match config.listen.port() {
            0 => {
                let listener = bind(config.listen).await?;
                (&config.with_port(listener.local_addr()?.port()), Some(listener))
            }
            _ => (config, None),
        };
        let assembly = assemble(config, world, Hold::Alone, extras).await?;
        for warning in &assembly.warnings {
            tracing::warn!(problem = warning, "configuration needs attention");
        }
        let listener = match reserved {
            Some(listener) => listener,
            None => bind(config.listen).await?,
        };
        let address = listener.local_addr()?;
        let doctor = Examined::new(config, &assembly, Some(address)).doctor();
        let app = application(config, &assembly, world, doctor)?;
        app.refresh_access().await?;
        if let Some(error) = config.needs_token()
            && !app.has_token()
        {
            return Err(error);
        }
        let stop = CancellationToken::new();
        let router = helve_server::router(app.clone());
        let other = other_loopback(address).await;
        let server = tokio::spawn(helve_server::serve(
            std::iter::once(listener).chain(other).collect(),
            router,
            ListenSettings { limits: config.limits.server, proxies: trusted_proxies(config) },
            stop.clone(),
        ));

        // Before runs are taken up: they may use what a server lists.
        assembly.discovery.look_nearby(&assembly.runtime).await;
        if take == Take::Up {
            let taken_up = assembly
                .runtime
                .resume_interrupted_runs()
                .await
                .with_context(|| tr!("interrupted runs cannot be read"))?;
            if taken_up > 0 {
                tracing::info!(runs = taken_up, "interrupted runs resumed");
            }
        }
        assembly
            .runtime
            .load_model_profiles()
            .await
            .with_context(|| tr!("the profiles of the models cannot be read"))?;
        assembly.runtime.load_user_model_choices().await.with_context(|| tr!("the runs cannot be read"))?;
        app.set_ready();
        announce(config, address);
        let watch = (take == Take::Up).then(|| watch(&assembly, &app, &stop));
        Ok(Self { address, assembly, stop, server, watch })
    }

    /// Takes no new runs, and gives the others so long to end.
    pub(crate) async fn drain(&self, patience: std::time::Duration) {
        self.assembly.runtime.shut_down(patience).await;
    }

    /// Ends the connections, and closes the store.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.stop.cancel();
        _ = self.server.await;
        if let Some(watch) = self.watch {
            watch.abort();
        }
        self.assembly.tool_folder.close().await;
        self.assembly.store.close().await?;
        Ok(())
    }
}

/// Says in the data directory where its server answers, so that `helve approvals` and the like find it.
fn announce(config: &Config, address: SocketAddr) {
    if let Err(error) = DataDir::write_address(&config.data, &local_address(address)) {
        tracing::warn!(%error, "server address not written to the data directory; commands need --server");
    }
}

async fn bind(listen: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(listen).await;
    listener
        .with_context(|| tr!("cannot listen on {listen}; is another Helve running there?", listen = listen))
}

/// `localhost` may mean either loopback address, so both are served where the port is free.
async fn other_loopback(address: SocketAddr) -> Option<TcpListener> {
    let other: IpAddr = match address.ip() {
        IpAddr::V4(ip) if ip.is_loopback() => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        _ => return None,
    };
    TcpListener::bind((other, address.port())).await.ok()
}

/// What goes on beside the requests.
fn watch(assembly: &Assembly, app: &App, stop: &CancellationToken) -> tokio::task::JoinHandle<()> {
    let (runtime, app, stop) = (assembly.runtime.clone(), app.clone(), stop.clone());
    let discovery = assembly.discovery.clone();
    let (notices, store) = (assembly.notices.clone(), assembly.store.clone());
    let (disk_watch, tool_folder) = (assembly.watch.clone(), assembly.tool_folder.clone());
    let skill_folder = assembly.skill_folder.clone();
    tokio::spawn(async move {
        let tokens = async {
            let mut wakeups = store.subscribe();
            loop {
                // A wake-up may be lost, so the tokens are also read from time to time without one.
                let changed = wakeups.wait_for(|wakeup| wakeup == Wakeup::Access);
                _ = tokio::time::timeout(TOKENS, changed).await;
                if let Err(error) = app.refresh_access().await {
                    tracing::warn!(%error, "tokens not refreshed; those known before hold");
                }
            }
        };
        let profiles = async {
            loop {
                tokio::time::sleep(PROFILES).await;
                if let Err(error) = runtime.load_model_profiles().await {
                    tracing::warn!(%error, "model profiles not refreshed; those known before hold");
                }
            }
        };
        let tools = async {
            loop {
                tokio::time::sleep(TOOLS).await;
                if let Err(error) = runtime.catalogue().refresh().await {
                    tracing::warn!(%error, "tools not refreshed; those known before hold");
                }
                tool_folder.sync(runtime.catalogue()).await;
                if let Err(error) = runtime.agents().refresh().await {
                    tracing::warn!(%error, "agents not refreshed; those known before hold");
                }
                if let Err(error) = runtime.skills().refresh().await {
                    tracing::warn!(%error, "skills not refreshed; those known before hold");
                }
                skill_folder.sync(runtime.skills()).await;
            }
        };
        let disk = async {
            loop {
                tokio::time::sleep(DISK).await;
                let watch = disk_watch.clone();
                _ = tokio::task::spawn_blocking(move || watch.check_space()).await;
            }
        };
        let notices = async {
            if let Some(notices) = &notices {
                notices.keep_sending(&store, runtime.world()).await;
            }
            std::future::pending().await
        };
        tokio::select! {
            () = runtime.sweep_until_shutdown() => {}
            () = notices => {}
            () = tools => {}
            () = disk => {}
            () = tokens => {}
            () = discovery.keep_looking(&runtime) => {}
            () = profiles => {}
            () = stop.cancelled() => {}
        }
    })
}

/// The signals that stop the server. They are subscribed to once, so that none is missed.
struct StopSignals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl StopSignals {
    fn listen() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl StopSignals {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self {})
    }

    async fn stop(&mut self) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "signal handler not installed; the server can only be killed");
            std::future::pending::<()>().await;
        }
    }
}
