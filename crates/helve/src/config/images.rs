//! Who draws pictures.

use helve_egress::{EgressSettings, Secret, Secrets, Url};
use helve_tool_builtin::{IMAGES_SECRET, Images};
use serde::Deserialize;

use super::Environment;
use super::egress::place_of;
use super::places::Places;
use crate::i18n::tr;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct ImagesTable {
    base_url: Option<String>,
    model: Option<String>,
    api_key_env: Option<String>,
    response_format: Option<String>,
}

/// The service, if one is configured, and why it is left out if it is; its key is added to what may leave.
pub(super) fn images(
    table: ImagesTable,
    egress: &mut EgressSettings,
    environment: &Environment,
    places: &Places,
) -> anyhow::Result<(Option<Images>, Option<String>)> {
    let wrong = |key: &'static str, what: String| places.wrong(&["images", key], what);
    let (base_url, model) = match (table.base_url, table.model) {
        (None, None) => return Ok((None, None)),
        (Some(base_url), Some(model)) => (base_url, model),
        _ => return Err(wrong("", tr!("`base_url` and `model` are both needed to draw pictures"))),
    };
    let place = place_of(&base_url);
    let (Ok(url), Some(place)) = (Url::parse(&base_url), place) else {
        return Err(wrong("base_url", tr!("this is no address; write it as `https://api.openai.com/v1`")));
    };
    let key = match &table.api_key_env {
        None => None,
        Some(variable) => match environment.secret(variable) {
            Some(key) => Some(key),
            None => {
                let place = places.of(&["images", "api_key_env"]);
                let warning = tr!(
                    "{place}: the environment variable {variable} is not set, so `image_gen` is left out",
                    place = place,
                    variable = variable
                );
                return Ok((None, Some(warning)));
            }
        },
    };
    let has_key = key.is_some();
    if let Some(value) = key {
        let own = Secret { name: IMAGES_SECRET.into(), value, hosts: vec![place] };
        let others = egress.secrets.names().filter(|name| *name != IMAGES_SECRET);
        let others: Vec<Secret> = others.filter_map(|name| egress.secrets.get(name).cloned()).collect();
        egress.secrets = Secrets::new(others.into_iter().chain([own]).collect());
    }
    Ok((Some(Images { base_url: url, model, has_key, response_format: table.response_format }), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Overrides};

    fn parse(text: &str) -> anyhow::Result<Config> {
        let environment = Environment::of([("PAINTER_KEY", "sk-hush-hush"), ("TAVILY_API_KEY", "tvly-1")]);
        Config::parse(Some("helve.toml".into()), text, &Overrides::default(), &environment)
    }

    #[test]
    fn the_key_is_for_the_service_alone() {
        let text = "[images]\nbase_url = \"http://gpu.lan:9000/v1\"\nmodel = \"flux\"\napi_key_env = \"PAINTER_KEY\"";
        let config = parse(text).unwrap();
        assert!(config.images.as_ref().unwrap().has_key);
        assert_eq!(config.egress.secrets.get(IMAGES_SECRET).unwrap().hosts, ["gpu.lan:9000"]);
        assert!(config.egress.allow.is_empty(), "that the service may be reached is nothing to other tools");
        assert!(config.egress.secrets.get("tavily").is_some());
        assert!(!format!("{config:?}").contains("hush"));
    }

    #[test]
    fn without_a_key_that_it_names_there_is_no_service_and_that_is_told() {
        let text = "[images]\nbase_url = \"https://a.example/v1\"\nmodel = \"m\"\napi_key_env = \"NOT_SET\"";
        let config = parse(text).unwrap();
        assert!(config.images.is_none());
        let expected = "helve.toml, line 4 at `api_key_env`: the environment variable NOT_SET is not set, so `image_gen` is left out";
        assert_eq!(config.warnings, [expected]);
        let config = parse("").unwrap();
        assert!(config.images.is_none() && config.warnings.is_empty());
        for text in ["[images]\nmodel = \"m\"", "[images]\nbase_url = \"x\"\nmodel = \"m\""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
