"""What all scripts share: a request in one JSON file, an answer in another."""

import json
import sys


def answer(respond):
    question, place = sys.argv[1:3]
    with open(question, encoding="utf-8") as file:
        request = json.load(file)
    result = respond(request)
    with open(place, "w", encoding="utf-8") as file:
        json.dump(result, file)
