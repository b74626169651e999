//! Keeps the catalogue of tools in step with the folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use helve_process::Program;
use helve_tool::{BuiltTool, Catalogue, DefinitionError};
use helve_types::Notice;
use tokio::sync::Mutex;

use crate::definition::LifecycleStep;
use crate::folder::{CodeSource, Signature, Sources, read_signature, read_sources};
use crate::tool::{Variables, build_tool, run_step};

const INIT_TIMEOUT: Duration = Duration::from_secs(30);
const DESTROY_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether programs are told when they are loaded and unloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifecycle {
    /// By a server.
    Run,
    /// Not by a short command beside one.
    Skip,
}

/// The folder of tools, and what of it is in the catalogue.
pub struct ToolFolder {
    path: PathBuf,
    lifecycle: Lifecycle,
    variables: Variables,
    state: Mutex<SyncState>,
}

#[derive(Default)]
struct SyncState {
    signature: Signature,
    loaded: BTreeMap<String, LoadedTool>,
}

/// A tool as it was placed in the catalogue.
struct LoadedTool {
    /// None if it cannot be used.
    version: Option<String>,
    problem: Option<DefinitionError>,
    /// Run when the tool is unloaded.
    destroy: Option<Program>,
}

impl ToolFolder {
    /// `variables` gives the server's environment.
    pub fn new(
        path: impl Into<PathBuf>,
        lifecycle: Lifecycle,
        variables: impl Fn(&str) -> Option<std::ffi::OsString> + Send + Sync + 'static,
    ) -> Self {
        let path = path.into();
        // Programs run in the folder, where a relative path would lead elsewhere.
        let path = std::path::absolute(&path).unwrap_or(path);
        Self { path, lifecycle, variables: Arc::new(variables), state: Mutex::default() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Places what has changed in the folder since the last time. A tool that cannot be used is listed with its
    /// problem and keeps no other from being loaded.
    pub async fn sync(&self, catalogue: &Catalogue) {
        let mut state = self.state.lock().await;
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || read_signature(&path)).await;
        let signature = match read {
            Ok(Ok(signature)) => signature,
            Ok(Err(error)) => {
                tracing::warn!(folder = %self.path.display(), %error, "tools folder not read");
                return;
            }
            Err(_) => return,
        };
        if signature == state.signature {
            return;
        }
        let files = signature.clone();
        let Ok(sources) = tokio::task::spawn_blocking(move || read_sources(&files)).await else { return };
        self.unload_missing(&mut state, &sources, catalogue).await;
        for (name, source) in sources {
            self.load_tool(&mut state, &name, source, catalogue).await;
        }
        state.signature = signature;
    }

    /// Tells every program that is to know it that the server stops.
    pub async fn close(&self) {
        let mut state = self.state.lock().await;
        for (name, loaded) in std::mem::take(&mut state.loaded) {
            destroy_tool(&name, loaded).await;
        }
        state.signature = Signature::default();
    }

    async fn unload_missing(&self, state: &mut SyncState, sources: &Sources, catalogue: &Catalogue) {
        let missing: Vec<_> =
            state.loaded.keys().filter(|name| !sources.contains_key(*name)).cloned().collect();
        for name in missing {
            catalogue.unregister_from_folder(&name).await;
            tracing::info!(tool = name, "tool removed from the tools folder");
            if let Some(loaded) = state.loaded.remove(&name) {
                destroy_tool(&name, loaded).await;
            }
        }
    }

    async fn load_tool(
        &self,
        state: &mut SyncState,
        name: &str,
        source: Result<CodeSource, DefinitionError>,
        catalogue: &Catalogue,
    ) {
        let before = state.loaded.get(name);
        let same = match (&source, before) {
            (Ok(source), Some(before)) => before.version.as_ref() == Some(&source.version),
            (Err(problem), Some(before)) => before.problem.as_ref() == Some(problem),
            (_, None) => false,
        };
        if same {
            return;
        }
        // First the end of the earlier version: the files are the new ones already, and what `init` sets up must last.
        if let Some(before) = state.loaded.remove(name) {
            destroy_tool(name, before).await;
        }
        let version = source.as_ref().map(|source| source.version.clone()).unwrap_or_default();
        let (made, destroy_program) = match self.build_tool(source).await {
            Ok((made, destroy)) => (Ok(made), destroy),
            Err(problem) => (Err(problem), None),
        };
        let problem = made.as_ref().err().cloned();
        match &problem {
            Some(problem) => {
                tracing::warn!(tool = name, %problem, "tool in the tools folder not usable")
            }
            None => tracing::info!(tool = name, version, "tool loaded from the tools folder"),
        }
        if let Err(error) = catalogue.register_from_folder(name, version.clone(), made).await {
            tracing::warn!(tool = name, %error, "tool in the tools folder not registered");
        }
        let usable = problem.is_none();
        let loaded = LoadedTool { version: usable.then_some(version), problem, destroy: destroy_program };
        state.loaded.insert(name.to_owned(), loaded);
    }

    /// The tool, initialised, and its program if that is to be told of the end.
    async fn build_tool(
        &self,
        source: Result<CodeSource, DefinitionError>,
    ) -> Result<(BuiltTool, Option<Program>), DefinitionError> {
        let source = source?;
        let (made, program) = build_tool(&source, &self.path, &self.variables)?;
        let knows = |step| self.lifecycle == Lifecycle::Run && source.definition.lifecycle.contains(&step);
        if knows(LifecycleStep::Init) {
            let initialised = run_step(&program, LifecycleStep::Init, INIT_TIMEOUT).await;
            let failed =
                |problem: String| DefinitionError::new("lifecycle", Notice::definition_other(&problem));
            initialised.map_err(failed)?;
        }
        Ok((made, knows(LifecycleStep::Destroy).then_some(program)))
    }
}

async fn destroy_tool(name: &str, loaded: LoadedTool) {
    let Some(program) = loaded.destroy else { return };
    if let Err(problem) = run_step(&program, LifecycleStep::Destroy, DESTROY_TIMEOUT).await {
        tracing::warn!(tool = name, problem, "tool ended with an error");
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;

    use helve_store::MemoryStore;
    use helve_tool::{Registry, ToolSource};
    use helve_types::World;

    use super::*;

    struct TestFolder {
        folder: tempfile::TempDir,
        catalogue: Catalogue,
        tools: ToolFolder,
    }

    impl TestFolder {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let (registry, world) = (Arc::new(Registry::new()), World::deterministic());
            let catalogue = Catalogue::without_rows(registry, Arc::new(MemoryStore::new()), world);
            let tools = ToolFolder::new(folder.path(), Lifecycle::Run, |name| std::env::var_os(name));
            Self { folder, catalogue, tools }
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.folder.path().join(name), text).unwrap();
        }

        async fn list_problem(&self) -> Vec<(String, Option<String>)> {
            self.tools.sync(&self.catalogue).await;
            let all = self.catalogue.list().into_iter();
            all.inspect(|tool| assert_eq!(tool.source, ToolSource::Folder))
                .map(|tool| (tool.name, tool.problem.map(|problem| problem.field)))
                .collect()
        }
    }

