//! A program on a terminal of its own, seen as a person sees it: what is on the screen after all escape sequences.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

pub(crate) const COLUMNS: u16 = 80;
const ROWS: u16 = 40;

pub(crate) struct Pty {
    child: Child,
    master: File,
    pieces: mpsc::Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// Everything that was written, escape sequences included.
    pub(crate) raw: Vec<u8>,
}

impl Pty {
    /// Starts the program in a session of its own, whose terminal this is.
    pub(crate) fn start(program: &Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, vec![]).unwrap();
        let slave = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program.get_program()).args(program.get_args()).env_clear();
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        let end = |slave: &OwnedFd| Stdio::from(slave.try_clone().unwrap());
        command.stdin(end(&slave)).stdout(end(&slave)).stderr(end(&slave));
        if let Some(directory) = program.get_current_dir() {
            command.current_dir(directory);
        }
        let child = command.spawn().unwrap();
        let master = File::from(master);
        let (rows, columns) = (NonZero::new(ROWS).unwrap(), NonZero::new(COLUMNS).unwrap());
        let screen = vt100::Parser::new(rows, columns, 1_000);
        let (sender, pieces) = mpsc::channel();
        let mut from = master.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, master, pieces, screen, raw: vec![] }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// What is on the screen, without the blank ends of lines.
    pub(crate) fn shown(&self) -> String {
        self.screen.screen().contents()
    }

    /// The line in which the cursor is, without its blank end.
    pub(crate) fn line(&self) -> String {
        let (row, _) = self.screen.screen().cursor_position();
        self.screen.screen().rows(0, COLUMNS).nth(row.into()).unwrap_or_default().trim_end().to_owned()
    }

    pub(crate) fn cursor_column(&self) -> u16 {
        self.screen.screen().cursor_position().1
    }

    /// Reads until the screen is as it is waited for.
    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        while !is_so(self) {
            let piece = self.pieces.recv_timeout(Duration::from_secs(60));
            let piece = piece.unwrap_or_else(|_| panic!("{what} never came:\n{}", self.shown()));
            self.screen.process(&piece);
            self.raw.extend(piece);
        }
    }

    pub(crate) fn until_shown(&mut self, text: &str) {
        self.until(text, |pty| pty.shown().contains(text));
    }

    pub(crate) fn until_line(&mut self, line: &str) {
        self.until(line, |pty| pty.line() == line);
    }

    /// Whether keys are echoed and lines are made by the terminal, as shells expect it.
    pub(crate) fn is_ordinary(&self) -> bool {
        use rustix::termios::LocalModes;
        let modes = tcgetattr(&self.master).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
