//! A PostgreSQL that goes away, and a line to it that breaks: what was acknowledged is there, once, and nothing else is
//! said to be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use helve_store::{Append, Place, RunWriter, Store, StoreError, Urgency};
use helve_store_contract::{Actor, Started};
use helve_test_support::{PostgresServer, Shutdown, find_postgres_programs};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::postgres::{connect, database, serve, text};
use super::tls::open_to_all;

/// A line to a server, which breaks as it is told.
#[derive(Default)]
struct FaultyLine {
    /// Connections are cut, each after some more bytes to the server than the one before.
    cuts: AtomicBool,
    connections: AtomicUsize,
    /// Commits are kept back, and their connection stays silent.
    keeps_commits: AtomicBool,
    /// A commit was kept back.
    kept: Notify,
    /// Ends the connections that are silent.
    end_silent: Notify,
}

impl FaultyLine {
    /// Forwards connections to the server at `port`; the port where they come in.
    async fn listen(self: &Arc<Self>, port: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let line = self.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let line = line.clone();
                tokio::spawn(async move {
                    #[expect(clippy::disallowed_methods, reason = "a line between two ports of this machine")]
                    let connected = TcpStream::connect(("127.0.0.1", port)).await;
                    if let Ok(server) = connected {
                        line.forward(client, server).await;
                    }
                });
            }
        });
        own
    }

    async fn forward(&self, client: TcpStream, server: TcpStream) {
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let answers = async {
            _ = tokio::io::copy(&mut from_server, &mut to_client).await;
            if self.keeps_commits.load(Ordering::SeqCst) {
                // The client does not learn that the server is gone.
                self.end_silent.notified().await;
            }
        };
        let limit = self.cuts.load(Ordering::SeqCst).then(|| {
            // From the first words of a connection to some batches after it, and from the beginning again.
            100 + self.connections.fetch_add(1, Ordering::SeqCst) * 97 % 8_000
        });
        let questions = async {
            let (mut buffer, mut count) = ([0; 4096], 0);
            while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
                if self.keeps_commits.load(Ordering::SeqCst)
                    && buffer[..read].windows(7).any(|at| at == b"COMMIT\0")
                {
                    self.kept.notify_one();
                    self.end_silent.notified().await;
                    return;
                }
                let left = limit.map_or(read, |limit| read.min(limit.saturating_sub(count)));
                if to_server.write_all(&buffer[..left]).await.is_err() || left < read {
                    return;
                }
                count += read;
            }
        };
        tokio::select! {
            () = answers => {}
            () = questions => {}
        }
    }
}

/// The address of a database, at another port.
fn through(url: &str, port: u16) -> String {
    let (before, name) = url.rsplit_once('/').unwrap();
    let (host, _) = before.rsplit_once(':').unwrap();
    format!("{host}:{port}/{name}")
}

/// Writes one more event as the journal does: again and again until it is durable.
async fn write(store: &Arc<dyn Store>, mei: &Actor, run: &mut Started, word: &str) {
    let events = mei.batch(run, vec![text(word)]).events;
    loop {
        let writer = RunWriter { run: run.run, epoch: run.epoch, on_commit: None };
        let again = Append { events: events.clone(), ..Append::default() };
        match store.append(again.for_writer(writer), Urgency::Now).await {
            Ok(()) => return,
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(2)).await,
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_breaks_at_any_byte_loses_no_event_and_doubles_none() {
    let Some(url) = database().await else { return };
    let port = url.rsplit_once('/').unwrap().0.rsplit_once(':').unwrap().1.parse().unwrap();
    let line = Arc::new(FaultyLine::default());
    let store: Arc<dyn Store> = Arc::new(serve(&through(&url, line.listen(port).await)).await.unwrap());
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(Place::Nowhere, "hello").await;
    line.cuts.store(true, Ordering::SeqCst);
    // What was connected before is not cut by itself.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    connect(&url).await.batch_execute(end).await.unwrap();
    for number in 0..60 {
        write(&store, &mei, &mut run, &number.to_string()).await;
    }
    let connections = line.connections.load(Ordering::SeqCst);
    assert!(connections > 20, "only {connections} connections were cut");
    line.cuts.store(false, Ordering::SeqCst);
    connect(&url).await.batch_execute(end).await.unwrap();
    write(&store, &mei, &mut run, "the last").await;
    let log = store.events(run.run, 0, 1_000).await.unwrap();
    assert_eq!(log.len(), 62);
    let numbers: Vec<u64> = log.iter().map(|recorded| recorded.event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_a_crash_lost_is_not_taken_for_kept_when_its_number_is_used_again() {
    let Some(programs) = find_postgres_programs() else {
        helve_test_support::skip_test("PostgreSQL that crashes", "no PostgreSQL is installed");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    open_to_all(place.path());
    // Nothing but a commit writes the log of the server.
    let settings = [("wal_writer_delay", "10s"), ("autovacuum", "off")];
    let server = PostgresServer::start_new(&programs, place.path(), &settings).unwrap();
    let line = Arc::new(FaultyLine::default());
    let url = through(&server.url("postgres"), line.listen(server.port()).await);
    let store: Arc<dyn Store> = Arc::new(serve(&url).await.unwrap());
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(Place::Nowhere, "hello").await;

    line.keeps_commits.store(true, Ordering::SeqCst);
    let events = mei.batch(&mut run, vec![text("lost")]).events;
    let writer = RunWriter { run: run.run, epoch: run.epoch, on_commit: None };
    let lost = Append { events, ..Append::default() }.for_writer(writer);
    let writing = tokio::spawn(store.append(lost, Urgency::Now));
    line.kept.notified().await;
    server.kill().unwrap();
    server.start().unwrap();
    // Others are given the numbers of what was lost.
    let other = connect(&server.url("postgres")).await;
    for _ in 0..200 {
        other
            .batch_execute("CREATE TEMP TABLE IF NOT EXISTS t (n int); INSERT INTO t VALUES (1)")
            .await
            .unwrap();
    }
    line.keeps_commits.store(false, Ordering::SeqCst);
    line.end_silent.notify_waiters();
    let answer = writing.await.unwrap();
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    assert_eq!(store.events(run.run, 0, 10).await.unwrap().len(), 1);
    // The connection that listens is away for a moment, too.
    store.check().await.unwrap();
    server.stop(Shutdown::Immediate).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_life_of_the_server_ends_with_a_crash_of_one_of_its_processes() {
    let Some(programs) = find_postgres_programs() else { return };
    let place = tempfile::tempdir().unwrap();
    open_to_all(place.path());
    let server = PostgresServer::start_new(&programs, place.path(), &[("fsync", "off")]).unwrap();
    let life = async || {
        // The statement of the writer (`SERVER_LIFE`).
        let sql = "SELECT concat(pg_postmaster_start_time()::text, ' ', (SELECT stats_reset::text FROM pg_stat_wal))";
        loop {
            let Ok((client, connection)) =
                tokio_postgres::connect(&server.url("postgres"), tokio_postgres::NoTls).await
            else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            tokio::spawn(connection);
            let Ok(row) = client.query_one(sql, &[]).await else { continue };
            return row.get::<_, String>(0);
        }
    };
    let before = life().await;
    assert_eq!(before, life().await);
    let client = connect(&server.url("postgres")).await;
    let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    let killed = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
    // All its connections end with it, and it recovers.
    while !client.is_closed() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_ne!(before, life().await);
}
