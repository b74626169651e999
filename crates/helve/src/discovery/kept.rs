//! What servers listed, kept between starts.
//!
//! A run that was interrupted may use a model that only its server's list names, so the list of last time holds until
//! there is a new one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::assemble::write_private;

const FILE: &str = "listed-models.json";
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The names that a server listed, and where it is: another server's list says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct List {
    place: String,
    names: Vec<String>,
}

pub(super) struct KeptLists {
    /// None for commands that only look.
    path: Option<PathBuf>,
    lists: Mutex<BTreeMap<String, List>>,
}

impl KeptLists {
    pub(super) fn read(data: &std::path::Path, may_write: bool) -> Self {
        let path = data.join(FILE);
        let is_small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= FILE_BYTES_MAX);
        let text = if is_small { std::fs::read_to_string(&path).ok() } else { None };
        let lists = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Self { path: may_write.then_some(path), lists: Mutex::new(lists) }
    }

    /// What the server behind a model listed last time.
    pub(super) fn names(&self, model: &str, place: &str) -> Vec<String> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.get(model).filter(|list| list.place == place).map(|list| list.names.clone()).unwrap_or_default()
    }

    pub(super) fn keep(&self, model: &str, place: &str, names: &[String]) {
        let list = List { place: place.to_owned(), names: names.to_vec() };
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.get(model) == Some(&list) {
            return;
        }
        lists.insert(model.to_owned(), list);
        let Some(path) = &self.path else { return };
        let written =
            serde_json::to_vec(&*lists).map_err(Into::into).and_then(|text| write_private(path, &text));
        if let Err(error) = written {
            tracing::warn!(%error, "list of models not kept; it is asked for again at the next start");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_outlives_the_process_and_holds_only_for_its_own_server() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["a".to_owned(), "b".to_owned()];
        KeptLists::read(dir.path(), true).keep("local", "http://here", &names);
        let later = KeptLists::read(dir.path(), false);
        assert_eq!(later.names("local", "http://here"), names);
        assert!(later.names("local", "http://there").is_empty());
        later.keep("local", "http://there", &names);
        assert!(
            KeptLists::read(dir.path(), false).names("local", "http://there").is_empty(),
            "it only looked"
        );
        std::fs::write(dir.path().join(FILE), "{broken").unwrap();
        assert!(KeptLists::read(dir.path(), true).names("local", "http://here").is_empty());
    }
}
