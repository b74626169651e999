//! Where the database is, and how its connections are made.

use std::fmt;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use helve_postgres_tls::{PostgresAddress, Rustls, TrustedRoots};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};

use super::columns::describe;

const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long a query waits for a connection of the pool.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Without these, a connection whose other end is gone is noticed after a quarter of an hour.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(30);

/// A database of PostgreSQL's. What it shows of itself has no password in it.
#[derive(Clone)]
pub struct PostgresSettings {
    config: Config,
    tls: Option<TrustedRoots>,
}

impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresSettings({self})")
    }
}

/// The place of the first server and the name of the database.
impl fmt::Display for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => f.write_str(name)?,
            #[cfg(unix)]
            Some(Host::Unix(folder)) => write!(f, "{}", folder.display())?,
            None => f.write_str("localhost")?,
        }
        if let Some(port) = self.config.get_ports().first() {
            write!(f, ":{port}")?;
        }
        write!(f, "/{}", self.config.get_dbname().or(self.config.get_user()).unwrap_or_default())
    }
}

impl PostgresSettings {
    /// Reads `postgres://user:password@host:5432/name`; the error says what is wrong, and repeats nothing of it.
    pub fn parse(url: &SecretString) -> Result<Self, String> {
        let url = url.expose_secret().trim();
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err("the address must begin with `postgres://`".into());
        }
        let PostgresAddress { mut config, tls } = PostgresAddress::parse(url)?;
        if config.get_application_name().is_none() {
            config.application_name("helve");
        }
        config
            .connect_timeout(CONNECT_MAX)
            .keepalives(true)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES)
            .tcp_user_timeout(UNACKNOWLEDGED_MAX)
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        Ok(Self { config, tls })
    }

    /// Connections that are made when they are needed, up to so many.
    pub(super) fn build_pool(&self, size: usize) -> Result<Pool, String> {
        // What may be unclean is never given back (`Held`), so nothing has to be cleaned.
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let config = self.config.clone();
        let manager = match self.build_tls()? {
            Some(tls) => Manager::from_config(config, tls, recycling),
            None => Manager::from_config(config, NoTls, recycling),
        };
        Pool::builder(manager)
            .max_size(size)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT_MAX))
            .create_timeout(Some(CONNECT_MAX))
            .recycle_timeout(Some(CONNECT_MAX))
            .build()
            .map_err(|error| error.to_string())
    }

    /// A connection of its own, which passes on what the server says without being asked.
    pub(super) async fn connect(
        &self,
        messages: UnboundedSender<AsyncMessage>,
    ) -> Result<(Client, AbortHandle), String> {
        let connecting = async {
            match self.build_tls()? {
                Some(tls) => {
                    let (client, connection) =
                        self.config.connect(tls).await.map_err(|error| describe(&error))?;
                    Ok((client, tokio::spawn(forward_messages(connection, messages)).abort_handle()))
                }
                None => {
                    let (client, connection) =
                        self.config.connect(NoTls).await.map_err(|error| describe(&error))?;
                    Ok((client, tokio::spawn(forward_messages(connection, messages)).abort_handle()))
                }
            }
        };
        let timed = tokio::time::timeout(CONNECT_MAX, connecting).await;
        timed.unwrap_or_else(|_| Err("PostgreSQL: it did not answer in time".into()))
    }

    fn build_tls(&self) -> Result<Option<Rustls>, String> {
        self.tls.as_ref().map(Rustls::new).transpose()
    }
}

/// Until the connection ends; then the receiver is told by the end of the messages.
async fn forward_messages<S, T>(mut connection: Connection<S, T>, messages: UnboundedSender<AsyncMessage>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
        _ = messages.send(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<PostgresSettings, String> {
        PostgresSettings::parse(&url.to_owned().into())
    }

    #[test]
    fn what_is_shown_of_an_address_has_no_password_in_it() {
        let settings = parse("postgres://helve:hush@db.lan:5433/agents?sslmode=verify-full").unwrap();
        assert_eq!(settings.to_string(), "db.lan:5433/agents");
        assert!(!format!("{settings:?}").contains("hush"));
    }

    #[test]
    fn an_address_that_cannot_be_read_is_not_repeated() {
        for wrong in [
            "postgres://helve:hu@sh@db.lan/agents",
            "mysql://hush",
            "postgres://hush:x",
            "postgres://h:sh:x@y:z",
        ] {
            let told = parse(wrong).err();
            assert!(
                told.as_ref().is_some_and(|told| !told.contains("sh@") && !told.contains("hush")),
                "{wrong}: {told:?}"
            );
        }
    }
}
