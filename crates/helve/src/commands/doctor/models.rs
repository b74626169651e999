//! What is wrong with each model, and what to do about it.
//!
//! A server is asked which models it has, which costs nothing, and never anything else.

use std::sync::Arc;

use helve_model::{ModelError, ModelErrorKind};
use helve_model_http::{HttpModel, Listing, VENDORS};
use helve_runtime::Model;

use helve_server::Finding;

use super::examine::Examined;
use super::finding::{ask_for_variable, quoted};
use crate::config::{Config, Environment, Source};
use crate::discovery::OLLAMA_MODEL;
use crate::i18n::{tr, words};

/// As many names as people read.
const NAMES_SHOWN: usize = 5;

pub(super) async fn all(examined: &Examined) -> Vec<Finding> {
    // As they are now: what a server lists decides which model some of them are.
    let names = examined.models.iter().map(String::as_str);
    let models: Vec<Arc<HttpModel>> = names.filter_map(|name| examined.discovery.model(name)).collect();
    // All at once: one that does not answer takes its time.
    let listings: Vec<_> = models
        .iter()
        .map(|model| {
            let model = model.clone();
            tokio::spawn(async move { model.list_models().await })
        })
        .collect();
    let default = examined.runtime.models().default_name();
    let mut findings = vec![];
    for (model, listing) in models.iter().zip(listings) {
        let asked = ProbedModel {
            name: model.name(),
            model: model.vendor_model(),
            host: host(model),
            origin: origin(model),
            key_env: model.key_env(),
            is_ollama: model.vendor() == Some("ollama"),
            is_default: default == model.name(),
        };
        findings.push(match (model.missing_key(), listing.await) {
            (Some(variable), _) => asked
                .missing(tr!(
                    "set {variable} to use it, and start the server in the same shell",
                    variable = variable
                ))
                .run(ask_for_variable(variable)),
            (None, Ok(listed)) => asked.finding(listed),
            (None, Err(error)) => asked.missing(words(&error)),
        });
        let offered = examined.discovery.listed(model.name());
        if !offered.is_empty() {
            let what = tr!(
                "models of `{name}` under their own names: {offered}",
                name = model.name(),
                offered = shown(&offered)
            );
            findings.push(Finding::good(what).run("helve models list"));
        }
    }
    if let Some(name) = examined.discovery.missing_default(examined.runtime.models()) {
        let what =
            tr!("default model: no server lists `{name}`; see which there are, or get it", name = name);
        findings.push(Finding::bad(what).run("helve models list"));
    }
    findings.push(match default.as_str() {
        "demo" => Finding::note(tr!("default model: `demo`, which follows fixed rules; set the key of a vendor, or start a model server"))
        .run(format!("ollama pull {OLLAMA_MODEL}")),
        name => Finding::good(tr!("default model: `{name}`, until another one is used", name = name)),
    });
    findings
}

/// A model whose server was asked.
struct ProbedModel<'a> {
    name: &'a str,
    /// What the vendor calls it; empty where the first one is taken.
    model: &'a str,
    host: &'a str,
    /// The scheme and the host.
    origin: String,
    key_env: Option<&'a str>,
    is_ollama: bool,
    is_default: bool,
}

