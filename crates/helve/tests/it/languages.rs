//! The two languages of the command line, and a reader who has enough.

use std::io::Read;
use std::process::Stdio;

use crate::{err, helve, out, run, scratch};

fn said(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let output = helve().args(arguments).envs(variables.iter().copied()).output().unwrap();
    (output.status.code(), out(&output), err(&output))
}

#[test]
fn help_and_wrong_arguments_are_in_the_language_of_the_environment_or_of_the_option() {
    let (code, help, _) = said(&["--help"], &[("LANG", "zh_CN.UTF-8")]);
    assert_eq!(code, Some(0));
    assert!(help.contains("启动服务器") && help.contains("命令:") && !help.contains("Commands:"), "{help}");
    let (_, help, _) = said(&["--help"], &[("LANG", "zh_CN.UTF-8"), ("HELVE_LANG", "en")]);
    assert!(help.contains("Start the server") && help.contains("Commands:"), "{help}");
    let (_, help, _) = said(&["runs", "list", "--lang", "zh", "-h"], &[]);
    assert!(help.contains("最多列出多少个") && help.contains("[默认：20]"), "{help}");

    let (code, _, told) = said(&["--lang=zh", "tools", "lst"], &[]);
    assert_eq!(code, Some(2));
    assert!(told.contains("错误：没有“lst”这个子命令") && told.contains("list"), "{told}");
    let (_, _, told) = said(&["chat", "--modle", "x"], &[("LC_ALL", "zh_CN.UTF-8")]);
    assert!(told.contains("没有“--modle”这个参数") && told.contains("--model"), "{told}");
    let (_, _, told) = said(&["runs", "show"], &[("LC_ALL", "zh_CN.UTF-8")]);
    assert!(told.contains("缺少参数：<ID>"), "{told}");
    let (_, _, told) = said(&["chat", "--modle", "x"], &[]);
    assert!(told.contains("unexpected argument"), "{told}");
}

#[test]
fn messages_and_errors_are_in_the_language_of_the_environment() {
    let data = scratch();
    let variables = [("LANG", "zh_CN.UTF-8"), ("HELVE_DATA", data.to_str().unwrap())];
    let (code, _, told) = said(&["runs", "show", "0199abcd"], &variables);
    assert_eq!(code, Some(1));
    assert!(told.contains("没有正在运行的服务器：读取数据目录"), "{told}");
    assert!(told.contains("你最近的运行里没有 id 类似 `0199abcd` 的"), "{told}");
    let (code, _, told) = said(&["approvals", "show", "3f2a"], &variables);
    assert_eq!(code, Some(1));
    assert!(told.contains("没有 id 类似 `3f2a` 的审批"), "{told}");
    let (_, _, told) = said(&["chat", "--server", "http://127.0.0.1:9"], &variables);
    assert!(told.contains("服务器 http://127.0.0.1:9 没有应答"), "{told}");
}

#[test]
fn a_reader_who_has_enough_ends_the_command_without_a_panic() {
    let data = scratch();
    for arguments in [&["tools", "list", "--json"][..], &["models", "list"], &["--help"]] {
        let mut child = helve()
            .args(arguments)
            .env("HELVE_DATA", &data)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Nobody reads at all.
        drop(child.stdout.take());
        let mut told = String::new();
        child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        let told: Vec<&str> = told.lines().filter(|line| !line.starts_with("no server is running")).collect();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), told), (Some(141), vec![]), "{arguments:?}");
    }
    // And one who reads gets all.
    assert!(out(&run(&["parse"], "hello")).contains("hello"));
}
