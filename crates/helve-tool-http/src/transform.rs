//! Picks and reshapes an answer: by a path to what is wanted, or by a jq filter.

mod jq;
mod path;

use std::num::NonZeroU32;
use std::sync::Arc;

use helve_tool::DefinitionError;
use helve_types::Notice;
use serde_json::Value;

use self::jq::Jq;
use self::path::Path;

/// What a transform may give, unless the row says otherwise.
const BYTES_MAX: usize = 64 << 10;
/// What a row may ask for: as much as an answer can have.
const BYTES_LIMIT: usize = 1 << 20;

#[derive(Debug, Clone)]
pub(crate) struct Transform {
    how: Arc<TransformKind>,
    bytes_max: usize,
}

#[derive(Debug)]
enum TransformKind {
    Path(Path),
    Jq(Jq),
    /// Only the size is bounded.
    Whole,
}

impl Transform {
    pub(crate) fn compile(written: &helve_types::Transform) -> Result<Self, DefinitionError> {
        let wrong = |field: &str, problem: Notice| {
            Err(DefinitionError::new(format!("response_transform.{field}"), problem))
        };
        let how = match (&written.path, &written.jq) {
            (Some(_), Some(_)) => return wrong("jq", Notice::definition_path_and_jq()),
            (Some(path), None) => match Path::parse(path) {
                Ok(path) => TransformKind::Path(path),
                Err(problem) => return wrong("path", Notice::definition_other(&problem)),
            },
            (None, Some(filter)) => match Jq::parse(filter) {
                Ok(jq) => TransformKind::Jq(jq),
                Err(problem) => return wrong("jq", Notice::definition_other(&problem)),
            },
            (None, None) => TransformKind::Whole,
        };
        let bytes_max = written.bytes_max.map_or(BYTES_MAX, |bytes| NonZeroU32::get(bytes) as usize);
        if bytes_max > BYTES_LIMIT {
            return wrong("bytes_max", Notice::definition_bytes_too_many(BYTES_LIMIT as u64));
        }
        Ok(Self { how: how.into(), bytes_max })
    }

    /// The part of an answer in JSON that is picked, as its server wrote it. None where a filter makes something of its own.
    pub(crate) fn find_written<'a>(&self, text: &'a str) -> Option<&'a str> {
        match &*self.how {
            TransformKind::Whole => Some(text),
            TransformKind::Path(path) => path.find_written(text),
            TransformKind::Jq(_) => None,
        }
    }

    /// All values that come of this one; a path has one, a filter any number.
    pub(crate) async fn apply(&self, value: Value) -> Result<Vec<Value>, String> {
        let found = match &*self.how {
            TransformKind::Whole => vec![value],
            TransformKind::Path(path) => vec![path.find(&value)?.clone()],
            TransformKind::Jq(_) => {
                // A filter may take as long as its steps allow, and others wait for this thread.
                let how = self.how.clone();
                let work = tokio::task::spawn_blocking(move || match &*how {
                    TransformKind::Jq(jq) => jq.apply(&value),
                    _ => Ok(vec![value]),
                });
                work.await.map_err(|_| "the filter broke down".to_owned())??
            }
        };
        let bytes: usize = found.iter().map(|value| value.to_string().len()).sum();
        if bytes > self.bytes_max {
            let max = self.bytes_max;
            return Err(format!("what it picks has {bytes} bytes, and {max} is the most (`bytes_max`)"));
        }
        Ok(found)
    }
}
