//! Statements made to do harm, each with its end, in one file for each kind of database.
//!
//! A line of the file is `{"sql", "parameters"?, "ends"}`. `sql` is text, or pieces of which one may be `[text, times]`.
//! `ends` is what the refusal says (as far as it is written), `answered`, or `bounded`: answered, or stopped at the limit
//! of time, of memory or of a value's size, whichever comes first on the machine. `UPDATE_EXPECT=1` writes what came.

use std::path::PathBuf;

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    sql: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<Value>,
    /// So many more of them, …
    #[serde(default, skip_serializing_if = "is_zero")]
    parameter_count: usize,
    /// … or one of so many bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    parameter_bytes: usize,
    #[serde(default)]
    ends: String,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Line {
    fn arguments(&self) -> Value {
        let piece = |piece: &Value| match piece {
            Value::Array(repeated) => {
                let times = usize::try_from(repeated[1].as_u64().unwrap()).unwrap();
                repeated[0].as_str().unwrap().repeat(times)
            }
            text => text.as_str().unwrap().to_owned(),
        };
        let sql = match &self.sql {
            Value::Array(pieces) => pieces.iter().map(piece).collect(),
            whole => piece(whole),
        };
        let mut parameters = self.parameters.clone();
        parameters.extend(vec![json!(1); self.parameter_count]);
        if self.parameter_bytes > 0 {
            parameters.push("x".repeat(self.parameter_bytes).into());
        }
        json!({"sql": sql, "parameters": parameters})
    }

    /// How it ended, in the words of the file.
    fn end(&self, came: Result<ToolOutput, ToolError>) -> String {
        let came = match came.map_err(ToolError::without_notice) {
            Ok(output) => {
                let bytes = output.text.len() + output.data.unwrap().to_string().len();
                assert!(bytes < 2 << 20, "{bytes} bytes came of {}", self.sql);
                "answered".into()
            }
            Err(ToolError::Declined(message)) => message,
            Err(other) => panic!("{}: {other:?}", self.sql),
        };
        let bounds = ["was stopped after", "needs more memory than it may have", "string or blob too big"];
        let is_bounded = came == "answered" || bounds.iter().any(|bound| came.contains(bound));
        if self.ends == "bounded" && is_bounded {
            return self.ends.clone();
        }
        // Statements are quoted by the database, at any length.
        came.chars().take(120).collect()
    }
}

/// Asks all of a file, a few at a time, and compares how each ends. What has a bound to reach is asked of `quick`, which
/// has little time; no other statement hangs on time.
pub(super) async fn ends_as_written(shop: &Shop, quick: &Shop, file: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/query_database/hostile").join(file);
    let lines: Vec<Line> = std::fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect();
    assert!(lines.len() >= 150, "{file} has {} statements", lines.len());
    let ended: Vec<Line> = futures_util::stream::iter(&lines)
        .map(async |line| {
            let shop = if line.ends == "bounded" { quick } else { shop };
            Line { ends: line.end(shop.ask(line.arguments()).await), ..line.clone() }
        })
        .buffered(4)
        .collect()
        .await;
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let text: Vec<String> =
            ended.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        std::fs::write(path, text.concat()).unwrap();
        return;
    }
    let wrong: Vec<String> = lines
        .iter()
        .zip(&ended)
        .filter(|(line, ended)| line.ends != ended.ends)
        .map(|(line, ended)| format!("{}\n  should end: {}\n  ended: {}", line.sql, line.ends, ended.ends))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
