//! What is wrong with a configuration.

use super::Texts;

pub(super) const TEXTS: Texts = &[
    ("`{hours}` must be between 1 and {hours_max}", "`{hours}` 必须在 1 到 {hours_max} 之间"),
    ("{place}: {what}", "{place}：{what}"),
    ("{file}, line {line}", "{file} 第 {line} 行"),
    ("{file}, line {line} at `{key}`", "{file} 第 {line} 行的 `{key}`"),
    ("{file} at `{key}`", "{file} 中的 `{key}`"),
    ("the configuration `{path}` cannot be read", "无法读取配置文件 `{path}`"),
    ("the environment variable {variable}", "环境变量 {variable}"),
    ("the environment variable {variable}: {error}", "环境变量 {variable}：{error}"),
    ("the environment variable {name} is not set", "没有设置环境变量 {name}"),
    (
        "the environment variable {variable} is set, but nothing in Helve is called that",
        "设置了环境变量 {variable}，但 Helve 没有这个名字的配置项",
    ),
    (
        "the environment variable {variable} is set, but this version shares nothing over Redis; unset it",
        "设置了环境变量 {variable}，但这个版本不通过 Redis 共享任何数据；请取消它",
    ),
    ("there is nothing named `{step}` in the file{hint}", "文件中没有名为 `{step}` 的项{hint}"),
    ("; a new model needs HELVE_MODELS__{step}__MODEL too", "；新增模型还要设置 HELVE_MODELS__{step}__MODEL"),
    ("`{put_at}` has no keys of its own", "`{put_at}` 下面不能再有键"),
    ("there is no model `{name}`; the models are: {known}", "没有模型 `{name}`；已有的模型：{known}"),
    ("there is no model `{model}`; the models are: {known}", "没有模型 `{model}`；已有的模型：{known}"),
    (
        "{place}: a proxy passes requests on, and all clients behind it count as one address, so ten wrong tokens of one lock all others out for a minute; set `trusted_proxies` in [server] to the proxy's address",
        "{place}：请求经代理转发，代理后面的所有客户端都算作同一个地址，其中一个输错十次令牌，其他人都会被锁定一分钟；请在 [server] 中把 `trusted_proxies` 设为代理的地址",
    ),
    (
        "{what}, and without a token everybody who does would have all rights; make a token with `helve token create --admin`, or set HELVE_TOKEN to at least {token_chars_min} characters",
        "{what}；没有令牌，任何能访问的人都拥有全部权限。请用 `helve token create --admin` 创建令牌，或者把 HELVE_TOKEN 设为至少 {token_chars_min} 个字符",
    ),
    (
        "the token has fewer than {token_chars_min} characters and could be guessed; take a longer one, such as `openssl rand -hex 16` prints",
        "令牌少于 {token_chars_min} 个字符，容易被猜中；请换一个更长的，例如 `openssl rand -hex 16` 的输出",
    ),
    (
        "`{text}` is no address to listen on; use HOST:PORT, as in {default_listen} ({error})",
        "`{text}` 不是可以监听的地址；请写成 主机:端口，例如 {default_listen}（{error}）",
    ),
    ("`{text}` names no address", "`{text}` 没有对应的地址"),
    (
        "`{filter}` is no filter for logs; use levels such as `helve=info,warn` ({error})",
        "`{filter}` 不是日志过滤规则；请写级别，例如 `helve=info,warn`（{error}）",
    ),
    (
        "there is no time zone `{zone}`; use an IANA name, as in `Asia/Shanghai`",
        "没有时区 `{zone}`；请用 IANA 名称，例如 `Asia/Shanghai`",
    ),
    ("there is no `webhook` that would get the secret", "没有设置 `webhook`，密钥无处可用"),
    (
        "`{text}` is no web address ({error}); use an address such as `https://ops.example.com/helve`",
        "`{text}` 不是网址（{error}）；请写成 `https://ops.example.com/helve` 这样的地址",
    ),
    (
        "`{text}` is no address for HTTP; use an address such as `https://ops.example.com/helve`",
        "`{text}` 不是 HTTP 地址；请写成 `https://ops.example.com/helve` 这样的地址",
    ),
    ("there is no `webhook` that would be told", "没有设置 `webhook`，通知无处可发"),
    (
        "`public_url` is missing: {listen} is no address for a link; say where people reach the server, as in `public_url = \"https://helve.example.com\"` in [server]",
        "缺少 `public_url`：{listen} 不能用作链接地址；请在 [server] 中写明用户访问服务器的地址，例如 `public_url = \"https://helve.example.com\"`",
    ),
    (
        "`{link_hours}` must be between 1 and {hours_max}: no link outlives its question",
        "`{link_hours}` 必须在 1 到 {hours_max} 之间：链接的有效期不会超过它的审批",
    ),
    (
        "`{amount}` is no limit; use a number above 0, or 0 for none",
        "`{amount}` 不是上限；请用大于 0 的数，0 表示不限",
    ),
    (
        "`{share}` is no share of a limit; use a number from 0 to below 1, as in 0.8",
        "`{share}` 不是上限的比例；请用 0 到 1 之间（不含 1）的数，例如 0.8",
    ),
    (
        "`{at}` is no share of what a model can read; use 0.1 to 1",
        "`{at}` 不是模型上下文的比例；请用 0.1 到 1",
    ),
    (
        "{place}: the environment variable {variable} is not set, so the database is left out",
        "{place}：没有设置环境变量 {variable}，所以不使用这个数据库",
    ),
    ("either `url` or `url_env` says where the database is", "用 `url` 或 `url_env` 之一写明数据库的地址"),
    (
        "this is no address of a proxy; write it as `http://proxy.example.com:3128`",
        "这不是代理的地址；请写成 `http://proxy.example.com:3128`",
    ),
    (
        "`{name}` is no name of a secret; use letters, digits, `_` and `-`",
        "`{name}` 不能用作密钥的名字；请只用字母、数字、`_` 和 `-`",
    ),
    (
        "a secret needs the hosts that may have it, as in `hosts = [\"api.example.com\"]`",
        "密钥要写明可以发给哪些主机，例如 `hosts = [\"api.example.com\"]`",
    ),
    (
        "`{text}` is a network; a secret is for hosts, each of them named",
        "`{text}` 是一个网段；密钥只能发给逐个写明的主机",
    ),
    (
        "the environment variable {variable} is not set, so the secret has no value",
        "没有设置环境变量 {variable}，所以这个密钥没有值",
    ),
    ("`{path}` cannot be read: {error}", "无法读取 `{path}`：{error}"),
    ("either `env` or `file` says where the secret is", "用 `env` 或 `file` 之一写明密钥在哪里"),
    (
        "a secret of fewer than {secret_bytes_min} characters cannot be kept out of answers",
        "密钥少于 {secret_bytes_min} 个字符，无法从输出中遮盖",
    ),
    ("there are two agents named `{name}`", "有两个智能体都叫 `{name}`"),
    ("there are two hooks named `{name}`", "有两个钩子都叫 `{name}`"),
    (
        "a hook needs a name, by which the record of a call speaks of it",
        "钩子要有名字，调用记录用它来称呼这个钩子",
    ),
    (
        "say when it is asked: before_call, after_call, system_prompt, params, before_step, after_step",
        "请写明何时调用：before_call、after_call、system_prompt、params、before_step、after_step",
    ),
    (
        "a step cannot be refused: leave this out, a failure is recorded",
        "步骤不能被拒绝：请去掉这一项，失败会记录下来",
    ),
    (
        "say what it means that the hook fails: `refuse` or `continue`",
        "请写明钩子失败时怎么办：`refuse` 或 `continue`",
    ),
    (
        "questions to a model are about no tool; leave this out or use `agents`",
        "向模型提问时还没有工具；请去掉这一项，或改用 `agents`",
    ),
    (
        "`directory` and `keep` belong to `git`, the full path of the program",
        "`directory` 和 `keep` 要与 `git`（程序的完整路径）一起使用",
    ),
    ("git takes snapshots: before_step, after_step", "git 只用来做快照：before_step、after_step"),
    ("git gets no `secret` and no variables", "git 不接受 `secret`，也不接受环境变量"),
    ("only a command gets variables", "只有命令才能得到环境变量"),
    (
        "only a `url` gets a secret; a command gets variables, with `env`",
        "只有 `url` 才能得到密钥；命令用 `env` 得到环境变量",
    ),
    (
        "say how the hook is reached: with `url`, `command` or `git`",
        "请写明怎样调用这个钩子：`url`、`command` 或 `git`",
    ),
    (
        "a hook has a `url`, a `command` or `git`, not several of them",
        "钩子只能有 `url`、`command` 和 `git` 中的一个",
    ),
    ("this is the full path of the program", "这里要写程序的完整路径"),
    (
        "say with `directory` which work tree is meant, as a full path",
        "请用 `directory` 写明工作区的完整路径",
    ),
    (
        "this is a list: the full path of a program, then its arguments; no shell reads it",
        "这里是一个列表：先写程序的完整路径，再写它的参数；不经过 shell",
    ),
    ("`base_url` and `model` are both needed to draw pictures", "要画图，`base_url` 和 `model` 都要填写"),
    (
        "this is no address; write it as `https://api.openai.com/v1`",
        "这不是地址；请写成 `https://api.openai.com/v1`",
    ),
    (
        "{place}: the environment variable {variable} is not set, so `image_gen` is left out",
        "{place}：没有设置环境变量 {variable}，所以不提供 `image_gen`",
    ),
    (
        "`{text}` would trust everybody; use a name such as `api.example.com`, or `*.example.com` for all below it",
        "`{text}` 等于信任所有人；请写 `api.example.com` 这样的名字，或用 `*.example.com` 表示它下面的全部",
    ),
    (
        "`{text}` is no host; use a name such as `api.example.com`, or `*.example.com` for all below it",
        "`{text}` 不是主机名；请写 `api.example.com` 这样的名字，或用 `*.example.com` 表示它下面的全部",
    ),
    (
        "a share of the disk means nothing here; use bytes, as in \"16 MiB\"",
        "这里不能用磁盘的百分比；请写字节数，例如 \"16 MiB\"",
    ),
    ("`{said}` is no bound; use {start} to {end}", "`{said}` 超出范围；请用 {start} 到 {end}"),
    ("`{size}` is more than this machine can count", "`{size}` 太大，这台机器无法表示"),
    (
        "`{text}` is no amount of room; use a number of bytes, \"256 MiB\", \"2 GiB\" or \"5 %\"",
        "`{text}` 不是空间大小；请写字节数、\"256 MiB\"、\"2 GiB\" 或 \"5 %\"",
    ),
    ("`demo` is the model inside the program; choose another name", "`demo` 是程序自带的模型；请换一个名字"),
    ("there are two models named `{name}`", "有两个模型都叫 `{name}`"),
    ("`{name}` cannot stand in for itself", "`{name}` 不能作自己的备用"),
    ("`{name}` is named twice", "`{name}` 写了两次"),
    ("a model needs a name, by which requests call it", "模型要有名字，请求用这个名字指定它"),
    ("say what the vendor calls the model", "请写明供应商给这个模型的名字"),
    (
        "this is the name of an environment variable, never the key itself",
        "这里写环境变量的名字，不能写密钥本身",
    ),
    (
        "`{name}` cannot name a variant; it must be a word without a colon",
        "`{name}` 不能用作变体的名字；名字不能为空，也不能含冒号",
    ),
    ("the list of prices that comes with Helve is broken", "Helve 自带的价格表已损坏"),
    (
        "`{currency}` is no currency; use three capital letters, as in USD or CNY",
        "`{currency}` 不是货币代码；请用三个大写字母，例如 USD 或 CNY",
    ),
    (
        "`{units}` is no price for a million tokens; use 0 to {max}",
        "`{units}` 不是每百万词元的价格；请用 0 到 {max}",
    ),
    (
        "`{other}` is none of: auto, native, prompt, prompt:<profile>",
        "`{other}` 无效；可用的值：auto、native、prompt、prompt:<配置名>",
    ),
    (
        "there is no prompt profile `{name}`; the profiles are: {known}",
        "没有提示词配置 `{name}`；已有的配置：{known}",
    ),
    ("the prompt profile `{path}` cannot be read", "无法读取提示词配置 `{path}`"),
    ("the prompt profile `{path}`: {error}", "提示词配置 `{path}`：{error}"),
    ("{listen} can be reached from other machines", "其他机器可以访问 {listen}"),
    (
        "the name `{name}` is not this machine's alone, so others can reach the server",
        "名字 `{name}` 不只属于这台机器，所以其他人可以访问服务器",
    ),
    (
        "people reach the server as `{host}`, so others can reach it",
        "用户通过 `{host}` 访问服务器，所以其他人也可以访问",
    ),
    ("the proxy {proxy} passes on requests of others", "代理 {proxy} 会转发其他人的请求"),
    (
        "the configuration {path} can be read by every user of this machine, and there is a secret at `{keys}`; take the rights of others away (chmod 600 {path}), or move the secret into the environment",
        "这台机器的所有用户都能读取配置文件 {path}，而 `{keys}` 中有密钥；请取消其他人的权限（chmod 600 {path}），或者把密钥移到环境变量中",
    ),
    ("the model `{name}`", "模型 `{name}`"),
];
