//! Documents that others wrote become tools that validate.
//!
//! Small ones lie in `fixtures/openapi`. Large ones are fetched by `make openapi`, which sets `HELVE_OPENAPI_DOCUMENTS` to the
//! folder they are in and prints the table of docs/evidence/openapi.md.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use helve_egress::{Egress, EgressSettings, Secret, Secrets, Url};
use helve_tool_http::HttpTools;
use helve_tool_http::openapi::{Document, Import, Options, SecretNeeded, import_tools};
use helve_types::ToolDefinition;

/// Where a document without a server of its own is said to be.
const SERVER: &str = "https://api.example.com";

fn documents(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut found = vec![];
    for entry in entries {
        let path = entry.unwrap().path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if path.is_dir() {
            found.extend(documents(&path));
        } else if matches!(ending, "json" | "yaml" | "yml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn imported(path: &Path) -> Result<Import, String> {
    let bytes = std::fs::read(path).unwrap();
    let document = Document::read(&bytes, None).map_err(|error| error.to_string())?;
    let mut options = Options { username: Some("me".into()), ..Options::default() };
    let first = import_tools(&document, &options);
    first
        .or_else(|_| {
            options.server = Some(SERVER.into());
            import_tools(&document, &options)
        })
        .map_err(|error| error.to_string())
}

/// As the operator would have it after pasting what the report says.
fn tools(import: &Import) -> HttpTools {
    // A second call finds one installed, which is as good.
    _ = rustls::crypto::ring::default_provider().install_default();
    let secret = |needed: &SecretNeeded| Secret {
        name: needed.name.clone(),
        value: "a-secret-of-some-length".into(),
        hosts: needed.hosts.clone(),
    };
    let secrets = Secrets::new(import.secrets.iter().map(secret).collect());
    // Some documents are of servers without TLS, and some of servers on this machine.
    let allow =
        import.servers.iter().filter_map(|server| Some(Url::parse(server).ok()?.host_str()?.to_owned()));
    let settings =
        EgressSettings { http: true, secrets, allow: allow.collect(), ..EgressSettings::default() };
    HttpTools::new(Egress::new(settings).unwrap())
}

/// What is wrong with the tools that were made.
fn problems(import: &Import) -> Vec<String> {
    let tools = tools(import);
    let mut names = HashSet::new();
    let mut found = vec![];
    for made in &import.tools {
        let tool = &made.definition;
        let mut wrong =
            |problem: String| found.push(format!("{} {}: {problem}", import.title, made.operation));
        if let Err(error) = tools.build_tool(tool, &std::sync::Arc::default()) {
            wrong(error.to_string());
        }
        if !names.insert(tool.name.to_ascii_lowercase()) {
            wrong(format!("`{}` twice", tool.name));
        }
        placeholders_are_arguments(tool).into_iter().for_each(wrong);
    }
    // No operation is lost without a word.
    if import.tools.len() + import.skipped.len() != import.operations {
        found.push(format!("{} operations", import.operations));
    }
    found
}

/// Every placeholder stands for an argument, and every argument goes somewhere.
fn placeholders_are_arguments(tool: &ToolDefinition) -> Vec<String> {
    let properties = tool.parameters["properties"].as_object().unwrap();
    let endpoint = &tool.endpoint;
    let body = endpoint.body.clone().unwrap_or_default();
    let texts = std::iter::once(&endpoint.url_template)
        .chain(endpoint.query.values())
        .chain(endpoint.headers.values())
        .map(String::as_str)
        .chain(body.as_str())
        .chain(body.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()));
    let used = texts.flat_map(|text| text.split('{').skip(1)).map(|piece| piece.split_once('}').unwrap().0);
    let used: HashSet<&str> = used.collect();
    let known: HashSet<&str> = properties.keys().map(String::as_str).collect();
    used.symmetric_difference(&known).map(|name| format!("`{name}` is used or known, and not both")).collect()
}

#[test]
fn the_documents_that_lie_here_become_tools() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/openapi");
    let found = documents(&folder);
    assert!(found.len() >= 2, "{found:?}");
    for path in found {
        let import = imported(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(problems(&import), Vec::<String>::new());
        assert!(!import.tools.is_empty(), "{}", path.display());
    }
}

#[test]
fn the_documents_that_were_fetched_become_tools() {
    let Some(folder) = std::env::var_os("HELVE_OPENAPI_DOCUMENTS") else { return };
    let mut wrong = vec![];
    println!(
        "| document | bytes | operations | tools | skipped | why | seconds |\n|---|---|---|---|---|---|---|"
    );
    for path in documents(Path::new(&folder)) {
        let began = Instant::now();
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        let bytes = std::fs::metadata(&path).unwrap().len();
        match imported(&path) {
            Ok(import) => {
                let seconds = began.elapsed().as_secs_f64();
                wrong.extend(problems(&import));
                let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
                for skipped in &import.skipped {
                    *reasons.entry(skipped.reason.clone()).or_default() += 1;
                }
                let reasons: Vec<_> =
                    reasons.iter().map(|(reason, count)| format!("{count} × {reason}")).collect();
                println!(
                    "| {name} | {bytes} | {} | {} | {} | {} | {seconds:.2} |",
                    import.operations,
                    import.tools.len(),
                    import.skipped.len(),
                    reasons.join("; "),
                );
            }
            Err(error) => println!("| {name} | {bytes} | | | | not imported: {error} | |"),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
