//! What skills are, what they were, and what is between.

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use helve_runtime::{ComparedSkill, ListedSkill, SkillCatalogue, SkillCatalogueError, SkillVersionPair};
use helve_skill::{SkillError, file_text, read_skills_folder};
use helve_types::SkillSource;
use serde_json::{Value, json};

use crate::client::line;
use crate::commands::notice::definition_words;
use crate::i18n::tr;
use crate::output::{errln, outln};

pub(super) fn list(skills: &SkillCatalogue, folder: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let listed = skills.list();
    if as_json {
        let shown = |skill: &ListedSkill| {
            let mut shown = describe(skill);
            // Together they can be long.
            if let Value::Object(members) = &mut shown {
                members.remove("instructions");
            }
            shown
        };
        outln!("{}", serde_json::to_string_pretty(&listed.iter().map(shown).collect::<Vec<_>>())?);
        return Ok(ExitCode::SUCCESS);
    }
    let width = listed.iter().map(|skill| skill.name().chars().count()).max().unwrap_or(0);
    for skill in &listed {
        let definition = &skill.row.definition;
        let source = match definition.source {
            SkillSource::Folder => tr!("folder"),
            SkillSource::Import => tr!("version {version}", version = skill.row.version),
        };
        let state = match (&skill.offer, definition.enabled, definition.trusted) {
            (Some(_), ..) => tr!(" (changed; `helve skills diff {name}`)", name = skill.name()),
            (None, false, _) => tr!(" (off)"),
            (None, true, false) => tr!(" (not agreed to)"),
            (None, true, true) => String::new(),
        };
        outln!("{:width$}  {source:13}  {}{state}", skill.name(), line(&definition.description));
    }
    tell_folder_problems(folder);
    Ok(ExitCode::SUCCESS)
}

/// What of the folder of skills no server can take over.
fn tell_folder_problems(folder: &Path) {
    let Ok(sources) = read_skills_folder(folder) else { return };
    for (place, source) in sources {
        if let Err(SkillError { field, problem }) = source {
            errln!("{}: `{}`: {}", folder.join(place).display(), line(&field), definition_words(&problem));
        }
    }
}

pub(super) async fn show(
    skills: &SkillCatalogue,
    name: &str,
    file: Option<&str>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let skill = skills.get(name).ok_or_else(|| SkillCatalogueError::Missing(name.into()))?;
    let definition = &skill.row.definition;
    if as_json {
        outln!("{}", serde_json::to_string_pretty(&describe(&skill))?);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = file {
        let Some(file) = definition.file(path) else {
            bail!(tr!("the skill `{name}` has no file `{path}`", name = name, path = line(path)))
        };
        let package = skills.package(definition).await?;
        match package.contents.get(&file.hash).and_then(|bytes| file_text(bytes)) {
            Some(text) => outln!("{}", text.trim_end()),
            None => bail!(tr!("`{path}` is no text; `helve skills export` writes it", path = line(path))),
        }
        return Ok(ExitCode::SUCCESS);
    }
    outln!("{}", tr!("Name: {name}", name = definition.name));
    outln!("{}", tr!("Description: {text}", text = line(&definition.description)));
    let texts = [
        (tr!("License"), definition.license.as_deref()),
        (tr!("Needs"), definition.compatibility.as_deref()),
    ];
    for (label, text) in texts {
        if let Some(text) = text {
            outln!("{label}: {}", line(text));
        }
    }
    outln!("{}", tr!("Version: {version}, {hash}", version = skill.row.version, hash = skill.row.hash));
    for file in &definition.files {
        let kind = if file.text { String::new() } else { tr!(", no text") };
        outln!(
            "{}",
            tr!(
                "File: {path} ({bytes} bytes{kind})",
                path = line(&file.path),
                bytes = file.bytes,
                kind = kind
            )
        );
    }
    outln!("\n{}", definition.instructions);
    Ok(ExitCode::SUCCESS)
}

/// What a skill is, and what is known of it besides.
fn describe(skill: &ListedSkill) -> Value {
    let mut shown = json!(skill.row.definition);
    shown["enabled"] = json!(skill.row.definition.enabled);
    shown["trusted"] = json!(skill.row.definition.trusted);
    shown["version"] = json!(skill.row.version);
    shown["hash"] = json!(skill.row.hash);
    if let Some(offer) = &skill.offer {
        shown["offer"] = json!({"hash": offer.definition.hash(), "at": offer.at.0});
    }
    shown
}

pub(super) async fn versions(skills: &SkillCatalogue, name: &str) -> anyhow::Result<ExitCode> {
    for row in skills.list_versions(name).await? {
        let at = jiff::Timestamp::from_millisecond(row.updated_at.0).map(|at| at.to_string());
        let off = if row.definition.enabled { String::new() } else { tr!("  (off)") };
        outln!("{:3}  {}  {}{off}", row.version, row.hash, at.unwrap_or_default());
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn compare(
    skills: &SkillCatalogue,
    name: &str,
    from: Option<u32>,
    to: Option<&str>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let to = to.map(str::parse::<ComparedSkill>).transpose().map_err(|_| {
        anyhow::anyhow!(tr!(
            "`{to}` is neither the number of a version nor `offer`",
            to = to.unwrap_or_default()
        ))
    })?;
    let SkillVersionPair { from, to, changes } = skills.compare(name, from, to).await?;
    if as_json {
        let shown = json!({"from": from, "to": to, "changes": changes});
        outln!("{}", serde_json::to_string_pretty(&shown)?);
        return Ok(ExitCode::SUCCESS);
    }
    for change in changes {
        let texts = [&change.was, &change.now];
        if texts
            .iter()
            .any(|text| text.as_ref().and_then(Value::as_str).is_some_and(|text| text.contains('\n')))
        {
            outln!("{}:", line(&change.field));
            print_lines(&text_of(change.was), &text_of(change.now));
            continue;
        }
        let [was, now] = [change.was, change.now]
            .map(|value| value.map_or_else(|| tr!("(nothing)"), |value| value.to_string()));
        outln!("{}: {} → {}", line(&change.field), line(&was), line(&now));
    }
    Ok(ExitCode::SUCCESS)
}

fn text_of(value: Option<Value>) -> String {
    value.as_ref().and_then(Value::as_str).map(str::to_owned).unwrap_or_default()
}

/// The lines that are not the same at the beginning and at the end of both texts.
fn print_lines(was: &str, now: &str) {
    let (was, now): (Vec<&str>, Vec<&str>) = (was.lines().collect(), now.lines().collect());
    let before = was.iter().zip(&now).take_while(|(was, now)| was == now).count();
    let rest = was.len().min(now.len()) - before;
    let after = was.iter().rev().zip(now.iter().rev()).take(rest).take_while(|(was, now)| was == now).count();
    was[before..was.len() - after].iter().for_each(|gone| outln!("- {}", line(gone)));
    now[before..now.len() - after].iter().for_each(|new| outln!("+ {}", line(new)));
}
