"""The OpenAI door of llama.cpp with a small model, both from the Python registry: serve.py MODEL.gguf [PORT]."""

import signal
import sys

import xllamacpp

# The plain ChatML form, with the tools as Hermes models expect them; the file's own template adds a persona.
TEMPLATE = """
{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}

{% endif %}You can call these tools: <tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>
To call one, write <tool_call>{"name": NAME, "arguments": ARGUMENTS}</tool_call><|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for message in messages %}{% if message.role != 'system' %}<|im_start|>{{ message.role }}
{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostname = "127.0.0.1"
params.port = int(sys.argv[2]) if len(sys.argv) > 2 else 18083
params.n_ctx = 8192
params.n_parallel = 1
params.use_jinja = True
params.chat_template = TEMPLATE
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
signal.pause()
