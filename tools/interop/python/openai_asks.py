"""Asks the gateway with the package openai: chats, streams, functions, schemas, completions, responses."""

import json

import openai
from answering import answer


def function(name, properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


def respond(request):
    client = openai.OpenAI(base_url=request["url"], api_key="none:python", max_retries=0)
    messages = [{"role": "user", "content": "go to desk 1"}]
    plain = client.chat.completions.create(model="m", messages=messages, max_tokens=8, seed=1, logprobs=True)
    pieces = client.chat.completions.create(
        model="m", messages=messages, max_tokens=8, seed=1, stream=True, stream_options={"include_usage": True}
    )
    streamed, usage = "", None
    for piece in pieces:
        usage = piece.usage or usage
        if piece.choices:
            streamed += piece.choices[0].delta.content or ""

    tools = [function("paint", {"color": {"enum": ["red", "blue"]}})]
    called = client.chat.completions.create(
        model="m", messages=messages, tools=tools, tool_choice="required", max_tokens=200
    )
    call = called.choices[0].message.tool_calls[0]
    messages.append(called.choices[0].message)
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "painted"})
    after = client.chat.completions.create(model="m", messages=messages, tools=tools, max_tokens=4)

    chosen = ""
    for event in client.chat.completions.create(
        model="m", messages=messages[:1], tools=tools, tool_choice="required", max_tokens=200, stream=True
    ):
        for delta in event.choices[0].delta.tool_calls or [] if event.choices else []:
            chosen += delta.function.arguments or ""

    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    formed = client.chat.completions.create(
        model="m",
        messages=messages[:1],
        max_tokens=100,
        response_format={"type": "json_schema", "json_schema": {"name": "ok", "schema": schema}},
    )
    completed = client.completions.create(
        model="m", prompt=request["prompt"], max_tokens=6, seed=2, extra_body={"return_token_ids": True}
    )
    response = client.responses.create(model="m", input="go", max_output_tokens=6)
    try:
        client.chat.completions.create(model="m", messages=[])
        refused = None
    except openai.BadRequestError as error:
        refused = error.status_code
    return {
        "plain": plain.choices[0].message.content,
        "logprobs": len(plain.choices[0].logprobs.content),
        "tokens": plain.usage.completion_tokens,
        "streamed": streamed,
        "streamedTokens": usage.completion_tokens,
        "call": json.loads(call.function.arguments)["color"],
        "finish": called.choices[0].finish_reason,
        "after": after.choices[0].message.content is not None,
        "streamedCall": json.loads(chosen)["color"],
        "formed": json.loads(formed.choices[0].message.content)["ok"] in (True, False),
        "ids": completed.choices[0].token_ids,
        "response": response.output_text is not None,
        "refused": refused,
        "models": [model.id for model in client.models.list()],
        "version": openai.__version__,
    }


answer(respond)
