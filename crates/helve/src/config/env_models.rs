//! Models that the environment alone configures, such as `HELVE_MODELS__VOLCANO__BASE_URL` without a file.
//!
//! A model that has a usual name (`volcano`, `local` …) begins with what it would be without a word; another one begins
//! with nothing, and must be told what its vendor calls it.

use toml::{Table, Value};

use super::Environment;
use super::models::usual_model;

/// Adds the models that variables name and the file does not have. A name that nothing but a variable knows is more likely
/// misspelt, unless the variables also say which model it is.
pub(super) fn add_models(table: &mut Table, environment: &Environment) {
    let settings: Vec<_> = environment
        .settings()
        .filter(|setting| setting.path.len() > 2 && setting.path[0] == "models")
        .map(|setting| (setting.path[1].clone(), setting.path[2].clone()))
        .collect();
    if settings.is_empty() {
        return;
    }
    let models = table.entry("models").or_insert_with(|| Value::Array(vec![]));
    let Value::Array(models) = models else { return };
    for (name, _) in &settings {
        let is_there = models.iter().any(|model| {
            let known = model.get("name").and_then(Value::as_str);
            known.is_some_and(|known| fold(known) == *name)
        });
        if is_there || name.parse::<usize>().is_ok() {
            continue;
        }
        let is_complete = settings.iter().any(|(of, key)| of == name && key == "model");
        let begun = usual_model(name, environment).or_else(|| is_complete.then(Table::new));
        let Some(mut model) = begun else { continue };
        model.insert("name".into(), Value::String(name.clone()));
        model.entry("model").or_insert_with(|| Value::String(String::new()));
        models.push(Value::Table(model));
    }
}

/// A name as a variable can say it.
pub(super) fn fold(text: &str) -> String {
    text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "_")
}