    #[tokio::test]
    async fn tools_come_change_and_go_with_their_files() {
        let bench = TestFolder::new();
        assert!(bench.list_problem().await.is_empty());
        bench.write("count.json", r#"{"description": "Counts."}"#);
        assert_eq!(bench.list_problem().await, [("count".into(), Some("command".into()))]);
        bench.write("count.sh", "echo 1");
        assert_eq!(bench.list_problem().await, [("count".into(), None)]);
        let version =
            |bench: &TestFolder| bench.catalogue.registry().get("count").unwrap().version().to_owned();
        let first = version(&bench);
        bench.write("count.sh", "echo 22");
        bench.list_problem().await;
        assert_ne!(version(&bench), first);
        bench.write("count.json", "{");
        assert_eq!(bench.list_problem().await, [("count".into(), Some("definition".into()))]);
        assert!(bench.catalogue.registry().get("count").is_none());
        fs::remove_file(bench.folder.path().join("count.json")).unwrap();
        assert!(bench.list_problem().await.is_empty());
    }

    #[tokio::test]
    async fn a_program_is_told_when_it_is_loaded_and_unloaded() {
        let bench = TestFolder::new();
        let log = bench.folder.path().join("log");
        bench.write("step.sh", "echo $1 >> log");
        bench.write("step.json", r#"{"description": "x", "lifecycle": ["init", "destroy"]}"#);
        bench.list_problem().await;
        assert_eq!(fs::read_to_string(&log).unwrap(), "init\n");
        bench.write("step.sh", "echo new $1 >> log");
        bench.list_problem().await;
        assert_eq!(fs::read_to_string(&log).unwrap(), "init\nnew destroy\nnew init\n");
        bench.tools.close().await;
        assert_eq!(fs::read_to_string(&log).unwrap(), "init\nnew destroy\nnew init\nnew destroy\n");
    }

    #[tokio::test]
    async fn a_tool_whose_init_fails_is_listed_with_what_it_said() {
        let bench = TestFolder::new();
        bench.write("step.sh", "echo no database >&2; exit 1");
        bench.write("step.json", r#"{"description": "x", "lifecycle": ["init"]}"#);
        assert_eq!(bench.list_problem().await, [("step".into(), Some("lifecycle".into()))]);
        let problem = bench.catalogue.get("step").unwrap().problem.unwrap();
        assert!(problem.to_string().contains("no database"), "{problem}");
    }
}
