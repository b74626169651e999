//! `--help`.

use super::Texts;

pub(super) const TEXTS: Texts = &[
    (
        "List, show, add, change, disable and remove users, and give them passwords",
        "查看、添加、修改、停用和删除用户，设置密码",
    ),
    ("List, make and change groups, and say who is in them", "查看、建立和修改组，管理组的成员"),
    ("List the users that have a row, with their roles and groups", "列出有记录的用户，以及他们的角色和组"),
    ("Show a user as JSON", "以 JSON 显示一个用户"),
    ("Make a user", "建立一个用户"),
    ("A service account: it has tokens and cannot sign in", "服务账号：有令牌，不能登录"),
    ("Change a user; what is not given stays as it is", "修改一个用户；没有给出的保持不变"),
    ("Accept what the user shows again", "重新接受这个用户的凭据"),
    (
        "Give a user a password, read from standard input; in a terminal one is made and printed",
        "给用户设置密码，从标准输入读取；在终端里会生成一个并显示",
    ),
    ("Accept nothing that a user shows, and end its sessions", "不再接受这个用户的任何凭据，并结束它的会话"),
    (
        "Delete a user's row, and revoke its tokens; conversations stay",
        "删除用户的记录并吊销它的令牌；对话保留",
    ),
    ("What people read in place of the id", "代替 id 显示的名称"),
    ("The e-mail address", "电子邮件地址"),
    ("What the user may do; no token of the user gives more", "用户的权限；它的令牌不会超过这个权限"),
    ("The groups that the user is in, separated by commas", "用户所在的组，用逗号分隔"),
    ("List the groups with their members", "列出组和成员"),
    (
        "Make a group, or change what it is called and which claims stand for it",
        "建立一个组，或修改它的名称和对应的声明值",
    ),
    ("What people read in place of the name", "代替名称显示的文字"),
    (
        "Values of the identity provider's claim that make somebody a member, separated by commas",
        "身份提供方的声明中表示成员的值，用逗号分隔",
    ),
    (
        "What the runs of each member may cost in a day; 0 is no limit",
        "每个成员的运行每天最多花费多少；0 表示不限",
    ),
    (
        "How many tools the runs of each member may call in a day; 0 is no limit",
        "每个成员的运行每天最多调用多少次工具；0 表示不限",
    ),
    ("Make users members of a group", "把用户加入组"),
    ("Take users out of a group", "把用户移出组"),
    ("Delete a group; its members stay users", "删除一个组；成员仍然是用户"),
    ("You would rather not answer what the model wants to know", "不想回答模型的提问"),
    (
        "A text, options by their words or numbers, fields as `name=value`, or one JSON object",
        "一段文本，选项的文字或编号，`name=value` 形式的各项，或者一个 JSON 对象",
    ),
    ("Tell the model what it wants to know", "回答模型的提问"),
    ("A self-hosted tool-calling runtime for AI agents", "自己部署的 AI 智能体工具调用运行时"),
    (
        "The language of help and messages: en or zh [default: of HELVE_LANG, LC_ALL, LC_MESSAGES or LANG]",
        "帮助和消息的语言：en 或 zh [默认：按 HELVE_LANG、LC_ALL、LC_MESSAGES 或 LANG]",
    ),
    ("Start the server, with the web page and the API", "启动服务器，包括网页和 API"),
    (
        "The address to listen on [default: 127.0.0.1:8890]; an address other than loopback needs a token",
        "监听的地址 [默认：127.0.0.1:8890]；不是本机回环地址时需要令牌",
    ),
    ("The configuration file [default: helve.toml, if it exists]", "配置文件 [默认：helve.toml（如果存在）]"),
    ("The data directory [default: ~/.local/share/helve]", "数据目录 [默认：~/.local/share/helve]"),
    (
        "Read model output from standard input and print the tool calls in it",
        "从标准输入读取模型的输出，打印其中的工具调用",
    ),
    (
        "Read only this dialect; `list` prints the known ones [default: detected from the text]",
        "只按这种方言读取；`list` 列出所有方言 [默认：从文本识别]",
    ),
    (
        "A JSON file with the declared tools, as OpenAI function declarations",
        "声明工具的 JSON 文件，格式为 OpenAI 的函数声明",
    ),
    (
        "Read one JSON object per line: {\"id\", \"text\", \"tools\"?, \"dialect\"?, \"reasoning_open\"?}; print one result line each, in order",
        "每行读一个 JSON 对象：{\"id\", \"text\", \"tools\"?, \"dialect\"?, \"reasoning_open\"?}；按顺序每行输出一个结果",
    ),
    (
        "The text begins inside the reasoning, because the prompt has opened it. With --jsonl each line may say so itself",
        "文本从思考内容开始，因为提示词已经打开了它。用 --jsonl 时每行也可以自己说明",
    ),
    (
        "Feed the text N characters at a time, which must not change the result",
        "每次送入 N 个字符；结果不应因此改变",
    ),
    (
        "Without --jsonl the whole input is one text. A result is one line:\n  {\"content\": …, \"reasoning\": …, \"calls\": [{\"name\": …, \"arguments\": {…}}], \"dialect\": …, \"complete\": true}\n`complete` is false where a call was cut off or is broken; such a call is not among the calls.\nWith --jsonl a result has the `id` of its line, blank lines have none, and a line that cannot be read gives\n{\"id\": …, \"error\": …} and makes the command fail at the end.\n\n  echo '<tool_call>{\"name\": \"time\", \"arguments\": {}}</tool_call>' | helve parse",
        "不用 --jsonl 时，整个输入是一段文本。每个结果是一行：\n  {\"content\": …, \"reasoning\": …, \"calls\": [{\"name\": …, \"arguments\": {…}}], \"dialect\": …, \"complete\": true}\n如果有调用被截断或已损坏，`complete` 为 false；这样的调用不在 calls 里。\n用 --jsonl 时，结果带有该行的 `id`，空行没有结果；读不懂的行得到\n{\"id\": …, \"error\": …}，命令最后以失败结束。\n\n  echo '<tool_call>{\"name\": \"time\", \"arguments\": {}}</tool_call>' | helve parse",
    ),
    (
        "List models with their state, price and variants; probe what a model can do",
        "查看模型的状态、价格和变体；探测模型的能力",
    ),
    (
        "List the models with their state, how they call tools, and their price per million tokens",
        "列出模型：状态、调用工具的方式、每百万词元的价格",
    ),
    ("Print JSON, as `GET /api/models` returns it", "输出 JSON，与 `GET /api/models` 相同"),
    ("Show everything that is known about one model", "显示一个模型的全部信息"),
    ("Print JSON", "输出 JSON"),
    (
        "Ask a model a few cheap questions and store what they show: whether it calls tools natively, in parallel and when it is required to, and which prompt works best if it does not",
        "问模型几个便宜的问题并保存结论：是否原生支持工具调用、并行调用和强制调用；如果不支持，用哪种提示词最好",
    ),
    (
        "Chat with a model in the terminal, and answer its approval requests",
        "在终端里与模型对话，并处理它的审批请求",
    ),
    ("The agent to talk to", "要对话的智能体"),
    ("The model that answers, or `name:variant`", "回答的模型，或者 `name:variant`（名称:变体）"),
    ("Continue this conversation", "继续这个对话"),
    (
        "Without a terminal: exit with code 3 as soon as a call needs approval, even while standard input is open",
        "没有终端时：某个调用需要审批就立即以代码 3 退出，即使标准输入还没有结束",
    ),
    ("Ask questions on standard input even if it is not a terminal", "即使标准输入不是终端也从它读取回答"),
    ("List, show, follow, cancel and resume runs", "列出、查看、跟踪、取消和恢复运行"),
    ("List runs, latest first", "列出运行，最新的在前"),
    (
        "Only runs in this state: running, waiting_approval, waiting_client, waiting_subagent, needs_attention, completed, failed or cancelled",
        "只列出这种状态的运行：running、waiting_approval、waiting_client、waiting_subagent、needs_attention、completed、failed 或 cancelled",
    ),
    ("Only those of this user; needs the right `admin`", "只列出这个用户的；需要 `admin` 权限"),
    ("The maximum number of runs, up to 200", "最多列出多少个，上限 200"),
    (
        "Show a run: its messages, calls with their outcomes, open approvals, tokens and cost",
        "查看一次运行：消息、每个调用及其结果、待审批的请求、词元和费用",
    ),
    ("Its id, or the first or last characters of it", "它的 id，或者 id 开头或末尾的几个字符"),
    (
        "Print the events of its log instead, one JSON object per line",
        "改为输出它的事件日志，每行一个 JSON 对象",
    ),
    ("Show a run as it happens, until it ends", "实时显示一次运行，直到结束"),
    ("Cancel a run; what has already happened is not undone", "取消一次运行；已经发生的事不会撤销"),
    (
        "Resume a run that needs attention or that no server is working on",
        "恢复一次需要处理的、或没有服务器在执行的运行",
    ),
    ("List approval requests and answer them", "列出审批请求并作出回答"),
    ("List the open approval requests", "列出待处理的审批请求"),
    ("Include those that are already answered", "也列出已经回答的"),
    (
        "Show an approval request in full: exactly what would be sent, and why approval is needed",
        "完整显示一个审批请求：会发送什么内容、为什么需要审批",
    ),
    ("Answer an approval request; the first answer counts", "回答一个审批请求；以第一个回答为准"),
    ("Approve: the call runs, or the run may spend more", "同意：执行该调用，或允许这次运行继续花费"),
    (
        "Replace the arguments: a JSON object, or `@` and the name of a file with it",
        "替换参数：一个 JSON 对象，或者 `@` 加上存放它的文件名",
    ),
    (
        "Do not ask about this tool again in this run, in this conversation, or for this agent",
        "在这次运行、这个对话或这个智能体中不再询问这个工具",
    ),
    ("Reject: the call does not run", "拒绝：不执行该调用"),
    ("The reason that is given to the model", "告诉模型的理由"),
    (
        "Answer instead of the tool: the model receives this text as the result of the call",
        "代替工具回答：模型把这段文字当作调用的结果",
    ),
    ("The call with an unknown outcome did take effect", "结果未知的调用确实生效了"),
    ("The call did not take effect", "该调用没有生效"),
    ("Run the call again, as a new call", "作为新的调用再执行一次"),
    (
        "Migrate the database, or copy it from SQLite to PostgreSQL and back",
        "更新数据库的布局，或者在 SQLite 和 PostgreSQL 之间复制数据库",
    ),
    (
        "Bring the layout of the database up to date while no server runs; `helve serve` does it at the start, too",
        "在没有服务器运行时把数据库的布局更新到最新；`helve serve` 启动时也会这样做",
    ),
    (
        "Change nothing: exit with code 0 if the layout is the newest, with 3 if it is not, and with 1 if this version cannot use the database",
        "不做任何改动：布局是最新的则退出码为 0，不是最新的则为 3，这个版本无法使用该数据库则为 1",
    ),
    (
        "Print JSON: `{\"database\", \"layout\", \"newest\", \"pending\", \"applied\"}`",
        "输出 JSON：`{\"database\", \"layout\", \"newest\", \"pending\", \"applied\"}`",
    ),
    (
        "Copy all data from SQLite to PostgreSQL, or back, while no server runs",
        "在没有服务器运行时，把全部数据从 SQLite 复制到 PostgreSQL，或者反过来",
    ),
    (
        "Copy all data from SQLite to PostgreSQL, or back, while no server runs\n\nThe target must be empty. Everything is copied in one transaction; before it is committed both sides are read again and every column of every row is compared.",
        "在没有服务器运行时，把全部数据从 SQLite 复制到 PostgreSQL，或者反过来\n\n目标必须是空的。所有内容在一个事务里复制；提交之前会重新读取两边，逐行逐列比较。",
    ),
    (
        "Where the data is: a data directory, or `postgres://USER:PASSWORD@HOST:PORT/NAME` [default: the configured database]",
        "数据在哪里：数据目录，或者 `postgres://USER:PASSWORD@HOST:PORT/NAME` [默认：配置中的数据库]",
    ),
    (
        "Where it goes: a data directory or an address, as for `--from` [default: the configured database]",
        "复制到哪里：数据目录或地址，写法与 `--from` 相同 [默认：配置中的数据库]",
    ),
    (
        "Print JSON: `{\"from\", \"to\", \"rows\", \"tables\": [{\"table\", \"rows\"}], \"replaced\"}`",
        "输出 JSON：`{\"from\", \"to\", \"rows\", \"tables\": [{\"table\", \"rows\"}], \"replaced\"}`",
    ),
    ("Create, list and revoke access tokens", "创建、列出和吊销访问令牌"),
    (
        "Create a token and print it once; from then on the server requires a token",
        "创建令牌并只显示这一次；此后访问服务器需要令牌",
    ),
    ("The user it belongs to", "它属于哪个用户"),
    (
        "Grant the right `admin`: everything, including the data of other users",
        "授予 `admin` 权限：可以做任何事，包括其他用户的数据",
    ),
    (
        "Users it may act for, named in requests: `*`, or names separated by commas",
        "它可以代表哪些用户（在请求里指明）：`*`，或者用逗号分隔的名字",
    ),
    ("A note on what it is for", "用途说明"),
    ("List the tokens, without their secrets", "列出令牌，不显示密钥"),
    ("Revoke a token; open streams end within half a minute", "吊销令牌；已打开的流会在半分钟内结束"),
    (
        "Check the configuration, keys, model servers and database, and say how to fix each problem",
        "检查配置、密钥、模型服务器和数据库，并说明怎样解决每个问题",
    ),
    ("List, show, add, enable, disable and call tools", "列出、查看、添加、启用、停用和调用工具"),
    ("List the tools", "列出工具"),
    ("Print JSON with the complete definitions", "输出 JSON，包括完整的定义"),
    (
        "Show a tool: its description for models, or its definition if you added it",
        "查看一个工具：给模型的说明，或者（你添加的工具）它的定义",
    ),
    (
        "Add the tools defined in a file; a running server has them within a second",
        "添加文件里定义的工具；正在运行的服务器一秒内就能使用",
    ),
    (
        "JSON or TOML: one definition, or a list of them under `tools`; `-` is standard input",
        "JSON 或 TOML：一个定义，或者 `tools` 下的定义列表；`-` 表示标准输入",
    ),
    ("Replace tools that already exist", "替换已经存在的工具"),
    ("Only report problems and warnings", "只报告问题和警告"),
    ("Enable a tool for all users", "为所有用户启用一个工具"),
    (
        "Disable a tool for all users, including runs in progress",
        "为所有用户停用一个工具，包括正在进行的运行",
    ),
    (
        "Delete a tool that was added; runs that use it keep it until they end",
        "删除添加的工具；正在使用它的运行可以用到结束",
    ),
    (
        "Accept the changed definition of a quarantined tool; `show` displays the change",
        "接受被隔离工具的新定义；用 `show` 查看变化",
    ),
    ("Only if the offered definition has this hash", "仅当新定义的哈希值与此相同时"),
    (
        "Reject the changed definition of a quarantined tool, and use the old one",
        "拒绝被隔离工具的新定义，继续使用原来的",
    ),
    ("List all versions of a tool", "列出一个工具的所有版本"),
    ("Print the enabled tools in the request format of a vendor", "按某个厂商的请求格式输出已启用的工具"),
    ("openai, anthropic, gemini or ollama", "openai、anthropic、gemini 或 ollama 之一"),
    (
        "Call a tool with all its checks and limits; the call is recorded like any other",
        "调用一个工具，经过全部检查和限制；和其他调用一样会被记录",
    ),
    (
        "The arguments, a JSON object, or `@` and the name of a file with it",
        "参数：一个 JSON 对象，或者 `@` 加上存放它的文件名",
    ),
    ("Print the JSON value instead of the text", "输出 JSON 值而不是文本"),
    (
        "The user who makes the call [default: the owner of the token, or local]",
        "以哪个用户的身份调用 [默认：令牌的主人，或者 local]",
    ),
    (
        "Make a tool of each operation in an OpenAPI document, or show what would be made (`--dry-run`)",
        "把 OpenAPI 文档里的每个操作变成一个工具，或者只显示会生成什么（`--dry-run`）",
    ),
    (
        "An OpenAPI 3.0 or 3.1 document, JSON or YAML; `-` reads standard input",
        "OpenAPI 3.0 或 3.1 文档，JSON 或 YAML；`-` 表示标准输入",
    ),
    (
        "Accept the changes to tools of an earlier import; without this, changed tools are quarantined",
        "接受对以前导入的工具的修改；否则有变化的工具会被隔离",
    ),
    (
        "Delete tools of an earlier import that the document no longer contains",
        "删除以前导入、但文档里已经没有的工具",
    ),
    (
        "Make nothing unless the document has this hash, as shown by `--dry-run`",
        "如果文档的哈希值与 `--dry-run` 显示的不同，就什么也不生成",
    ),
    ("Make the tools even if there are more than 200", "即使超过 200 个也生成"),
    ("Exclude the operation with this `operationId`", "排除这个 `operationId` 的操作"),
    ("Exclude operations on matching paths", "排除路径匹配的操作"),
    ("Exclude operations with this tag", "排除带有这个标签的操作"),
    ("Only operations of this method", "只导入这种方法的操作"),
    ("Only operations on matching paths, such as `/repos/**`", "只导入路径匹配的操作，例如 `/repos/**`"),
    ("Only operations with this tag", "只导入带有这个标签的操作"),
    ("Only show what would be made", "只显示会生成什么"),
    ("Only the operation with this `operationId`", "只导入这个 `operationId` 的操作"),
    ("Print the report as JSON, with the complete definitions", "以 JSON 输出报告，包括完整的定义"),
    ("The user name for basic authentication", "基本认证的用户名"),
    ("The prefix of the tools' names", "工具名称的前缀"),
    ("The base URL, instead of the one in the document", "操作的基础 URL，代替文档里的地址"),
    (
        "The server to use [default: HELVE_SERVER, or the one that runs on this machine, or none]",
        "要使用的服务器 [默认：HELVE_SERVER，或本机正在运行的服务器；没有则不用]",
    ),
    (
        "Resume a run that needs attention or that no server is working on\n\nWithout a running server, this command executes the run until it ends or waits.",
        "恢复一次需要处理的、或没有服务器在执行的运行\n\n如果没有正在运行的服务器，就由这个命令执行，直到它结束或等待。",
    ),
    (
        "Answer an approval request; the first answer counts\n\nWithout a running server, this command executes the run until it ends or waits again.",
        "回答一个审批请求；以第一个回答为准\n\n如果没有正在运行的服务器，就由这个命令继续执行，直到运行结束或再次等待。",
    ),
    (
        "Call a tool with all its checks and limits; the call is recorded like any other\n\nThe operator's permissions hold: what a rule denies is refused. Where a rule would ask, the call runs, since you have typed it yourself.",
        "调用一个工具，经过全部检查和限制；和其他调用一样会被记录\n\n权限规则仍然有效：规则禁止的调用会被拒绝。规则要求询问的调用会直接执行，因为是你自己输入的。",
    ),
    (
        "Make a tool of each operation in an OpenAPI document, or show what would be made (`--dry-run`)\n\nImporting a document again updates the tools it made before, once the changes are accepted (`--agree`, or `helve tools agree`). What you added to them stays.",
        "把 OpenAPI 文档里的每个操作变成一个工具，或者只显示会生成什么（`--dry-run`）\n\n再次导入时，在接受变化后（`--agree` 或 `helve tools agree`）更新以前生成的工具。你自己添加的内容会保留。",
    ),
    (
        "The server to use [default: HELVE_SERVER, or the one that runs on this machine, or none]\n\nWithout the option and the environment variable HELVE_SERVER, Helve looks for the server that uses the data directory, then for one that you started with another directory, then for one at the default address; otherwise it uses the data directory itself. The token, if the server needs one, is read from HELVE_TOKEN or the configuration.",
        "要使用的服务器 [默认：HELVE_SERVER，或本机正在运行的服务器；没有则不用]\n\n没有这个选项，也没有环境变量 HELVE_SERVER 时，依次查找：使用该数据目录的服务器、你用其他目录启动的服务器、默认地址上的服务器；都没有就直接使用数据目录。如果服务器需要令牌，从 HELVE_TOKEN 或配置中读取。",
    ),
    (
        "Confirm the environment variable that a tool may send to its host",
        "确认一个工具可以把哪个环境变量发送给它的主机",
    ),
    (
        "Confirm the environment variable that a tool may send to its host\n\nThe server reads the variable when it starts. The value is sent by this tool alone, and to this host alone.",
        "确认一个工具可以把哪个环境变量发送给它的主机\n\n服务器启动时读取这个变量。只有这个工具会发送它的值，而且只发送给这个主机。",
    ),
    (
        "Confirms the host without being asked, as `api.example.com:443`",
        "不经询问直接确认主机，例如 `api.example.com:443`",
    ),
    (
        "Import rows, also those of the tool system that Helve replaces, and say what was mapped to what",
        "导入工具定义，包括 Helve 所替代的工具系统的定义，并说明各字段对应到哪里",
    ),
    (
        "Import rows, also those of the tool system that Helve replaces, and say what was mapped to what\n\nEach row is kept by itself: a wrong one is told with its number and does not lose the others, and the command fails at the end.",
        "导入工具定义，包括 Helve 所替代的工具系统的定义，并说明各字段对应到哪里\n\n每个定义单独保存：有错的会连同编号一起报告，不影响其他的，命令最后以失败结束。",
    ),
    (
        "JSON: one row, a list, `{\"tools\": [...]}`, or one row on each line; `-` is standard input",
        "JSON：一个定义、一个列表、`{\"tools\": [...]}`，或者每行一个定义；`-` 表示标准输入",
    ),
    (
        "Let the tools reach this machine where their addresses say so, without being asked",
        "如果工具的地址在本机，不经询问就允许访问",
    ),
    (
        "List what the operator allowed single tools: hosts on this machine, and variables",
        "列出允许各个工具访问的本机主机和可以发送的变量",
    ),
    ("Only say what would be made of the rows", "只显示会生成什么工具"),
    (
        "Take back what a tool was allowed, all of it or what is about one host",
        "撤销对一个工具的许可：全部，或者只针对一个主机",
    ),
    (
        "The variable, if it is not the one that the definition proposes",
        "要发送的变量，如果与定义里建议的不同",
    ),
    (
        "Print JSON: `{\"ok\", \"server\"?, \"asked\", \"findings\": [{\"level\", \"text\", \"run\"?}]}`",
        "输出 JSON：`{\"ok\", \"server\"?, \"asked\", \"findings\": [{\"level\", \"text\", \"run\"?}]}`",
    ),
    (
        "List, show, add, change and publish agents, and give them tools",
        "列出、查看、添加、修改和发布智能体，并给它们配工具",
    ),
    ("List, show and add skills, and agree to changed ones", "列出、查看和添加技能，确认有变动的技能"),
    ("List the skills", "列出技能"),
    ("Show what a model reads of a skill", "查看模型读到的技能内容"),
    (
        "A file of the skill [default: the instructions, and the list of files]",
        "技能里的一个文件 [默认：说明和文件列表]",
    ),
    (
        "Add a skill, a folder or an archive (zip, tar.gz) with SKILL.md; one that has changed waits until you agree",
        "添加技能：含有 SKILL.md 的文件夹或压缩包（zip、tar.gz）；有变动的技能会等你确认",
    ),
    ("The folder or the archive", "文件夹或压缩包"),
    (
        "Agree to the text at once: it is trusted, and a changed skill does not wait",
        "立即确认内容：视为可信，有变动时也不再等待",
    ),
    ("List all versions of a skill", "列出技能的所有版本"),
    (
        "Show what is different between two versions of a skill, or what is offered in its place",
        "比较技能的两个版本，或者与待确认的版本比较",
    ),
    (
        "The number of a version, or `offer` [default: the offer, or else the current version]",
        "版本号或 `offer` [默认：待确认的版本，没有则为当前版本]",
    ),
    (
        "Agree to a changed skill, or to the text of one that was added",
        "确认有变动的技能，或确认已添加技能的内容",
    ),
    (
        "The hash of what you looked at; another one is not agreed to",
        "你查看过的内容的哈希值；内容不同则不确认",
    ),
    ("Reject the change of a skill", "拒绝技能的变动"),
    ("Enable a skill for new runs", "启用技能（对新的运行）"),
    ("Disable a skill for new runs", "停用技能（对新的运行）"),
    ("Write a skill to a zip archive", "把技能写成 zip 压缩包"),
    ("The archive [default: NAME.zip]", "压缩包 [默认：NAME.zip]"),
    ("The number of a version [default: the current one]", "版本号 [默认：当前版本]"),
    ("Remove a skill; runs that have it keep it", "删除技能；正在使用它的运行不受影响"),
    ("List the agents", "列出智能体"),
    ("Show the definition of an agent, as JSON", "查看一个智能体的定义（JSON）"),
    ("The draft of the agent", "查看它的草稿"),
    (
        "Add the agents defined in a file, all of them or none; a running server has them within a second",
        "添加文件中定义的智能体，要么全部添加，要么一个也不添加；正在运行的服务器一秒内可用",
    ),
    (
        "JSON or TOML: one definition, or a list of them under `agents`; `-` is standard input",
        "JSON 或 TOML：一个定义，或者 `agents` 下的多个定义；`-` 表示标准输入",
    ),
    ("Change agents that already exist", "修改已有的智能体"),
    ("Only say what would be made", "只说明会得到什么"),
    (
        "Change some fields of an agent; runs in progress keep the version they were started with",
        "修改智能体的一些字段；正在进行的运行仍用开始时的版本",
    ),
    (
        "The fields with their new values, a JSON object, or `@` and the name of a file with it; null takes a field back to its default",
        "字段和新的值，一个 JSON 对象，或者“@”加上存有它的文件名；null 使字段恢复默认值",
    ),
    (
        "Change the draft of the agent instead; begins one if there is none",
        "改为修改它的草稿；没有草稿时新建一份",
    ),
    ("Give an agent a tool, or change what holds for one", "给智能体配一个工具，或修改已配工具的设置"),
    (
        "Permission, fixed arguments and guards of the tool for this agent, a JSON object, or `@` and the name of a file with it",
        "这个工具对该智能体的权限、固定参数和保护设置，一个 JSON 对象，或者“@”加上存有它的文件名",
    ),
    ("Leave the tool switched off for the agent", "对该智能体停用这个工具"),
    ("Take a tool from an agent", "从智能体移除一个工具"),
    ("Enable an agent for new runs", "启用智能体（用于新的运行）"),
    ("Disable an agent for new runs", "停用智能体（不再用于新的运行）"),
    ("List all versions of an agent", "列出智能体的所有版本"),
    (
        "Show what is different between two versions of an agent, or between the agent and its draft",
        "显示智能体两个版本之间，或智能体与草稿之间的差异",
    ),
    ("The number of a version [default: the one before]", "版本号 [默认：前一个版本]"),
    (
        "The number of a version, or `draft` [default: the draft, or else the current version]",
        "版本号，或者 `draft` [默认：草稿；没有草稿时为当前版本]",
    ),
    ("Make an agent what its draft says", "发布草稿，使智能体成为草稿的内容"),
    ("Discard the draft of an agent", "丢弃智能体的草稿"),
    ("Make an agent again what it was at an earlier version", "使智能体恢复到较早的版本"),
    (
        "Print the definitions of the agents that are not of the configuration, as one file for `add`",
        "输出配置文件以外的智能体的定义，一个文件，可用于 `add`",
    ),
    ("Delete an agent; its runs go on", "删除智能体；它的运行会继续"),
];
