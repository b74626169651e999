//! How the mock answers: a line such as `tools=effect_put/effect_send*2,text=5,gap=10,break=3,times=1`.
//!
//! Whoever asks brings the script along, in the model's name after `mock:` or in the user's message between `[[`
//! and `]]`, so that any number of clients can use one mock at once. Members are parted by commas; `HELP` lists
//! them.

use std::time::Duration;

use super::fault::{self, Fault};

const MEMBERS: &str = "\
A script is a line of members, parted by commas:

  tools=A+B*2/C    calls A and twice B in the first message, C in the second, then text
  text=N           so many words of text in the message without calls
  lead=N           so many words of text before the calls of a message
  think=N          so many words of reasoning before anything else
  gap=MS           the pause before each token
  delay=MS         the pause before the first byte
  split=N          arguments in pieces of N characters
  ids=KIND         the ids of calls: own, same, reused or none
  finish=WHY       why the model stops: stop, length or filter
  usage=IN/OUT     the tokens that are reported
  window=N         questions of more than N tokens, four bytes each, are refused as the vendor would
  args={…}         the arguments of every call; comes last, since it has commas of its own

and at most one thing that goes wrong:

";

const BOUNDS: &str = "
which can be bounded:

  times=N          it happens the first N times that this very request comes, and not again
  round=N          it happens in the Nth message alone, counted from 0
  retry_after=WHEN goes with a status: seconds, or `date+SECONDS` for a date so far from now
";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The calls of each message before the last; `None` calls the first tool that is declared, once.
    pub rounds: Option<Vec<Vec<String>>>,
    pub arguments: String,
    pub text: usize,
    pub lead: usize,
    pub think: usize,
    pub gap: Duration,
    pub delay: Duration,
    /// The characters of each piece of arguments; three pieces if not said.
    pub split: Option<usize>,
    pub ids: Ids,
    pub finish: Finish,
    /// Of input and output; counted if not said.
    pub usage: Option<(usize, usize)>,
    /// How many tokens a question may have.
    pub window: Option<usize>,
    pub fault: Option<Fault>,
    /// How often the fault happens to the same request; always if not said.
    pub times: Option<u32>,
    /// The only message to which it happens.
    pub round: Option<usize>,
    pub retry_after: Option<RetryAfter>,
}

/// What calls are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ids {
    #[default]
    Own,
    /// All of a message alike.
    Same,
    /// As those of the message before.
    Reused,
    None,
}

/// Why the model stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Finish {
    #[default]
    Stop,
    Calls,
    Length,
    Filter,
}

/// When a client may come again, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryAfter {
    Word(String),
    /// A date, so many seconds from now.
    Date(i64),
}

impl Default for Script {
    /// What benchmarks use: one call, then twenty tokens as fast as they go.
    fn default() -> Self {
        Self {
            rounds: None,
            arguments: "{\"expression\":\"12.5% of 3480\"}".into(),
            text: 20,
            lead: 0,
            think: 0,
            gap: Duration::ZERO,
            delay: Duration::ZERO,
            split: None,
            ids: Ids::default(),
            finish: Finish::default(),
            usage: None,
            window: None,
            fault: None,
            times: None,
            round: None,
            retry_after: None,
        }
    }
}

impl Script {
    /// All members, for people.
    pub fn help() -> String {
        format!("{MEMBERS}{}{BOUNDS}", fault::list_faults())
    }

