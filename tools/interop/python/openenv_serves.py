"""Serves two tiny environments with the package openenv-core: one that counts, and one with a tool of MCP."""

import socket
import sys
from typing import Optional

import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import Action, Observation, State


class Guess(Action):
    message: str


class Seen(Observation):
    text: str = ""
    legal_actions: list[str] = []


class Counting(Environment):
    """The seed is to be said."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state = State()
        self._wanted = 0

    def reset(self, seed: Optional[int] = None, episode_id: Optional[str] = None, **_) -> Seen:
        self._wanted = seed or 0
        self._state = State(episode_id=episode_id, step_count=0)
        return Seen(text=f"Say {self._wanted}.", legal_actions=["0", "1", "2"])

    def step(self, action: Guess, timeout_s: Optional[float] = None, **_) -> Seen:
        self._state.step_count += 1
        right = action.message == str(self._wanted)
        return Seen(text="right" if right else "wrong", done=right, reward=1.0 if right else 0.0)

    @property
    def state(self) -> State:
        return self._state


class Calling(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        tools = FastMCP("calling")

        @tools.tool
        def double(number: int) -> int:
            """Twice the number."""
            return 2 * number

        super().__init__(tools)
        self._state = State()

    def reset(self, seed=None, episode_id=None, **_):
        return Seen(text="Call double.")

    def _step_impl(self, action, timeout_s=None, **_):
        raise ValueError("only tools")

    @property
    def state(self) -> State:
        return self._state


worlds = {"counting": (Counting, Guess, Seen), "calling": (Calling, CallToolAction, CallToolObservation)}
app = create_fastapi_app(*worlds[sys.argv[1]], max_concurrent_envs=8)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
