//! Accepts connections, limits how many are open, and bounds how long a client may take to send a request and to read the
//! response.

mod activity;
mod slots;
mod stall;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use self::activity::{track_request, track_response};
use self::slots::{AddressLimitReached, ConnectionSlot, ConnectionSlots};
use self::stall::StallTimeout;
use crate::access::{Network, client_network};
use crate::limits::ServerLimits;
use crate::log_sampler::LogSampler;

/// How long open streams may go on after the server was told to stop.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) remote: SocketAddr,
    pub(crate) local: SocketAddr,
}

/// The limits and proxies of the listeners.
#[derive(Debug, Clone, Default)]
pub struct ListenSettings {
    pub limits: ServerLimits,
    /// Trusted proxies, whose connections carry many clients.
    pub proxies: Vec<Network>,
}

/// Serves on all listeners until `stop` is cancelled, then lets open requests finish.
pub async fn serve(
    listeners: Vec<TcpListener>,
    router: Router,
    listening: ListenSettings,
    stop: CancellationToken,
) {
    let limits = listening.limits;
    let acceptor = Acceptor {
        router,
        slots: ConnectionSlots::new(limits.connections_max, limits.connections_per_address_max),
        listening,
        stop,
        connections: TaskTracker::new(),
        refused: LogSampler::default(),
        failed: LogSampler::default(),
    };
    futures_util::future::join_all(
        listeners.into_iter().map(|listener| acceptor.accept_connections(listener)),
    )
    .await;
    acceptor.connections.close();
    acceptor.connections.wait().await;
}

/// Accepts the connections of all listeners.
struct Acceptor {
    router: Router,
    listening: ListenSettings,
    slots: Arc<ConnectionSlots>,
    stop: CancellationToken,
    connections: TaskTracker,
    refused: LogSampler,
    failed: LogSampler,
}

impl Acceptor {
    async fn accept_connections(&self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stop.cancelled() => return,
            };
            let (stream, remote) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Most likely out of file handles: retry when other connections have closed.
                    if let Some(count) = self.failed.count_and_sample(Instant::now()) {
                        tracing::warn!(%error, count, "accepting connections failed");
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let slot = tokio::select! {
                slot = self.slots.take_slot(self.limited_address(remote.ip())) => slot,
                () = self.stop.cancelled() => return,
            };
            match slot {
                Ok(slot) => self.begin_connection(stream, remote, slot),
                Err(AddressLimitReached) => {
                    if let Some(count) = self.refused.count_and_sample(Instant::now()) {
                        tracing::warn!(
                            address = %remote.ip(), count,
                            "connections refused: the address has reached its connection limit"
                        );
                    }
                }
            }
        }
    }

    /// The address by which a connection is limited; none for loopback and trusted proxies, which carry many clients.
    fn limited_address(&self, address: IpAddr) -> Option<IpAddr> {
        let is_proxy = self.listening.proxies.iter().any(|proxy| proxy.contains(address));
        (!is_proxy && !address.to_canonical().is_loopback()).then(|| client_network(address))
    }

    fn begin_connection(&self, stream: TcpStream, remote: SocketAddr, slot: ConnectionSlot) {
        let (router, stop, limits) = (self.router.clone(), self.stop.clone(), self.listening.limits);
        self.connections.spawn(serve_connection(stream, remote, router, limits, stop, slot));
    }
}

async fn serve_connection(
    stream: TcpStream,
    remote: SocketAddr,
    router: Router,
    limits: ServerLimits,
    stop: CancellationToken,
    slot: ConnectionSlot,
) {
    let Ok(local) = stream.local_addr() else { return };
    // Tokens are small and must be sent at once.
    _ = stream.set_nodelay(true);
    let peer = Peer { remote, local };
    let slot = Arc::new(slot);
    let held = slot.clone();
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request: Request = request.map(|body| track_request(body, held.clone()));
        request.extensions_mut().insert(peer);
        let (answer, slot) = (router.clone().call(request), held.clone());
        async move { answer.await.map(|response| track_response(response, slot)) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_bytes_max)
        .serve_connection(TokioIo::new(StallTimeout::new(stream, limits.stall)), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%error, %remote, "connection ended with an error");
            }
            return;
        }
        // The slot was given to another connection; this one was idle.
        () = slot.closing_token().cancelled() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    _ = tokio::time::timeout(SHUTDOWN_GRACE, connection).await;
}
