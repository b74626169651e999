//! From what is configured to what a model is made of: the lower layers of its parameters, its mode, its price.
//!
//! Above these come the agent's parameters, the variant's and the request's, which are known only when a run starts.

use helve_model::FormSupport;
use helve_model_http::{HttpModel, HttpModelSettings, form_support, vendor_params};
use helve_runtime::{ModelOptions, Origin};

use super::{ModelSettings, Prices, small, windows};
use crate::nearby::is_nearby;

impl ModelSettings {
    /// The settings with everything that holds unless the operator says otherwise: the vendor's defaults, then what
    /// small models want, then the model's own.
    pub fn layered(&self, settings: &HttpModelSettings) -> HttpModelSettings {
        // A protocol without a vendor stands for the vendor that made it, where that has its name.
        let vendor = settings.vendor.as_deref().or(settings.protocol.as_deref()).unwrap_or_default();
        let mut params = vendor_params(vendor);
        let mut tool_mode = settings.tool_mode.clone();
        if self.is_small(settings) {
            params = small::params(vendor).with_defaults(&params);
            if !self.tools_said && form_support(vendor) == FormSupport::Grammar {
                tool_mode = small::tool_mode();
            }
        }
        HttpModelSettings {
            params: settings.params.clone().with_defaults(&params),
            tool_mode,
            ..settings.clone()
        }
    }

    /// What is known about the model besides how it is asked.
    pub fn known(&self, settings: &HttpModelSettings, model: &HttpModel, prices: &Prices) -> ModelOptions {
        let shipped = || {
            // At another address than the vendor's own the prices are unknown.
            let vendor = settings.vendor.as_deref().filter(|_| settings.base_url.is_none())?;
            prices.of(vendor, &settings.model)
        };
        // A gate in between is likely to pass on what the model itself can read.
        let window = || windows::of(settings.vendor.as_deref()?, &settings.model);
        ModelOptions {
            context_tokens: self.options.context_tokens.or_else(window),
            price: self.options.price.clone().or_else(shipped),
            small: self.is_small(settings),
            origin: Some(Origin {
                vendor: model.vendor().map(str::to_owned),
                protocol: model.protocol().to_owned(),
                model: settings.model.clone(),
                host: model.host(),
            }),
            subject: format!("{} at {}", model.vendor_model(), model.display_url()),
            // A server on the internet costs money to ask.
            probe: self.probe.unwrap_or_else(|| is_nearby(model)),
            ..self.options.clone()
        }
    }

    fn is_small(&self, settings: &HttpModelSettings) -> bool {
        self.small.unwrap_or_else(|| small::is_small(&settings.model))
    }
}

#[cfg(test)]
mod tests {
    use helve_model::{Model, ToolMode};
    use helve_runtime::{PerMillion, PriceSource};
    use helve_types::Mode;

    use crate::config::{Config, Environment, Overrides, Source};

    use super::*;

    fn config(text: &str) -> anyhow::Result<Config> {
        Config::parse(Some("helve.toml".into()), text, &Overrides::default(), &Environment::default())
    }

    /// The first model of a file, as it is asked, and what is known about it.
    fn made(text: &str) -> (HttpModel, ModelOptions) {
        crate::assemble::install_tls();
        let config = config(text).unwrap();
        let model = &config.models[0];
        let Source::Http(settings) = &model.source else { panic!("not over HTTP") };
        let made =
            HttpModel::new(model.layered(settings), helve_model_http::build_client().unwrap()).unwrap();
        let known = model.known(settings, &made, &config.prices);
        (made, known)
    }

    fn ollama(more: &str) -> HttpModel {
        made(&format!("[[models]]\nname = \"m\"\nvendor = \"ollama\"\n{more}")).0
    }

    #[test]
    fn the_model_wins_over_what_small_models_want_and_that_over_the_vendor() {
        let large = ollama("model = \"qwen3:8b\"");
        assert_eq!((large.params().temperature, large.params().max_tokens), (None, Some(8192)));
        assert_eq!(large.tool_mode(), ToolMode::Auto);

        let small = ollama("model = \"qwen3:0.6b\"");
        assert_eq!((small.params().temperature, small.params().max_tokens), (Some(0.2), Some(1024)));
        assert_eq!(small.params().extra["repeat_penalty"], 1.0);
        assert_eq!(small.tool_mode(), ToolMode::Auto);
        let held = made("[[models]]\nname = \"m\"\nvendor = \"llama_cpp\"\nmodel = \"qwen3-0.6b\"").0;
        assert_eq!(held.tool_mode(), ToolMode::Fixed(Mode::Prompt("small".into())));

        let own = ollama(
            "model = \"qwen3:0.6b\"\nparams = { temperature = 0.7, extra = { repeat_penalty = 1.2 } }",
        );
        assert_eq!((own.params().temperature, own.params().max_tokens), (Some(0.7), Some(1024)));
        assert_eq!(own.params().extra["repeat_penalty"], 1.2);
    }

