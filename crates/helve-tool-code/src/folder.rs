//! The folder of tools: which definitions are in it, and which program belongs to each.
//!
//! A definition is a file `NAME.json`; its program is the file with the same name and another ending, or what `command`
//! says. A script may carry its definition itself (`inline.rs`). A file that every user of the machine may write is no tool of the operator's and is not run.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use helve_tool::DefinitionError;
use helve_types::Notice;

use crate::definition::CodeDefinition;
use crate::inline;

/// The most definitions that are read.
pub const FILES_MAX: usize = 500;
const DEFINITION_BYTES_MAX: u64 = 256 << 10;
/// A program larger than this is known by its size and date, not by its bytes.
const HASHED_BYTES_MAX: u64 = 64 << 20;

/// A definition with its program, as they are on the disk.
#[derive(Debug, Clone)]
pub(crate) struct CodeSource {
    pub(crate) name: String,
    pub(crate) definition: CodeDefinition,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// Changes with the definition and with the program's files.
    pub(crate) version: String,
}

/// A definition by its name, and what is wrong with it if it cannot be used.
pub(crate) type Sources = BTreeMap<String, Result<CodeSource, DefinitionError>>;

/// What shows that a folder has changed: path, size and date of every file.
pub(crate) type Signature = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// A folder that does not exist is empty.
pub(crate) fn read_signature(folder: &Path) -> io::Result<Signature> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut signature = vec![];
    for entry in entries {
        let path = entry?.path();
        // A file that vanished meanwhile is none.
        if let Ok(metadata) = fs::metadata(&path)
            && metadata.is_file()
        {
            signature.push((path, metadata.len(), metadata.modified().ok()));
        }
    }
    signature.sort();
    Ok(signature)
}

/// Reads every definition of the folder.
pub(crate) fn read_sources(signature: &Signature) -> Sources {
    let files: Vec<&Path> = signature.iter().map(|(path, ..)| path.as_path()).collect();
    let definitions = files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let mut sources = Sources::new();
    for path in definitions.take(FILES_MAX) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let source = read_source(path, &stem, &files);
        let name = source.as_ref().map_or(stem.clone(), |source| source.name.clone());
        let source = match sources.contains_key(&name) {
            true => Err(DefinitionError::new("name", Notice::definition_program_twice(&name))),
            false => source,
        };
        sources.insert(name, source);
    }
    for path in list_scripts(&files).take(FILES_MAX) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some(source) = read_script(path, &stem) else { continue };
        let name = source.as_ref().map_or(stem, |source| source.name.clone());
        let source = match sources.contains_key(&name) {
            true => Err(DefinitionError::new("name", Notice::definition_program_twice(&name))),
            false => source,
        };
        sources.insert(name, source);
    }
    sources
}

