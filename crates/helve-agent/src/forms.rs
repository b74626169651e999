//! The forms of answers, made once for a set of tools: a grammar costs more than the rest of a request.

use std::sync::{Mutex, PoisonError};

use helve_dialect::Profile;
use helve_model::Form;
use helve_types::{ToolChoice, ToolSpec};

/// What answers about one set of tools have to look like, by profile and choice.
#[derive(Default)]
pub(crate) struct Forms {
    made: Mutex<Vec<Made>>,
}

struct Made {
    profile: String,
    choice: ToolChoice,
    form: Option<Form>,
}

impl Forms {
    /// `specs` are always the tools of the same kit.
    pub(crate) fn get(&self, profile: &Profile, specs: &[&ToolSpec], choice: &ToolChoice) -> Option<Form> {
        // A named tool is rare, and its name may be anything a client sends.
        if matches!(choice, ToolChoice::Named(_)) {
            return form(profile, specs, choice);
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.iter().find(|made| made.profile == profile.name() && made.choice == *choice)
        {
            return known.form.clone();
        }
        let form = form(profile, specs, choice);
        made.push(Made { profile: profile.name().to_owned(), choice: choice.clone(), form: form.clone() });
        form
    }
}

pub(crate) fn form(profile: &Profile, specs: &[&ToolSpec], choice: &ToolChoice) -> Option<Form> {
    let form = profile.form(specs, choice)?;
    Some(Form { grammar: form.grammar, schema: form.schema })
}