    #[test]
    fn the_operator_has_the_last_word_on_what_is_small_and_how_it_calls_tools() {
        let not_small = ollama("model = \"qwen3:0.6b\"\nsmall = false");
        assert_eq!((not_small.params().temperature, not_small.tool_mode()), (None, ToolMode::Auto));
        let small = ollama("model = \"tiny\"\nsmall = true");
        assert_eq!(small.params().temperature, Some(0.2));
        for (tools, expected) in [("auto", ToolMode::Auto), ("native", ToolMode::Fixed(Mode::Native))] {
            let table = "[[models]]\nname = \"m\"\nvendor = \"llama_cpp\"\nmodel = \"qwen3-0.6b\"";
            let said = made(&format!("{table}\ntools = \"{tools}\"")).0;
            assert_eq!(said.tool_mode(), expected);
        }
    }

    #[test]
    fn the_operators_price_wins_over_ours_and_ours_is_for_the_vendors_own_address() {
        let openai = "[[models]]\nname = \"m\"\nvendor = \"openai\"\nmodel = \"gpt-5-mini\"\n";
        let ours = made(openai).1.price.unwrap();
        assert!(matches!(ours.from, PriceSource::Shipped { .. }));
        let own = made(&format!("{openai}price = {{ input = 0.27, cached = 0.07, output = 1.10 }}"));
        let own = own.1.price.unwrap();
        assert_eq!(own.from, PriceSource::Configured);
        assert_eq!(
            (Some(own.input), Some(own.cached)),
            (PerMillion::from_units(0.27), PerMillion::from_units(0.07))
        );
        // Not said: as dear as other input.
        assert_eq!(own.cache_write, own.input);
        assert_eq!(made(&format!("{openai}base_url = \"http://gate/v1\"")).1.price, None);
        assert_eq!(made(&format!("{openai}[prices]\ncurrency = \"CNY\"")).1.price, None);
    }

    #[test]
    fn what_a_model_can_read_is_what_the_operator_says_or_what_we_know_of_it() {
        let openai = "[[models]]\nname = \"m\"\nvendor = \"openai\"\nmodel = \"gpt-5-mini\"\n";
        assert_eq!(made(openai).1.context_tokens, Some(400_000));
        assert_eq!(made(&format!("{openai}context_tokens = 32000")).1.context_tokens, Some(32_000));
        let ollama = "[[models]]\nname = \"m\"\nvendor = \"ollama\"\nmodel = \"qwen3:8b\"";
        assert_eq!(made(ollama).1.context_tokens, None, "it depends on how it was started");
    }

    #[test]
    fn nothing_secret_is_known_about_where_a_model_is() {
        let known = made(
            "[[models]]\nname = \"m\"\nprotocol = \"openai_chat\"\nmodel = \"x\"\nbase_url = \"http://me:pw@gpu:8000/v1?key=k\"",
        );
        let origin = known.1.origin.unwrap();
        assert_eq!((origin.host.as_str(), origin.vendor, origin.model.as_str()), ("gpu:8000", None, "x"));
        assert_eq!(origin.protocol, "openai_chat");
    }

    #[test]
    fn variants_are_read_and_agents_may_name_them() {
        let model = "[[models]]\nname = \"m\"\nvendor = \"openai\"\nmodel = \"x\"\n\
                     [models.variants]\nhigh = { extra = { reasoning_effort = \"high\" } }\n\
                     [models.variants.brief]\nmax_tokens = 100\n";
        let (_, known) = made(model);
        assert_eq!(known.variants["high"].extra["reasoning_effort"], "high");
        assert_eq!(known.variants["brief"].max_tokens, Some(100));
        let agent = |name: &str| config(&format!("{model}[[agents]]\nname = \"a\"\nmodel = \"{name}\"\n"));
        assert!(agent("m:high").is_ok());
        let told = format!("{:#}", agent("m:low").unwrap_err());
        assert!(told.contains("there is no model `m:low`"), "{told}");
    }

    #[test]
    fn what_is_wrong_about_prices_and_variants_is_told_with_line_and_key() {
        let model = "[[models]]\nname = \"m\"\nvendor = \"openai\"\nmodel = \"x\"\n";
        let cases = [
            (format!("{model}price = {{ input = -1, output = 2 }}"), "line 5 at `price`: `-1` is no price"),
            (format!("{model}price = {{ input = 1 }}"), "line 5 at `price`: missing field `output`"),
            (format!("{model}[models.variants]\n\"a:b\" = {{}}"), "line 5 at `variants`: `a:b` cannot name"),
            ("[prices]\ncurrency = \"dollars\"".into(), "line 2 at `currency`: `dollars` is no currency"),
        ];
        for (text, expected) in cases {
            let told = format!("{:#}", config(&text).unwrap_err());
            assert!(told.starts_with(&format!("helve.toml, {expected}")), "{told}");
        }
    }
}