/// Scripts that no definition stands beside.
fn list_scripts<'a>(files: &'a [&'a Path]) -> impl Iterator<Item = &'a Path> {
    let ending = |path: &Path| path.extension().and_then(|ending| ending.to_str()).map(str::to_owned);
    let has_definition = |path: &Path| files.contains(&path.with_extension("json").as_path());
    files.iter().copied().filter(move |path| {
        ending(path).is_some_and(|ending| inline::is_script(&ending)) && !has_definition(path)
    })
}

/// The tool of a script that carries its definition.
fn read_script(path: &Path, stem: &str) -> Option<Result<CodeSource, DefinitionError>> {
    let mut head = vec![];
    fs::File::open(path).and_then(|file| file.take(DEFINITION_BYTES_MAX).read_to_end(&mut head)).ok()?;
    let ending = path.extension()?.to_str()?;
    let text = inline::read_definition(ending, &String::from_utf8_lossy(&head))?;
    let source = || {
        let definition = CodeDefinition::parse(text?.as_bytes())?;
        let metadata = fs::metadata(path);
        let unreadable = |error: io::Error| unreadable("definition", path, &error);
        let metadata = metadata.map_err(unreadable)?;
        check_owner(path, &metadata)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let command = match &definition.command {
            Some(command) => read_given_command(command, folder)?,
            None => run_command(path)?,
        };
        let mut hash = blake3::Hasher::new();
        hash_file(&mut hash, path, &metadata).map_err(unreadable)?;
        let version = hash.finalize().to_hex()[..32].to_owned();
        let name = definition.name.clone().unwrap_or_else(|| stem.to_owned());
        Ok(CodeSource { name, definition, command, version })
    };
    Some(source())
}

fn read_source(path: &Path, stem: &str, files: &[&Path]) -> Result<CodeSource, DefinitionError> {
    let of_definition = |error: io::Error| unreadable("definition", path, &error);
    let metadata = fs::metadata(path).map_err(of_definition)?;
    if metadata.len() > DEFINITION_BYTES_MAX {
        let problem = Notice::definition_file_too_large(DEFINITION_BYTES_MAX);
        return Err(DefinitionError::new("definition", problem));
    }
    check_owner(path, &metadata)?;
    let text = fs::read(path).map_err(of_definition)?;
    let definition = CodeDefinition::parse(&text)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let command = match &definition.command {
        Some(command) => read_given_command(command, folder)?,
        None => find_command(path, stem, files)?,
    };
    let mut hash = blake3::Hasher::new();
    hash.update(&text);
    for word in &command {
        let file = folder.join(word);
        // A folder that moves holds the same tools.
        let place = Path::new(word).strip_prefix(folder).unwrap_or(Path::new(word)).to_string_lossy();
        hash.update(&(place.len() as u64).to_le_bytes()).update(place.as_bytes());
        if let Ok(metadata) = fs::metadata(&file)
            && metadata.is_file()
        {
            check_owner(&file, &metadata)?;
            hash_file(&mut hash, &file, &metadata).map_err(|error| unreadable("command", &file, &error))?;
        }
    }
    let version = hash.finalize().to_hex()[..32].to_owned();
    let name = definition.name.clone().unwrap_or_else(|| stem.to_owned());
    Ok(CodeSource { name, definition, command, version })
}

/// The command of a definition. A program with a `/` in its path is meant relative to the folder.
fn read_given_command(command: &[String], folder: &Path) -> Result<Vec<String>, DefinitionError> {
    let wrong = |problem| Err(DefinitionError::new("command", problem));
    let Some((program, arguments)) = command.split_first().filter(|(program, _)| !program.is_empty()) else {
        return wrong(Notice::definition_command_empty());
    };
    let beside = folder.join(program);
    let program = match program.contains('/') || beside.is_file() {
        false => program.clone(),
        true if beside.is_file() => beside.to_string_lossy().into_owned(),
        true => return wrong(Notice::definition_program_missing(&beside.to_string_lossy())),
    };
    Ok(std::iter::once(program).chain(arguments.iter().cloned()).collect())
}

/// The one file that has the definition's name with another ending.
fn find_command(path: &Path, stem: &str, files: &[&Path]) -> Result<Vec<String>, DefinitionError> {
    let wrong = |problem| Err(DefinitionError::new("command", problem));
    let is_beside = |file: &&&Path| **file != path && file.file_stem().is_some_and(|other| other == stem);
    let mut beside = files.iter().filter(is_beside);
    let (program, second) = (beside.next(), beside.next());
    let program = match (program, second) {
        (Some(program), None) => program.to_string_lossy().into_owned(),
        (None, _) => return wrong(Notice::definition_program_not_beside(stem)),
        (Some(one), Some(other)) => {
            let (one, other) = (one.to_string_lossy(), other.to_string_lossy());
            return wrong(Notice::definition_programs_beside(&one, &other));
        }
    };
    run_command(Path::new(&program))
}

/// How a program is run: by itself, or by the interpreter of its ending.
fn run_command(file: &Path) -> Result<Vec<String>, DefinitionError> {
    let program = file.to_string_lossy().into_owned();
    if is_executable(file) {
        return Ok(vec![program]);
    }
    let interpreter = match file.extension().and_then(|ending| ending.to_str()) {
        Some("py") => "python3",
        Some("js" | "mjs" | "cjs") => "node",
        Some("sh") => "sh",
        _ => {
            let problem = Notice::definition_program_not_executable(&program);
            return Err(DefinitionError::new("command", problem));
        }
    };
    Ok(vec![interpreter.into(), program])
}

fn unreadable(field: &str, file: &Path, error: &io::Error) -> DefinitionError {
    let problem = Notice::definition_file_unreadable(&file.to_string_lossy(), &error.to_string());
    DefinitionError::new(field, problem)
}

fn hash_file(hash: &mut blake3::Hasher, path: &Path, metadata: &Metadata) -> io::Result<()> {
    if metadata.len() > HASHED_BYTES_MAX {
        hash.update(format!("{} {:?}", metadata.len(), metadata.modified()?).as_bytes());
        return Ok(());
    }
    hash.update(&fs::read(path)?);
    Ok(())
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "exe")
}

/// What every user of the machine may write is not the operator's word.
#[cfg(unix)]
fn check_owner(path: &Path, metadata: &Metadata) -> Result<(), DefinitionError> {
    use std::os::unix::fs::PermissionsExt;
    if metadata.permissions().mode() & 0o002 == 0 {
        return Ok(());
    }
    let problem = Notice::definition_file_open_to_all(&path.to_string_lossy());
    Err(DefinitionError::new("definition", problem))
}

