//! Skills on the disk: one folder, or the operator's folder of skills.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use helve_types::{Notice, SkillSource};

use crate::{
    ARCHIVE_BYTES_MAX, DEPTH_MAX, ENTRIES_MAX, FILE_BYTES_MAX, SKILL_FILE, SKILLS_MAX, SkillError,
    SkillFiles, SkillPackage,
};

/// What shows that a folder has changed: path, size and date of every file.
pub type FolderSignature = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// The skills of a folder by the names of their folders, or what is wrong with one.
pub type SkillFolderSources = BTreeMap<String, Result<SkillPackage, SkillError>>;

/// The files of one skill. Links are not followed, and what is no plain file is refused.
pub fn read_folder(folder: &Path) -> Result<SkillFiles, SkillError> {
    let mut files = SkillFiles::default();
    for entry in list_folder(folder)? {
        let path = entry.relative(folder);
        if entry.is_odd {
            return Err(SkillError::new(&path, Notice::definition_not_a_plain_file(&path)));
        }
        if entry.bytes > FILE_BYTES_MAX as u64 {
            return Err(SkillError::new(path, Notice::definition_larger_than(FILE_BYTES_MAX as u64)));
        }
        let bytes =
            read_file(&entry.path, FILE_BYTES_MAX as u64).map_err(|error| unreadable(&entry.path, &error))?;
        files.add(&path, bytes)?;
    }
    Ok(files)
}