    /// The script that a request brings along, if it does.
    pub(super) fn find<'a>(model: &'a str, user: &'a str) -> Option<&'a str> {
        if let Some(start) = user.find("[[")
            && let Some(length) = user[start..].rfind("]]")
        {
            return Some(&user[start + 2..start + length]);
        }
        model.strip_prefix("mock:")
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        // Text alone, unless calls are asked for.
        let mut script = Self { rounds: Some(vec![]), ..Self::default() };
        let (members, arguments) = match text.split_once("args=") {
            Some((members, arguments)) => (members.trim_end_matches(','), Some(arguments)),
            None => (text, None),
        };
        if let Some(arguments) = arguments {
            script.arguments = arguments.trim().to_owned();
        }
        for member in members.split(',').map(str::trim).filter(|member| !member.is_empty()) {
            let (name, value) = member.split_once('=').unwrap_or((member, ""));
            script.set(name, value)?;
        }
        Ok(script)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number =
            |text: &str| text.parse::<usize>().map_err(|_| format!("`{name}={value}` wants a number"));
        let ms = || Ok::<_, String>(Duration::from_millis(number(value)? as u64));
        let other = || Err(format!("`{name}` cannot be `{value}`"));
        match name {
            "tools" => self.rounds = Some(value.split('/').map(round).collect::<Result<_, _>>()?),
            "text" => self.text = number(value)?,
            "lead" => self.lead = number(value)?,
            "think" => self.think = number(value)?,
            "gap" => self.gap = ms()?,
            "delay" => self.delay = ms()?,
            "split" => self.split = Some(number(value)?),
            "window" => self.window = Some(number(value)?),
            "times" => self.times = u32::try_from(number(value)?).ok(),
            "round" => self.round = Some(number(value)?),
            "ids" => {
                self.ids = match value {
                    "own" => Ids::Own,
                    "same" => Ids::Same,
                    "reused" => Ids::Reused,
                    "none" => Ids::None,
                    _ => return other(),
                }
            }
            "finish" => {
                self.finish = match value {
                    "stop" => Finish::Stop,
                    "length" => Finish::Length,
                    "filter" => Finish::Filter,
                    _ => return other(),
                }
            }
            "usage" => {
                let Some((input, output)) = value.split_once('/') else { return other() };
                self.usage = Some((number(input)?, number(output)?));
            }
            "retry_after" => {
                self.retry_after = Some(match value.strip_prefix("date") {
                    Some(seconds) => RetryAfter::Date(number(seconds.trim_start_matches('+'))? as i64),
                    None => RetryAfter::Word(value.to_owned()),
                });
            }
            _ => match Fault::parse(name, value) {
                Some(fault) => self.fault = Some(fault?),
                None => return Err(format!("a script knows no `{name}`")),
            },
        }
        Ok(())
    }
}

/// `A+B*2`: the calls of one message.
fn round(text: &str) -> Result<Vec<String>, String> {
    let mut calls = vec![];
    for call in text.split('+').filter(|call| !call.is_empty()) {
        let (name, times) = call.split_once('*').unwrap_or((call, "1"));
        let times: usize = times.parse().map_err(|_| format!("`{call}` wants a number after the star"))?;
        calls.extend(std::iter::repeat_n(name.to_owned(), times.min(64)));
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_called_and_what_goes_wrong() {
        let script = Script::parse(
            "tools=put/send*2+look, text=5, gap=10, break=3, times=1, args={\"note\": \"a, b\"}",
        )
        .unwrap();
        assert_eq!(
            script.rounds.as_deref(),
            Some(&[vec!["put".to_owned()], ["send", "send", "look"].map(str::to_owned).to_vec()][..])
        );
        assert_eq!(script.arguments, "{\"note\": \"a, b\"}");
        assert_eq!((script.text, script.gap), (5, Duration::from_millis(10)));
        assert_eq!((script.fault, script.times), (Some(Fault::Break(3)), Some(1)));
        let script =
            Script::parse("status=429,retry_after=date+2,usage=7/9,ids=none,round=1,window=9").unwrap();
        assert_eq!(script.window, Some(9));
        assert_eq!(script.retry_after, Some(RetryAfter::Date(2)));
        assert_eq!((script.usage, script.ids, script.round), (Some((7, 9)), Ids::None, Some(1)));
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        assert_eq!(Script::parse("txt=5").unwrap_err(), "a script knows no `txt`");
        assert_eq!(Script::parse("text=five").unwrap_err(), "`text=five` wants a number");
        assert_eq!(Script::parse("ids=odd").unwrap_err(), "`ids` cannot be `odd`");
        assert!(Script::parse("status=200").is_err());
        assert!(Script::parse("tools=a*b").is_err());
    }

    #[test]
    fn the_message_wins_over_the_models_name() {
        assert_eq!(Script::find("mock:text=1", "say [[text=2]] please"), Some("text=2"));
        assert_eq!(Script::find("mock:text=1", "hello"), Some("text=1"));
        assert_eq!(Script::find("mock", "hello"), None);
        assert_eq!(Script::find("mock", "[[args={\"a\": [[1]]}]]"), Some("args={\"a\": [[1]]}"));
    }
}
