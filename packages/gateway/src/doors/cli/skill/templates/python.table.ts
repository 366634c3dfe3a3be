/** What a new skill in Python has: a class for its world, as componentize-py 0.19 calls it. */

export const PYTHON = `"""Two tools that only compute, in one component: \`run\` is given the name of the tool and its input as JSON.

What a tool uses beside computing is imported from wit_world.imports; name it in src/tools.wit, too.
"""

import json
import re

import wit_world
from componentize_py_types import Err


class WitWorld(wit_world.WitWorld):
    def run(self, tool: str, input: str) -> str:
        if tool not in TOOLS:
            raise failure("no-tool", "there is no such tool")
        return json.dumps(TOOLS[tool](**json.loads(input)))


def count(text: str) -> dict:
    """{"text":"…"} → {"characters":n,"lines":n,"words":n}"""
    return {
        "characters": len(text),
        "lines": text.count("\\n") + 1 if text else 0,
        "words": len([word for word in re.split(r"[\\t-\\r ]+", text) if word]),
    }


def slug(text: str) -> dict:
    """{"text":"Hello, World!"} → {"slug":"hello-world"}"""
    parts = re.findall(r"[a-z0-9]+", text.lower())
    if not parts:
        raise failure("no-name", "expected a text with a letter or a digit of ASCII")
    return {"slug": "-".join(parts)}


def failure(code: str, message: str) -> Err:
    """What is raised like this is the failure of the tool; everything else is a mistake of its own."""
    return Err(wit_world.Failure(code, message))


TOOLS = {"count": count, "slug": slug}
`;
