//! The pages say what is so.

use helve_dialect::dialects;

#[test]
fn every_dialect_has_its_row_which_says_whether_it_is_found() {
    let page = include_str!("../../../docs/reference/dialects.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    for dialect in dialects() {
        let row = match dialect.is_found() {
            true => format!("| `{}` |", dialect.name),
            false => format!("| `{}` (given only) |", dialect.name),
        };
        assert!(rows.iter().any(|line| line.starts_with(&row)), "there is no row `{row}`");
    }
    assert!(page.contains(&format!("There are {}.", dialects().len())));
}
