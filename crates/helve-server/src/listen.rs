//! Accepting connections, with bounds on how long a client may take to say what it wants and to hear the answer.

mod at_work;
mod patience;
mod places;

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

use self::at_work::{arriving, until_said};
use self::patience::Patience;
use self::places::{HasItsShare, Place, Places};
use crate::access::{Network, one_client};
use crate::limits::ServerLimits;
use crate::sampled::Sampled;

/// Open streams are closed so long after the server was told to stop.
const GOODBYE: Duration = Duration::from_secs(2);

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) remote: SocketAddr,
    pub(crate) local: SocketAddr,
}

/// How a server listens.
#[derive(Debug, Clone, Default)]
pub struct Listening {
    pub limits: ServerLimits,
    /// Proxies, whose connections are those of many clients.
    pub proxies: Vec<Network>,
}

/// Serves on all listeners until `stop` is called for, then lets open requests end.
pub async fn serve(
    listeners: Vec<TcpListener>,
    router: Router,
    listening: Listening,
    stop: CancellationToken,
) {
    let limits = listening.limits;
    let door = Door {
        router,
        places: Places::new(limits.connections_max, limits.connections_per_address_max),
        listening,
        stop,
        connections: TaskTracker::new(),
        refused: Sampled::default(),
        failed: Sampled::default(),
    };
    futures_util::future::join_all(listeners.into_iter().map(|listener| door.accept(listener))).await;
    door.connections.close();
    door.connections.wait().await;
}

/// What all listeners share.
struct Door {
    router: Router,
    listening: Listening,
    places: Arc<Places>,
    stop: CancellationToken,
    connections: TaskTracker,
    refused: Sampled,
    failed: Sampled,
}

impl Door {
    async fn accept(&self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stop.cancelled() => return,
            };
            let (stream, remote) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file handles, most likely: others have to end first.
                    if let Some(count) = self.failed.count(Instant::now()) {
                        tracing::warn!(%error, count, "connections could not be accepted");
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let place = tokio::select! {
                place = self.places.take(self.counted(remote.ip())) => place,
                () = self.stop.cancelled() => return,
            };
            match place {
                Ok(place) => self.begin(stream, remote, place),
                Err(HasItsShare) => {
                    if let Some(count) = self.refused.count(Instant::now()) {
                        tracing::warn!(
                            address = %remote.ip(), count,
                            "connections were closed at once: one address has as many at work as it may"
                        );
                    }
                }
            }
        }
    }

    /// The address that a connection is counted by. What comes from this machine or from a proxy may be anybody's.
    fn counted(&self, address: IpAddr) -> Option<IpAddr> {
        let is_proxy = self.listening.proxies.iter().any(|proxy| proxy.contains(address));
        (!is_proxy && !address.to_canonical().is_loopback()).then(|| one_client(address))
    }

    fn begin(&self, stream: TcpStream, remote: SocketAddr, place: Place) {
        let (router, stop, limits) = (self.router.clone(), self.stop.clone(), self.listening.limits);
        self.connections.spawn(serve_connection(stream, remote, router, limits, stop, place));
    }
}

async fn serve_connection(
    stream: TcpStream,
    remote: SocketAddr,
    router: Router,
    limits: ServerLimits,
    stop: CancellationToken,
    place: Place,
) {
    let Ok(local) = stream.local_addr() else { return };
    // Tokens are small and wanted at once.
    _ = stream.set_nodelay(true);
    let peer = Peer { remote, local };
    let place = Arc::new(place);
    let held = place.clone();
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request: Request = request.map(|body| arriving(body, held.clone()));
        request.extensions_mut().insert(peer);
        let (answer, place) = (router.clone().call(request), held.clone());
        async move { answer.await.map(|response| until_said(response, place)) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_bytes_max)
        .serve_connection(TokioIo::new(Patience::new(stream, limits.stall)), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%error, %remote, "a connection ended badly");
            }
            return;
        }
        // It was idle: nothing of it is lost but the connection.
        () = place.close().cancelled() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    _ = tokio::time::timeout(GOODBYE, connection).await;
}
