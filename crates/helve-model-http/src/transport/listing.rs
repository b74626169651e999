//! Which models a server says it has.

use std::time::Duration;

use helve_model::{ModelError, ModelErrorKind};
use reqwest::{Client, Url};
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::timeout;

use super::redact::redacted;
use super::{bounded_body, fit, head, late, with_key};
use crate::bounds::AnswerBounds;
use crate::protocol::Protocol;

const PATIENCE: Duration = Duration::from_secs(3);

/// The models of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub names: Vec<String>,
    /// Whether a model that is not in the list is not there.
    pub complete: bool,
}

impl Listing {
    /// Names are also listed with a tag that goes without saying, or in a folder.
    pub fn has(&self, model: &str) -> bool {
        self.names.iter().any(|name| {
            name == model
                || name.strip_suffix(":latest") == Some(model)
                || name.strip_prefix("models/") == Some(model)
        })
    }
}

/// What the server lists, or none if it has no list.
pub(crate) async fn listed(
    client: &Client,
    url: &Url,
    key: Option<&SecretString>,
    protocol: &Protocol,
) -> Result<Option<Listing>, ModelError> {
    let read = async {
        let response = head(with_key(client.get(url.clone()), protocol, key)?, url, PATIENCE).await?;
        if matches!(response.status().as_u16(), 404 | 405 | 501) {
            return Ok(None);
        }
        let body = async {
            bounded_body(fit(response, url, key, PATIENCE).await?, key, AnswerBounds::default().bytes_max)
                .await
        };
        let body = timeout(PATIENCE, body).await.map_err(|_| late(url))??;
        let names = names(&body, protocol)?;
        Ok(Some(Listing { names, complete: protocol.catalogue.complete }))
    };
    read.await.map_err(|error| redacted(error, key))
}

fn names(body: &str, protocol: &Protocol) -> Result<Vec<String>, ModelError> {
    let catalogue = &protocol.catalogue;
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let items = parsed.as_ref().and_then(|value| value.get(catalogue.list)?.as_array());
    let items = items.ok_or_else(|| {
        let what = format!("what answers there is no model server that speaks `{}`", protocol.name);
        ModelError::new(ModelErrorKind::Refused, what)
    })?;
    let name = |item: &Value| Some(item.get(catalogue.name)?.as_str()?.to_owned());
    Ok(items.iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_under_the_names_that_it_goes_by() {
        let names = vec!["llama3.2:latest".to_owned(), "qwen3:8b".into(), "models/gemini-3".into()];
        let listing = Listing { names, complete: true };
        for (model, there) in [
            ("llama3.2", true),
            ("llama3.2:latest", true),
            ("qwen3:8b", true),
            ("gemini-3", true),
            ("qwen3", false),
            ("latest", false),
        ] {
            assert_eq!(listing.has(model), there, "{model}");
        }
    }
}
