//! JSON of which all is there: read in one go, without the state that a value in pieces needs.
//!
//! Reads only what is in perfect order. `None` says no more than that the value must be read step by step, by `Scan`,
//! which knows what is wrong with it, or what is still to come.

use crate::is_blank;
use crate::scanner::DEPTH_MAX;
use crate::string_bytes::special;
use crate::work::looked_at;

/// Where the object or array ends of which the opening bracket stands at the position, inside so many others.
pub fn container_end(bytes: &[u8], at: usize, outer: usize) -> Option<usize> {
    let mut at = at;
    // One bit per open container, the innermost lowest: set for an object.
    let mut objects: u128 = 0;
    let mut depth = outer;
    loop {
        // A token, of which names, values and blanks say by themselves how long they are.
        looked_at(1);
        match *bytes.get(at)? {
            b'"' => at = text_end(bytes, at)?,
            bracket @ (b'{' | b'[') => {
                let object = bracket == b'{';
                if depth == DEPTH_MAX {
                    return None;
                }
                depth += 1;
                objects = objects << 1 | object as u128;
                at = skip_blanks(bytes, at + 1);
                let empty = *bytes.get(at)? == if object { b'}' } else { b']' };
                if !empty {
                    at = if object { member(bytes, at)? } else { at };
                    continue;
                }
            }
            _ => at = scalar_end(bytes, at)?,
        }
        // A value has ended, or one is empty.
        loop {
            at = skip_blanks(bytes, at);
            let in_object = objects & 1 == 1;
            match *bytes.get(at)? {
                b',' => {
                    at = skip_blanks(bytes, at + 1);
                    at = if in_object { member(bytes, at)? } else { at };
                    break;
                }
                b'}' if in_object => {}
                b']' if !in_object => {}
                _ => return None,
            }
            at += 1;
            objects >>= 1;
            depth -= 1;
            if depth == outer {
                return Some(at);
            }
        }
    }
}

/// Where the value begins of the member whose name stands at the position.
fn member(bytes: &[u8], at: usize) -> Option<usize> {
    value(bytes, text_end(bytes, at)?)
}

/// Where the value begins of the member whose name ends at the position.
#[inline]
pub fn value(bytes: &[u8], at: usize) -> Option<usize> {
    let colon = skip_blanks(bytes, at);
    (*bytes.get(colon)? == b':').then(|| skip_blanks(bytes, colon + 1))
}

/// Where the next byte stands that is no blank.
#[inline]
pub fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while bytes.get(end).is_some_and(|byte| is_blank(*byte as char)) {
        end += 1;
    }
    looked_at(end - at);
    end
}

/// What stands in the string that begins at the position, and has no escapes.
#[inline]
pub fn plain_text(text: &str, at: usize) -> Option<&str> {
    let inner = text.get(at..)?.strip_prefix('"')?;
    let end = special(inner.as_bytes())?;
    (inner.as_bytes()[end] == b'"').then(|| &inner[..end])
}

/// Where the string ends that begins at the position.
#[inline]
pub fn text_end(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let mut at = at + 1;
    loop {
        at += special(&bytes[at..])?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            b'\\' => at = escape_end(bytes, at + 1)?,
            _ => return None,
        }
    }
}

/// Where the escape ends of which the backslash stands before the position. Halves of pairs are left to `Scan`.
fn escape_end(bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = bytes.get(at + 1..at + 5)?;
            let half = matches!(digits, [b'd' | b'D', b'8'..=b'f', ..]);
            (digits.iter().all(u8::is_ascii_hexdigit) && !half).then_some(at + 5)
        }
        _ => None,
    }
}

/// Where the number or the word ends that begins at the position. What follows it is judged by whoever asks.
fn scalar_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    for word in [&b"true"[..], b"false", b"null"] {
        if rest.starts_with(word) {
            return Some(at + word.len());
        }
    }
    let mut at = at + (rest[0] == b'-') as usize;
    at = match *bytes.get(at)? {
        b'0' => at + 1,
        b'1'..=b'9' => skip_digits(bytes, at)?,
        _ => return None,
    };
    if bytes.get(at) == Some(&b'.') {
        at = skip_digits(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let signed = matches!(bytes.get(at + 1), Some(b'+' | b'-')) as usize;
        at = skip_digits(bytes, at + 1 + signed)?;
    }
    Some(at)
}

/// Where the digits end, of which there must be one.
fn skip_digits(bytes: &[u8], at: usize) -> Option<usize> {
    let count = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    looked_at(count);
    (count > 0).then_some(at + count)
}
