//! `helve backup` and `helve restore`: while a server writes, after kills, on a full disk, and with files that were damaged.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::on_postgres::database;
use crate::people::{Home, ask};
use crate::serving::Served;
use crate::{err, helve, out, run, scratch};

const SUM: &str = r#"{"message": "what is 12.5% of 3,480?", "stream": false}"#;

/// A data directory with a conversation, a note, a tool and the session key.
fn lived_in() -> PathBuf {
    let data = scratch();
    let served = Served::start(&data, &[]);
    assert!(served.ask("POST", "/api/agent", "", SUM).contains("435"));
    assert!(served.stop());
    fs::create_dir_all(data.join("notes")).unwrap();
    fs::write(data.join("notes/mei.md"), "buy milk").unwrap();
    fs::create_dir_all(data.join("tools/weather")).unwrap();
    fs::write(data.join("tools/weather/run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(data.join("tools/weather/run.sh"), fs::Permissions::from_mode(0o700)).unwrap();
    data
}

fn back_up(data: &Path, file: &Path, more: &[&str]) -> std::process::Output {
    run(&[&["backup", file.to_str().unwrap(), "--data", data.to_str().unwrap()], more].concat(), "")
}

fn restore(data: &Path, file: &Path, more: &[&str]) -> std::process::Output {
    run(&[&["restore", file.to_str().unwrap(), "--data", data.to_str().unwrap()], more].concat(), "")
}

fn done(output: std::process::Output) -> String {
    assert!(output.status.success(), "{}", err(&output));
    out(&output)
}

fn refused(output: &std::process::Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", out(output));
    let said = err(output);
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

fn conversations(data: &Path) -> String {
    let served = Served::start(data, &[]);
    let answer = served.ask("GET", "/api/conversations", "", "");
    assert!(served.stop());
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[test]
fn what_was_backed_up_is_what_is_restored_and_the_doctor_is_content() {
    let data = lived_in();
    let file = scratch().join("b.helve");
    let said = done(back_up(&data, &file, &[]));
    assert!(said.contains("files,"), "{said}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let listed = Command::new("tar").args(["-tf", file.to_str().unwrap()]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for name in
        ["backup.json", "helve.db", "notes/mei.md", "tools/weather/run.sh", "session.key", "manifest.json"]
    {
        assert!(listed.lines().any(|line| line == name), "{name}: {listed}");
    }
    assert!(refused(&back_up(&data, &file, &[])).contains("exists already"));
    let checked = done(restore(&data, &file, &["--check", "--json"]));
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(checked["files"], 4, "{checked}");

    let target = scratch();
    done(restore(&target, &file, &[]));
    assert_eq!(fs::read(target.join("session.key")).unwrap(), fs::read(data.join("session.key")).unwrap());
    assert_eq!(fs::read_to_string(target.join("notes/mei.md")).unwrap(), "buy milk");
    let mode = fs::metadata(target.join("tools/weather/run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(conversations(&target), conversations(&data));
    let doctor = run(&["doctor", "--data", target.to_str().unwrap()], "");
    assert!(doctor.status.success(), "{}{}", out(&doctor), err(&doctor));
}

#[test]
fn a_directory_with_data_is_kept_unless_it_may_be_replaced_and_then_it_stays_aside() {
    let (data, file) = (lived_in(), scratch().join("b.helve"));
    done(back_up(&data, &file, &["--database-only"]));
    let other = lived_in();
    fs::write(other.join("notes/mei.md"), "buy bread").unwrap();
    let before = conversations(&other);
    let said = refused(&restore(&other, &file, &[]));
    assert!(said.contains("--replace"), "{said}");
    assert_eq!(conversations(&other), before);
    let served = Served::start(&other, &[]);
    assert!(refused(&restore(&other, &file, &["--replace"])).contains("is in use by helve, process"));
    assert!(served.stop());
    let said = done(restore(&other, &file, &["--replace", "--json"]));
    let said: Value = serde_json::from_str(&said).unwrap();
    let aside = Path::new(said["replaced"].as_str().unwrap());
    assert!(aside.join("helve.db").exists());
    assert_eq!(conversations(&other), conversations(&data));
    assert_eq!(fs::read_to_string(other.join("notes/mei.md")).unwrap(), "buy bread", "not in the backup");
    assert!(refused(&back_up(&data, &data.join("b.helve"), &[])).contains("is in the data directory"));
    assert!(refused(&back_up(&scratch(), &scratch().join("b"), &[])).contains("no database"));
}

#[test]
fn a_backup_beside_a_server_at_work_has_one_moment_and_a_kill_of_either_leaves_no_broken_file() {
    let data = lived_in();
    let served = Served::start(&data, &[]);
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let folder = scratch();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        assert!(served.ask("POST", "/api/agent", "", SUM).contains("435"));
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for number in 0..4 {
            let before = answered.load(Ordering::Relaxed);
            done(back_up(&data, &folder.join(format!("{number}.helve")), &[]));
            while answered.load(Ordering::Relaxed) < before + 2 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        // The backup itself is killed somewhere, and made again.
        for wait in [1, 10, 30, 60] {
            let file = folder.join("killed.helve");
            let mut child = helve()
                .args(["backup", file.to_str().unwrap(), "--data", data.to_str().unwrap()])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(wait));
            _ = child.kill();
            let ended = child.wait().unwrap();
            assert!(ended.success() == file.exists() || check(&file), "after {wait} ms");
            _ = fs::remove_file(&file);
            done(back_up(&data, &file, &[]));
            assert!(check(&file));
            fs::remove_file(&file).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    // The server is killed in the middle of one.
    let file = folder.join("server-killed.helve");
    let child = helve()
        .args(["backup", file.to_str().unwrap(), "--data", data.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(Command::new("kill").args(["-KILL", &served.process().to_string()]).status().unwrap().success());
    assert!(!served.ended_well());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.success(), file.exists(), "{}", err(&ended));
    let mut seen = 0;
    for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        assert!(file.extension().is_some_and(|ending| ending == "helve"), "{file:?} is left over");
        let target = scratch();
        done(restore(&target, &file, &["--json"]));
        let text = conversations(&target);
        let told: Value = serde_json::from_str(&text).unwrap();
        assert!(!told["conversations"].as_array().unwrap().is_empty(), "{text}");
        seen += 1;
    }
    assert!(seen >= 4);
}

fn check(file: &Path) -> bool {
    run(&["restore", "--check", file.to_str().unwrap()], "").status.success()
}

#[test]
fn a_flipped_bit_and_a_missing_end_are_found_wherever_they_are_and_named() {
    let (data, file) = (lived_in(), scratch().join("b.helve"));
    done(back_up(&data, &file, &[]));
    let whole = fs::read(&file).unwrap();
    let target = scratch();
    let damaged = file.with_extension("damaged");
    let mut named = std::collections::BTreeSet::new();
    let step = whole.len() / 60;
    // All over the file, and densely where the headers and the lists are.
    let ends = (0..1_600).step_by(40).chain(whole.len() - 4_000..whole.len());
    for at in (0..whole.len()).step_by(step).chain(ends.step_by(37)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&damaged, &bytes).unwrap();
        let said = refused(&restore(&target, &damaged, &[]));
        let part = said.split("is damaged at `").nth(1).and_then(|rest| rest.split('`').next());
        assert!(part.is_some() || said.contains("its beginning is damaged"), "byte {at}: {said}");
        named.extend(part.map(str::to_owned));
        assert!(!target.join("helve.db").exists() && !target.join("restore.part").exists(), "byte {at}");
    }
    assert!(named.contains("helve.db") && named.contains("manifest.json"), "{named:?}");
    for length in [0, 1, 511, 512, 1_024, whole.len() / 2, whole.len() - 1_024, whole.len() - 1] {
        fs::write(&damaged, &whole[..length]).unwrap();
        let said = refused(&restore(&target, &damaged, &["--check"]));
        assert!(said.contains("damaged"), "{length}: {said}");
    }
    fs::write(&damaged, [&whole[..], b"more"].concat()).unwrap();
    assert!(!check(&damaged));
    assert!(check(&file));
}

/// An archive with a file of this name in the place of `notes/mei.md`, otherwise whole.
fn with_entry(file: &Path, kind: &str) -> PathBuf {
    let folder = scratch();
    let unpack = ["-xf", file.to_str().unwrap(), "-C", folder.to_str().unwrap()];
    assert!(Command::new("tar").args(unpack).status().unwrap().success());
    let note = folder.join("notes/mei.md");
    fs::remove_file(&note).unwrap();
    let outside = folder.parent().unwrap().join("outside");
    fs::write(&outside, "from outside").unwrap();
    let entry = match kind {
        "link" => {
            symlink("/etc/passwd", &note).unwrap();
            "notes/mei.md"
        }
        "hard link" => {
            fs::hard_link(folder.join("helve.db"), &note).unwrap();
            "notes/mei.md"
        }
        "folder" => {
            fs::create_dir(&note).unwrap();
            "notes/mei.md"
        }
        _ => "../outside",
    };
    let made = folder.join("made.tar");
    let arguments =
        ["-P", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner", "-cf", made.to_str().unwrap()];
    let names = ["backup.json", "helve.db", entry, "manifest.json", "manifest.blake3"];
    let packed = Command::new("tar").args(arguments).args(names).current_dir(&folder).status().unwrap();
    assert!(packed.success());
    // As Helve writes the first file, so that it is read.
    let (whole, mut bytes) = (fs::read(file).unwrap(), fs::read(&made).unwrap());
    bytes[..512].copy_from_slice(&whole[..512]);
    let second = bytes.chunks(512).position(|block| block.starts_with(b"helve.db\0")).unwrap() * 512;
    let original = whole.chunks(512).position(|block| block.starts_with(b"helve.db\0")).unwrap() * 512;
    bytes[second..second + 512].copy_from_slice(&whole[original..original + 512]);
    fs::write(&made, bytes).unwrap();
    made
}

#[test]
fn an_archive_with_links_or_paths_that_lead_out_is_refused() {
    let (data, file) = (lived_in(), scratch().join("b.helve"));
    done(back_up(&data, &file, &[]));
    for (kind, word) in [
        ("link", "is a link"),
        ("hard link", "is a link"),
        ("folder", "is a link, a folder"),
        ("outside", "leads out"),
    ] {
        let target = scratch();
        let said = refused(&restore(&target, &with_entry(&file, kind), &[]));
        assert!(said.contains(word), "{kind}: {said}");
        assert!(!target.join("helve.db").exists());
    }
}

#[test]
fn what_a_newer_version_wrote_and_what_is_no_backup_is_refused_with_the_reason() {
    let (data, file) = (lived_in(), scratch().join("b.helve"));
    let newer = scratch().join("newer.helve");
    done(back_up(&data, &file, &[]));
    let whole = fs::read(&file).unwrap();
    let text = String::from_utf8_lossy(&whole[512..1_024]).into_owned();
    let layout = text.split("\"layout\": ").nth(1).unwrap().split(',').next().unwrap().to_owned();
    let changed =
        text.replace(&format!("\"layout\": {layout}"), &format!("\"layout\": {}", "9".repeat(layout.len())));
    let mut bytes = whole.clone();
    bytes[512..1_024].copy_from_slice(changed.as_bytes());
    fs::write(&newer, bytes).unwrap();
    let said = refused(&restore(&scratch(), &newer, &[]));
    assert!(said.contains("layout 99") && said.contains("restore it with that version"), "{said}");
    fs::write(&newer, "no archive").unwrap();
    assert!(refused(&restore(&scratch(), &newer, &[])).contains("is no backup of Helve"));
    assert!(refused(&restore(&scratch(), &scratch().join("none"), &[])).contains("cannot be read"));
}

#[test]
fn a_full_disk_leaves_neither_a_backup_nor_half_a_restore() {
    let (data, file) = (lived_in(), scratch().join("b.helve"));
    // No file may be longer than this many blocks of 512 bytes: the write fails as on a full disk.
    let limited = |blocks: u32, arguments: &[&str]| {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).arg(helve().get_program()).args(arguments);
        shell.env_clear().env("HOME", scratch()).env("PATH", "/usr/bin:/bin").current_dir(scratch());
        shell.output().unwrap()
    };
    let (at, to) = (data.to_str().unwrap(), file.to_str().unwrap());
    for blocks in [40, 200] {
        let output = limited(blocks, &["backup", to, "--data", at]);
        assert_eq!(output.status.code(), Some(1), "{}", out(&output));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 0, "{}", err(&output));
    }
    done(back_up(&data, &file, &[]));
    let target = scratch();
    let output = limited(40, &["restore", to, "--data", target.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", out(&output));
    assert!(err(&output).contains("nothing was restored"), "{}", err(&output));
    assert!(!target.join("helve.db").exists() && !target.join("restore.part").exists());
    done(restore(&target, &file, &[]));
    assert_eq!(conversations(&target), conversations(&data));
}

#[test]
fn a_database_of_postgresql_is_in_the_backup_too_and_is_restored_to_either() {
    let (Some(url), Some(second)) = (database(), database()) else { return };
    let home = Home::new();
    let on_postgres = [("HELVE_DATABASE_URL", url.as_str())];
    let served = home.serve(&on_postgres);
    let (run_id, _) = ask(&served, "", "milk");
    let with = |arguments: &[&str], url: Option<&str>, data: &Path| {
        let mut command = helve();
        command.args(arguments).args(["--data", data.to_str().unwrap()]);
        command.args(["--config", home.config.to_str().unwrap()]);
        command.envs(url.map(|url| ("HELVE_DATABASE_URL", url))).output().unwrap()
    };
    let file = scratch().join("b.helve");
    let to = file.to_str().unwrap();
    // Beside the server at work.
    let said = done(with(&["backup", to, "--json"], Some(&url), &home.data));
    assert!(!said.contains("hush"), "{said}");
    assert!(served.stop());
    let on_sqlite = scratch();
    done(with(&["restore", to], None, &on_sqlite));
    assert!(on_sqlite.join("helve.db").exists());
    let elsewhere = scratch();
    let taken = with(&["restore", to], Some(&url), &elsewhere);
    assert!(refused(&taken).contains("is not empty"), "{}", err(&taken));
    done(with(&["restore", to], Some(&second), &elsewhere));
    assert!(!elsewhere.join("helve.db").exists() && elsewhere.join("session.key").exists());
    for (data, url) in [(&on_sqlite, None), (&elsewhere, Some(("HELVE_DATABASE_URL", second.as_str())))] {
        let more = [("HELVE_CONFIG", home.config.to_str().unwrap())];
        let served = Served::start(data, &[&more[..], url.as_slice()].concat());
        let answer = served.ask("GET", &format!("/api/runs/{run_id}"), "", "");
        assert!(answer.contains("waiting_approval"), "{answer}");
        assert!(served.stop());
    }
}
