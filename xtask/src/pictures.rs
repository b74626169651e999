//! `cargo run -p xtask -- pictures`: the pictures of the README, taken in a browser from the real binary.

use crate::page;
use crate::step::step;
use crate::test::install_browser;

pub(crate) fn pictures() -> anyhow::Result<()> {
    install_browser()?;
    page::build()?;
    step("server: build", "", &["cargo", "build", "--profile", "quick", "-p", "helve"])?;
    step("pictures", "web", &["node", "scripts/pictures.mjs"])
}
