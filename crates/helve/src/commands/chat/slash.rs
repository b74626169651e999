//! What a line with a slash means.

use crate::i18n::tr;

pub(super) fn help() -> String {
    tr!("\
/new            begin another conversation
/model [NAME]   answer with this model from now on, or list the models
/agent [NAME]   talk to this agent from now on, or list the agents
/tools [NAME]   list the tools, or describe one
/stop           stop the run; Ctrl-C does too
/decline [WHY]  you would rather not answer the model's question
/quit           leave; Ctrl-C does too when no run is in progress, and so does Ctrl-D
Alt-Enter, or a backslash before Enter, begins another line.
A line that is typed during a run reaches the model before its next step.
")
}

/// As the Tab key offers them.
pub(super) const COMMANDS: &[&str] =
    &["/agent", "/decline", "/help", "/model", "/new", "/quit", "/stop", "/tools"];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    New,
    /// With a name, or to list them.
    Model(Option<String>),
    Agent(Option<String>),
    Tools(Option<String>),
    Stop,
    /// Not to answer what the model asks, with a reason or without.
    Decline(Option<String>),
    Quit,
    Unknown(String),
}

/// None for a line that is meant for the model.
pub(super) fn read(said: &str) -> Option<Slash> {
    let rest = said.trim().strip_prefix('/')?;
    let (word, name) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = Some(name.trim()).filter(|name| !name.is_empty()).map(str::to_owned);
    Some(match word {
        "help" | "?" => Slash::Help,
        "new" => Slash::New,
        "model" => Slash::Model(name),
        "agent" => Slash::Agent(name),
        "tools" | "tool" => Slash::Tools(name),
        "stop" => Slash::Stop,
        "decline" => Slash::Decline(name),
        "quit" | "exit" | "q" => Slash::Quit,
        other => Slash::Unknown(other.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_that_begins_with_a_slash_is_a_command() {
        assert_eq!(read("what is 1/2?"), None);
        assert_eq!(read(" /model  demo "), Some(Slash::Model(Some("demo".into()))));
        assert_eq!(read("/agent"), Some(Slash::Agent(None)));
        assert_eq!(read("/quit"), Some(Slash::Quit));
        assert_eq!(read("/tools calculator"), Some(Slash::Tools(Some("calculator".into()))));
        assert_eq!(read("/etc/passwd"), Some(Slash::Unknown("etc/passwd".into())));
    }

    #[test]
    fn every_command_that_tab_offers_is_known_and_explained() {
        for command in COMMANDS {
            assert!(!matches!(read(command), Some(Slash::Unknown(_))), "{command}");
            assert!(help().contains(command) || *command == "/help", "{command}");
        }
    }
}
