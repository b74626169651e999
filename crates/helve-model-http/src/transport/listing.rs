//! Lists the models of a server.

use std::time::Duration;

use helve_model::{ModelError, ModelErrorKind};
use reqwest::{Client, Url};
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::timeout;

use super::redact::redact_error;
use super::{add_headers, check_response, read_body, send_head, timeout_error};
use crate::bounds::AnswerBounds;
use crate::protocol::Protocol;

const TIME_MAX: Duration = Duration::from_secs(3);

/// The models of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub names: Vec<String>,
    /// Whether a model that is not listed does not exist.
    pub complete: bool,
}

impl Listing {
    /// Whether the model is listed, also with the default tag or in a folder.
    pub fn has(&self, model: &str) -> bool {
        self.names.iter().any(|name| {
            name == model
                || name.strip_suffix(":latest") == Some(model)
                || name.strip_prefix("models/") == Some(model)
        })
    }
}

/// The server's list, or none if it has none.
pub(crate) async fn list_models(
    client: &Client,
    url: &Url,
    key: Option<&SecretString>,
    protocol: &Protocol,
) -> Result<Option<Listing>, ModelError> {
    let read = async {
        let response = send_head(add_headers(client.get(url.clone()), protocol, key)?, url, TIME_MAX).await?;
        if matches!(response.status().as_u16(), 404 | 405 | 501) {
            return Ok(None);
        }
        let body = async {
            read_body(
                check_response(response, url, key, TIME_MAX).await?,
                key,
                AnswerBounds::default().bytes_max,
            )
            .await
        };
        let body = timeout(TIME_MAX, body).await.map_err(|_| timeout_error(url))??;
        let names = parse_names(&body, protocol)?;
        Ok(Some(Listing { names, complete: protocol.model_list.complete }))
    };
    read.await.map_err(|error| redact_error(error, key))
}

fn parse_names(body: &str, protocol: &Protocol) -> Result<Vec<String>, ModelError> {
    let catalogue = &protocol.model_list;
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let items = parsed.as_ref().and_then(|value| value.get(catalogue.list)?.as_array());
    let items = items.ok_or_else(|| {
        let what = format!("the server at this address does not speak `{}`", protocol.name);
        ModelError::new(ModelErrorKind::Refused, what)
    })?;
    let name = |item: &Value| Some(item.get(catalogue.name)?.as_str()?.to_owned());
    Ok(items.iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_with_and_without_default_tag_and_folder() {
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
