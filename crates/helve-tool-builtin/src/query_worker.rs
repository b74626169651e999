//! The process of a query, for tests: the binary has it as `helve query-worker`.

fn main() -> std::process::ExitCode {
    helve_tool_builtin::run_query_worker()
}
