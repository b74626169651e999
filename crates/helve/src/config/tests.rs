//! What a configuration means, and what is said about a wrong one.

use helve_model::ToolMode;
use helve_model_http::{HttpModel, HttpModelSettings};
use helve_types::Mode;
use secrecy::ExposeSecret;

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
    assert_eq!(config.reach(), Reach::ThisMachine);
}

#[test]
fn a_key_in_the_environment_is_found_and_used() {
    let config =
        parse("", &Environment::of([("OPENAI_API_KEY", "sk-1"), ("OLLAMA_API_URL", "http://gpu:11434")]));
    let config = config.unwrap();
    assert_eq!(config.default_model, "openai");
    let local = config.models.iter().find(|model| model.name == "local").unwrap();
    let Source::Http(settings) = &local.source else { panic!("not over HTTP") };
    assert_eq!(settings.base_url.as_deref(), Some("http://gpu:11434"));
}

fn http(config: &Config, name: &str) -> HttpModelSettings {
    let model = config.models.iter().find(|model| model.name == name).unwrap();
    let Source::Http(settings) = &model.source else { panic!("not over HTTP") };
    (**settings).clone()
}

#[test]
fn the_environment_alone_configures_the_models_of_the_source_system() {
    let config = parse(
        "",
        &Environment::of([
            ("ARK_API_KEY", "k-1"),
            ("ARK_BASE_URL", "http://ark.test/api/v3"),
            ("ARK_MODEL", "doubao-x"),
            ("OLLAMA_API_URL", "http://localhost"),
            ("OLLAMA_MODEL", "qwen3"),
        ]),
    )
    .unwrap();
    let volcano = http(&config, "volcano");
    assert_eq!(
        (volcano.model.as_str(), volcano.base_url.as_deref()),
        ("doubao-x", Some("http://ark.test/api/v3"))
    );
    let local = http(&config, "local");
    assert_eq!((local.model.as_str(), local.base_url.as_deref()), ("qwen3", Some("http://localhost:11434")));
    assert_eq!(config.default_model, "volcano");
}

#[test]
fn a_setting_of_a_model_needs_no_file() {
    let environment = Environment::of([
        ("ARK_API_KEY", "k-1"),
        ("ARK_MODEL", "doubao-x"),
        ("HELVE_MODELS__VOLCANO__BASE_URL", "http://ark.test/api/v3"),
        ("HELVE_MODELS__LOCAL__PARAMS__TEMPERATURE", "0.1"),
        ("HELVE_MODELS__MY_GPU__VENDOR", "vllm"),
        ("HELVE_MODELS__MY_GPU__MODEL", "qwen3"),
    ]);
    for file in ["", "[[models]]\nname = \"m\"\nvendor = \"ark\"\nmodel = \"x\"\n"] {
        let config = parse(file, &environment).unwrap();
        let volcano = http(&config, "volcano");
        assert_eq!(volcano.base_url.as_deref(), Some("http://ark.test/api/v3"));
        assert_eq!((volcano.model.as_str(), volcano.vendor.as_deref()), ("doubao-x", Some("ark")));
        assert!(volcano.key.is_some());
        assert!(http(&config, "local").model.is_empty());
        assert_eq!(http(&config, "my_gpu").vendor.as_deref(), Some("vllm"));
    }
    let told = parse("", &Environment::of([("HELVE_MODELS__GPT__BASE_URL", "http://x")])).unwrap_err();
    let told = format!("{told:#}");
    assert!(told.contains("there is nothing named `gpt`"), "{told}");
    assert!(told.contains("HELVE_MODELS__GPT__MODEL"), "{told}");
}

#[test]
fn an_ollama_without_a_port_is_at_its_usual_one() {
    for (url, expected) in [
        ("http://localhost", "http://localhost:11434"),
        ("http://gpu/api/chat", "http://gpu:11434/api/chat"),
        ("http://[::1]", "http://[::1]:11434"),
        ("http://[::1]:80/", "http://[::1]:80/"),
        ("http://gpu:80", "http://gpu:80"),
        ("https://ollama.example.com", "https://ollama.example.com"),
    ] {
        let config = parse("", &Environment::of([("OLLAMA_API_URL", url)])).unwrap();
        assert_eq!(http(&config, "local").base_url.as_deref(), Some(expected), "{url}");
    }
}

#[test]
fn an_ollama_may_be_named_by_its_server_its_route_or_its_other_door() {
    _ = rustls::crypto::ring::default_provider().install_default();
    for url in ["http://gpu:11434", "http://gpu:11434/", "http://gpu:11434/api/chat", "http://gpu:11434/v1"] {
        let config = parse("", &Environment::of([("OLLAMA_API_URL", url)])).unwrap();
        let local = config.models.into_iter().find(|model| model.name == "local").unwrap();
        let Source::Http(settings) = local.source else { panic!("not over HTTP") };
        let model = HttpModel::new(*settings, helve_model_http::build_client().unwrap()).unwrap();
        assert_eq!(model.url(), "http://gpu:11434/api/chat", "{url}");
    }
}

