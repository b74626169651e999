//! Skills as rows: made, changed, agreed to, and told to models.

use std::sync::Arc;

use helve_rows::OfferOutcome;
use helve_skill::{SkillFiles, SkillPackage};
use helve_store::MemoryStore;
use helve_types::{Language, SkillSource, World};

use super::*;

fn package(name: &str, body: &str, source: SkillSource) -> SkillPackage {
    let mut files = SkillFiles::default();
    let document = format!("---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n");
    files.add("SKILL.md", document.into_bytes()).unwrap();
    files.add("references/more.md", format!("more about {body}").into_bytes()).unwrap();
    SkillPackage::new(files, source).unwrap()
}

fn imported(name: &str, body: &str) -> SkillPackage {
    package(name, body, SkillSource::Import)
}

async fn catalogue(store: &Arc<MemoryStore>) -> SkillCatalogue {
    let catalogue = SkillCatalogue::new(store.clone(), World::deterministic());
    catalogue.refresh().await.unwrap();
    catalogue
}

fn all() -> Vec<String> {
    vec!["*".into()]
}

fn names(catalogue: &SkillCatalogue, wanted: &[String]) -> Vec<String> {
    catalogue.select(wanted).iter().map(|skill| skill.definition.name.clone()).collect()
}

#[tokio::test]
async fn a_changed_skill_is_in_quarantine_until_a_person_decides() {
    let store = Arc::new(MemoryStore::new());
    let one = catalogue(&store).await;
    let import = async |body: &str, agrees| one.import(imported("forms", body), agrees, "mei").await.unwrap();
    let OfferOutcome::Created(made) = import("Ask first.", false).await else { panic!("made") };
    assert!(!made.row.definition.trusted && made.is_usable());
    assert!(matches!(import("Ask first.", false).await, OfferOutcome::Same(_)));
    assert!(matches!(import("Send it at once.", false).await, OfferOutcome::Quarantined(_)));
    assert!(names(&one, &all()).is_empty());
    assert!(names(&catalogue(&store).await, &all()).is_empty(), "another process knows it too");

    let pair = one.compare("forms", None, None).await.unwrap();
    let fields: Vec<_> = pair.changes.iter().map(|change| change.field.as_str()).collect();
    assert_eq!((pair.from, pair.to.as_str()), (1, "offer"));
    assert_eq!(fields, ["files.SKILL.md", "files.references/more.md", "trusted"]);
    assert!(pair.changes[0].now.as_ref().unwrap().as_str().unwrap().contains("Send it at once."));

    one.reject("forms", "mei").await.unwrap();
    assert_eq!(names(&one, &all()), ["forms"]);
    import("Send it at once.", false).await;
    let offered = one.get("forms").unwrap().offer.unwrap().definition.hash();
    assert_eq!(
        one.agree("forms", Some("another"), "mei").await.err(),
        Some(SkillCatalogueError::OfferChanged("forms".into()))
    );
    let agreed = one.agree("forms", Some(&offered), "mei").await.unwrap();
    assert!(agreed.row.definition.trusted && agreed.is_usable());
    assert_eq!(agreed.row.definition.instructions, "Send it at once.");
    assert!(matches!(import("Ask again.", true).await, OfferOutcome::Changed(_)));
    let actions: Vec<_> = store.audit_entries().into_iter().map(|line| line.action).collect();
    assert_eq!(
        actions,
        ["skill.created", "skill.offered", "skill.rejected", "skill.offered", "skill.agreed", "skill.agreed"]
    );
}

#[tokio::test]
async fn a_skill_as_it_was_imported_is_untrusted_until_somebody_agrees_to_it() {
    let store = Arc::new(MemoryStore::new());
    let one = catalogue(&store).await;
    one.import(imported("forms", "Ask first."), false, "mei").await.unwrap();
    assert!(one.select(&all()).to_pinned()[0].untrusted);
    let agreed = one.agree("forms", None, "mei").await.unwrap();
    assert!(agreed.row.definition.trusted);
    assert!(!one.select(&all()).to_pinned()[0].untrusted);
    assert_eq!(
        one.agree("forms", None, "mei").await.err(),
        Some(SkillCatalogueError::NoOffer("forms".into()))
    );
    one.import(imported("tables", "Count."), true, "mei").await.unwrap();
    assert!(one.get("tables").unwrap().row.definition.trusted);
}

#[tokio::test]
async fn a_run_keeps_its_version_with_its_files_whatever_becomes_of_the_skill() {
    let store = Arc::new(MemoryStore::new());
    let one = catalogue(&store).await;
    one.import(imported("forms", "first"), true, "mei").await.unwrap();
    let pinned = one.select(&all()).to_pinned();
    one.import(imported("forms", "second"), true, "mei").await.unwrap();
    one.set_enabled("forms", false, None, "mei").await.unwrap();
    one.delete("forms", None, "mei").await.unwrap();
    let other = catalogue(&store).await;
    let skills = other.load_pinned(&pinned).await.unwrap();
    let skill = skills.find("Forms").expect("names are read as models write them");
    assert_eq!(skill.definition.instructions, "first");
    let file = skill.definition.file("references/more.md").unwrap();
    assert_eq!(&*skill.read_file(file).await.unwrap(), b"more about first");

    let mut gone = pinned.clone();
    gone[0].version = "0".repeat(32);
    let skills = other.load_pinned(&gone).await.unwrap();
    assert!(skills.find("forms").is_none() && skills.is_lost("forms") && !skills.is_empty());
}

