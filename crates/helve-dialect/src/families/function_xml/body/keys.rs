//! The parameters of a call that have begun. Most calls have few, so the first is kept without a set.

use std::collections::BTreeSet;

#[derive(Default)]
pub(super) struct Keys {
    /// Of use where `any` is.
    first: String,
    any: bool,
    more: BTreeSet<String>,
}

impl Keys {
    pub(super) fn clear(&mut self) {
        self.any = false;
        self.more.clear();
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.any && (self.first == key || self.more.contains(key))
    }

    /// Says whether the key is new.
    pub(super) fn insert(&mut self, key: &str) -> bool {
        if !self.any {
            self.any = true;
            self.first.clear();
            self.first.push_str(key);
            return true;
        }
        self.first != key && self.more.insert(key.to_owned())
    }
}
