//! The page: built when its sources are newer than what was built from them.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::bail;

use crate::step::{exists, root, step};

/// Installs what the page is made with, if that has changed.
pub(crate) fn install() -> anyhow::Result<()> {
    if !exists("npm") {
        bail!("the page needs Node.js 20.19 or newer with npm: https://nodejs.org");
    }
    let web = root().join("web");
    let wanted = modified(&web.join("package-lock.json"));
    let have = modified(&web.join("node_modules/.package-lock.json"));
    if have.is_none() || have < wanted {
        step("page: install what it is made with", "web", &["npm", "ci", "--no-audit", "--no-fund"])?;
    }
    Ok(())
}

/// Builds `web/dist`, which goes into the binary.
pub(crate) fn build() -> anyhow::Result<()> {
    install()?;
    let web = root().join("web");
    let built = modified(&web.join("dist/index.html"));
    let sources = ["src", "public", "index.html", "package.json", "vite.config.ts", "package-lock.json"];
    let newest = sources.iter().filter_map(|name| newest(&web.join(name))).max();
    if built.is_some() && built >= newest {
        println!("── page: up to date");
        return Ok(());
    }
    step("page: build", "web", &["npm", "run", "--silent", "build"])
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// When anything below the path was last changed.
fn newest(path: &Path) -> Option<SystemTime> {
    if !path.is_dir() {
        return modified(path);
    }
    let entries = fs::read_dir(path).ok()?;
    entries.filter_map(|entry| newest(&entry.ok()?.path())).max()
}
