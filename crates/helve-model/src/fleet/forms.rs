//! The forms of answers, built once for a set of tools: a grammar costs more than the rest of a request.

use std::sync::{Mutex, PoisonError};

use helve_dialect::Profile;
use helve_types::{ToolChoice, ToolSpec};

use crate::Form;

/// What answers about one set of tools have to look like, by profile and choice.
#[derive(Default)]
pub struct Forms {
    built: Mutex<Vec<BuiltForm>>,
}

struct BuiltForm {
    profile: String,
    choice: ToolChoice,
    form: Option<Form>,
}

impl Forms {
    /// `specs` are always the tools of the same run.
    pub fn get_or_build(&self, profile: &Profile, specs: &[&ToolSpec], choice: &ToolChoice) -> Option<Form> {
        // A named tool is rare, and its name may be anything a client sends.
        if matches!(choice, ToolChoice::Named(_)) {
            return build_form(profile, specs, choice);
        }
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) =
            built.iter().find(|built| built.profile == profile.name() && built.choice == *choice)
        {
            return known.form.clone();
        }
        let form = build_form(profile, specs, choice);
        built.push(BuiltForm {
            profile: profile.name().to_owned(),
            choice: choice.clone(),
            form: form.clone(),
        });
        form
    }
}

pub(super) fn build_form(profile: &Profile, specs: &[&ToolSpec], choice: &ToolChoice) -> Option<Form> {
    let form = profile.form(specs, choice)?;
    Some(Form { grammar: form.grammar, schema: form.schema })
}
