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
fn what_is_wrong_with_a_configuration_is_told_in_the_language_of_the_environment() {
    let cases = [
        ("[serber]", "第 1 行的 `serber`：没有 `serber` 这个键；可用的键："),
        ("[server]\nlisten = 5", "第 2 行的 `listen`：类型不对：得到 整数 `5`，应为 文本"),
        ("[server]\nlisten = \"x\"", "第 2 行的 `listen`：`x` 不是可以监听的地址"),
        ("[server]\nlog = \"\"\nlog = \"\"", "这个键写了两次"),
        ("a = b", "文本要加引号"),
        (
            "default_model = \"none\"\n[[models]]\nname = \"a\"\nvendor = \"openai\"\nmodel = \"m\"\nfallbacks = [\"b\"]",
            "没有模型 `b`",
        ),
        ("[[models]]\nname = \"a\"\nvendor = \"nobody\"\nmodel = \"m\"", "没有供应商 `nobody`；已知的有："),
        ("[egress]\nproxy = \"x\"", "这不是代理的地址"),
        ("[tools.time]\nper_minute = 1\nper_window = 1", "同时设置了 `per_minute`；请去掉其中一个"),
        ("[[hooks]]\nname = \"a\"\non = []", "请写明何时调用"),
        ("[server]\ntoken = \"short\"", "令牌少于 16 个字符"),
    ];
    let data = scratch();
    let file = data.join("wrong.toml");
    for (text, expected) in cases {
        std::fs::write(&file, text).unwrap();
        let (code, _, told) =
            said(&["serve", "--config", file.to_str().unwrap()], &[("LANG", "zh_CN.UTF-8")]);
        assert_eq!(code, Some(1), "{text}");
        assert!(told.contains(expected), "{text}\n{told}");
    }
    let taken = data.join("file");
    std::fs::write(&taken, "").unwrap();
    let inside = taken.join("data");
    let (_, _, told) = said(&["serve", "--data", inside.to_str().unwrap()], &[("LANG", "zh_CN.UTF-8")]);
    assert!(told.contains("无法使用数据目录") && told.contains("不是目录（系统错误"), "{told}");
    assert_eq!(told.matches("系统错误").count(), 1, "said once: {told}");
}

#[test]
fn what_is_wrong_with_a_tool_is_told_in_the_language_of_the_environment() {
    let data = scratch();
    let chinese = [("LANG", "zh_CN.UTF-8"), ("HELVE_DATA", data.to_str().unwrap())];
    let file = data.join("rows.json");
    let tools = |arguments: &[&str], rows: &str| {
        std::fs::write(&file, rows).unwrap();
        said(&[&["tools"], arguments].concat(), &chinese)
    };
    let row = |more: &str| {
        format!(
            r#"{{"name": "weather", "description": "W.", "endpoint": {{"url": "https://a.example"{more}}}}}"#
        )
    };
    let path = file.to_str().unwrap();
    for (rows, expected) in [
        (
            r#"{"name": "weather", "endpoint": {"url": "https://a.example"}}"#.to_owned(),
            "`description`：没有填写",
        ),
        (r#"{"name": "weather""#.to_owned(), "`definition`：不是 JSON：对象没有结束（第 1 行第 18 列）"),
        (row(r#", "colour": 1"#), "`endpoint.colour`：没有字段 `colour`；有："),
        (row(r#", "timeout_ms": "x""#), "`endpoint.timeout_ms`：应为不小于 1 的整数，而不是 \"x\""),
        (row(r#", "timeout_ms": 7"#), "`endpoint.timeout_ms`：7 不在 100 和 600000 之间"),
        (row(r#", "headers": {"a b": "c"}"#), "`endpoint.headers.a b`：`a b` 不是请求头的名字"),
    ] {
        for command in [&["import", path][..], &["import", path, "--dry-run"], &["add", path]] {
            let (code, _, told) = tools(command, &rows);
            assert_eq!(code, Some(1), "{rows}");
            let is_told = told.contains(expected) || command[0] == "add" && told.contains("JSON");
            assert!(is_told, "{command:?} {rows}\n{told}");
        }
    }
    // What is odd about a tool, before any call was made.
    let bearer = row(r#", "auth": {"type": "bearer", "token_env": "WEATHER"}"#);
    let (code, listed, told) = tools(&["import", path, "--dry-run"], &bearer);
    assert_eq!((code, &*listed), (Some(0), "weather  可以导入\n"), "{told}");
    assert!(told.contains("`endpoint.auth` 改写为密钥 `WEATHER_TOKEN`"), "{told}");
    assert!(told.contains("密钥 `WEATHER_TOKEN` 还没有绑定"), "{told}");
    assert!(!told.contains("没有发送") && !told.contains("nothing was sent"), "{told}");
    let english = said(&["tools", "import", path, "--dry-run"], &chinese[1..]).2;
    assert!(english.contains("the secret `WEATHER_TOKEN` is not bound yet"), "{english}");
    assert!(!english.contains("nothing was sent"), "{english}");

    // A script that cannot be used, in the lists and for whoever calls it.
    let folder = data.join("tools");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("count.py"), "# helve: {\"effect\": \"read\"}\n").unwrap();
    let (_, listed, _) = said(&["tools", "list"], &chinese);
    assert!(listed.contains("count") && listed.contains("（无法使用：`description`：没有填写）"), "{listed}");
    let (_, found, _) = said(&["doctor"], &chinese);
    assert!(found.contains("工具 `count` 无法使用：`description`：没有填写"), "{found}");
    let (code, _, told) = said(&["tools", "call", "calculator", "{"], &chinese);
    assert!(code == Some(1) && told.contains("参数不是 JSON：对象没有结束（第 1 行第 1 列）"), "{told}");
    let (code, _, told) = said(&["tools", "call", "count"], &chinese);
    assert!(code == Some(1) && told.contains("工具 `count` 无法使用：`description`：没有填写"), "{told}");
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