impl ProbedModel<'_> {
    fn finding(&self, listed: Result<Option<Listing>, ModelError>) -> Finding {
        let Self { model, host, .. } = *self;
        match listed {
            Ok(None) => self.note(tr!("its server answers ({host}), but has no list of models; if `{model}` fails, check base_url and model", host = host, model = model)),
            Ok(Some(listing)) if listing.names.is_empty() && self.is_ollama => {
                let model = if model.is_empty() { OLLAMA_MODEL } else { model };
                self.missing(tr!(
                    "its server ({host}) has no model yet; get one, as in: ollama pull {model}",
                    host = host,
                    model = model
                ))
                    .run(format!("ollama pull {}", quoted(model)))
            }
            Ok(Some(listing)) if model.is_empty() => match listing.names.first() {
                Some(first) => self.good(tr!("its server answers ({host}); its first model is taken: {first}", host = host, first = first)),
                None => self.missing(tr!("its server ({host}) has no model yet", host = host)),
            },
            Ok(Some(listing)) if listing.has(model) => self.good(tr!("its server answers and has it ({model}, {host})", model = model, host = host)),
            Ok(Some(listing)) if listing.complete => self.missing_model(tr!(
                "its server ({host}) has no `{model}`; get it, as in: ollama pull {model}, or set `model` to one that is there: {names}",
                host = host,
                model = model,
                names = shown(&listing.names)
            )),
            Ok(Some(listing)) => self.note(tr!("its server answers ({host}), but does not list `{model}`; if that is no endpoint or alias of yours, \
                 set `model` to one that is there: {names}", host = host, model = model, names = shown(&listing.names))),
            Err(error) => {
                let finding = self.missing(self.advice(&error));
                let is_silent = error.kind == ModelErrorKind::Unavailable;
                match (is_silent, self.is_ollama) {
                    (false, _) => finding,
                    (true, true) => finding.run("ollama serve"),
                    (true, false) => finding.run(format!("curl -v {}", quoted(&self.origin))),
                }
            }
        }
    }

    fn advice(&self, error: &ModelError) -> String {
        let host = self.host;
        match error.kind {
            ModelErrorKind::Key => match self.key_env {
                Some(variable) => {
                    tr!(
                        "its server ({host}) refuses the key in {variable}; put a valid one there",
                        host = host,
                        variable = variable
                    )
                }
                None => tr!(
                    "its server ({host}) wants a key; name the variable that holds it with api_key_env",
                    host = host
                ),
            },
            ModelErrorKind::Unavailable => {
                tr!("{message} (start the server, or change base_url)", message = words(&error.message))
            }
            _ => tr!("{message} ({host}); check base_url", message = words(&error.message), host = host),
        }
    }

    fn missing_model(&self, what: String) -> Finding {
        let finding = self.missing(what);
        if self.is_ollama { finding.run(format!("ollama pull {}", quoted(self.model))) } else { finding }
    }

    fn good(&self, what: String) -> Finding {
        Finding::good(tr!("model `{name}`: {what}", name = self.name, what = what))
    }

    fn note(&self, what: String) -> Finding {
        Finding::note(tr!("model `{name}`: {what}", name = self.name, what = what))
    }

    /// Bad for the model that is used when none is named; without the others one can live.
    fn missing(&self, what: String) -> Finding {
        let what = tr!("model `{name}`: {what}", name = self.name, what = what);
        if self.is_default { Finding::bad(what) } else { Finding::note(what) }
    }
}

fn shown(names: &[String]) -> String {
    let more = if names.len() > NAMES_SHOWN { " …" } else { "" };
    match names {
        [] => tr!("none yet"),
        names => format!("{}{more}", names[..names.len().min(NAMES_SHOWN)].join(", ")),
    }
}

/// Keys that are set and that no model uses.
pub(super) fn idle_keys(config: &Config, environment: &Environment) -> Vec<Finding> {
    let used = config.models.iter().filter_map(|model| match &model.source {
        Source::Http(settings) => settings.key_env.as_deref(),
        Source::Demo => None,
    });
    idle(&used.collect::<Vec<_>>(), environment)
}

fn idle(used: &[&str], environment: &Environment) -> Vec<Finding> {
    let keys = VENDORS.iter().filter_map(|vendor| Some((vendor.name, vendor.key_env?)));
    let idle = keys.filter(|(_, variable)| !used.contains(variable) && environment.text(variable).is_some());
    idle.map(|(vendor, variable)| {
        Finding::note(tr!(
            "{variable} is set, but no model uses it; add one with vendor = \"{vendor}\" to helve.toml",
            variable = variable,
            vendor = vendor
        ))
    })
    .collect()
}

