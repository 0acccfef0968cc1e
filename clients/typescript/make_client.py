"""Make the lower part of `lsdt.ts` from the service's own tables: python clients/typescript/make_client.py.

Types come from the messages, calls from the OpenAPI description, and what may be repeated from the table of
the Python client. A test fails when the file is not what this script makes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from lsdt import errors
from lsdt.service import messages
from lsdt.service.answers import _TITLES
from lsdt.service.client import calls
from lsdt.service.openapi import description
from lsdt.service.webhooks.conditions import EVENTS

CLIENT = Path(__file__).parent / "lsdt.ts"
LINE = "// ---------------------------------------------------------------- generated"
_BESIDE = (messages.StoppingForecast,)  # what no answer holds, but a stream
_REPEATS = {(call.method, call.path): call for call in vars(calls).values() if isinstance(call, calls.Call)}
_ARM = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def made(client: str) -> str:
    """Return the client with its lower part made anew; the upper part stays."""
    upper, line, rest = client.partition(LINE)
    assert line, "the line above what is generated is missing"
    return upper + line + rest.partition("\n")[0] + "\n\n" + "\n".join([*_types(), *_errors(), *_calls()])


# -------------------------------------------------------------------- types


def _types() -> list[str]:
    schemas = dict(description()["components"]["schemas"])
    _, more = msgspec.json.schema_components(_BESIDE, ref_template="#/components/schemas/{name}")
    lines = []
    for name, schema in sorted((schemas | more).items()):
        lines += [*_comment(schema.get("description", ""), ""), f"export interface {name} {{"]
        for word, kind in schema["properties"].items():
            mark = "" if _is_there(name, word, schema) else "?"
            text = _type(kind)
            # Under exactOptionalPropertyTypes, undefined must be allowed by name.
            lines.append(f"  {word}{mark}: {text}{' | undefined' if mark else ''};")
        lines += ["}", ""]
    events = " | ".join(f'"{each}"' for each in EVENTS)
    return [
        *lines,
        "/** The types of events that webhooks are told of. */",
        f"export type WebhookEvent = {events};",
        "",
    ]


def _is_there(name: str, word: str, schema: dict[str, Any]) -> bool:
    """Return whether a field is always there: in answers, also one that has a default."""
    if word in schema.get("required", ()):
        return True
    struct = getattr(messages, name)
    config = struct.__struct_config__
    is_request = config.forbid_unknown_fields and name != "Expiry"
    return not is_request and not config.omit_defaults and "default" in schema["properties"][word]


def _type(schema: dict[str, Any]) -> str:
    """Return a type of TypeScript for a schema."""
    if schema == _ARM:
        return "ArmId"
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(f'"{each}"' for each in schema["enum"])
    if "anyOf" in schema:
        parts = [each for each in schema["anyOf"] if each not in _ARM["anyOf"]]
        has_arm = all(each in schema["anyOf"] for each in _ARM["anyOf"])
        chosen = parts if has_arm else schema["anyOf"]
        names = dict.fromkeys([*(["ArmId"] if has_arm else []), *map(_type, chosen)])
        return " | ".join(sorted(names, key=lambda name: name == "null"))  # msgspec's order varies by version
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(dict.fromkeys(_PLAIN[each] for each in kind))
    if kind == "array":
        return _array(schema)
    if kind == "object":
        more = schema.get("additionalProperties")
        return f"Record<string, {_type(more) if isinstance(more, dict) else 'unknown'}>"
    return _PLAIN[kind] if kind else "unknown"


def _array(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(map(_type, schema['prefixItems']))}]"
    item = _type(schema.get("items", {}))
    if schema.get("minItems") is not None and schema.get("minItems") == schema.get("maxItems"):
        return f"[{', '.join([item] * schema['minItems'])}]"
    return f"({item})[]" if "|" in item else f"{item}[]"


def _comment(text: str, indent: str) -> list[str]:
    lines = [each.strip() for each in text.strip().splitlines()]
    if len(lines) <= 1:
        return [f"{indent}/** {''.join(lines)} */"]
    return [f"{indent}/**", *(f"{indent} * {each}".rstrip() for each in lines), f"{indent} */"]


# -------------------------------------------------------------------- errors


def _errors() -> list[str]:
    """Return a class for every error of Python, and for what only HTTP has."""
    lines, known = [], {"LsdtError"}
    of_python = [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.LsdtError)
    ]
    for each in of_python:
        if each is errors.LsdtError:
            continue
        base = next(kind.__name__ for kind in each.__mro__[1:] if issubclass(kind, errors.LsdtError))
        text = (each.__doc__ or "").strip().splitlines()[0]
        lines += _comment(text, "")
        if each is errors.LostDecision:
            lines += [
                f"export class {each.__name__} extends {base} {{",
                "  /** The ids that the log does not hold: drop their rewards, and send the others again. */",
                "  get decisions(): string[] {",
                "    return this.problem?.decisions ?? [];",
                "  }",
                "}",
                "",
            ]
        else:
            lines += [f"export class {each.__name__} extends {base} {{}}", ""]
        known.add(each.__name__)
    for status, title in _TITLES.items():
        if title not in known:
            lines += [
                f"/** The service answered {status}. */",
                f"export class {title} extends LsdtError {{}}",
                "",
            ]
            known.add(title)
    table = ", ".join(sorted(known - {"LsdtError"}))
    return [
        *lines,
        "const ERRORS: Record<string, typeof LsdtError | undefined> = {",
        *_wrapped(table),
        "};",
        "",
    ]


def _wrapped(words: str) -> list[str]:
    lines = [""]
    for word in words.split(", "):
        if len(lines[-1]) + len(word) > 100:
            lines.append("")
        lines[-1] += f"{word}, "
    return [f"  {each.rstrip()}" for each in lines]


# -------------------------------------------------------------------- calls


def _calls() -> list[str]:
    lines = [
        "/** The calls of the service; docs/guides/service.md and /openapi.json say more of each. */",
        "export class Lsdt extends Transport {",
    ]
    for path, methods in description()["paths"].items():
        for method, call in methods.items():
            lines += _methods(method.upper(), path, call)
    return [*lines[:-1], "}", ""]


def _methods(method: str, path: str, call: dict[str, Any]) -> list[str]:
    """Return the methods for one call: of a body or an answer that may be a file, there are two."""
    name, parameters = call["operationId"], call.get("parameters", [])
    inside = re.findall(r"{(\w+)}", path)
    arguments = [f"{word}: {'ArmId' if word == 'arm' else 'string'}" for word in inside]
    query = [each for each in parameters if each["in"] == "query"]
    row = _REPEATS.get((method, path))
    repeat = "harmless" if row is None else row.repeat
    spec = [f'method: "{method}"', f'path: "{path}"']
    if inside:
        spec.append(f"values: [{', '.join(inside)}]")
    tail = [f'repeat: "{repeat}"']
    if row is not None and row.takes_long:
        tail.append("takesLong: true")
    success = next(answer for status, answer in call["responses"].items() if status.startswith("2"))
    if "503" in call["responses"]:
        tail.append("also: 503")
    kinds = list(success["content"])
    body = call.get("requestBody", {})
    content = body.get("content", {})
    files = [each for each in content if each != "application/json"]
    lines = []
    json_arguments, json_spec = list(arguments), list(spec)
    if content:
        kind = _type(content["application/json"]["schema"])
        json_arguments.append(f"body: {kind}" if body["required"] else f"body: {kind} = {{}}")
        json_spec.append("body")
    if query and name != "createExperiment":
        query = [each for each in query if each["name"] != "format"]
        json_arguments.append(f"query: {_query(query)} = {{}}")
        json_spec.append("query")
    lines += _method(name, call["summary"], json_arguments, [*json_spec, *tail], kinds[0], success)
    if files:
        kind = " | ".join(f'"{each}"' for each in files)
        more, values = [f"file: FileBody<{kind}>"], ["file"]
        if name == "createExperiment":
            more, values = [*more, f"query: {_query(query, 'name')}"], [*values, "query"]
        text = f"{call['summary'].rstrip('.')}: from a file."
        lines += _method(f"{name}File", text, [*arguments, *more], [*spec, *values, *tail], kinds[0], success)
    if len(kinds) > 1:
        given = [json_arguments[-1]] if query and name != "createExperiment" else []
        values = ["query"] if given else []
        file = [*spec, *values, f'accept: "{kinds[1]}"', *tail]
        text = f"{call['summary'].rstrip('.')}, as a file."
        lines += _method(f"{name}File", text, [*arguments, *given], file, kinds[1], success)
    return lines


def _query(query: list[dict[str, Any]], required: str = "") -> str:
    """Return the type of a query."""
    fields = []
    for each in query:
        kind = _type(each["schema"])
        if each["name"] in ("floor", "holdout"):
            kind = "Record<string, number>"
        elif each["name"] in ("prior", "expiry", "policy", "rewards"):
            own = {
                "prior": "PriorRewards",
                "expiry": "Expiry",
                "policy": "string | PolicyChoice",
                "rewards": "string | RewardLaw",
            }
            kind = own[each["name"]]
        is_required = each["name"] == required
        fields.append(
            f"{each['name']}{'' if is_required else '?'}: {kind}{'' if is_required else ' | undefined'}"
        )
    return "{ " + "; ".join(fields) + " }"


_READS = {
    "application/x-ndjson": ("LogEvent[]", "lines<LogEvent>"),
    "text/plain": ("string", "text"),
    "application/octet-stream": ("Uint8Array<ArrayBuffer>", "bytes"),
    "application/vnd.apache.parquet": ("Uint8Array<ArrayBuffer>", "bytes"),
}


def _method(
    name: str, text: str, arguments: list[str], spec: list[str], kind: str, success: dict[str, Any]
) -> list[str]:
    given = ", ".join([*arguments, "options?: CallOptions"])
    made = f"{{ {', '.join(spec)} }}"
    if kind == "text/event-stream":
        head = f"  {name}({given}): AsyncGenerator<StreamEvent, void, undefined> {{"
        return [*_comment(text, "  "), head, f"    return this.events({made}, options);", "  }", ""]
    if kind == "application/json":
        answer = _type(success["content"][kind]["schema"])
        read = f"json<{answer}>"
    else:
        answer, read = _READS[kind]
    head = f"  {name}({given}): Promise<{answer}> {{"
    return [*_comment(text, "  "), head, f"    return this.{read}({made}, options);", "  }", ""]


if __name__ == "__main__":
    CLIENT.write_text(made(CLIENT.read_text()))
