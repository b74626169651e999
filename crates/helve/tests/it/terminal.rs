//! `helve chat` on a real terminal: editing, history, Ctrl-C, questions.

mod pty;

use serde_json::json;

use self::pty::Pty;
use crate::helve;
use crate::outside::{Outside, Spoken};
use crate::people::Home;

const UP: &str = "\u{1b}[A";
const BACKSPACE: &str = "\u{7f}";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const ENTER: &str = "\r";
const TAB: &str = "\t";

/// A model that repeats what it is told.
fn echo() -> Home {
    Home::with(Outside::speaking(|last| {
        Spoken::Words(format!("heard: {}", last["content"].as_str().unwrap_or_default().replace('\n', " / ")))
    }))
}

fn chat(home: &Home, environment: &[(&str, &str)]) -> Pty {
    let mut command = helve();
    command.arg("chat").args(home.at()).envs(environment.iter().copied());
    let mut pty = Pty::start(&command);
    pty.until_line(">");
    pty
}

/// Says something and waits until it is answered and the next message is waited for.
fn say(pty: &mut Pty, keys: &str, answer: &str) {
    pty.press(keys);
    pty.press(ENTER);
    pty.until_shown(answer);
    pty.until_line(">");
}

#[test]
fn wide_characters_are_edited_whole_and_come_back_from_the_history_of_the_data_directory() {
    let home = echo();
    let mut pty = chat(&home, &[]);
    pty.press("你好世界");
    pty.until_line("> 你好世界");
    assert_eq!(pty.cursor_column(), 10);
    pty.press(BACKSPACE);
    pty.press(BACKSPACE);
    pty.until_line("> 你好");
    pty.until("the cursor behind the text", |pty| pty.cursor_column() == 6);
    // Left over one wide character, and something between the two.
    pty.press("\u{1b}[Dx");
    pty.until_line("> 你x好");
    say(&mut pty, "", "heard: 你x好");
    pty.press(UP);
    pty.until_line("> 你x好");
    pty.press(CTRL_C);
    pty.until_line(">");
    pty.press(CTRL_D);
    assert!(pty.wait().success());
    assert!(pty.is_ordinary());

    let mut again = chat(&home, &[]);
    again.press(UP);
    again.until_line("> 你x好");
}

#[test]
fn a_message_may_have_several_lines() {
    let home = echo();
    let mut pty = chat(&home, &[]);
    say(&mut pty, "one\\\rtwo \\x\u{1b}\rthree", "heard: one / two \\x / three");
    // A paste is one message, whatever is in it.
    say(&mut pty, "\u{1b}[200~four \\\rfive\u{1b}[201~", "heard: four \\ / five");
    // A code block goes on until it is closed.
    say(&mut pty, "```\rlet x = 1;\r```", "heard: / let x = 1; /");
}

#[test]
fn markdown_is_shown_with_styles_unless_colours_are_unwanted_and_never_steers_the_terminal() {
    let source = "# 标题\n**粗体** and `code`\n\n| 名 | n |\n|--|--:|\n| 苹果 | 1 |\n\nend\u{1b}[2J\u{7}";
    let home = Home::with(Outside::speaking(move |_| Spoken::Words(source.into())));
    let mut pty = chat(&home, &[]);
    say(&mut pty, "hello", "end⟨U+001B⟩[2J⟨U+0007⟩");
    let shown = pty.shown();
    assert!(shown.contains("\n标题\n粗体 and code\n\n名   │ n\n─────┼──\n苹果 │ 1\n\nend"), "{shown}");
    let raw = String::from_utf8_lossy(&pty.raw).into_owned();
    assert!(raw.contains("\u{1b}[1m粗体\u{1b}[0m") && !raw.contains(['\u{7}']), "{raw:?}");

    let mut plain = chat(&home, &[("NO_COLOR", "1")]);
    say(&mut plain, "hello", "# 标题\n**粗体** and `code`\n\n| 名 | n |\n|--|--:|\n| 苹果 | 1 |\n");
}

#[test]
fn tab_completes_commands_and_names_and_unknown_names_are_errors() {
    let home = echo();
    let mut pty = chat(&home, &[]);
    pty.press("/mod");
    pty.press(TAB);
    pty.until_line("> /model");
    pty.press("scr");
    pty.press(TAB);
    pty.until_line("> /model scripted");
    pty.press("\u{15}");
    pty.until_line(">");
    say(&mut pty, "/model scriptde", "there is no model `scriptde`; similar names: scripted");
    say(&mut pty, "/agent nobody", "there is no agent `nobody`");
    say(&mut pty, "/tools calculater", "there is no tool `calculater`; similar names: calculator");
    say(&mut pty, "/model demo", "model demo from now on");
}

#[test]
fn control_c_discards_a_line_stops_the_answer_and_leaves() {
    let home = Home::with(Outside::speaking(|_| Spoken::Nothing));
    let mut pty = chat(&home, &[]);
    pty.press("never sent");
    pty.until_line("> never sent");
    pty.press(CTRL_C);
    pty.until_line(">");
    pty.press("think");
    pty.press(ENTER);
    // A remark to the run that is at work; then it is stopped.
    pty.until("the run at work", |pty| !pty.line().starts_with('>') && !pty.is_ordinary());
    pty.press("q");
    pty.until_line("+ q");
    pty.press(CTRL_C);
    pty.until("the line to be over", |pty| !pty.line().starts_with('+'));
    pty.press(CTRL_C);
    pty.until_shown("[stopped by local]");
    pty.until_line(">");
    pty.press(CTRL_C);
    assert_eq!(pty.wait().code(), Some(130));
    assert!(pty.is_ordinary());
    assert!(!pty.shown().contains("never sent\n["), "{}", pty.shown());
}

#[test]
fn a_question_is_answered_with_the_line_that_was_typed_for_it() {
    let home = Home::with(Outside::speaking(|last| match last["role"] == "tool" {
        true => Spoken::Words("Done.".into()),
        false => Spoken::Calls(vec![("save_note".into(), json!({"text": "milk"}))]),
    }));
    let mut pty = chat(&home, &[]);
    pty.press("note milk\r");
    pty.until_shown("[y]es, [e]dit, [n]o");
    pty.press("maybe\r");
    pty.until_shown("nothing happens until you say");
    pty.until("the question again", |pty| pty.line().starts_with("[y]es"));
    assert_eq!(home.notes(), "");
    pty.press("y\r");
    pty.until_shown("Done.");
    pty.until_line(">");
    assert!(home.notes().contains("milk"));
    // What was answered is no message, and not in the history.
    pty.press(UP);
    pty.until_line("> note milk");
}

#[test]
fn a_terminal_is_given_back_when_the_chat_is_ended_from_outside() {
    let home = Home::with(Outside::speaking(|_| Spoken::Nothing));
    let mut pty = chat(&home, &[]);
    pty.press("think\r");
    pty.until("the run at work", |pty| !pty.line().starts_with('>') && !pty.is_ordinary());
    let killed = std::process::Command::new("kill").args(["-TERM", &pty.id().to_string()]).status();
    assert!(killed.unwrap().success());
    assert_eq!(pty.wait().code(), Some(143));
    assert!(pty.is_ordinary());
}