/// Where its server is asked.
fn origin(model: &HttpModel) -> String {
    let scheme = model.url().split("://").next().unwrap_or("http");
    format!("{scheme}://{}/", host(model))
}

/// Without the name and the password that may stand before it.
fn host(model: &HttpModel) -> &str {
    let authority = model.url().split('/').nth(2).unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use helve_server::FindingLevel as Level;

    fn told(model: &str, is_default: bool, listed: Result<Option<Listing>, ModelError>) -> String {
        told_of(model, is_default, true, listed)
    }

    fn told_of(
        model: &str,
        is_default: bool,
        is_ollama: bool,
        listed: Result<Option<Listing>, ModelError>,
    ) -> String {
        let asked = ProbedModel {
            name: "m",
            model,
            host: "gpu:1",
            origin: "http://gpu:1/".into(),
            key_env: Some("GPU_KEY"),
            is_ollama,
            is_default,
        };
        let finding = asked.finding(listed);
        let level = match finding.level {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Bad => "BAD",
        };
        let run = finding.run.map(|command| format!(" | {command}"));
        format!("{level} {}{}", finding.text, run.unwrap_or_default())
    }

    fn listing(names: &[&str], complete: bool) -> Result<Option<Listing>, ModelError> {
        Ok(Some(Listing { names: names.iter().map(|&name| name.to_owned()).collect(), complete }))
    }

    #[test]
    fn each_finding_says_what_to_do() {
        let failed = |kind, message: &str| Err(ModelError::new(kind, message));
        let cases = [
            (
                told("x", true, listing(&["x:latest"], true)),
                "ok model `m`: its server answers and has it (x, gpu:1)",
            ),
            (
                told("", true, listing(&["a", "b"], true)),
                "ok model `m`: its server answers (gpu:1); its first model",
            ),
            (told("", true, listing(&[], true)), "BAD model `m`: its server (gpu:1) has no model yet"),
            (
                told("x", true, listing(&["a", "b"], true)),
                "BAD model `m`: its server (gpu:1) has no `x`; get it",
            ),
            (told("x", false, listing(&["a", "b"], true)), "note model `m`: its server (gpu:1) has no `x`"),
            (
                told("x", true, listing(&["a"], false)),
                "note model `m`: its server answers (gpu:1), but does not list",
            ),
            (told("x", true, Ok(None)), "note model `m`: its server answers (gpu:1), but has no list"),
            (
                told("x", true, failed(ModelErrorKind::Key, "no")),
                "BAD model `m`: its server (gpu:1) refuses the key in GPU_KEY",
            ),
            (
                told("x", false, failed(ModelErrorKind::Unavailable, "nobody there")),
                "note model `m`: nobody there (start the server, or change base_url) | ollama serve",
            ),
            (
                told_of("x", true, false, failed(ModelErrorKind::Unavailable, "nobody there")),
                "BAD model `m`: nobody there (start the server, or change base_url) | curl -v http://gpu:1/",
            ),
            (
                told("x", true, failed(ModelErrorKind::Refused, "odd")),
                "BAD model `m`: odd (gpu:1); check base_url",
            ),
        ];
        for (told, expected) in cases {
            assert!(told.starts_with(expected), "{told}\n{expected}");
        }
    }

    #[test]
    fn a_key_that_no_model_uses_is_pointed_out() {
        let environment = Environment::of([("MISTRAL_API_KEY", "x"), ("GROQ_API_KEY", "y")]);
        let idle = idle(&["GROQ_API_KEY"], &environment);
        let [Finding { level: Level::Note, text: told, .. }] = &idle[..] else { panic!("one note") };
        assert!(told.contains("MISTRAL_API_KEY") && told.contains("vendor = \"mistral\""), "{told}");
    }
}
