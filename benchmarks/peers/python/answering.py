"""What all yardsticks share: a request in one JSON file, an answer in another, and what the process cost."""

import json
import sys
import time


def answer(respond):
    question, place = sys.argv[1:3]
    with open(question, encoding="utf-8") as file:
        request = json.load(file)
    result = respond(request)
    with open(place, "w", encoding="utf-8") as file:
        json.dump(result, file)


def peak_bytes():
    """The most memory that this process has had."""
    with open("/proc/self/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return 0


def generation_answer(request, generate, about):
    """`generate(work, greedy)` gives the ids that were drawn, a list for each sequence."""
    greedy = generate(request["greedy"], True) if request.get("greedy") else None
    generate(request["warmUp"], False)
    seconds = {}
    for work in request["works"]:
        start = time.perf_counter()
        drawn = generate(work, False)
        seconds[work["name"]] = time.perf_counter() - start
        length = len(work["observations"][0]) * work["reply"]
        count = len(work["observations"]) * work["samples"]
        if len(drawn) != count or any(len(ids) != length for ids in drawn):
            raise RuntimeError(f"{work['name']}: expected {count} lists of {length} tokens")
    return {"seconds": seconds, "greedy": greedy, "peakBytes": peak_bytes(), "about": about}
