/**
 * @file Chat templates written in the manner of published ones: everything that those use is in one of
 * them (namespaces, loops from behind, slices, macros, tools as JSON, thoughts that are cut out).
 */

/** Tools in tags, tool answers as a user's turn; dictionaries by index. */
const CALLS_IN_TAGS = `
{%- if tools %}
  {{- '<|im_start|>system\\n' }}
  {%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] }}{%- else %}{{- 'You help.' }}{%- endif %}
  {{- "\\n\\n# Functions\\n<tools>" }}
  {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
  {{- "\\n</tools><|im_end|>\\n" }}
{%- elif messages[0]['role'] == 'system' %}
  {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
  {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
  {%- elif message.role == "assistant" %}
    {{- '<|im_start|>' + message.role }}
    {%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
    {%- for tool_call in message.tool_calls %}
      {%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}
      {{- '\\n<tool_call>\\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
      {{- tool_call.arguments | tojson }}{{- '}\\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
  {%- elif message.role == "tool" %}
    {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}{{- '<|im_start|>user' }}{%- endif %}
    {{- '\\n<tool_response>\\n' }}{{- message.content }}{{- '\\n</tool_response>' }}
    {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|im_end|>\\n' }}{%- endif %}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

/** Thoughts before the last question are cut out, with a namespace and a loop from behind. */
const WITHOUT_OLD_THOUGHTS = `
{%- set ns = namespace(searching=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
  {%- set index = (messages|length - 1) - loop.index0 %}
  {%- if ns.searching and message.role == "user" and message.content is string and not(message.content.startswith('<answer>') and message.content.endswith('</answer>')) %}
    {%- set ns.searching = false %}{%- set ns.last = index %}
  {%- endif %}
{%- endfor %}
{%- for message in messages %}
  {%- set content = message.content if message.content is string else '' %}
  {%- if message.role == "assistant" %}
    {%- set thought = '' %}
    {%- if message.reasoning_content is string %}
      {%- set thought = message.reasoning_content %}
    {%- elif '</think>' in content %}
      {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
      {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {%- if loop.index0 > ns.last and (loop.last or thought) %}
      {{- '[assistant]\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
    {%- else %}
      {{- '[assistant]\\n' + content }}
    {%- endif %}
  {%- else %}
    {{- '[' + message.role + ']\\n' + content }}
  {%- endif %}
  {{- '[end]\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '[assistant]\\n' }}
  {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}`;

/** Headers, a date, the system message taken off the list, tools as indented JSON, a macro, a filter. */
const HEADERS = `{{- bos_token }}
{%- if not date_string is defined %}{%- set date_string = "26 Jul 2024" %}{%- endif %}
{%- macro header(role) %}{{- "<|start|>" ~ role ~ "<|end|>\\n\\n" }}{%- endmacro %}
{%- if messages[0]['role'] == 'system' %}
  {%- set system_message = messages[0]['content']|trim %}{%- set messages = messages[1:] %}
{%- else %}
  {%- set system_message = "" %}
{%- endif %}
{{- header("system") }}{{- "Today: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
  {%- for t in tools %}{{- t | tojson(indent=4) }}{{- "\\n\\n" }}{%- endfor %}
  {%- set names = [] %}
  {%- for t in tools %}{%- set names = names + [t.name | default('?')] %}{%- endfor %}
  {{- tools | map(attribute='name') | join(', ') }}{{- names | join('; ') | replace('a', 'A') | indent(2, true) }}
{%- endif %}
{{- system_message }}{{- "<|turn|>" }}
{%- for message in messages %}
  {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
    {{- header(message['role']) + message['content'] | trim + '<|turn|>' }}
  {%- elif 'tool_calls' in message %}
    {{- header('assistant') }}{%- set call = message.tool_calls[0].function %}
    {{- '{"name": "' + call.name + '", "parameters": ' }}{{- call.arguments | tojson }}{{- "}<|turn|>" }}
    {%- for name, value in call.arguments | items %}{{- name ~ '=' ~ value ~ ' ' }}{%- endfor %}
  {%- else %}
    {{- header("ipython") }}{% filter upper %}{{- message.content }}{% endfilter %}{{- "<|turn|>" }}
  {%- endif %}
{%- endfor %}
{%- for i in range(0, 6, 2) if i != 2 %}{{- i }}{%- endfor %}
{%- if add_generation_prompt %}{{- header('assistant') }}{%- endif %}`;

export const PUBLISHED_MANNERS = { CALLS_IN_TAGS, WITHOUT_OLD_THOUGHTS, HEADERS } as const;
