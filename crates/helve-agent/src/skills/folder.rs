//! Keeps the catalogue of skills in step with the operator's folder of skills.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use helve_skill::{FolderSignature, SkillFolderSources, read_skills_folder, read_skills_signature};
use helve_types::SkillSource;
use tokio::sync::Mutex;

use super::catalogue::SkillCatalogue;

/// Who it is, in the audit.
const BY: &str = "skills folder";

/// The folder, and what of it was read last.
pub struct SkillFolder {
    path: PathBuf,
    signature: Mutex<Option<FolderSignature>>,
}

impl SkillFolder {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), signature: Mutex::default() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes over what has changed in the folder since the last time. A skill that cannot be read stays what it was, and
    /// keeps no other from being read.
    pub async fn sync(&self, catalogue: &SkillCatalogue) {
        let mut known = self.signature.lock().await;
        let path = self.path.clone();
        let signature = match tokio::task::spawn_blocking(move || read_skills_signature(&path)).await {
            Ok(Ok(signature)) => signature,
            Ok(Err(error)) => {
                tracing::warn!(folder = %self.path.display(), %error, "skills folder not read");
                return;
            }
            Err(_) => return,
        };
        if known.as_ref() == Some(&signature) {
            return;
        }
        let path = self.path.clone();
        let Ok(Ok(sources)) = tokio::task::spawn_blocking(move || read_skills_folder(&path)).await else {
            return;
        };
        let is_whole = take_over(sources, catalogue).await;
        // What could not be kept is tried again.
        *known = is_whole.then_some(signature);
    }
}

/// Whether all could be kept that can be read.
async fn take_over(sources: SkillFolderSources, catalogue: &SkillCatalogue) -> bool {
    let (mut names, mut problems, mut is_whole) = (BTreeSet::new(), BTreeMap::new(), true);
    for (place, source) in sources {
        let outcome = match source {
            Ok(package) if names.contains(&package.definition.name) => {
                Err(format!("another folder has the skill `{}` already", package.definition.name))
            }
            Ok(package) => {
                let name = package.definition.name.clone();
                names.insert(name);
                let imported = catalogue.import(package, true, BY).await;
                is_whole &= !matches!(&imported, Err(super::SkillCatalogueError::Store(_)));
                imported.map(drop).map_err(|error| error.to_string())
            }
            Err(problem) => {
                // A skill has the name of its folder; until it can be read again it stays what it was.
                names.insert(place.clone());
                Err(problem.to_string())
            }
        };
        if let Err(problem) = outcome {
            tracing::warn!(place, problem, "skill in the skills folder not usable");
            problems.insert(place, problem);
        }
    }
    let is_gone = |listed: &super::ListedSkill| {
        listed.row.definition.source == SkillSource::Folder && !names.contains(listed.name())
    };
    for gone in catalogue.list().into_iter().filter(is_gone) {
        let name = gone.name();
        match catalogue.rows.delete(catalogue, name, None, BY).await {
            Ok(()) => tracing::info!(skill = name, "skill removed from the skills folder"),
            Err(error) => {
                is_whole = false;
                tracing::warn!(skill = name, %error, "skill of the skills folder not deleted");
            }
        }
    }
    catalogue.set_folder_problems(problems);
    is_whole
}