#[cfg(not(unix))]
fn check_owner(_path: &Path, _metadata: &Metadata) -> Result<(), DefinitionError> {
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const DEFINITION: &str = r#"{"description": "Counts."}"#;

    fn read(files: &[(&str, &str, u32)]) -> Sources {
        let folder = tempfile::tempdir().unwrap();
        for (name, text, mode) in files {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        read_sources(&read_signature(folder.path()).unwrap())
    }

    fn program(sources: &Sources, name: &str) -> String {
        let source = sources[name].as_ref().unwrap();
        let words: Vec<_> =
            source.command.iter().map(|word| word.rsplit('/').next().unwrap_or_default()).collect();
        words.join(" ")
    }

    #[test]
    fn the_program_is_the_file_with_the_same_name() {
        let sources = read(&[
            ("count.json", DEFINITION, 0o644),
            ("count.py", "", 0o644),
            ("run.json", DEFINITION, 0o644),
            ("run.py", "", 0o755),
            ("other.json", r#"{"description": "x", "name": "given", "command": ["node", "lib.js"]}"#, 0o644),
            ("lib.js", "", 0o644),
        ]);
        assert_eq!(program(&sources, "count"), "python3 count.py");
        assert_eq!(program(&sources, "run"), "run.py");
        assert_eq!(program(&sources, "given"), "node lib.js");
    }

    #[test]
    fn what_cannot_be_used_is_listed_with_its_problem() {
        let sources = read(&[
            ("alone.json", DEFINITION, 0o644),
            ("two.json", DEFINITION, 0o644),
            ("two.py", "", 0o644),
            ("two.sh", "", 0o644),
            ("plain.json", DEFINITION, 0o644),
            ("plain.txt", "", 0o644),
            ("open.json", DEFINITION, 0o644),
            ("open.py", "", 0o666),
            ("bad.json", "{", 0o644),
        ]);
        for (name, words) in [
            ("alone", "there is no program beside it"),
            ("two", "several programs"),
            ("plain", "not executable"),
            ("open", "every user of this machine may write"),
            ("bad", "it is not JSON: EOF"),
        ] {
            let problem = sources[name].as_ref().unwrap_err().to_string();
            assert!(problem.contains(words), "{name}: {problem}");
        }
    }

    #[test]
    fn a_script_that_carries_its_definition_is_a_tool_by_itself() {
        let script = "# helve: {\"description\": \"Counts.\", \"effect\": \"read\"}\nprint(1)";
        let sources = read(&[
            ("count.py", script, 0o644),
            ("lib.py", "x = 1", 0o644),
            ("open.sh", "# helve: {\"description\": \"x\"}", 0o666),
            ("both.json", DEFINITION, 0o644),
            ("both.py", script, 0o644),
            ("odd.sh", "# helve: {\"descripton\": \"x\"}", 0o644),
        ]);
        assert_eq!(sources.keys().collect::<Vec<_>>(), ["both", "count", "odd", "open"]);
        assert_eq!(program(&sources, "count"), "python3 count.py");
        assert_eq!(sources["count"].as_ref().unwrap().definition.effect, helve_types::Effect::Read);
        assert_eq!(sources["both"].as_ref().unwrap().definition.effect, helve_types::Effect::NonIdempotent);
        assert!(sources["open"].as_ref().unwrap_err().to_string().contains("every user of this machine"));
        assert!(sources["odd"].as_ref().unwrap_err().to_string().contains("descripton"));
        let other = read(&[("count.py", &format!("{script}\nprint(2)"), 0o644)]);
        assert_ne!(sources["count"].as_ref().unwrap().version, other["count"].as_ref().unwrap().version);
    }

    #[test]
    fn the_version_changes_with_the_definition_and_with_the_program_and_with_nothing_else() {
        let version = |definition: &str, script: &str| {
            let sources = read(&[("count.json", definition, 0o644), ("count.py", script, 0o644)]);
            sources["count"].as_ref().unwrap().version.clone()
        };
        let first = version(DEFINITION, "print(1)");
        assert_eq!(first, version(DEFINITION, "print(1)"));
        assert_ne!(first, version(DEFINITION, "print(2)"));
        assert_ne!(first, version(r#"{"description": "Counts!"}"#, "print(1)"));
    }

    #[test]
    fn a_folder_that_is_not_there_is_empty() {
        assert!(read_signature(Path::new("/nowhere/tools")).unwrap().is_empty());
    }
}
