//! The model that each user chose last: their default until they choose another.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use helve_types::UserId;

/// Of more users than this the choices are forgotten, and found again in their runs after a restart.
const USERS_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct LastUsed(Mutex<HashMap<UserId, String>>);

impl LastUsed {
    pub(super) fn model_of_user(&self, user: &UserId) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(user).cloned()
    }

    pub(super) fn set_model_of_user(&self, user: &UserId, model: &str) {
        let mut chosen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if chosen.get(user).is_some_and(|before| before == model) {
            return;
        }
        if chosen.len() >= USERS_MAX && !chosen.contains_key(user) {
            chosen.clear();
        }
        chosen.insert(user.clone(), model.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_kept_for_a_bounded_number_of_users() {
        let chosen = LastUsed::default();
        for number in 0..=USERS_MAX {
            chosen.set_model_of_user(&UserId::parse(&format!("user{number}")).unwrap(), "m");
        }
        assert!(chosen.0.lock().unwrap().len() <= USERS_MAX);
        let last = UserId::parse(&format!("user{USERS_MAX}")).unwrap();
        assert_eq!(chosen.model_of_user(&last).as_deref(), Some("m"));
    }
}
