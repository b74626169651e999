//! How the mock answers: a line such as `tools=effect_put/effect_send*2,text=5,gap=10,break=3,times=1`.
//!
//! Whoever asks brings the script along, in the model's name after `mock:` or in the user's message between `[[`
//! and `]]`, so that any number of clients can use one mock at once. Members are parted by commas:
//!
//! | member | meaning |
//! |---|---|
//! | `tools=A+B*2/C` | calls A and twice B in the first message, C in the second, then text |
//! | `text=N`, `think=N` | so many tokens of text, and of reasoning before it |
//! | `gap=MS`, `delay=MS` | the pause before each token, and before the first byte |
//! | `status=CODE` | no answer but this status |
//! | `break=N` | the connection breaks after N tokens |
//! | `error=N` | an error inside the stream after N tokens |
//! | `hush=N` | silence after N tokens |
//! | `open` | the stream ends without `finish_reason` and `[DONE]` |
//! | `nodone` | the stream ends without `[DONE]` |
//! | `times=N` | the fault happens the first N times that this very request comes, and not again |
//! | `args={…}` | the arguments of every call; comes last, since it has commas of its own |

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The calls of each message before the last; `None` calls the first tool that is declared, once.
    pub rounds: Option<Vec<Vec<String>>>,
    pub arguments: String,
    pub text: usize,
    pub think: usize,
    pub gap: Duration,
    pub delay: Duration,
    pub fault: Option<Fault>,
    /// How often the fault happens to the same request; always if not said.
    pub times: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Status(u16),
    /// After so many tokens.
    Break(usize),
    Error(usize),
    Hush(usize),
    Open,
    NoDone,
}

impl Default for Script {
    /// What benchmarks use: one call, then twenty tokens as fast as they go.
    fn default() -> Self {
        Self {
            rounds: None,
            arguments: "{\"expression\":\"12.5% of 3480\"}".into(),
            text: 20,
            think: 0,
            gap: Duration::ZERO,
            delay: Duration::ZERO,
            fault: None,
            times: None,
        }
    }
}

impl Script {
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
            let number = || value.parse::<usize>().map_err(|_| format!("`{member}` wants a number"));
            let ms = || Ok::<_, String>(Duration::from_millis(number()? as u64));
            match name {
                "tools" => script.rounds = Some(value.split('/').map(round).collect::<Result<_, _>>()?),
                "text" => script.text = number()?,
                "think" => script.think = number()?,
                "gap" => script.gap = ms()?,
                "delay" => script.delay = ms()?,
                "times" => script.times = u32::try_from(number()?).ok(),
                "status" => {
                    let code = u16::try_from(number()?).ok().filter(|code| (400..600).contains(code));
                    script.fault = Some(Fault::Status(code.ok_or("`status` wants an error's code")?));
                }
                "break" => script.fault = Some(Fault::Break(number()?)),
                "error" => script.fault = Some(Fault::Error(number()?)),
                "hush" => script.fault = Some(Fault::Hush(number()?)),
                "open" => script.fault = Some(Fault::Open),
                "nodone" => script.fault = Some(Fault::NoDone),
                _ => return Err(format!("a script knows no `{name}`")),
            }
        }
        Ok(script)
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
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        assert_eq!(Script::parse("txt=5").unwrap_err(), "a script knows no `txt`");
        assert_eq!(Script::parse("text=five").unwrap_err(), "`text=five` wants a number");
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
