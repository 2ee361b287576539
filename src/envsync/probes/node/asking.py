"""Put before every probe that runs in the environment's own Python on a node.

A probe is a generator of names and questions. A question that fails is an error text, never an
exception; answers go to descriptor 3, so that what imports print disturbs nothing. Any Python
from 3.6 on must be able to read this folder, and nothing but the standard library may be needed.
"""

import json
import os


def attempt(question):
    """What the question comes to, or why it came to nothing."""
    try:
        return question()
    except BaseException as error:
        return said(error)


def said(error):
    return {"error": "%s: %s" % (type(error).__name__, error)}


def collect(questions):
    """All answers at once."""
    facts = {}
    try:
        for name, question in questions:
            facts[name] = attempt(question)
    except BaseException as error:
        facts.update(said(error))
    return facts


def answer(facts):
    """One answer for all, as the last thing that is done."""
    with os.fdopen(3, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(facts, default=str) + "\n")


def answer_each(questions):
    """A line an answer, as it comes: what hangs later takes nothing with it."""
    stream = os.fdopen(3, "w", encoding="utf-8")
    try:
        for name, question in questions:
            stream.write(json.dumps({name: attempt(question)}, default=str) + "\n")
            stream.flush()
    except BaseException as error:
        stream.write(json.dumps(said(error)) + "\n")
    stream.flush()
    os._exit(0)  # the end of an interpreter that holds CUDA can hang as well
