//! Which crate may know which: the architecture as a table, held by a test.

/// A crate and the crates of ours that it may depend on, besides `types`. A new arrow is a discussed change.
#[cfg(test)]
const ARROWS: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("wire", &[]),
    ("json", &[]),
    ("dialect", &["json"]),
    ("policy", &[]),
    ("guard", &[]),
    ("model", &["dialect"]),
    // Of the way out it knows only what takes secrets out of answers.
    ("model-http", &["model", "egress", "wire"]),
    ("postgres-tls", &[]),
    ("store", &[]),
    ("store-contract", &["store"]),
    ("store-sql", &["store", "postgres-tls"]),
    ("rows", &["store"]),
    ("tool", &["policy", "guard", "store", "rows"]),
    ("egress", &[]),
    ("openid", &["egress"]),
    ("process", &[]),
    ("skill", &[]),
    ("tool-builtin", &["tool", "egress", "process", "postgres-tls"]),
    ("tool-http", &["tool", "egress", "wire"]),
    ("tool-code", &["tool", "process"]),
    ("agent", &["model", "dialect", "json", "tool", "store", "rows", "guard", "skill"]),
    ("runtime", &["agent", "model", "tool", "store", "rows", "guard"]),
    ("server", &["runtime", "tool", "store", "guard", "wire", "skill", "openid"]),
];

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::step::output;

    /// The binary wires everything, the lab tests everything, only tests and xtask know the support crate.
    const FREE: &[&str] = &["helve", "helve-lab", "helve-test-support", "xtask"];

    #[test]
    fn crates_know_only_what_the_table_allows() {
        let metadata = output("", &["cargo", "metadata", "--no-deps", "--format-version", "1"]).unwrap();
        let metadata: Value = serde_json::from_str(&metadata).unwrap();
        let mut wrong = vec![];
        for package in metadata["packages"].as_array().unwrap() {
            let name = package["name"].as_str().unwrap();
            if FREE.contains(&name) {
                continue;
            }
            let short = name.strip_prefix("helve-").unwrap_or(name);
            let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == short) else {
                wrong.push(format!("{name} is not in the table of arrows"));
                continue;
            };
            for dependency in package["dependencies"].as_array().unwrap() {
                // What only tests know is no arrow.
                let known = dependency["name"].as_str().unwrap();
                let Some(known) = known.strip_prefix("helve-").or((known == "helve").then_some("helve"))
                else {
                    continue;
                };
                if dependency["kind"].is_null() && known != "types" && !allowed.contains(&known) {
                    wrong.push(format!("{name} must not know helve-{known}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_folder_is_named_as_its_crate_and_has_one_sentence() {
        for entry in std::fs::read_dir(crate::step::root().join("crates")).unwrap() {
            let path = entry.unwrap().path();
            let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
            let folder = path.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(manifest.contains(&format!("name = \"{folder}\"")), "{folder}");
            assert!(manifest.contains("description = \""), "{folder} has no description");
            assert!(
                manifest.contains("[lints]\nworkspace = true"),
                "{folder} does not take the workspace's lints"
            );
        }
    }
}
