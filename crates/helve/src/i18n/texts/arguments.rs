//! What clap says.

use super::Texts;

pub(super) const TEXTS: Texts = &[
    ("Print help", "显示帮助"),
    ("Print help (see more with '--help')", "显示帮助（更多内容用“--help”）"),
    ("Print help (see a summary with '-h')", "显示帮助（概要用“-h”）"),
    ("Print version", "显示版本"),
    ("Print this message or the help of the given subcommand(s)", "显示这段帮助，或者某个子命令的帮助"),
    ("possible values: {values}", "可选值：{values}"),
    ("default: {value}", "默认：{value}"),
    ("environment variable: {name}", "环境变量：{name}"),
    ("error: {what}", "错误：{what}"),
    ("similar: {names}", "相近的有：{names}"),
    ("Usage: {usage}", "用法：{usage}"),
    ("For more information, try '--help'.", "更多信息请用“--help”。"),
    ("unexpected argument '{argument}'", "没有“{argument}”这个参数"),
    ("unrecognized subcommand '{name}'", "没有“{name}”这个子命令"),
    ("these arguments are missing: {arguments}", "缺少参数：{arguments}"),
    ("a subcommand is missing", "缺少子命令"),
    ("a value is missing for '{argument}'", "“{argument}”缺少值"),
    (
        "invalid value '{value}' for '{argument}'; possible values: {valid}",
        "“{argument}”的值“{value}”无效；可选值：{valid}",
    ),
    ("invalid value '{value}' for '{argument}'", "“{argument}”的值“{value}”无效"),
    ("'{argument}' cannot be used with '{prior}'", "“{argument}”不能和“{prior}”一起使用"),
    ("'{argument}' may be given only once", "“{argument}”只能给一次"),
    ("an argument is not UTF-8", "有一个参数不是 UTF-8"),
    ("the arguments cannot be understood: {detail}", "无法理解这些参数：{detail}"),
];
