/**
 * @file The chat template of models that start here: ChatML, the form that Qwen uses.
 */

export const END_OF_TEXT = "<|endoftext|>";
export const TURN_START = "<|im_start|>";
export const TURN_END = "<|im_end|>";

/** In this order they get the ids after the learned tokens. */
export const SPECIAL_TOKENS: readonly string[] = [END_OF_TEXT, TURN_START, TURN_END];

/** Every message is a turn of its own, and no message's form depends on the others. */
export const CHAT_TEMPLATE = `{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- 'Tools, one per line. To call one, write <tool_call>{"name": ..., "arguments": {...}}</tool_call>.' }}
    {%- for tool in tools %}
        {{- '\\n' }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if not (tools and loop.first and message.role == 'system') %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content }}
        {%- for tool_call in message.tool_calls or [] %}
            {%- set call = tool_call.function or tool_call %}
            {{- '<tool_call>' }}
            {{- {'name': call.name, 'arguments': call.arguments} | tojson }}
            {{- '</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
`;