#[test]
fn anthropic_and_gemini_are_there_with_their_keys() {
    let environment = Environment::of([
        ("ANTHROPIC_API_KEY", "k"),
        ("ANTHROPIC_BASE_URL", "http://gateway:8080/"),
        ("GEMINI_API_KEY", "k"),
        ("GEMINI_MODEL", "gemini-3-pro-preview"),
    ]);
    let config = parse("", &environment).unwrap();
    assert_eq!(config.default_model, "anthropic");
    let url = |name: &str| {
        let model = config.models.iter().find(|model| model.name == name).unwrap();
        let Source::Http(settings) = &model.source else { panic!("not over HTTP") };
        HttpModel::new((**settings).clone(), helve_model_http::build_client().unwrap())
            .unwrap()
            .url()
            .to_owned()
    };
    _ = rustls::crypto::ring::default_provider().install_default();
    assert_eq!(url("anthropic"), "http://gateway:8080/v1/messages");
    assert_eq!(
        url("gemini"),
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
    );
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
    assert!(kind.starts_with("helve.toml, line 3 at `max_steps`: invalid type"), "{kind}");
    let missing = refused("[[models]]\nname = \"m\"\n");
    assert!(missing.contains("missing field `model`"), "{missing}");
}

#[test]
fn what_is_wrong_about_long_conversations_is_told() {
    let share = refused("[compaction]\nat = 80\n");
    assert!(share.contains("`80` is no share") && share.contains("line 2"), "{share}");
    let writer = refused("[compaction]\nmodel = \"nobody\"\n");
    assert!(writer.contains("there is no model `nobody`; the models are: "), "{writer}");
    let window = refused("[[models]]\nname = \"m\"\nvendor = \"ark\"\nmodel = \"x\"\ncontext_tokens = 0\n");
    assert!(window.contains("context_tokens"), "{window}");
}

#[test]
fn a_wrong_variable_names_itself() {
    let error = parse("", &Environment::of([("HELVE_SERVER__LISEN", "x")])).unwrap_err();
    assert!(format!("{error:#}").starts_with("the environment variable HELVE_SERVER__LISEN: unknown field"));
}

#[test]
fn models_may_stand_in_for_each_other() {
    let model = |name: &str, fallback: &str| {
        format!(
            "[[models]]\nname = \"{name}\"\nvendor = \"ark\"\nmodel = \"x\"\nfallbacks = [\"{fallback}\"]\n"
        )
    };
    let config = parse(&(model("a", "b") + &model("b", "a")), &Environment::of([])).unwrap();
    let fallbacks: Vec<_> = config.models.iter().map(|model| model.options.fallbacks.join(" ")).collect();
    assert_eq!(fallbacks[..3], ["b", "a", ""]);
}

