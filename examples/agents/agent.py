"""An agent as one would write it without a trainer: the package openai, two functions, a loop.

Started for each episode, it finds its task in OPENMANUS_TASK and the model where OPENAI_BASE_URL says, which the package
reads by itself, and prints its answer. With a port it is a service that is started once, for many episodes at once:

    python agent.py 8100
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from openai import OpenAI


def function(name, description, properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


tools = [
    function("look_up", "How old somebody is now.", {"name": {"type": "string"}}),
    function("add", "The sum of two numbers.", {"a": {"type": "number"}, "b": {"type": "number"}}),
]


def call(task, name, arguments):
    try:
        given = json.loads(arguments)
        if name == "look_up":
            who = given["name"]
            return f"{who} is {task['ages'][who]}" if who in task["ages"] else "nobody"
        if name == "add":
            return str(given["a"] + given["b"])
    # A model may call with whatever it likes.
    except (ValueError, KeyError, TypeError):
        return "these are no such arguments"
    return "there is no such function"


def answer(task, client):
    messages = [
        {"role": "system", "content": "Answer with a name and a number."},
        {"role": "user", "content": f'How old will "{task["name"]}" be in {task["years"]} years?'},
    ]
    for _ in range(6):
        reply = client.chat.completions.create(model="policy", messages=messages, tools=tools).choices[0].message
        messages.append(reply)
        if not reply.tool_calls:
            return reply.content or ""
        for wanted in reply.tool_calls:
            result = call(task, wanted.function.name, wanted.function.arguments)
            messages.append({"role": "tool", "tool_call_id": wanted.id, "content": result})
    return ""


def serve(port):
    shared = OpenAI(api_key="none", max_retries=0)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            client = shared.with_options(base_url=asked["base_url"], api_key=asked["api_key"])
            try:
                said = answer(asked["task"]["data"], client)
            except Exception as problem:
                return self.send_error(500, explain=str(problem))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, *_):
            pass

    # Connections that may wait: all episodes begin at once.
    ThreadingHTTPServer.request_queue_size = 64
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if len(sys.argv) > 1:
    serve(int(sys.argv[1]))
else:
    print(answer(json.loads(os.environ["OPENMANUS_TASK"])["data"], OpenAI(max_retries=0)))
