//! What is read: one long argument, prose, or many small calls, in each format.

/// The workloads, by name.
pub const WORKLOADS: &[&str] = &["arg", "text", "many"];

/// How a call is written: before the argument, and behind it.
struct Form {
    format: &'static str,
    before: &'static str,
    behind: &'static str,
}

const FORMS: &[Form] = &[
    Form {
        format: "hermes",
        before: "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"content\": \"",
        behind: "\"}}\n</tool_call>",
    },
    Form {
        format: "json_bare",
        before: "{\"name\": \"write_file\", \"arguments\": {\"content\": \"",
        behind: "\"}}",
    },
    Form {
        format: "llama3_json",
        before: "<|python_tag|>{\"name\": \"write_file\", \"parameters\": {\"content\": \"",
        behind: "\"}}",
    },
    Form {
        format: "mistral",
        before: "[TOOL_CALLS] [{\"name\": \"write_file\", \"arguments\": {\"content\": \"",
        behind: "\"}}]",
    },
    Form {
        format: "qwen3_coder",
        before: "<tool_call>\n<function=write_file>\n<parameter=content>\n",
        behind: "\n</parameter>\n</function>\n</tool_call>",
    },
    Form {
        format: "glm47",
        before: "<tool_call>write_file<arg_key>content</arg_key><arg_value>",
        behind: "</arg_value></tool_call>",
    },
    Form {
        format: "minimax_m2",
        before: "<minimax:tool_call>\n<invoke name=\"write_file\">\n<parameter name=\"content\">",
        behind: "</parameter>\n</invoke>\n</minimax:tool_call>",
    },
    Form {
        format: "deepseek_v31",
        before: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_file<｜tool▁sep｜>{\"content\": \"",
        behind: "\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    },
    Form {
        format: "deepseek_v4",
        before: "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"write_file\">\n<｜DSML｜parameter name=\"content\" string=\"true\">",
        behind: "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    },
    Form {
        format: "kimi_k2",
        before: "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>{\"content\": \"",
        behind: "\"}<|tool_call_end|><|tool_calls_section_end|>",
    },
    Form {
        format: "gemma4",
        before: "<|tool_call>call:write_file{content:<|\"|>",
        behind: "<|\"|>}<tool_call|>",
    },
    Form { format: "pythonic", before: "[write_file(content=\"", behind: "\")]" },
];

/// Every format that some peer reads too.
pub fn formats() -> impl Iterator<Item = &'static str> {
    FORMS.iter().map(|form| form.format)
}

const PROSE: &str = "The quick brown fox jumps over the lazy dog, and then it rests for a while. \
    Nothing here is a call; it is what models write most of the time, line after line.\n";

/// A text of about this size, and how many calls are in it.
pub fn text(format: &str, workload: &str, bytes: usize) -> (String, usize) {
    let Some(form) = FORMS.iter().find(|form| form.format == format) else {
        return (String::new(), 0);
    };
    let words = "lorem ipsum dolor sit amet, consectetur adipiscing elit ";
    match workload {
        "arg" => (format!("{}{}{}", form.before, words.repeat(bytes / words.len() + 1), form.behind), 1),
        "text" => (PROSE.repeat(bytes / PROSE.len() + 1), 0),
        _ => {
            let call = format!("{}a few words{}", form.before, form.behind);
            let separator = if matches!(format, "json_bare" | "llama3_json") { ";" } else { "\n" };
            let (call, separator) = match format {
                "llama3_json" => (call.replace("<|python_tag|>", ""), separator),
                _ => (call, separator),
            };
            let count = bytes / (call.len() + 1) + 1;
            (vec![call; count].join(separator), count)
        }
    }
}