/// Each is a file that is wrong in one place, and how the complaint begins.
#[test]
fn whatever_is_wrong_in_the_file_is_told_with_line_and_key() {
    let model = "[[models]]\nname = \"m\"\nmodel = \"x\"\n";
    let agent = "[[agents]]\nname = \"a\"\n";
    let cases = [
        (
            // No server is asked which models it has.
            format!(
                "default_model = \"gpt\"\n{}{}",
                model.replace("\"m\"", "\"local\"\nvendor = \"ollama\""),
                model.replace("\"m\"", "\"volcano\"\nvendor = \"ark\"")
            ),
            "line 1 at `default_model`: there is no model `gpt`",
        ),
        (format!("{model}vendor = \"acme\""), "line 4 at `vendor`: there is no vendor `acme`"),
        (format!("{model}protocol = \"smtp\""), "line 4 at `protocol`: there is no protocol `smtp`"),
        (
            format!("{model}vendor = \"ark\"\nprotocol = \"smtp\""),
            "line 5 at `protocol`: there is no protocol",
        ),
        (
            format!("{model}vendor = \"openai\"\nprotocol = \"gemini\""),
            "line 5 at `protocol`: the vendor `openai` speaks `openai_chat`",
        ),
        (
            "[[models]]\nname = \"m\"\nvendor = \"openai\"\nmodel = \"\"".into(),
            "line 4 at `model`: say what the vendor calls the model",
        ),
        (
            format!("{model}vendor = \"openai\"\napi_key_env = \"sk-live-1\""),
            "line 5 at `api_key_env`: this is the name of an environment variable",
        ),
        (format!("{model}vendor = \"openai\"\ntools = \"magic\""), "line 5 at `tools`: `magic` is none of"),
        (
            format!("{model}vendor = \"openai\"\ntools = \"prompt:nope\""),
            "line 5 at `tools`: there is no prompt profile `nope`",
        ),
        (
            format!("{model}vendor = \"ark\"\nbase_url = \"ftp://x\""),
            "line 5 at `base_url`: `ftp://x` is no address",
        ),
        (
            format!("{model}vendor = \"ark\"\nfallbacks = [\"demo\", \"gpt\"]"),
            "line 5 at `fallbacks`: there is no model `gpt`; the models are: `m`",
        ),
        (
            format!("{model}vendor = \"ark\"\nfallbacks = [\"m\"]"),
            "line 5 at `fallbacks`: `m` cannot stand in for itself",
        ),
        (
            format!("{model}vendor = \"ark\"\nfallbacks = [\"demo\", \"demo\"]"),
            "line 5 at `fallbacks`: `demo` is named twice",
        ),
        (model.into(), "line 1 at `models`: either `vendor` or `protocol` is needed"),
        (format!("\n{agent}model = \"gpt\"\n"), "line 4 at `model`: there is no model `gpt`"),
        (format!("{agent}{agent}"), "line 4 at `name`: there are two agents named `a`"),
        (
            format!("{model}vendor = \"ark\"\n{model}vendor = \"ark\"\n"),
            "line 6 at `name`: there are two models named `m`",
        ),
        (model.replace("\"m\"", "\"demo\""), "line 2 at `name`: `demo` is the model inside"),
        (format!("{agent}max_steps = 0"), "line 3 at `max_steps`: invalid value: integer `0`"),
        ("[tools.time]\nper_minute = 0".into(), "line 2 at `per_minute`: invalid value: integer `0`"),
        (
            "[tools.time]\nper_minute = 5\nper_window = 1\nwindow_ms = 1000".into(),
            "line 3 at `per_window`: `per_minute` is said too; leave one of them out",
        ),
        ("[tools.time]\nper_window = 1".into(), "line 2 at `per_window`: it needs `window_ms`"),
        (
            "[tools.time]\nper_window = 1\nwindow_ms = 86400001".into(),
            "line 3 at `window_ms`: 86400001 is not between 100 and 86400000",
        ),
        ("[server]\nlisten = 5".into(), "line 2 at `listen`: invalid type: integer `5`"),
        ("[server]\nlisten = \"nowhere\"".into(), "line 2 at `listen`: `nowhere` is no address to listen on"),
        ("[server]\nzone = \"Mars/Base\"".into(), "line 2 at `zone`: there is no time zone `Mars/Base`"),
        ("[server]\nlog = \"helve=loud\"".into(), "line 2 at `log`: `helve=loud` is no filter"),
        (
            "[server]\nlog_format = \"xml\"".into(),
            "line 2 at `log_format`: unknown variant `xml`, expected `text` or `json`",
        ),
        (
            "[[permissions]]\ntool = \"x\"\naction = \"maybe\"".into(),
            "line 3 at `action`: unknown variant `maybe`",
        ),
        (
            format!("{agent}[[agents.permissions]]\naction = \"maybe\""),
            "line 4 at `action`: unknown variant `maybe`",
        ),
        (
            format!("{agent}params = {{ temperature = \"hot\" }}"),
            "line 3 at `temperature`: invalid type: string",
        ),
        (
            "[prompt]\ndefault_profile = \"nope\"".into(),
            "line 2 at `default_profile`: there is no prompt profile",
        ),
        (
            "[prompt]\nprofiles = [\"gone.toml\"]".into(),
            "line 2 at `profiles`: the prompt profile `gone.toml`",
        ),
        ("server = 5".into(), "line 1 at `server`: invalid type: integer `5`, expected a table"),
        ("[[models]]\nname = \"m\"\n".into(), "line 1 at `models`: missing field `model`"),
    ];
    for (text, expected) in cases {
        let told = refused(&text);
        assert!(told.starts_with(&format!("helve.toml, {expected}")), "{text}\n{told}\n{expected}");
    }
}

#[test]
fn names_of_tools_that_are_not_there_are_told_with_line_and_key() {
    let assembled = |text: &str| {
        let data = tempfile::tempdir().unwrap();
        let overrides = Overrides { data: Some(data.path().into()), ..Overrides::default() };
        let config =
            Config::parse(Some("helve.toml".into()), text, &overrides, &Environment::default()).unwrap();
        let world = helve_types::World::real();
        let made = crate::assemble::assemble(&config, &world, crate::assemble::Hold::Alone, vec![]);
        let made = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(made);
        made.map(|assembly| assembly.warnings.join("; ")).map_err(|error| format!("{error:#}"))
    };
    // A tool that is a row may be gone, or not there yet: what is said about it keeps no server from starting.
    let table = assembled("[tools.time]\n[tools.nope]\ntimeout_ms = 5\n").unwrap();
    assert!(table.starts_with("helve.toml, line 2 at `nope`: there is no tool `nope`"), "{table}");
    let agent =
        assembled("[[agents]]\nname = \"b\"\n[[agents]]\nname = \"a\"\ntools = [\"time\", \"nope\"]\n");
    let agent = agent.unwrap();
    assert!(agent.starts_with("helve.toml, line 5 at `tools`: there is no tool `nope`"), "{agent}");
    assert!(agent.ends_with("; the agent `a` starts without it"), "{agent}");
    // Tools may come later, so a rule about one that is not there is no more than odd.
    let rules = "[[permissions]]\ntool = \"cal*\"\naction = \"ask\"\n[[permissions]]\ntool = \"mail_*\"\naction = \"ask\"\n";
    let odd = assembled(rules).unwrap();
    assert_eq!(
        odd,
        "helve.toml, line 5 at `tool`: no tool of this server is called `mail_*` now; the rule holds for tools that clients \
         bring, and for those that come later"
    );
}

