//! How much is looked at: the measure by which the tests hold the parser to being linear. Outside of them it is nothing.
//!
//! The places of the parser count what passes through them, and so does whatever looks at text beside that: searches,
//! look-aheads over whole calls, repairs, and readings of a value by its type. What only looks at as much as some limit
//! allows, such as the length of a name, need not say so.

#[cfg(any(test, feature = "count-work"))]
use std::cell::Cell;

#[cfg(any(test, feature = "count-work"))]
thread_local! {
    static LOOKED_AT: Cell<u64> = const { Cell::new(0) };
}

/// So many bytes were looked at, a second look counted again.
#[inline(always)]
pub fn count_bytes(_bytes: usize) {
    #[cfg(any(test, feature = "count-work"))]
    LOOKED_AT.set(LOOKED_AT.get() + _bytes as u64);
}

/// What a search in so many bytes has found; it looked no further than that.
#[inline(always)]
pub fn count_search(bytes: usize, found: Option<usize>) -> Option<usize> {
    count_bytes(found.unwrap_or(bytes));
    found
}

/// What comes of it, and how many bytes were looked at for that.
#[cfg(any(test, feature = "count-work"))]
pub fn measure_work<T>(read: impl FnOnce() -> T) -> (T, u64) {
    let before = LOOKED_AT.get();
    let made = read();
    (made, LOOKED_AT.get() - before)
}
