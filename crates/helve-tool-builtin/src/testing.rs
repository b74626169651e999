//! What the tests of all tools share.

use std::collections::BTreeMap;
use std::sync::Arc;

use helve_egress::{Egress, EgressSettings};
use helve_store::{DefinitionFile, MemoryStore, Rows};
use helve_tool::{CallContext, Request, Skill, Tool, ToolError};
use helve_types::{SkillDefinition, SkillFile, SkillSource, ToolOutput};
use serde_json::Value;

use crate::Settings;

impl Settings {
    pub(crate) fn for_tests() -> Self {
        // The provider may have been installed by another test.
        _ = rustls::crypto::ring::default_provider().install_default();
        Self::new(Egress::new(EgressSettings::default()).unwrap(), "/nonexistent/notes")
    }
}

pub(crate) fn context(user: &str) -> CallContext {
    CallContext::for_tests(user)
}

pub(crate) async fn call(
    tool: &dyn Tool,
    arguments: Value,
    cx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    tool.call(Request { arguments: &arguments }, cx).await
}

/// A skill without files.
pub(crate) fn skill_of(name: &str) -> Skill {
    let definition = SkillDefinition {
        name: name.into(),
        description: "Fills in forms.".into(),
        license: None,
        compatibility: None,
        metadata: BTreeMap::new(),
        allowed_tools: vec![],
        instructions: "Ask first.".into(),
        files: vec![],
        source: SkillSource::Import,
        trusted: true,
        enabled: true,
    };
    Skill::new(definition, Arc::new(MemoryStore::new()))
}

/// A skill with files, as the store has them.
pub(crate) async fn skill(store: &Arc<MemoryStore>, trusted: bool) -> Arc<Skill> {
    let files: [(&str, &[u8]); 3] = [
        ("SKILL.md", b"---\nname: forms\ndescription: Fills in forms.\n---\nAsk first."),
        ("logo.png", b"\x89PNG\0"),
        ("references/\u{591a}.md", "\u{66f4}\u{591a}\u{8bf4}\u{660e}".as_bytes()),
    ];
    let files: Vec<_> = files.into_iter().map(|(path, bytes)| (SkillFile::new(path, bytes), bytes)).collect();
    let kept =
        files.iter().map(|(file, bytes)| DefinitionFile { hash: file.hash.clone(), bytes: (*bytes).into() });
    store.save_definition_files(kept.collect()).await.unwrap();
    let listed = files.into_iter().map(|(file, _)| file).collect();
    let definition = SkillDefinition { files: listed, trusted, ..skill_of("forms").definition };
    Arc::new(Skill::new(definition, store.clone()))
}
