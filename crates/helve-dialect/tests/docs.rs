//! The page of dialects names every one of them.

use helve_dialect::dialects;

#[test]
fn every_dialect_is_on_the_page() {
    let page = include_str!("../../../docs/reference/dialects.md");
    for dialect in dialects() {
        assert!(page.contains(&format!("| `{}`", dialect.name)), "`{}` is missing", dialect.name);
    }
    assert!(page.contains(&format!("There are {}.", dialects().len())));
}
