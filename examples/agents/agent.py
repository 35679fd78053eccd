"""An agent as one would write it without a trainer: the package openai, two functions, a loop.

The model is where OPENAI_BASE_URL says, which the package reads by itself.
"""

import json
import os

from openai import OpenAI

task = json.loads(os.environ["OPENMANUS_TASK"])["data"]
client = OpenAI(max_retries=0)


def function(name, description, properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


tools = [
    function("look_up", "How old somebody is now.", {"name": {"type": "string"}}),
    function("add", "The sum of two numbers.", {"a": {"type": "number"}, "b": {"type": "number"}}),
]


def call(name, arguments):
    given = json.loads(arguments)
    if name == "look_up":
        return str(task["ages"].get(given.get("name"), "nobody"))
    if name == "add":
        return str(given.get("a", 0) + given.get("b", 0))
    return "there is no such function"


messages = [
    {"role": "system", "content": "Answer with a number."},
    {"role": "user", "content": f"How old will {task['name']} be in {task['years']} years?"},
]
answer = ""
for _ in range(6):
    reply = client.chat.completions.create(model="policy", messages=messages, tools=tools).choices[0].message
    messages.append(reply)
    if not reply.tool_calls:
        answer = reply.content or ""
        break
    for wanted in reply.tool_calls:
        result = call(wanted.function.name, wanted.function.arguments)
        messages.append({"role": "tool", "tool_call_id": wanted.id, "content": result})
print(answer)
