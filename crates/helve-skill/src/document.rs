//! `SKILL.md`: its front matter and its Markdown.

use std::collections::BTreeMap;

use helve_types::Notice;
use serde_json::json;

use crate::front_matter::FrontMatter;
use crate::{DOCUMENT_BYTES_MAX, SKILL_FILE, SkillError};

const NAME_CHARS_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 1_024;
const LABEL_CHARS_MAX: usize = 500;
const MEMBERS_MAX: usize = 50;
const MEMBER_CHARS_MAX: usize = 2_000;

const NAME: &str = "name";
const DESCRIPTION: &str = "description";
const LICENSE: &str = "license";
const COMPATIBILITY: &str = "compatibility";
const METADATA: &str = "metadata";
const ALLOWED_TOOLS: &str = "allowed-tools";
const KNOWN: [&str; 6] = [NAME, DESCRIPTION, LICENSE, COMPATIBILITY, METADATA, ALLOWED_TOOLS];

/// What a `SKILL.md` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillDocument {
    pub name: String,
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub metadata: BTreeMap<String, String>,
    pub allowed_tools: Vec<String>,
    pub instructions: String,
    /// Keys of the front matter that mean nothing here.
    pub ignored: Vec<String>,
}

/// Reads a `SKILL.md`.
pub fn read_document(bytes: &[u8]) -> Result<SkillDocument, SkillError> {
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(SkillError::new(SKILL_FILE, Notice::definition_larger_than(DOCUMENT_BYTES_MAX as u64)));
    }
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| SkillError::new(SKILL_FILE, Notice::definition_not_text()))?;
    let (matter, body) = FrontMatter::split(text)?;
    let document = SkillDocument {
        name: matter.text(NAME)?.unwrap_or_default(),
        description: matter.text(DESCRIPTION)?.unwrap_or_default().trim().to_owned(),
        license: matter.text(LICENSE)?,
        compatibility: matter.text(COMPATIBILITY)?,
        metadata: matter.map(METADATA)?,
        allowed_tools: matter.list(ALLOWED_TOOLS)?,
        instructions: body.trim().to_owned(),
        ignored: matter.keys().filter(|key| !KNOWN.contains(key)).map(str::to_owned).collect(),
    };
    check_document(&document)?;
    Ok(document)
}

fn check_document(document: &SkillDocument) -> Result<(), SkillError> {
    if !is_name(&document.name) {
        return Err(SkillError::new(NAME, Notice::definition_skill_name_unfit(NAME_CHARS_MAX as u64)));
    }
    if document.description.is_empty() {
        return Err(SkillError::new(DESCRIPTION, Notice::definition_description_empty()));
    }
    let check = |field: &str, text: &str, max: usize| match text.chars().count() <= max {
        true => Ok(()),
        false => Err(SkillError::new(field, Notice::definition_text_too_long(max as u64))),
    };
    check(DESCRIPTION, &document.description, DESCRIPTION_CHARS_MAX)?;
    check(LICENSE, document.license.as_deref().unwrap_or_default(), LABEL_CHARS_MAX)?;
    check(COMPATIBILITY, document.compatibility.as_deref().unwrap_or_default(), LABEL_CHARS_MAX)?;
    if document.metadata.len() > MEMBERS_MAX {
        return Err(SkillError::new(METADATA, Notice::definition_members_too_many(MEMBERS_MAX as u64)));
    }
    for text in document.metadata.iter().flat_map(|(key, value)| [key, value]) {
        check(METADATA, text, MEMBER_CHARS_MAX)?;
    }
    if document.allowed_tools.len() > MEMBERS_MAX {
        return Err(SkillError::new(ALLOWED_TOOLS, Notice::definition_items_too_many(MEMBERS_MAX as u64)));
    }
    document.allowed_tools.iter().try_for_each(|tool| check(ALLOWED_TOOLS, tool, LABEL_CHARS_MAX))
}

/// Lower-case letters of any script, digits, and single `-` between them.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() && !c.is_uppercase();
    let count = name.chars().count();
    (1..=NAME_CHARS_MAX).contains(&count)
        && name.split('-').all(|part| !part.is_empty() && part.chars().all(is_plain))
}

