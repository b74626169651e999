//! Accepting connections, with bounds on how long a client may take to say what it wants and to hear the answer.

mod patience;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use self::patience::Patience;
use crate::limits::ServerLimits;

/// Open streams are closed so long after the server was told to stop.
const GOODBYE: Duration = Duration::from_secs(2);

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) remote: SocketAddr,
    pub(crate) local: SocketAddr,
}

/// Serves on all listeners until `stop` is called for, then lets open requests end.
pub async fn serve(
    listeners: Vec<TcpListener>,
    router: Router,
    limits: ServerLimits,
    stop: CancellationToken,
) {
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let accepting =
        listeners.into_iter().map(|listener| accept(listener, &router, limits, &stop, &connections, &places));
    futures_util::future::join_all(accepting).await;
    connections.close();
    connections.wait().await;
}

async fn accept(
    listener: TcpListener,
    router: &Router,
    limits: ServerLimits,
    stop: &CancellationToken,
    connections: &TaskTracker,
    places: &Arc<Semaphore>,
) {
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, remote)) => {
                let (router, stop) = (router.clone(), stop.clone());
                connections.spawn(async move {
                    let _place = place;
                    serve_connection(stream, remote, router, limits, stop).await;
                });
            }
            Err(error) => {
                // Out of file handles, most likely: others have to end first.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve_connection(
    stream: TcpStream,
    remote: SocketAddr,
    router: Router,
    limits: ServerLimits,
    stop: CancellationToken,
) {
    let Ok(local) = stream.local_addr() else { return };
    // Tokens are small and wanted at once.
    _ = stream.set_nodelay(true);
    let peer = Peer { remote, local };
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request: Request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(peer);
        router.clone().call(request)
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
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    _ = tokio::time::timeout(GOODBYE, connection).await;
}
