//! What `helve audit` says, with its help, and what people are told of questions that approvers answer.

use super::Texts;

pub(super) const TEXTS: Texts = &[
    ("List the audit log and check that it is whole", "查看审计日志，检查它是否完整"),
    ("List the entries of the audit log, newest first", "列出审计日志的记录，最新的在前"),
    (
        "Only what this user did, or what was done to what is theirs",
        "只列出这个用户做的事，或者对其所有物做的事",
    ),
    (
        "Only this action (`approval.answered`), or those of one subject (`approval`)",
        "只列出这种操作（`approval.answered`），或某一类操作（`approval`）",
    ),
    ("So many at most", "最多列出多少条"),
    ("Print JSON, one entry on each line", "输出 JSON，每行一条"),
    (
        "Check that no entry was changed, removed, inserted or moved, and name the first place where one was",
        "检查是否有记录被修改、删除、插入或移动，并指出第一处",
    ),
    (
        "Check that no entry was changed, removed, inserted or moved, and name the first place where one was\n\nExits with code 0 if the log is whole, and with 3 if it is not. That the end was cut off is only found with `--expect`.",
        "检查是否有记录被修改、删除、插入或移动，并指出第一处\n\n日志完整时退出码为 0，不完整时为 3。末尾被截掉只有用 `--expect` 才能发现。",
    ),
    (
        "What `helve audit head` printed before; the log must still hold it. May be given several times",
        "以前 `helve audit head` 输出的内容；日志里必须仍有它。可以给出多个",
    ),
    (
        "Print JSON: `{\"whole\", \"entries\", \"head\"}` or `{\"whole\", \"problem\", \"seq\"}`",
        "输出 JSON：`{\"whole\", \"entries\", \"head\"}` 或 `{\"whole\", \"problem\", \"seq\"}`",
    ),
    (
        "Print the number and hash of the last entry; keep it elsewhere, for `--expect` of `helve audit verify`",
        "输出最后一条记录的编号和散列值；请保存在别处，供 `helve audit verify` 的 `--expect` 使用",
    ),
    ("{entries} entries are whole", "已检查 {entries} 条记录，均完整"),
    (
        "the audit log is whole: {entries} entries, head {head}",
        "审计日志完整：共 {entries} 条记录，末条为 {head}",
    ),
    ("the audit log is NOT whole: {problem}", "审计日志不完整：{problem}"),
    (
        "entry {seq} was changed: its content does not have its hash",
        "第 {seq} 条记录被修改过：内容与散列值不符",
    ),
    ("entries {from} to {to} were removed", "第 {from} 至 {to} 条记录被删除"),
    ("entries {from} to {to} were inserted", "第 {from} 至 {to} 条记录是插入的"),
    (
        "entry {seq} is not in its place: it was written as entry {written_as}",
        "第 {seq} 条记录不在原位：它原本是第 {written_as} 条",
    ),
    (
        "entry {seq} does not follow the one before it, which was replaced, or one before that",
        "第 {seq} 条记录与前一条不相接：前一条或更早的记录被替换过",
    ),
    (
        "the end was cut off: the last entry is {last}, and entry {expected} is known to have been written",
        "末尾被截掉：最后一条是第 {last} 条，但已知写过第 {expected} 条",
    ),
    (
        "entry {seq} is not the one whose hash was kept: the log up to it was written anew",
        "第 {seq} 条记录与保存的散列值不符：到这一条为止的日志被重写过",
    ),
    ("Those that you may answer, also in runs of other users", "你可以答复的请求，包括其他用户的运行中的"),
    ("everybody in {group}", "{group} 组的所有成员"),
    ("{count} of: {names}", "其中 {count} 人：{names}"),
    ("{count} more must agree", "还需要 {count} 人同意"),
    ("decided by", "审批人"),
    ("agreed", "已同意"),
    ("missing", "还差"),
    ("you", "你"),
    ("escalated", "已升级"),
    ("reminded", "已提醒"),
    ("{who} has agreed; others must, too", "{who} 已同意，还需要其他人同意"),
    ("have agreed; others must, too", "你已同意，还需要其他人同意"),
    ("asked for this, so another approver must decide", "这是你发起的请求，需要由其他审批人决定"),
    ("cannot answer; others decide about this", "你不能答复，这件事由其他人决定"),
    ("it waited for long, so more people were asked", "等待时间较长，已请更多人处理"),
];
