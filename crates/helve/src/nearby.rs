//! Model servers on this machine or in its network: whether they answer, and what an Ollama has to offer.
//!
//! Vendors on the internet are not asked anything before somebody asks them something.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_agent::Model;
use helve_model_http::{HttpModel, HttpModelSettings};

use crate::config::{Config, Source};

const PATIENCE: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// What is known about the servers nearby.
#[derive(Clone, Default)]
pub(crate) struct Nearby {
    silent: Arc<Mutex<HashMap<String, String>>>,
}

impl Nearby {
    /// What is wrong with a model's server, if anything.
    pub(crate) fn problem(&self, model: &str) -> Option<String> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner).get(model).cloned()
    }

    /// Looks at all of them once.
    pub(crate) async fn look(&self, models: &[Arc<HttpModel>]) {
        for model in models {
            let Some(address) = nearby_address(model.url()) else { continue };
            #[expect(clippy::disallowed_methods, reason = "the operator's own models, on this machine")]
            let answers = matches!(
                tokio::time::timeout(PATIENCE, tokio::net::TcpStream::connect(&address)).await,
                Ok(Ok(_))
            );
            let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
            if answers {
                silent.remove(model.name());
            } else {
                let problem =
                    format!("nobody answers at {address}; start the server there, or change its address");
                silent.insert(model.name().to_owned(), problem);
            }
        }
    }

    pub(crate) async fn keep_looking(&self, models: &[Arc<HttpModel>]) {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            self.look(models).await;
        }
    }
}

/// Whether asking the model costs nobody money: its server is on this machine or in a private network.
pub(crate) fn is_nearby(model: &HttpModel) -> bool {
    nearby_address(model.url()).is_some()
}

/// `host:port` of a server that is on this machine or in a private network.
fn nearby_address(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    // A name and a password may stand before the host.
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => (host, port),
        _ => (authority, if scheme == "https" { "443" } else { "80" }),
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let near = match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local(),
        Err(_) => bare == "localhost",
    };
    near.then(|| format!("{host}:{port}"))
}

/// Takes the first model that the Ollama has, where nobody said which one to use.
pub(crate) async fn choose_ollama_model(config: &mut Config) {
    for model in &mut config.models {
        let Source::Http(settings) = &mut model.source else { continue };
        if settings.model.is_empty() {
            settings.model = first_model((**settings).clone()).await.unwrap_or_else(|| "llama3.2".into());
        }
    }
}

async fn first_model(settings: HttpModelSettings) -> Option<String> {
    let model = HttpModel::new(settings, helve_model_http::client().ok()?).ok()?;
    nearby_address(model.url())?;
    let listing = tokio::time::timeout(PATIENCE, model.listed()).await.ok()?.ok()??;
    listing.names.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_nearby_are_looked_at() {
        let cases = [
            ("http://127.0.0.1:11434/api/chat", Some("127.0.0.1:11434")),
            ("http://localhost:8000/v1", Some("localhost:8000")),
            ("http://[::1]:8000/v1", Some("[::1]:8000")),
            ("http://192.168.1.5/v1", Some("192.168.1.5:80")),
            ("http://me:secret@192.168.1.5:8000/v1", Some("192.168.1.5:8000")),
            ("http://me@localhost/v1", Some("localhost:80")),
            ("http://localhost:80@example.com/v1", None),
            ("https://api.openai.com/v1", None),
            ("http://8.8.8.8/v1", None),
        ];
        for (url, expected) in cases {
            assert_eq!(nearby_address(url).as_deref(), expected, "{url}");
        }
    }
}
