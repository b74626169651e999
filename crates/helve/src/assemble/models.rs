//! Making models of what is configured.

use std::sync::Arc;

use anyhow::Context;
use helve_model::DemoModel;
use helve_model_http::{AnswerBounds, HttpModel, HttpModelSettings, SettingsError, Timeouts};
use helve_runtime::{ModelOptions, Models};

use crate::config::{Config, ModelSettings, Prices, Source};
use crate::discovery::OLLAMA_MODEL;
use crate::i18n::tr;

/// Makes models, at the start and when a server lists new ones.
pub(crate) struct ModelMaker {
    client: reqwest::Client,
    timeouts: Timeouts,
    bounds: AnswerBounds,
    prices: Prices,
}

impl ModelMaker {
    pub(super) fn new(config: &Config) -> anyhow::Result<Self> {
        Ok(Self {
            client: helve_model_http::build_client()
                .with_context(|| tr!("the HTTP client cannot be made"))?,
            timeouts: Timeouts { idle: config.limits.model_silence, ..Timeouts::default() },
            bounds: config.limits.answers,
            prices: config.prices.clone(),
        })
    }

    pub(crate) fn make(
        &self,
        model: &ModelSettings,
        settings: &HttpModelSettings,
    ) -> Result<(Arc<HttpModel>, ModelOptions), SettingsError> {
        let mut layered = model.layered(settings);
        // Until its list is there.
        if layered.model.is_empty() && layered.vendor.as_deref() == Some("ollama") {
            layered.model = OLLAMA_MODEL.into();
        }
        let made = HttpModel::new(layered, self.client.clone())?;
        let made = Arc::new(made.with_timeouts(self.timeouts).with_bounds(self.bounds));
        let known = model.known(settings, &made, &self.prices);
        Ok((made, known))
    }
}

/// The models of the configuration, and those of them that are asked over HTTP.
pub(super) fn models(config: &Config, maker: &ModelMaker) -> anyhow::Result<(Models, Vec<Arc<HttpModel>>)> {
    let mut models = Models::new();
    let mut over_http = vec![];
    for model in &config.models {
        match &model.source {
            Source::Demo => {
                let options =
                    ModelOptions { subject: "demo, inside the program".into(), ..Default::default() };
                models.add(Arc::new(DemoModel::new()), options);
            }
            Source::Http(settings) => {
                let made = maker.make(model, settings);
                let (made, known) = made.with_context(|| tr!("the model `{name}`", name = model.name))?;
                over_http.push(made.clone());
                models.add(made, known);
            }
        }
    }
    models.set_default(config.default_model.clone());
    if config.default_is_named {
        models.pin_default();
    }
    models.set_currency(config.prices.currency.clone());
    Ok((models, over_http))
}
