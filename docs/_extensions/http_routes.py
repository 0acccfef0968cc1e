"""The directive ``http-routes``: every call of the service and every message, from the OpenAPI schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles

from lsdt.service.openapi import description

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("http-routes", HttpRoutes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class HttpRoutes(SphinxDirective):
    """A section for each call, then one for each message."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        schema = description()
        container = nodes.section()
        container.document = self.state.document
        lines = [*_calls(schema), "", *_messages(schema)]
        nested_parse_with_titles(self.state, StringList(lines, source="openapi"), container)
        return container.children


def _calls(schema: dict[str, Any]) -> Iterator[str]:
    yield "## Calls"
    yield ""
    for path, methods in schema["paths"].items():
        for method, call in methods.items():
            yield from (f"### `{method.upper()} {path}`", "", call["summary"], "")
            yield from _parameters(call.get("parameters", []))
            for kind, content in call.get("requestBody", {}).get("content", {}).items():
                yield f"- takes `{kind}`: {_body(content)}"
            for status, answer in call["responses"].items():
                if status != "default":
                    for kind, content in answer["content"].items():
                        yield f"- gives {status}, `{kind}`: {_body(content)}"
                    for header, about in answer.get("headers", {}).items():
                        yield f"- header `{header}` of the answer: {about['description']}"
            yield ""


def _parameters(parameters: list[dict[str, Any]]) -> Iterator[str]:
    for one in parameters:
        more = f". {one['description']}" if "description" in one else ""
        yield f"- `{one['name']}` ({one['in']}): {_kind(one['schema'])}{more}"


def _messages(schema: dict[str, Any]) -> Iterator[str]:
    yield "## Messages"
    yield ""
    yield "Errors are of the kind [`ProblemDetails`](#message-problemdetails), as `application/problem+json`."
    yield ""
    for name, message in sorted(schema["components"]["schemas"].items()):
        yield from (f"(message-{name.lower()})=", f"### `{name}`", "")
        if message.get("description"):
            yield from (" ".join(message["description"].split()), "")
        if message.get("properties"):
            yield from ("| field | what | |", "|---|---|---|")
            needed = set(message.get("required", ()))
            for field, kind in message["properties"].items():
                yield f"| `{field}` | {_kind(kind)} | {_default(field, kind, needed)} |"
            yield ""
        else:
            yield from (_kind(message), "")


def _default(field: str, kind: dict[str, Any], needed: set[str]) -> str:
    if field in needed:
        return "required"
    default = kind.get("default")
    return "optional" if default in (None, []) else f"`{json.dumps(default)}` unless given"


def _body(content: dict[str, Any]) -> str:
    return _kind(content["schema"]) if "schema" in content else "bytes"


def _kind(kind: dict[str, Any]) -> str:
    """Say what a schema allows, in the words of JSON; messages are links."""
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[`{name}`](#message-{name.lower()})"
    if "anyOf" in kind:
        return " or ".join(dict.fromkeys(_kind(each) for each in kind["anyOf"]))
    if "enum" in kind:
        return " or ".join(f"`{json.dumps(value)}`" for value in kind["enum"])
    if kind.get("type") == "array":
        if "prefixItems" in kind:
            return "[" + ", ".join(_kind(each) for each in kind["prefixItems"]) + "]"
        items = _kind(kind.get("items", {}))
        if "maxItems" in kind and kind["maxItems"] == kind.get("minItems"):
            return "[" + ", ".join([items] * kind["maxItems"]) + "]"
        return f"list of ({items})" if " or " in items else f"list of {items}"
    if kind.get("type") == "object":
        values = kind.get("additionalProperties")
        return f"object of {_kind(values)}" if isinstance(values, dict) else "object"
    types = kind.get("type", [])
    said = " or ".join([types] if isinstance(types, str) else types) or "anything"
    limits = [f"{word} {kind[key]}" for key, word in _LIMITS.items() if key in kind]
    return f"{said} ({', '.join(limits)})" if limits else said


_LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "minLength": "length at least",
    "maxLength": "length at most",
    "format": "format",
}
