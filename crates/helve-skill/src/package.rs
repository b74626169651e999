//! A skill that was read: its definition, and the bytes that belong to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use helve_types::{Notice, SkillDefinition, SkillFile, SkillSource};

use crate::{SKILL_FILE, SkillDocument, SkillError, SkillFiles, read_document, write_zip};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillPackage {
    pub definition: SkillDefinition,
    /// The bytes of its files, by their hashes.
    pub contents: BTreeMap<String, Arc<[u8]>>,
    /// Keys of the front matter that mean nothing here.
    pub ignored: Vec<String>,
}

impl SkillPackage {
    /// A skill of its files, among which is its `SKILL.md`.
    pub fn new(files: SkillFiles, source: SkillSource) -> Result<Self, SkillError> {
        let files = files.into_files();
        let document = files.get(SKILL_FILE);
        let document = document
            .ok_or_else(|| SkillError::new(SKILL_FILE, Notice::definition_skill_without_file()))
            .and_then(|bytes| read_document(bytes))?;
        let SkillDocument {
            name,
            description,
            license,
            compatibility,
            metadata,
            allowed_tools,
            instructions,
            ignored,
        } = document;
        let (mut listed, mut contents) = (vec![], BTreeMap::new());
        for (path, bytes) in files {
            let file = SkillFile::new(path, &bytes);
            contents.insert(file.hash.clone(), bytes.into());
            listed.push(file);
        }
        let definition = SkillDefinition {
            name,
            description,
            license,
            compatibility,
            metadata,
            allowed_tools,
            instructions,
            files: listed,
            trusted: source == SkillSource::Folder,
            source,
            enabled: true,
        };
        Ok(Self { definition, contents, ignored })
    }

    /// The skill as an archive.
    pub fn to_zip(&self) -> Vec<u8> {
        let name = &self.definition.name;
        let file = |file: &SkillFile| {
            let bytes = self.contents.get(&file.hash)?;
            Some((format!("{name}/{}", file.path), bytes.to_vec()))
        };
        write_zip(&self.definition.files.iter().filter_map(file).collect())
    }
}

/// Bytes in JSON.
pub fn decode_base64(field: &str, text: &str) -> Result<Vec<u8>, SkillError> {
    STANDARD.decode(text).map_err(|_| SkillError::new(field, Notice::definition_base64_wrong()))
}

/// The text of a file, if it is one.
pub fn file_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_archive;

    #[test]
    fn a_skill_survives_its_archive() {
        let mut files = SkillFiles::default();
        files
            .add(
                "forms/SKILL.md",
                b"---\nname: forms\ndescription: Fills in forms.\n---\nAsk first.".to_vec(),
            )
            .unwrap();
        files.add("forms/scripts/fill.py", b"print(1)".to_vec()).unwrap();
        let package = SkillPackage::new(files, SkillSource::Import).unwrap();
        let paths: Vec<_> = package.definition.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["SKILL.md", "scripts/fill.py"]);
        assert!(!package.definition.trusted);
        let again = SkillPackage::new(read_archive(&package.to_zip()).unwrap(), SkillSource::Import).unwrap();
        assert_eq!(again, package);
    }

    #[test]
    fn a_skill_without_its_document_is_refused() {
        let mut files = SkillFiles::default();
        files.add("README.md", vec![]).unwrap();
        let refused = SkillPackage::new(files, SkillSource::Import).unwrap_err();
        assert_eq!(refused.problem.code, "definition_skill_without_file");
    }
}
