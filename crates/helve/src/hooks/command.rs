//! A hook that is a command: the question on its standard input, the answer on its standard output.

use helve_process::{ProcessError, Program};
use helve_tool::HookError;

use super::ANSWER_BYTES_MAX;

/// How much of a command's complaint is logged.
const COMPLAINT_BYTES_MAX: usize = 500;

pub(super) async fn exchange(program: &Program, question: &[u8]) -> Result<Vec<u8>, HookError> {
    let mut answer = vec![];
    let take = |piece: &[u8]| {
        answer.extend_from_slice(piece);
        if answer.len() > ANSWER_BYTES_MAX {
            return Err(format!("its answer is larger than {ANSWER_BYTES_MAX} bytes"));
        }
        Ok(())
    };
    let ended = program.run(question, take).await;
    let ended = ended.map_err(|error: ProcessError<String>| HookError(error.to_string()))?;
    if !ended.status.success() {
        let complaint = &ended.stderr[..ended.stderr.floor_char_boundary(COMPLAINT_BYTES_MAX)];
        return Err(HookError(format!("it ended with {}: {}", ended.status, complaint.trim())));
    }
    Ok(answer)
}