/// A `SKILL.md` that says the same when it is read.
pub fn write_document(document: &SkillDocument) -> String {
    let mut text = String::from("---\n");
    // A JSON string is one of YAML's.
    let mut add = |key: &str, value: &str| text.push_str(&format!("{key}: {}\n", json!(value)));
    add(NAME, &document.name);
    add(DESCRIPTION, &document.description);
    for (key, value) in [(LICENSE, &document.license), (COMPATIBILITY, &document.compatibility)] {
        value.iter().for_each(|value| add(key, value));
    }
    if !document.allowed_tools.is_empty() {
        text.push_str(&format!("{ALLOWED_TOOLS}:\n"));
        document.allowed_tools.iter().for_each(|tool| text.push_str(&format!("  - {}\n", json!(tool))));
    }
    if !document.metadata.is_empty() {
        text.push_str(&format!("{METADATA}:\n"));
        for (key, value) in &document.metadata {
            text.push_str(&format!("  {key}: {}\n", json!(value)));
        }
    }
    text.push_str(&format!("---\n\n{}\n", document.instructions.trim()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        read_document(text.as_bytes())
            .map(|document| document.name)
            .unwrap_or_else(|error| error.problem.code)
    }

    #[test]
    fn a_document_of_the_open_format_is_read_whole() {
        let text = "---\nname: pdf-forms\ndescription: >\n  Fills in forms\n  in PDF files.\nlicense: MIT\n\
                    compatibility: needs nothing\nmetadata:\n  author: mei\n  version: \"1.2\"\n\
                    allowed-tools: read_file save_note\nmodel: opus\n---\n\n# Forms\n\nAsk first.\n";
        let document = read_document(text.as_bytes()).unwrap();
        assert_eq!(document.description, "Fills in forms in PDF files.");
        assert_eq!(
            (document.license.as_deref(), document.compatibility.as_deref()),
            (Some("MIT"), Some("needs nothing"))
        );
        assert_eq!(document.metadata["version"], "1.2");
        assert_eq!(document.allowed_tools, ["read_file", "save_note"]);
        assert_eq!(document.instructions, "# Forms\n\nAsk first.");
        assert_eq!(document.ignored, ["model"]);
    }

    #[test]
    fn names_are_lower_case_letters_digits_and_single_dashes() {
        let named = |name: &str| code(&format!("---\nname: \"{name}\"\ndescription: x\n---\n"));
        for name in ["a", "pdf-forms", "3d", "报销-审核", &"x".repeat(64)] {
            assert_eq!(named(name), name);
        }
        for name in ["", "PDF", "a_b", "a b", "-a", "a-", "a--b", "../a", "a/b", "*", &"x".repeat(65)] {
            assert_eq!(named(name), "definition_skill_name_unfit", "{name}");
        }
    }

    #[test]
    fn what_is_too_long_or_missing_is_refused() {
        let with = |more: &str| code(&format!("---\nname: a\n{more}\n---\nbody"));
        assert_eq!(with("license: MIT"), "definition_description_empty");
        assert_eq!(with(&format!("description: {}", "长".repeat(1_024))), "a");
        assert_eq!(with(&format!("description: {}", "x".repeat(1_025))), "definition_text_too_long");
        assert_eq!(
            with(&format!("description: x\nlicense: {}", "x".repeat(501))),
            "definition_text_too_long"
        );
        let members: String = (0..51).map(|n| format!("  k{n}: v\n")).collect();
        assert_eq!(with(&format!("description: x\nmetadata:\n{members}")), "definition_members_too_many");
        assert_eq!(
            with(&format!("description: x\nmetadata:\n  a: {}", "x".repeat(2_001))),
            "definition_text_too_long"
        );
        let tools = "t ".repeat(51);
        assert_eq!(with(&format!("description: x\nallowed-tools: {tools}")), "definition_items_too_many");
        assert_eq!(code(&"x".repeat(DOCUMENT_BYTES_MAX + 1)), "definition_larger_than");
        assert_eq!(read_document(b"---\n\xff").unwrap_err().problem.code, "definition_not_text");
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let document = SkillDocument {
            name: "报销".into(),
            description: "Checks: \"claims\"\n# and more".into(),
            license: Some("'MIT'".into()),
            compatibility: None,
            metadata: BTreeMap::from([("author".into(), "mei: \\ \u{1F642}".into())]),
            allowed_tools: vec!["a b".into(), "[c]".into()],
            instructions: "---\nnot the end\n---".into(),
            ignored: vec![],
        };
        assert_eq!(read_document(write_document(&document).as_bytes()).unwrap(), document);
    }
}
