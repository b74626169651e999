//! Where in the configuration something stands, so that an error also says where.

use std::fmt::Display;
use std::ops::Range;

use anyhow::anyhow;
use toml::de::{DeTable, DeValue};

use crate::i18n::{tr, words};

/// The file's text, and the keys that were set elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Places {
    name: String,
    text: String,
    /// Paths of keys with what set them: a variable or an option.
    elsewhere: Vec<(Vec<String>, String)>,
}

impl Places {
    pub(super) fn new(name: String, text: String) -> Self {
        Self { name, text, elsewhere: vec![] }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Notes that a key was set outside the file.
    pub(super) fn set_by(&mut self, setter: String, path: Vec<String>) {
        self.elsewhere.push((path, setter));
    }

    /// What is wrong with the value at a path, and where it stands. An item of a list goes by its number or its name.
    pub fn wrong(&self, path: &[&str], what: impl Display) -> anyhow::Error {
        anyhow!(tr!("{place}: {what}", place = self.of(path), what = words(&what)))
    }

    /// An error of the parser, with its line and the key it is about.
    pub(super) fn unreadable(&self, error: &toml::de::Error) -> anyhow::Error {
        let what = words(&error.message().replace('\n', "; "));
        let Some(span) = error.span() else {
            return anyhow!(tr!("{place}: {what}", place = self.name, what = what));
        };
        let key = DeTable::parse(&self.text).ok().and_then(|document| {
            let mut nearest = None;
            keys_at(document.get_ref(), &span, &mut nearest);
            nearest.map(|(_, key)| key)
        });
        // Where the text is no TOML there are no keys yet.
        let shown = key.or_else(|| Some(self.text.get(span.clone())?.trim().lines().next()?.to_owned()));
        anyhow!(tr!("{place}: {what}", place = self.at(&span, shown.as_deref()), what = what))
    }

    /// Where the value at a path comes from: the last that set it, or the nearest key of the file.
    pub fn of(&self, path: &[&str]) -> String {
        let document = DeTable::parse(&self.text).ok();
        let found = document.as_ref().map(|document| find(document.get_ref(), path)).unwrap_or_default();
        let path: Vec<&str> = found.path.iter().map(String::as_str).collect();
        let setter = |fits: &dyn Fn(&[String]) -> bool| {
            self.elsewhere.iter().rev().find(|(set, _)| fits(set)).map(|(_, setter)| setter.clone())
        };
        if let Some(setter) = setter(&|set| set == path) {
            return setter;
        }
        if !found.complete
            && let Some(setter) = setter(&|set| set.len() > path.len() && set[..path.len()] == path)
        {
            return setter;
        }
        match &found.nearest {
            Some((span, key)) => self.at(span, Some(key)),
            None => tr!("{file} at `{key}`", file = self.name, key = path.join(".")),
        }
    }

    fn at(&self, span: &Range<usize>, shown: Option<&str>) -> String {
        let line = self.text.as_bytes()[..span.start.min(self.text.len())].iter().filter(|b| **b == b'\n');
        let line = line.count() + 1;
        match shown.filter(|shown| !shown.is_empty()) {
            Some(key) => tr!("{file}, line {line} at `{key}`", file = self.name, line = line, key = key),
            None => tr!("{file}, line {line}", file = self.name, line = line),
        }
    }
}

/// What became of a path in the file.
#[derive(Default)]
struct Found {
    /// With numbers in place of names.
    path: Vec<String>,
    /// The last key on the way that is there.
    nearest: Option<(Range<usize>, String)>,
    complete: bool,
}

fn find(table: &DeTable<'_>, path: &[&str]) -> Found {
    let mut found = Found { complete: true, ..Found::default() };
    let mut table = Some(table);
    let mut list: Option<&[toml::Spanned<DeValue<'_>>]> = None;
    for step in path {
        let next = if let Some(items) = list.take() {
            let number = number_of(items, step);
            found.path.push(number.map_or_else(|| (*step).to_owned(), |number| number.to_string()));
            let item = number.and_then(|number| items.get(number));
            if let (Some(item), Some((span, _))) = (item, &mut found.nearest) {
                *span = item.span();
            }
            item
        } else {
            found.path.push((*step).to_owned());
            let entry = table.and_then(|table| table.iter().find(|(key, _)| key.get_ref() == step));
            if let Some((key, _)) = entry {
                found.nearest = Some((key.span(), (*step).to_owned()));
            }
            entry.map(|(_, value)| value)
        };
        found.complete &= next.is_some();
        table = next.and_then(|value| value.get_ref().as_table());
        list = next.and_then(|value| value.get_ref().as_array()).map(|items| &**items);
    }
    found
}

fn number_of(items: &[toml::Spanned<DeValue<'_>>], step: &str) -> Option<usize> {
    let is_named = |item: &toml::Spanned<DeValue<'_>>| {
        let name = item.get_ref().as_table().and_then(|table| table.get("name"));
        name.is_some_and(|name| name.get_ref().as_str() == Some(step))
    };
    items.iter().position(is_named).or_else(|| step.parse().ok())
}

/// The key with the shortest text around a place, be it in the key or in its value.
fn keys_at(table: &DeTable<'_>, place: &Range<usize>, nearest: &mut Option<(usize, String)>) {
    let around = |span: &Range<usize>| span.start <= place.start && place.end <= span.end;
    for (key, value) in table {
        for span in [key.span(), value.span()] {
            if around(&span) && nearest.as_ref().is_none_or(|(length, _)| span.len() <= *length) {
                *nearest = Some((span.len(), key.get_ref().to_string()));
            }
        }
        if let Some(table) = value.get_ref().as_table() {
            keys_at(table, place, nearest);
        }
        for item in value.get_ref().as_array().into_iter().flat_map(|items| items.iter()) {
            if around(&item.span()) && nearest.as_ref().is_none_or(|(length, _)| item.span().len() <= *length)
            {
                *nearest = Some((item.span().len(), key.get_ref().to_string()));
            }
            if let Some(table) = item.get_ref().as_table() {
                keys_at(table, place, nearest);
            }
        }
    }
}
