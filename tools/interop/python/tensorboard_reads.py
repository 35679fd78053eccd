"""Reads an event file with TensorBoard's own reader."""

from answering import answer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def respond(request):
    # 0: every value, not a sample of them.
    events = EventAccumulator(request["folder"], size_guidance={"tensors": 0, "scalars": 0})
    events.Reload()
    return {
        tag: [[event.step, event.value, event.wall_time] for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


answer(respond)
