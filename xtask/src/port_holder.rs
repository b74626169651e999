//! Which program listens on a port, as far as this user may know it.

use std::process::Command;

/// The process that listens there, as in "process 4711: python3 -m http.server".
pub(crate) fn port_holder(listen: &str) -> Option<String> {
    let port: u16 = listen.rsplit(':').next()?.parse().ok()?;
    let process = if cfg!(target_os = "linux") { of_proc(port) } else { of_lsof(port) }?;
    let line = Command::new("ps").args(["-o", "args=", "-p", &process]).output().ok()?;
    let line = String::from_utf8_lossy(&line.stdout);
    // Whoever runs that program chose its words.
    let line: String = line.trim().chars().filter(|c| !c.is_control()).take(100).collect();
    Some(if line.is_empty() { format!("process {process}") } else { format!("process {process}: {line}") })
}

fn of_proc(port: u16) -> Option<String> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .flat_map(|table| {
            table.lines().filter_map(|line| Some(listening_inode(line, port)?.to_owned())).collect::<Vec<_>>()
        })
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let processes = std::fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let mut numbered = processes.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    let holds = |folder: std::path::PathBuf| {
        let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        files
            .filter_map(|file| std::fs::read_link(file.path()).ok())
            .any(|target| sockets.iter().any(|socket| target.to_string_lossy() == socket.as_str()))
    };
    let found = numbered.find(|entry| holds(entry.path().join("fd")))?;
    Some(found.file_name().to_string_lossy().into_owned())
}

/// The inode of a line of `/proc/net/tcp`, if it is a socket that listens on the port.
fn listening_inode(line: &str, port: u16) -> Option<&str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, local, _, "0A", _, _, _, _, _, inode, ..] = fields[..] else { return None };
    let of_line = u16::from_str_radix(local.rsplit(':').next()?, 16).ok()?;
    (of_line == port).then_some(inode)
}

fn of_lsof(port: u16) -> Option<String> {
    let arguments = ["-nP", &format!("-iTCP:{port}"), "-sTCP:LISTEN", "-t"];
    let output = Command::new("lsof").args(arguments).output().ok()?;
    let process = String::from_utf8(output.stdout).ok()?.lines().next()?.trim().to_owned();
    process.parse::<u32>().is_ok().then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTENS: &str =
        "   1: 0100007F:22BA 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1";

    #[test]
    fn a_line_tells_the_socket_that_listens_on_a_port_and_no_other() {
        assert_eq!(listening_inode(LISTENS, 8890), Some("4242"));
        assert_eq!(listening_inode(LISTENS, 8891), None);
        assert_eq!(listening_inode(&LISTENS.replace(" 0A ", " 01 "), 8890), None, "a connection");
        assert_eq!(listening_inode("  sl  local_address rem_address   st", 8890), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_that_listens_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let holder = of_proc(listener.local_addr().unwrap().port());
        assert_eq!(holder, Some(std::process::id().to_string()));
    }
}