/// One byte more than the most is read, which tells that there is more.
fn read_file(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    fs::File::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(path: &Path, error: &io::Error) -> SkillError {
    let shown = path.display().to_string();
    SkillError::new(&shown, Notice::definition_path_unreadable(&shown, &error.to_string()))
}

/// A file below a folder.
struct FolderEntry {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
    /// It is a link, or no plain file.
    is_odd: bool,
    /// Everybody on this machine may write it.
    is_open: bool,
}

impl FolderEntry {
    /// The path in the skill, with `/` between its parts.
    fn relative(&self, folder: &Path) -> String {
        let below = self.path.strip_prefix(folder).unwrap_or(&self.path);
        below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
    }
}

/// All files below a folder, but those that are no part of a skill.
fn list_folder(folder: &Path) -> Result<Vec<FolderEntry>, SkillError> {
    let mut found = vec![];
    let mut waiting = vec![(folder.to_owned(), 0)];
    let mut seen = 0;
    while let Some((at, depth)) = waiting.pop() {
        for entry in fs::read_dir(&at).map_err(|error| unreadable(&at, &error))? {
            let entry = entry.map_err(|error| unreadable(&at, &error))?;
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| matches!(name, ".git" | "node_modules" | "__pycache__")) {
                continue;
            }
            seen += 1;
            if seen > ENTRIES_MAX {
                return Err(SkillError::new("files", Notice::definition_files_too_many(ENTRIES_MAX as u64)));
            }
            let path = entry.path();
            // Of the entry itself, not of what it links to.
            let metadata = fs::symlink_metadata(&path).map_err(|error| unreadable(&path, &error))?;
            if metadata.is_dir() && depth <= DEPTH_MAX {
                waiting.push((path, depth + 1));
                continue;
            }
            found.push(FolderEntry {
                path,
                bytes: metadata.len(),
                modified: metadata.modified().ok(),
                is_odd: !metadata.is_file(),
                is_open: is_open_to_all(&metadata),
            });
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

#[cfg(unix)]
fn is_open_to_all(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o002 != 0 && !metadata.is_symlink()
}

#[cfg(not(unix))]
fn is_open_to_all(_: &fs::Metadata) -> bool {
    false
}

/// The skills of the operator's folder: each is a folder or an archive.
fn list_skills(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| path.join(SKILL_FILE).is_file() || is_archive(path));
    paths.sort();
    paths.truncate(SKILLS_MAX);
    Ok(paths)
}

fn is_archive(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    path.is_file() && [".zip", ".skill", ".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending))
}

/// A folder that does not exist is empty.
pub fn read_skills_signature(folder: &Path) -> io::Result<FolderSignature> {
    let mut signature = vec![];
    for path in list_skills(folder)? {
        if is_archive(&path) {
            if let Ok(metadata) = fs::metadata(&path) {
                signature.push((path, metadata.len(), metadata.modified().ok()));
            }
            continue;
        }
        match list_folder(&path) {
            Ok(entries) => {
                signature.extend(entries.into_iter().map(|entry| (entry.path, entry.bytes, entry.modified)));
            }
            // What is wrong with it is told when it is read.
            Err(_) => signature.push((path, 0, None)),
        }
    }
    Ok(signature)
}

/// Reads every skill of the operator's folder.
pub fn read_skills_folder(folder: &Path) -> io::Result<SkillFolderSources> {
    let mut sources = SkillFolderSources::new();
    for path in list_skills(folder)? {
        let place = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sources.insert(place, read_own(&path));
    }
    Ok(sources)
}

/// A skill of the operator's: nobody else may have written it.
fn read_own(path: &Path) -> Result<SkillPackage, SkillError> {
    let open = |path: &Path| {
        let shown = path.display().to_string();
        SkillError::new(&shown, Notice::definition_file_open_to_all(&shown))
    };
    if is_archive(path) {
        let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        if is_open_to_all(&metadata) {
            return Err(open(path));
        }
        let bytes = read_file(path, ARCHIVE_BYTES_MAX as u64).map_err(|error| unreadable(path, &error))?;
        return SkillPackage::new(crate::read_archive(&bytes)?, SkillSource::Folder);
    }
    if let Some(entry) = list_folder(path)?.iter().find(|entry| entry.is_open) {
        return Err(open(&entry.path));
    }
    SkillPackage::new(read_folder(path)?, SkillSource::Folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(name: &str) -> String {
        format!("---\nname: {name}\ndescription: Does {name}.\n---\nDo it.")
    }

    #[test]
    fn skills_of_a_folder_are_read_each_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "forms/SKILL.md", &skill("forms"));
        write(folder.path(), "forms/scripts/a.py", "print(1)");
        write(folder.path(), "forms/.git/config", "x");
        write(folder.path(), "broken/SKILL.md", "no front matter");
        write(folder.path(), "notes/README.md", "no skill");
        let zip = SkillPackage::new(read_folder(&folder.path().join("forms")).unwrap(), SkillSource::Import)
            .unwrap();
        fs::write(folder.path().join("packed.zip"), zip.to_zip()).unwrap();
        let sources = read_skills_folder(folder.path()).unwrap();
        assert_eq!(sources.keys().collect::<Vec<_>>(), ["broken", "forms", "packed.zip"]);
        let forms = sources["forms"].as_ref().unwrap();
        assert_eq!(forms.definition.files.len(), 2);
        assert!(forms.definition.trusted);
        assert!(sources["broken"].is_err());
        assert_eq!(sources["packed.zip"].as_ref().unwrap().definition.files, forms.definition.files);

        let before = read_skills_signature(folder.path()).unwrap();
        write(folder.path(), "forms/scripts/a.py", "print(12)");
        assert_ne!(read_skills_signature(folder.path()).unwrap(), before);
        assert!(read_skills_folder(&folder.path().join("none")).unwrap().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_files_that_all_may_write_are_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "forms/SKILL.md", &skill("forms"));
        write(folder.path(), "secret", "s3cret");
        std::os::unix::fs::symlink(folder.path().join("secret"), folder.path().join("forms/link")).unwrap();
        let code = |sources: &SkillFolderSources| sources["forms"].as_ref().unwrap_err().problem.code.clone();
        assert_eq!(code(&read_skills_folder(folder.path()).unwrap()), "definition_not_a_plain_file");
        fs::remove_file(folder.path().join("forms/link")).unwrap();
        let open = folder.path().join("forms/SKILL.md");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(code(&read_skills_folder(folder.path()).unwrap()), "definition_file_open_to_all");
    }

    #[test]
    fn a_folder_deeper_or_fuller_than_a_skill_may_be_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "SKILL.md", &skill("deep"));
        write(folder.path(), &format!("{}a.md", "a/".repeat(DEPTH_MAX + 1)), "x");
        assert_eq!(read_folder(folder.path()).unwrap_err().problem.code, "definition_path_unfit");
        let full = tempfile::tempdir().unwrap();
        (0..=ENTRIES_MAX).for_each(|n| write(full.path(), &format!("{n}"), ""));
        assert_eq!(read_folder(full.path()).unwrap_err().problem.code, "definition_files_too_many");
    }
}
