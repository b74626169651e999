//! Standard output and standard error, for what people read.
//!
//! `println!` panics when the reader has enough, as in `helve tools list | head -1`. Here the process ends quietly, as
//! other programs do. What is printed to people comes from `tr!`.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// As shells have it for a process that is ended by SIGPIPE.
pub const BROKEN_PIPE: u8 = 141;

pub(crate) fn write_out(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    end_if_closed(out.write_fmt(text).and_then(|()| out.flush()));
}

pub(crate) fn write_err(text: Arguments<'_>) {
    // Where errors are not read, there is nothing to report.
    _ = std::io::stderr().lock().write_fmt(text);
}

fn end_if_closed(written: std::io::Result<()>) {
    if let Err(error) = written
        && error.kind() == ErrorKind::BrokenPipe
    {
        std::process::exit(BROKEN_PIPE.into());
    }
}

/// Whether an error is only that the output is not read.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

/// The text with blanks behind it, up to this width on the screen.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(unicode_width::UnicodeWidthStr::width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// One line, with the reasons behind it.
pub fn print_error(error: &anyhow::Error) {
    write_err(format_args!("helve: {}\n", crate::i18n::error_words(error)));
}

/// Like `print!`, for standard output.
macro_rules! out {
    ($($text:tt)*) => { $crate::output::write_out(format_args!($($text)*)) };
}

/// Like `println!`, for standard output.
macro_rules! outln {
    () => { $crate::output::write_out(format_args!("\n")) };
    ($($text:tt)*) => { $crate::output::write_out(format_args!("{}\n", format_args!($($text)*))) };
}

/// Like `eprintln!`, for standard error.
macro_rules! errln {
    ($($text:tt)*) => { $crate::output::write_err(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use {errln, out, outln};