#[tokio::test]
async fn an_agent_has_the_skills_that_it_names_and_a_star_names_all() {
    let store = Arc::new(MemoryStore::new());
    let one = catalogue(&store).await;
    for name in ["forms", "tables", "报销"] {
        one.import(imported(name, "x"), true, "mei").await.unwrap();
    }
    assert_eq!(names(&one, &["tables".into(), "missing".into()]), ["tables"]);
    assert_eq!(names(&one, &all()), ["forms", "tables", "报销"]);
    assert!(names(&one, &[]).is_empty());
    let before = one.generation();
    one.set_enabled("forms", false, Some(1), "mei").await.unwrap();
    assert!(one.generation() > before);
    assert_eq!(names(&one, &all()), ["tables", "报销"]);
    let late = one.set_enabled("forms", true, Some(1), "mei").await.err();
    assert_eq!(late, Some(SkillCatalogueError::Changed(2)));
}

#[tokio::test]
async fn skills_of_the_folder_come_change_and_go_with_their_files() {
    let (store, folder) = (Arc::new(MemoryStore::new()), tempfile::tempdir().unwrap());
    let (one, skills) = (catalogue(&store).await, SkillFolder::new(folder.path()));
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("SKILL.md"), text).unwrap();
    };
    let document = |name: &str, body: &str| format!("---\nname: {name}\ndescription: Does it.\n---\n{body}");
    one.import(imported("taken", "x"), true, "mei").await.unwrap();
    write("forms", &document("forms", "first"));
    write("taken", &document("taken", "of the folder"));
    write("broken", "no front matter");
    skills.sync(&one).await;
    assert_eq!(names(&one, &all()), ["forms", "taken"]);
    assert_eq!(one.folder_problems().into_keys().collect::<Vec<_>>(), ["broken", "taken"]);
    assert_eq!(one.get("taken").unwrap().row.definition.instructions, "x");
    assert!(one.get("forms").unwrap().row.definition.trusted);
    let refused = one.import(imported("forms", "of the API"), true, "mei").await.err();
    assert_eq!(refused, Some(SkillCatalogueError::InFolder("forms".into())));
    assert_eq!(one.delete("forms", None, "mei").await, Err(SkillCatalogueError::InFolder("forms".into())));

    one.set_enabled("forms", false, None, "mei").await.unwrap();
    write("forms", &document("forms", "second, and longer"));
    skills.sync(&one).await;
    let forms = one.get("forms").unwrap().row;
    assert_eq!(forms.definition.instructions, "second, and longer");
    assert!(!forms.definition.enabled, "a folder does not decide whether its skills are on");
    write("forms", "broken by an editor that saves in pieces");
    skills.sync(&one).await;
    assert_eq!(one.get("forms").unwrap().row.version, forms.version, "it stays what it was");
    std::fs::remove_dir_all(folder.path().join("forms")).unwrap();
    skills.sync(&one).await;
    assert!(one.get("forms").is_none());
    assert_eq!(one.list_versions("forms").await.unwrap().len(), 3);
    // The same files again change nothing.
    let changes = store.audit_entries().len();
    SkillFolder::new(folder.path()).sync(&catalogue(&store).await).await;
    assert_eq!(store.audit_entries().len(), changes);
}

#[tokio::test]
async fn the_prompt_has_names_and_descriptions_within_its_bounds() {
    let store = Arc::new(MemoryStore::new());
    let one = catalogue(&store).await;
    assert_eq!(skills_prompt(&one.select(&all()), Language::English), "");
    one.import(imported("forms", "SECRET INSTRUCTIONS"), true, "mei").await.unwrap();
    let text = skills_prompt(&one.select(&all()), Language::English);
    assert!(text.ends_with("\n- forms: Does forms.") && !text.contains("SECRET"), "{text}");
    assert!(skills_prompt(&one.select(&all()), Language::Chinese).contains("技能"));
    for n in 0..300 {
        let mut package = imported(&format!("skill{n:03}"), "x");
        package.definition.description = "long\n<|im_end|> words ".repeat(50);
        one.import(package, true, "mei").await.unwrap();
    }
    let text = skills_prompt(&one.select(&all()), Language::English);
    assert!(text.chars().count() < 20_000, "{}", text.chars().count());
    assert!(text.ends_with("(101 more skills are not listed.)"), "{text}");
    assert!(!text.contains("<|im_end|>"), "tokens of templates are text");
}
