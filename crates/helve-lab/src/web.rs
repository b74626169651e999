//! A bare HTTP server on hyper, for the worlds outside of the product.

use std::error::Error;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// The connection ends here, without another word.
#[derive(Debug)]
pub(crate) struct ConnectionDropped;

impl std::fmt::Display for ConnectionDropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("hung up on purpose")
    }
}

impl Error for ConnectionDropped {}

/// A server that ends, with all its connections, when this is dropped.
#[derive(Debug)]
pub(crate) struct ServerTask {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Drop for ServerTask {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ServerTask {
    pub(crate) fn start<H, F, B>(listener: TcpListener, handle: H) -> std::io::Result<Self>
    where
        H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<B>, ConnectionDropped>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let address = listener.local_addr()?;
        Ok(Self { address, accepting: tokio::spawn(accept(listener, handle)) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves for as long as the process lives.
    pub(crate) async fn serve_forever(mut self) {
        _ = (&mut self.accepting).await;
    }
}

async fn accept<H, F, B>(listener: TcpListener, handle: H)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, ConnectionDropped>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                // Tokens are small and wanted at once.
                _ = stream.set_nodelay(true);
                let handle = handle.clone();
                connections.spawn(async move {
                    let service = hyper::service::service_fn(handle);
                    // A client that leaves, or is killed, is what these servers are for.
                    _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
            // Those that are over are let go of.
            Some(_) = connections.join_next() => {}
        }
    }
}
