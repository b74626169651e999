//! One call in every dialect. The tests of the agent use this file too.

/// A call of `get_weather` with one text, as a dialect writes it; `¤` stands for the text.
pub(crate) const FORMS: &[(&str, &str)] = &[
    ("hermes", r#"<tool_call>{"name": "get_weather", "arguments": {"city": "¤"}}</tool_call>"#),
    (
        "longcat",
        r#"<longcat_tool_call>{"name": "get_weather", "arguments": {"city": "¤"}}</longcat_tool_call>"#,
    ),
    ("jamba", r#"<tool_calls>[{"name": "get_weather", "arguments": {"city": "¤"}}]</tool_calls>"#),
    ("nemotron_deci", r#"<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "¤"}}]</TOOLCALL>"#),
    ("granite", r#"<|tool_call|>[{"name": "get_weather", "arguments": {"city": "¤"}}]"#),
    ("granite_20b_fc", r#"<function_call> {"name": "get_weather", "arguments": {"city": "¤"}}"#),
    (
        "cohere_cmd",
        r#"<|START_ACTION|>[{"tool_name": "get_weather", "parameters": {"city": "¤"}}]<|END_ACTION|>"#,
    ),
    ("apertus", r#"<|tools_prefix|>[{"get_weather": {"city": "¤"}}]<|tools_suffix|>"#),
    ("phi4_mini", r#"functools[{"name": "get_weather", "arguments": {"city": "¤"}}]"#),
    ("llama3_json", r#"<|python_tag|>{"name": "get_weather", "parameters": {"city": "¤"}}"#),
    ("sarashina", r#"<|tool_calls|>[{"name": "get_weather", "arguments": {"city": "¤"}}]"#),
    ("gigachat3", r#"<|function_call|>{"name": "get_weather", "arguments": {"city": "¤"}}"#),
    (
        "internlm",
        "<|action_start|><|plugin|>\n{\"name\": \"get_weather\", \"parameters\": {\"city\": \"¤\"}}<|action_end|>",
    ),
    (
        "gigachat3",
        "<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"¤\"}}",
    ),
    (
        "qwen3_coder",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\n¤\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "seed_oss",
        "<seed:tool_call>\n<function=get_weather>\n<parameter=city>¤</parameter>\n</function>\n</seed:tool_call>",
    ),
    ("glm45", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>¤</arg_value>\n</tool_call>"),
    ("glm47", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>¤</arg_value></tool_call>"),
    (
        "hy_v3",
        "<tool_calls:a><tool_call:a>get_weather<tool_sep:a><arg_key:a>city</arg_key:a><arg_value:a>¤</arg_value:a></tool_call:a></tool_calls:a>",
    ),
    (
        "hy_v4",
        "<tool_calls:a><tool_call:a>get_weather<arg_key:a>city</arg_key:a><arg_value:a>¤</arg_value:a></tool_call:a></tool_calls:a>",
    ),
    (
        "minimax_m2",
        "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">¤</parameter>\n</invoke>\n</minimax:tool_call>",
    ),
    (
        "minimax_m3",
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"get_weather\">]<]minimax[>[<city>¤]<]minimax[>[</city>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    ),
    (
        "claude_xml",
        "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">¤</parameter>\n</invoke>\n</function_calls>",
    ),
    ("minicpm5", "<function name=\"get_weather\"><param name=\"city\">¤</param></function>"),
    (
        "dots",
        "<dots_function_call><invoke name=\"get_weather\"><parameter name=\"city\">¤</parameter></invoke></dots_function_call>",
    ),
    (
        "step3",
        "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"get_weather\">\n<steptml:parameter name=\"city\">¤</steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>",
    ),
    (
        "deepseek_v32",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">¤</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    (
        "deepseek_v4",
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">¤</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    (
        "deepseek_v41",
        "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"get_weather\">\n<｜DSML｜ parameter name=\"city\" string=\"true\">¤</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
    ),
    ("mistral", r#"[TOOL_CALLS]get_weather[ARGS]{"city": "¤"}"#),
    (
        "kimi_k2",
        r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "¤"}<|tool_call_end|><|tool_calls_section_end|>"#,
    ),
    (
        "deepseek_v3",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"¤\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "deepseek_v31",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"¤\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    ("llama31_function_tag", r#"<function=get_weather>{"city": "¤"}</function>"#),
    ("gemma4", "<|tool_call>call:get_weather{city:<|\"|>¤<|\"|>}<tool_call|>"),
    ("functiongemma", "<start_function_call>call:get_weather{city:<escape>¤<escape>}<end_function_call>"),
    ("lfm2", "<|tool_call_start|>[get_weather(city=\"¤\")]<|tool_call_end|>"),
    ("olmo3", "<function_calls>\nget_weather(city=\"¤\")\n</function_calls>"),
    ("tool_code", "<tool_code>get_weather(city=\"¤\")</tool_code>"),
];

/// Calls in channels; a head is markup wherever it stands.
pub(crate) const CHANNELS: &[(&str, &str)] = &[
    (
        "harmony",
        r#"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "¤"}<|call|>"#,
    ),
    (
        "muse_glimmer",
        "<|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name=\"get_weather\">\n<atem:parameter name=\"city\">¤</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>",
    ),
    (
        "beam",
        "<|start|>assistant to=get_weather<|message|><rfl:parameter name=\"city\">¤</rfl:parameter><|eot|>",
    ),
    (
        "kimi_k3",
        "<|open|>tools<|sep|><|open|>call tool=\"get_weather\" index=\"1\"<|sep|><|open|>argument key=\"city\" type=\"string\"<|sep|>¤<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    ),
    (
        "inkling",
        r#"<|message_model|>get_weather<|content_invoke_tool_json|>{"name": "get_weather", "args": {"city": "¤"}}<|end_message|>"#,
    ),
];
