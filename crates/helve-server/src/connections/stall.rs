//! Closes a connection whose peer stops reading.
//!
//! Hyper polls a body only after the previous bytes were written, so a body cannot notice a stalled reader. The socket
//! can: its write stays pending.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream whose writes time out when nothing could be written for `time_max`.
pub(super) struct StallTimeout<S> {
    inner: S,
    time_max: Duration,
    /// The timer of the pending write, if one is pending.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> StallTimeout<S> {
    pub(super) fn new(inner: S, time_max: Duration) -> Self {
        Self { inner, time_max, stalled: None }
    }

    fn watch_write<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let until = Instant::now() + self.time_max;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.watch_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.watch_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const TIME_MAX: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_write_times_out_when_the_peer_reads_nothing() {
        let (ours, _theirs) = tokio::io::duplex(64);
        let began = Instant::now();
        let error = StallTimeout::new(ours, TIME_MAX).write_all(&[0; 65]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed().as_secs()), (io::ErrorKind::TimedOut, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_does_not_time_out() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let reader = tokio::spawn(async move {
            for _ in 0..4 {
                tokio::time::sleep(TIME_MAX / 2).await;
                theirs.read_exact(&mut [0; 32]).await.unwrap();
            }
        });
        StallTimeout::new(ours, TIME_MAX).write_all(&[0; 128]).await.unwrap();
        reader.await.unwrap();
    }
}