#[test]
fn the_prompt_profile_of_the_operators_choice_is_the_one_that_prompt_means() {
    let text = "[prompt]\ndefault_profile = \"hermes\"\n\
                [[models]]\nname = \"m\"\nvendor = \"openai\"\nmodel = \"x\"\ntools = \"prompt\"\n";
    let config = parse(text, &Environment::default()).unwrap();
    let Source::Http(settings) = &config.models[0].source else { panic!("not over HTTP") };
    assert_eq!(settings.tool_mode, ToolMode::Fixed(Mode::Prompt("hermes".into())));
}

#[test]
fn profiles_are_found_by_the_names_of_another_system_too() {
    for (said, name) in [("JSON_Strict", "json_strict"), ("XML_Tag", "xml_tag"), ("xml_tag", "xml_tag")] {
        for text in [
            format!(
                "[prompt]\ndefault_profile = \"{said}\"\n[[models]]\nname = \"m\"\nvendor = \"openai\"\nmodel = \"x\"\ntools = \"prompt\"\n"
            ),
            format!(
                "[[models]]\nname = \"m\"\nvendor = \"openai\"\nmodel = \"x\"\ntools = \"prompt:{said}\"\n"
            ),
        ] {
            let config = parse(&text, &Environment::default()).unwrap();
            let Source::Http(settings) = &config.models[0].source else { panic!("not over HTTP") };
            assert_eq!(settings.tool_mode, ToolMode::Fixed(Mode::Prompt(name.into())), "{text}");
        }
    }
}

#[test]
fn a_rule_that_contradicts_its_own_examples_does_not_start() {
    let rule = |pattern: &str| {
        format!(
            "[[permissions]]\ntool = \"send_mail\"\narguments = {{ to = \"{pattern}\" }}\naction = \"allow\"\n\
             examples = [{{ arguments = {{ to = \"eve@evil.test\" }}, applies = false }}]\n"
        )
    };
    assert!(parse(&rule("*@example.com"), &Environment::default()).is_ok());
    let told = refused(&rule("*"));
    assert!(
        told.contains("line 5 at `examples`") && told.contains("the rule speaks of its example 1"),
        "{told}"
    );
    let told = refused("[[permissions]]\narguments = { n = { least = 1 } }\naction = \"deny\"\n");
    assert!(told.contains("line 2") && told.contains("a table says either `not`"), "{told}");
}

