//! Which model, and which variant of it, a request means.

use super::Models;

/// Why a request means no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    #[error("there is no model `{name}`; the models are: {known}")]
    UnknownModel { name: String, known: String },

    #[error("the model `{model}` has no variant `{name}`; {known}")]
    UnknownVariant { model: String, name: String, known: String },

    #[error("the model's name asks for the variant `{named}` and the request for `{asked}`; choose one")]
    TwoVariants { named: String, asked: String },
}

/// A model with the variant that was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelChoice {
    pub model: String,
    pub variant: Option<String>,
}

/// `name` means a model, or with `name:variant` a variant of it; names of models may have colons of their own.
pub fn choose_model(models: &Models, name: &str, variant: Option<&str>) -> Result<ModelChoice, ChooseError> {
    let (model, named) = match name.rsplit_once(':') {
        _ if models.get(name).is_some() => (name, None),
        Some((model, named)) if models.get(model).is_some() => (model, Some(named)),
        _ => {
            let known = format_names(models.names().iter().map(String::as_str));
            return Err(ChooseError::UnknownModel { name: name.into(), known });
        }
    };
    let variant = match (named, variant) {
        (Some(named), Some(asked)) if named != asked => {
            return Err(ChooseError::TwoVariants { named: named.into(), asked: asked.into() });
        }
        (named, asked) => asked.or(named),
    };
    let options = models.options(model);
    let known = options.as_ref().map(|options| &options.variants);
    if let Some(asked) = variant
        && !known.is_some_and(|known| known.contains_key(asked))
    {
        let names = known.into_iter().flatten().map(|(name, _)| name.as_str());
        return Err(ChooseError::UnknownVariant {
            model: model.into(),
            name: asked.into(),
            known: match format_names(names) {
                none if none.is_empty() => "it has none".into(),
                names => format!("it has: {names}"),
            },
        });
    }
    Ok(ModelChoice { model: model.into(), variant: variant.map(str::to_owned) })
}

pub fn format_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::ScriptedModel;
    use helve_types::ModelParams;

    use super::*;
    use crate::fleet::ModelOptions;

    fn models() -> Models {
        let mut models = Models::new();
        for (name, variants) in [("house", &["high", "low"][..]), ("qwen3:8b", &[]), ("qwen3", &["8b"])] {
            let variants = variants.iter().map(|name| ((*name).to_owned(), ModelParams::default())).collect();
            let options = ModelOptions { variants, ..ModelOptions::default() };
            models.add(Arc::new(ScriptedModel::new([]).named(name)), options);
        }
        models
    }

    #[test]
    fn a_variant_is_chosen_by_name_or_beside_it() {
        let cases = [
            ("house", None, "house", None),
            ("house:high", None, "house", Some("high")),
            ("house", Some("low"), "house", Some("low")),
            ("house:low", Some("low"), "house", Some("low")),
            // The whole name goes before a part of it.
            ("qwen3:8b", None, "qwen3:8b", None),
            ("qwen3", Some("8b"), "qwen3", Some("8b")),
        ];
        for (name, asked, model, variant) in cases {
            let expected = ModelChoice { model: model.into(), variant: variant.map(str::to_owned) };
            assert_eq!(choose_model(&models(), name, asked), Ok(expected), "{name} {asked:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        let cases = [
            ("horse", None, "there is no model `horse`; the models are: `house`, `qwen3`, `qwen3:8b`"),
            ("house:max", None, "the model `house` has no variant `max`; it has: `high`, `low`"),
            ("house", Some("max"), "the model `house` has no variant `max`; it has: `high`, `low`"),
            ("qwen3:8b", Some("high"), "the model `qwen3:8b` has no variant `high`; it has none"),
            (
                "house:low",
                Some("high"),
                "the model's name asks for the variant `low` and the request for `high`; choose one",
            ),
        ];
        for (name, asked, expected) in cases {
            let error = choose_model(&models(), name, asked).unwrap_err();
            assert_eq!(error.to_string(), expected, "{name} {asked:?}");
        }
    }
}
