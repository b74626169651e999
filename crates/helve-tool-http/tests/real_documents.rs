//! Documents that others wrote become tools that validate.
//!
//! Small ones lie in `fixtures/openapi`. Large ones are fetched by `make openapi`, which sets `HELVE_OPENAPI_DOCUMENTS` to the
//! folder they are in and prints the table of docs/reference/openapi.md.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use helve_tool_http::openapi::{Document, Import, Options, import};

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
    let first = import(&document, &options);
    first
        .or_else(|_| {
            options.server = Some(SERVER.into());
            import(&document, &options)
        })
        .map_err(|error| error.to_string())
}

/// What every tool that is made must be.
fn check(import: &Import) {
    let mut names = std::collections::HashSet::new();
    for made in &import.tools {
        let tool = &made.definition;
        let place = format!("{} {}", import.title, made.operation);
        helve_tool::check_schema(&tool.parameters).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert!(names.insert(tool.name.to_ascii_lowercase()), "{place}: `{}` twice", tool.name);
        assert!((1..=64).contains(&tool.name.len()), "{place}: {}", tool.name);
        assert!(!tool.description.trim().is_empty(), "{place}");
        assert!(tool.parameters.to_string().len() <= 64 << 10, "{place}");
        placeholders_are_arguments(&place, tool);
    }
    assert_eq!(import.tools.len() + import.skipped.len(), import.operations.max(import.skipped.len()));
}

fn placeholders_are_arguments(place: &str, tool: &helve_types::ToolDefinition) {
    let properties = tool.parameters["properties"].as_object().unwrap();
    let endpoint = &tool.endpoint;
    let mut used = std::collections::BTreeSet::new();
    let body = endpoint.body.clone().unwrap_or_default();
    let texts = std::iter::once(endpoint.url_template.clone())
        .chain(endpoint.query.values().cloned())
        .chain(endpoint.headers.values().cloned())
        .chain(body.as_str().map(str::to_owned))
        .chain(body.as_object().into_iter().flatten().map(|(_, value)| value.as_str().unwrap().to_owned()));
    for text in texts {
        for piece in text.split('{').skip(1) {
            let name = piece.split_once('}').unwrap().0.to_owned();
            assert!(properties.contains_key(&name), "{place}: {{{name}}} is no parameter");
            used.insert(name);
        }
    }
    let unused: Vec<_> = properties.keys().filter(|name| !used.contains(*name)).collect();
    assert!(unused.is_empty(), "{place}: nothing is done with {unused:?}");
}

#[test]
fn the_documents_that_lie_here_become_tools() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/openapi");
    let found = documents(&folder);
    assert!(found.len() >= 2, "{found:?}");
    for path in found {
        let import = imported(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        check(&import);
        assert!(!import.tools.is_empty(), "{}", path.display());
    }
}

#[test]
fn the_documents_that_were_fetched_become_tools() {
    let Some(folder) = std::env::var_os("HELVE_OPENAPI_DOCUMENTS") else { return };
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
                check(&import);
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
}
