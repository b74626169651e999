//! What one step has tried so far, to be told when all of it was in vain.

use std::fmt;

/// The models in the order in which they were asked, each with how often.
#[derive(Debug, Clone, Default)]
pub struct Tally(Vec<(String, u32)>);

impl Tally {
    pub fn count_try(&mut self, model: &str) {
        match self.0.last_mut() {
            Some((last, tries)) if last == model => *tries += 1,
            _ => self.0.push((model.to_owned(), 1)),
        }
    }

    /// An error with the model that it came from and what was tried. A single try has nothing to add: the run says
    /// which model it asked.
    pub fn describe_failure(&self, error: &str) -> String {
        match &self.0[..] {
            [] | [(_, 1)] => error.to_owned(),
            [.., (last, _)] => format!("{error} (model `{last}`; {self})"),
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (model, tries)) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "tried " } else { ", then " })?;
            if self.0.len() > 1 {
                write!(f, "`{model}` ")?;
            }
            match tries {
                1 => f.write_str("once")?,
                2 => f.write_str("twice")?,
                more => write!(f, "{more} times")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_whom_it_asked_and_how_often() {
        let told = |models: &[&str]| {
            let mut tally = Tally::default();
            models.iter().for_each(|model| tally.count_try(model));
            tally.describe_failure("connection refused")
        };
        assert_eq!(told(&["a"]), "connection refused");
        assert_eq!(told(&["a", "a", "a"]), "connection refused (model `a`; tried 3 times)");
        assert_eq!(told(&["a", "a", "b"]), "connection refused (model `b`; tried `a` twice, then `b` once)");
    }
}
