//! The page's table of characters that do not show themselves is this crate's.

use std::fmt::Write;

use expect_test::expect_file;
use helve_types::{HIDDEN, ORDINARY_IN_PROSE};

#[test]
fn the_page_names_the_same_characters() {
    let rows = |ranges: &[(u32, u32)]| {
        ranges.iter().fold(String::new(), |mut rows, (first, last)| {
            let comma = if rows.is_empty() { "" } else { "," };
            _ = write!(rows, "{comma}\n    [{first}, {last}]");
            rows
        })
    };
    let (hidden, prose) = (rows(HIDDEN), rows(ORDINARY_IN_PROSE));
    let text = format!("{{\n  \"hidden\": [{hidden}\n  ],\n  \"ordinaryInProse\": [{prose}\n  ]\n}}\n");
    expect_file!["../../../web/src/lib/hidden-characters.json"].assert_eq(&text);
}
