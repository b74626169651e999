//! What a configuration means, and what is said about a wrong one.

use helve_model_http::HttpModel;

use super::*;

fn parse(text: &str, environment: &Environment) -> anyhow::Result<Config> {
    Config::parse(Some("helve.toml".into()), text, &Overrides::default(), environment)
}

fn refused(text: &str) -> String {
    format!("{:#}", parse(text, &Environment::default()).unwrap_err())
}

#[test]
fn without_anything_there_are_sane_defaults() {
    let config = parse("", &Environment::of([("HOME", "/home/mei")])).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8890");
    assert_eq!(config.data, Path::new("/home/mei/.local/share/helve"));
    assert_eq!(config.default_model, "demo");
    let names: Vec<_> = config.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["volcano", "local", "demo"]);
    assert!(config.is_loopback());
}

#[test]
fn a_key_in_the_environment_is_found_and_used() {
    let config =
        parse("", &Environment::of([("OPENAI_API_KEY", "sk-1"), ("OLLAMA_API_URL", "http://gpu:11434")]));
    let config = config.unwrap();
    assert_eq!(config.default_model, "openai");
    let local = config.models.iter().find(|model| model.name == "local").unwrap();
    let Source::Http(settings) = &local.source else { panic!("not over HTTP") };
    assert_eq!(settings.base_url.as_deref(), Some("http://gpu:11434/v1"));
}

#[test]
fn the_environment_wins_over_the_file() {
    let text = "[server]\nlisten = \"127.0.0.1:1000\"\nlog = \"warn\"\n";
    let environment = Environment::of([("HELVE_SERVER__LISTEN", "127.0.0.1:2000"), ("HELVE_DATA", "/tmp/d")]);
    let config = parse(text, &environment).unwrap();
    assert_eq!(config.listen.port(), 2000);
    assert_eq!(config.data, Path::new("/tmp/d"));
    assert_eq!(config.log, "warn");
    let numbers = Environment::of([("HELVE_TOOLS__SEARCH_WEB__TIMEOUT_MS", "5000")]);
    assert_eq!(parse("", &numbers).unwrap().tools.len(), 1);
}

#[test]
fn a_wrong_file_names_the_line_and_the_key() {
    let unknown = refused("[server]\n\nlisen = \"127.0.0.1:1\"\n");
    assert!(unknown.starts_with("helve.toml, line 3 at `lisen`: unknown field `lisen`"), "{unknown}");
    let broken = refused("[server\n");
    assert!(broken.starts_with("helve.toml, line 1"), "{broken}");
    let kind = refused("[[agents]]\nname = \"a\"\nmax_steps = \"ten\"\n");
    assert!(kind.starts_with("helve.toml, line 3 at `\"ten\"`"), "{kind}");
    let missing = refused("[[models]]\nname = \"m\"\n");
    assert!(missing.contains("missing field `model`"), "{missing}");
}

#[test]
fn a_wrong_variable_names_itself() {
    let error = parse("", &Environment::of([("HELVE_SERVER__LISEN", "x")])).unwrap_err();
    assert!(format!("{error:#}").starts_with("the environment variable HELVE_SERVER__LISEN: unknown field"));
}

#[test]
fn names_that_point_nowhere_are_refused() {
    assert!(refused("default_model = \"gpt\"").contains("`default_model` is `gpt`"));
    assert!(refused("[[agents]]\nname = \"a\"\nmodel = \"gpt\"\n").contains("uses the model `gpt`"));
    let twice = "[[models]]\nname = \"m\"\nvendor = \"openai\"\nmodel = \"x\"\n".repeat(2);
    assert!(refused(&twice).contains("two models named `m`"));
    let mode = "[[models]]\nname = \"m\"\nvendor = \"openai\"\nmodel = \"x\"\ntools = \"magic\"\n";
    assert!(refused(mode).contains("`tools` is `magic`"));
    assert!(refused("[server]\nlisten = \"nowhere\"").contains("no address to listen on"));
}

#[test]
fn the_example_of_the_documentation_is_understood() {
    let text = include_str!("../../../../docs/guide/helve.example.toml");
    let config = parse(text, &Environment::of([("ARK_API_KEY", "k"), ("VLLM_KEY", "k")])).unwrap();
    assert_eq!(config.default_model, "volcano");
    crate::assemble::install_tls();
    for model in &config.models {
        if let Source::Http(settings) = &model.source {
            assert!(HttpModel::new((**settings).clone(), reqwest::Client::new()).is_ok(), "{}", model.name);
        }
    }
    assert_eq!(config.agents.len(), 2);
}
