//! Every dependency must come under a licence that may be passed on.
//!
//! `deny.toml` says the same for those who have cargo-deny; this needs nothing but cargo.

use anyhow::bail;
use serde_json::Value;

use crate::step::output;

const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(crate) fn check() -> anyhow::Result<()> {
    println!("\n── licences of all dependencies");
    let metadata: Value =
        serde_json::from_str(&output("", &["cargo", "metadata", "--format-version", "1", "--locked"])?)?;
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let mut wrong = vec![];
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("none given");
        if !is_allowed(licence) {
            wrong.push(format!("{} {}: {licence}", package["name"], package["version"]));
        }
    }
    if !wrong.is_empty() {
        bail!("licences that are not in the list:\n{}", wrong.join("\n"));
    }
    println!("── licences: {} packages are fine", packages.len());
    Ok(())
}

/// Whether an SPDX expression can be met with the allowed licences: one side of each `OR`, all of each `AND`.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    expression.split(" AND ").all(|all| {
        all.split(" OR ")
            .any(|one| ALLOWED.contains(&one.split_whitespace().collect::<Vec<_>>().join(" ").as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn an_expression_is_met_by_one_side_of_or_and_all_of_and() {
        assert!(is_allowed("MIT OR Apache-2.0"));
        assert!(is_allowed("MIT/Apache-2.0"));
        assert!(is_allowed("(MIT OR AGPL-3.0) AND Unicode-3.0"));
        assert!(is_allowed("Apache-2.0 WITH LLVM-exception OR MIT"));
        assert!(!is_allowed("AGPL-3.0-only"));
        assert!(!is_allowed("MIT AND AGPL-3.0"));
    }
}