#[test]
fn what_is_wrong_in_a_prompt_profile_is_told_on_one_line_with_its_place_there() {
    let dir = tempfile::tempdir().unwrap();
    let profile = dir.path().join("own.toml");
    std::fs::write(&profile, "name = \"own\"\ndialect = \"hermes\"\ntool = 5\n").unwrap();
    let told = refused(&format!("[prompt]\nprofiles = [{:?}]\n", profile));
    assert!(told.starts_with("helve.toml, line 2 at `profiles`: "), "{told}");
    assert!(told.contains("own.toml, line 3 at `tool`: invalid type: integer"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn a_variable_is_text_where_the_key_is_text_and_a_number_where_it_is_a_number() {
    let environment = Environment::of([
        ("HELVE_SERVER__TOKEN", "1234567890123456"),
        ("HELVE_SERVER__HOSTS", "[\"a.example\"]"),
        ("HELVE_DEFAULT_MODEL", "2026"),
        ("HELVE_MODELS__2026__BASE_URL", "http://gpu/v1"),
        ("HELVE_AGENTS__HOUSE_CLERK__MAX_STEPS", "3"),
        ("HELVE_AGENTS__HOUSE_CLERK__END_WHEN_REFUSED", "true"),
        ("HELVE_AGENTS__HOUSE_CLERK__PARAMS__EXTRA__TOP_K", "5"),
    ]);
    let text = "[[models]]\nname = \"2026\"\nprotocol = \"openai_chat\"\nmodel = \"x\"\n\
                [[agents]]\nname = \"house-clerk\"\n";
    let config = parse(text, &environment).unwrap();
    assert_eq!(config.token.unwrap().expose_secret(), "1234567890123456");
    assert_eq!(config.hosts, ["a.example"]);
    assert_eq!(config.default_model, "2026");
    let Source::Http(settings) = &config.models[0].source else { panic!("not over HTTP") };
    assert_eq!(settings.base_url.as_deref(), Some("http://gpu/v1"));
    let clerk = &config.agents[1];
    assert_eq!((clerk.max_steps, &clerk.params.extra["top_k"]), (3, &serde_json::json!(5)));
    assert!(clerk.end_when_refused && !AgentSettings::default().end_when_refused);
}

#[test]
fn the_default_may_be_a_model_that_a_server_lists_later() {
    let config = parse("", &Environment::of([("HELVE_DEFAULT_MODEL", "qwen3:8b")])).unwrap();
    assert_eq!((config.default_model.as_str(), config.listed_default.as_deref()), ("demo", Some("qwen3:8b")));
    assert!(config.default_is_named);
    let config = parse("", &Environment::of([("HELVE_DEFAULT_MODEL", "local")])).unwrap();
    assert_eq!((config.default_model.as_str(), config.listed_default), ("local", None));
}

#[test]
fn a_wrong_value_in_a_variable_is_told_with_the_variable() {
    let cases = [
        ("HELVE_LISTEN", "nowhere", "`nowhere` is no address to listen on"),
        ("HELVE_LOG", "helve=loud", "`helve=loud` is no filter"),
        ("HELVE_SERVER__ZONE", "Mars", "there is no time zone `Mars`"),
        ("HELVE_TOOLS__TIME__PER_MINUTE", "0", "invalid value: integer `0`"),
        ("HELVE_TOOLS__TIME__PER_MINUTE", "many", "invalid type: string \"many\""),
        ("HELVE_MODELS__GPT__BASE_URL", "http://x", "there is nothing named `gpt`"),
        ("HELVE_SERVER__LISTEN__PORT", "1", "`server.listen` has no keys of its own"),
        ("OLLAMA_API_URL", "gpu:11434", "`gpu:11434` is no address"),
    ];
    for (variable, value, expected) in cases {
        let file =
            "[server]\nlisten = \"127.0.0.1:0\"\n[[models]]\nname = \"m\"\nvendor = \"ark\"\nmodel = \"x\"\n";
        let told = format!("{:#}", parse(file, &Environment::of([(variable, value)])).unwrap_err());
        let expected = format!("the environment variable {variable}: {expected}");
        assert!(told.starts_with(&expected), "{told}\n{expected}");
    }
}

#[test]
fn a_variable_that_sets_nothing_is_told_and_one_that_cannot_be_honoured_is_refused() {
    let environment = Environment::of([
        ("HELVE_DEFUALT_MODEL", "demo"),
        ("HELVE_CONFIG", "x.toml"),
        ("HELVE_LANG", "zh"),
        ("HELVE_SERVER", "target/helve"),
        ("HELVE_SERVICE_HOST", "10.0.0.1"),
        ("HELVE_PORT_8890_TCP", "tcp://10.0.0.1:8890"),
    ]);
    let warnings = parse("", &environment).unwrap().warnings;
    assert_eq!(
        warnings,
        ["the environment variable HELVE_DEFUALT_MODEL is set, but nothing in Helve is called that"]
    );
    let redis = Environment::of([("HELVE_REDIS_URL", "redis://x")]);
    let told = format!("{:#}", parse("", &redis).unwrap_err());
    assert!(told.contains("HELVE_REDIS_URL") && told.contains("shares nothing over Redis"), "{told}");
}

#[test]
fn the_database_server_is_named_by_its_address_and_its_password_is_never_shown() {
    let url = |url: &str| parse("", &Environment::of([("HELVE_DATABASE_URL", url)]));
    let config = url("postgres://helve:hush@db.lan/agents").unwrap();
    assert_eq!(config.database.as_ref().unwrap().to_string(), "db.lan:5432/agents");
    assert!(!format!("{config:?}").contains("hush"));
    for wrong in ["mysql://helve:hush@db.lan/agents", "postgres://helve:hu@sh@db.lan/agents", "postgres:hush"]
    {
        let told = format!("{:#}", url(wrong).unwrap_err());
        assert!(told.starts_with("the environment variable HELVE_DATABASE_URL: the address "), "{told}");
        assert!(!told.contains("hush") && !told.contains("sh@"), "{told}");
    }
}

#[test]
fn a_short_token_is_refused_wherever_the_server_listens_and_wherever_it_was_set() {
    for listen in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
        let with = |token: &str| {
            let environment = Environment::of([("HELVE_LISTEN", listen), ("HELVE_TOKEN", token)]);
            parse("", &environment).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(with("0123456789abcdef"), Ok(()));
        for short in ["1234", "0123456789abcde", "                 1"] {
            let told = with(short).unwrap_err();
            assert!(
                told.starts_with("the environment variable HELVE_TOKEN: the token has fewer than 16"),
                "{told}"
            );
            assert!(!told.contains(short.trim()) || short.trim() == "1", "{told}");
        }
    }
    for token in ["", "open-sesame"] {
        let told = refused(&format!("[server]\ntoken = \"{token}\"\n"));
        assert!(told.starts_with("helve.toml, line 2 at `token`: the token has fewer than 16"), "{told}");
    }
}

#[test]
fn a_server_that_others_can_reach_says_which_key_says_so_and_what_to_do() {
    let wants = |text: &str| {
        parse(text, &Environment::default()).unwrap().needs_token().map(|error| error.to_string())
    };
    assert_eq!(wants("[server]\nhosts = [\"localhost\"]\npublic_url = \"http://127.0.0.1:8890\"\n"), None);
    let webhook = "[approvals]\nwebhook = \"https://ops.example.com/\"\n";
    assert_eq!(wants(webhook), None, "its links lead to loopback");
    for (text, at) in [
        ("[server]\nlisten = \"0.0.0.0:8890\"\n".to_owned(), "helve.toml, line 2 at `listen`: "),
        ("[server]\nhosts = [\"helve.example\"]\n".to_owned(), "helve.toml, line 2 at `hosts`: "),
        (
            "[server]\npublic_url = \"https://helve.example\"\n".to_owned(),
            "helve.toml, line 2 at `public_url`: ",
        ),
        (
            "[server]\ntrusted_proxies = [\"127.0.0.1\"]\n".to_owned(),
            "helve.toml, line 2 at `trusted_proxies`: ",
        ),
        (
            format!("{webhook}public_url = \"https://helve.example\"\n"),
            "helve.toml, line 3 at `public_url`: ",
        ),
    ] {
        let told = wants(&text).unwrap();
        assert!(told.starts_with(at) && told.contains("helve token create"), "{told}");
    }
    let wrong = refused("[server]\ntrusted_proxies = [\"nginx\"]\n");
    assert!(wrong.starts_with("helve.toml, line 2 at `trusted_proxies`: `nginx` is no address"), "{wrong}");
}

#[test]
fn the_example_of_the_documentation_is_understood() {
    let text = include_str!("../../../../docs/guide/helve.example.toml");
    let config = parse(text, &Environment::of([("ARK_API_KEY", "k"), ("VLLM_KEY", "k")])).unwrap();
    assert_eq!(config.default_model, "volcano");
    crate::assemble::install_tls();
    for model in &config.models {
        if let Source::Http(settings) = &model.source {
            assert!(
                HttpModel::new((**settings).clone(), helve_model_http::build_client().unwrap()).is_ok(),
                "{}",
                model.name
            );
        }
    }
    assert_eq!(config.agents.len(), 2);
    // What is only shown there would be understood too.
    let is_shown =
        |line: &str| (line.contains(" = ") || line.starts_with('[')) && !line.starts_with("profiles");
    let line = |line| str::strip_prefix(line, "# ").filter(|shown| is_shown(shown)).unwrap_or(line);
    let all = text.lines().map(line).collect::<Vec<_>>().join("\n");
    let config =
        parse(&all, &Environment::of([("WEATHER_KEY", "k-weather"), ("OPENAI_API_KEY", "k-drawing")]))
            .unwrap();
    assert_eq!(config.egress.allow, ["gpu.lan:8000", "10.1.0.0/16"]);
    assert_eq!(config.hosts, ["helve.example.com"]);
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn questions_are_told_to_a_webhook_with_a_link_that_leads_to_the_server() {
    let approvals = |text: &str| parse(text, &Environment::default()).unwrap().approvals;
    assert_eq!(approvals(""), None);
    let plain = approvals("[approvals]\nwebhook = \"https://ops.example.com/asked\"\n").unwrap();
    assert_eq!((plain.public_url.as_str(), plain.link_hours), ("http://127.0.0.1:8890/", 168));
    let full = "[approvals]\nwebhook = \"https://ops.example.com/asked\"\nsecret = \"ops\"\n\
                public_url = \"https://helve.example.com\"\nlink_hours = 24\n";
    let full = approvals(full).unwrap();
    assert_eq!((full.public_url.as_str(), full.link_hours), ("https://helve.example.com/", 24));
    assert_eq!(full.webhook.secret.as_deref(), Some("ops"));

    let webhook = "[approvals]\nwebhook = \"https://ops.example.com/asked\"\n";
    assert_eq!(
        refused(&format!("{webhook}link_hours = 169\n")),
        "helve.toml, line 3 at `link_hours`: `169` must be between 1 and 168: no link outlives its question"
    );
    assert_eq!(
        refused(&format!("{webhook}public_url = \"helve\"\n")),
        "helve.toml, line 3 at `public_url`: `helve` is no web address (relative URL without a base); use an address \
         such as `https://ops.example.com/helve`"
    );
    assert_eq!(
        refused("[approvals]\nlink_hours = 24\n"),
        "helve.toml, line 2 at `link_hours`: there is no `webhook` that would be told"
    );
    let everywhere = refused(&format!("{webhook}[server]\nlisten = \"0.0.0.0:8890\"\n"));
    assert!(
        everywhere.contains("`public_url` is missing: 0.0.0.0:8890 is no address for a link"),
        "{everywhere}"
    );
}

#[test]
fn alarms_need_an_address_for_http() {
    let good = "[alarms]\nwebhook = \"https://ops.example.com/helve\"\nsecret = \"ops\"\n";
    let alarms = parse(good, &Environment::default()).unwrap().alarms.unwrap();
    assert_eq!(
        (alarms.webhook.as_str(), alarms.secret.as_deref()),
        ("https://ops.example.com/helve", Some("ops"))
    );
    assert_eq!(
        refused("[alarms]\nwebhook = \"ops.example.com\"\n"),
        "helve.toml, line 2 at `webhook`: `ops.example.com` is no web address (relative URL without a base); use an \
         address such as `https://ops.example.com/helve`"
    );
    assert_eq!(
        refused("[alarms]\nsecret = \"ops\"\n"),
        "helve.toml, line 2 at `secret`: there is no `webhook` that would get the secret"
    );
}

#[test]
fn a_hook_is_an_endpoint_or_a_command() {
    let text = r#"
[[hooks]]
name = "redact"
on = ["after_call"]
url = "http://127.0.0.1:9100/redact"
tools = ["search_*"]
on_failure = "refuse"

[[hooks]]
name = "audit"
on = ["before_call", "system_prompt"]
command = ["/usr/local/bin/audit", "--json"]
env = ["LANG"]
timeout_ms = 500
on_failure = "continue"
"#;
    let config = parse(text, &Environment::of([("LANG", "C")])).unwrap();
    let [redact, audit] = &config.hooks[..] else { panic!("{:?}", config.hooks) };
    assert_eq!(redact.settings.timeout.as_secs(), 5);
    let crate::hooks::HookKind::Command(command) = &audit.kind else { panic!("{:?}", audit.kind) };
    assert_eq!((command.arguments.len(), command.environment.len()), (1, 1));
}

#[test]
fn a_hook_with_git_takes_snapshots_of_a_directory() {
    let table = "[[hooks]]\nname = \"w\"\ngit = \"/usr/bin/git\"\n";
    let on = "on = [\"before_step\", \"after_step\"]\n";
    let directory = "directory = \"/srv/work\"\n";
    for (keep, kept_max) in [("", 100), ("keep = 65535\n", 65535)] {
        let config = parse(&format!("{table}{on}{directory}{keep}"), &Environment::default()).unwrap();
        let crate::hooks::HookKind::Git(git) = &config.hooks[0].kind else { panic!("{:?}", config.hooks) };
        assert_eq!((git.directory.to_str(), git.kept_max), (Some("/srv/work"), kept_max));
        assert_eq!(config.hooks[0].settings.on_failure, helve_tool::OnFailure::Continue);
    }
    let calls = "on = [\"before_call\"]\non_failure = \"continue\"\n";
    let cases = [
        (on.to_owned(), "line 3 at `git`: say with `directory` which work tree is meant, as a full path"),
        (format!("{on}directory = \"work\"\n"), "line 3 at `git`: say with `directory`"),
        (format!("{calls}{directory}"), "line 4 at `on`: git takes snapshots: before_step, after_step"),
        (
            format!("{on}{directory}secret = \"s\"\n"),
            "line 3 at `git`: git gets no `secret` and no variables",
        ),
        (
            format!("{on}{directory}url = \"http://h/\"\n"),
            "line 6 at `url`: a hook has a `url`, a `command` or",
        ),
        (
            format!("{on}{directory}on_failure = \"refuse\"\n"),
            "line 6 at `on_failure`: a step cannot be refused",
        ),
        (format!("{on}{directory}keep = 0\n"), "line 6 at `keep`:"),
        (format!("{on}{directory}keep = 65536\n"), "line 6 at `keep`:"),
    ];
    for (more, expected) in cases {
        let told = refused(&format!("{table}{more}"));
        assert!(told.starts_with(&format!("helve.toml, {expected}")), "{told}");
    }
    let told = refused(&format!("[[hooks]]\nname = \"w\"\nurl = \"http://h/\"\n{on}{directory}"));
    assert!(told.ends_with("`directory` and `keep` belong to `git`, the full path of the program"), "{told}");
    let told = refused(&format!("[[hooks]]\nname = \"w\"\ngit = \"git\"\n{on}{directory}"));
    assert!(told.ends_with("line 3 at `git`: this is the full path of the program"), "{told}");
}

#[test]
fn a_wrong_hook_is_told_with_its_line() {
    let hook = |more: &str| format!("[[hooks]]\nname = \"h\"\non = [\"before_call\"]\n{more}");
    let cases = [
        (
            "url = \"http://h/\"\n",
            "line 1 at `hooks`: say what it means that the hook fails: `refuse` or `continue`",
        ),
        (
            "on_failure = \"refuse\"\n",
            "line 2 at `name`: say how the hook is reached: with `url`, `command` or `git`",
        ),
        (
            "on_failure = \"refuse\"\ncommand = [\"audit\"]\n",
            "line 5 at `command`: this is a list: the full path of a program, then its arguments; no shell reads it",
        ),
        (
            "on_failure = \"refuse\"\ncommand = [\"/bin/x\"]\nenv = [\"NOPE\"]\n",
            "line 6 at `env`: the environment variable NOPE is not set",
        ),
        ("on_failure = \"panic\"\n", "line 4 at `on_failure`: unknown variant `panic`"),
    ];
    for (more, expected) in cases {
        let told = refused(&hook(more));
        assert!(told.starts_with(&format!("helve.toml, {expected}")), "{told}");
    }
}

#[test]
fn a_table_says_how_many_calls_a_window_of_its_length_may_have() {
    use helve_tool::{Guards, LimitSettings, Limits};
    let own = LimitSettings {
        per_window: Some(9),
        window: std::time::Duration::from_secs(7),
        ..LimitSettings::default()
    };
    let limits = |text: &str| {
        let config = parse(&format!("[tools.time]\n{text}"), &Environment::default()).unwrap();
        let limits = Limits { tool: Some(own), user: None };
        let over = config.tools[0].1.over(Guards { limits, ..Guards::default() }).limits;
        [over.tool, over.user].map(|limit| limit.map(|it| (it.per_window, it.window.as_millis())))
    };
    assert_eq!(limits("wait_ms = 5"), [Some((Some(9), 7_000)), None]);
    // A minute is a minute, whatever window the tool brings along.
    assert_eq!(limits("per_minute = 5"), [Some((Some(5), 60_000)), None]);
    assert_eq!(
        limits("per_window = 2\nper_window_and_user = 1\nwindow_ms = 3600000"),
        [Some((Some(2), 3_600_000)), Some((Some(1), 3_600_000))]
    );
}

#[test]
fn a_tools_guards_are_what_the_table_says_over_what_the_tool_brings() {
    use helve_tool::{CachePolicy, CacheScope, Guards};
    let text = r#"
[tools.search_web]
per_minute_and_user = 5
concurrent_and_user = 2
wait_ms = 700
cache_scope = "conversation"
cache_ignore = ["trace_id"]
breaker_probes = 2
breaker_counts = ["lost"]
fallback_tool = "search_archive"
fallback_last_good_ms = 3600000
fallback_when_limited = true
"#;
    let config = parse(text, &Environment::default()).unwrap();
    let own = Guards {
        cache: Some(CachePolicy { ttl: std::time::Duration::from_secs(300), scope: CacheScope::Everyone }),
        ..Guards::default()
    };
    let guards = config.tools[0].1.over(own);
    let user = guards.limits.user.unwrap();
    assert_eq!((user.per_window, user.concurrent, user.wait.as_millis()), (Some(5), Some(2), 700));
    let cache = guards.cache.unwrap();
    assert_eq!((cache.ttl.as_secs(), cache.scope), (300, CacheScope::Conversation));
    assert_eq!(guards.cache_ignore, ["trace_id"]);
    assert_eq!(guards.breaker.unwrap().probes_max, 2);
    assert!(guards.failures.lost && !guards.failures.timeout && !guards.failures.not_sent);
    let fallback = guards.fallback.unwrap();
    assert_eq!((fallback.tool.as_deref(), fallback.when_limited), (Some("search_archive"), true));
    assert_eq!(fallback.last_good_ms.map(std::num::NonZero::get), Some(3_600_000));
}

#[test]
fn a_fallback_that_a_tool_brings_can_be_turned_off() {
    use helve_tool::Guards;
    let text = "[tools.search_web]\nfallback_last_good_ms = 0\n";
    let config = parse(text, &Environment::default()).unwrap();
    let last_good = helve_types::Fallback {
        last_good_ms: std::num::NonZeroU64::new(1_000),
        when_limited: true,
        ..Default::default()
    };
    let own = Guards { fallback: Some(last_good), ..Guards::default() };
    assert_eq!(config.tools[0].1.over(own).fallback, None);
}

#[test]
fn what_the_operator_says_about_labels_is_read_and_a_wrong_host_names_its_line() {
    let config = parse(
        "[labels]\ntrusted_hosts = [\"API.example.com\", \"*.corp.test\"]\n[tools.query_database]\nuntrusted = true\n\
         [tools.search_web]\ntimeout_ms = 5",
        &Environment::default(),
    )
    .unwrap();
    assert_eq!(config.trust.hosts, ["api.example.com", "*.corp.test"]);
    assert_eq!(config.trust.tools.keys().collect::<Vec<_>>(), ["query_database"]);
    assert_eq!(config.trust.tools["query_database"].untrusted, Some(true));
    for wrong in ["*", "*.com", "https://a.test", "a.test/x", "a.test:443", "me@a.test", ""] {
        let problem = refused(&format!("[labels]\ntrusted_hosts = [\"{wrong}\"]"));
        assert!(problem.contains("line 2") && problem.contains("trusted_hosts"), "{wrong}: {problem}");
    }
}
