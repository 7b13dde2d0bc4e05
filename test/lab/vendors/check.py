#!/usr/bin/env python3
"""Compare recorded exchanges with what the client libraries of NetApp and Pure Storage know.

usage: PYTHONPATH=FOLDER python3 check.py RECORDED

FOLDER has netapp-ontap and py-pure-client. Each line of RECORDED is the JSON of one exchange: method, url,
sent, status, answer. Each path, query parameter, name of a field, body and value must be one of the library.
Prints a line for each that is not, and one with the counts, and fails where there is one.
"""
import collections
import importlib
import inspect
import json
import pkgutil
import re
import sys
from urllib.parse import parse_qsl, urlsplit


class ONTAP:
    """netapp-ontap describes each resource with a schema of marshmallow."""

    any_collection = re.compile(r"fields|max_records|return_records|return_timeout|order_by|start\..*")
    # The volume of ONTAP 9.11 and later has the limits of its own policy, and the library has its name only.
    types = {"Integer": int, "Size": int, "Boolean": bool, "Str": str, "String": str}  # marshmallow takes "1" for 1
    also = {"qos.policy.max_throughput_iops", "qos.policy.max_throughput_mbps"}

    def __init__(self):
        from netapp_ontap import resource, resources
        self.schemas = {}
        for m in pkgutil.iter_modules(resources.__path__):
            for c in vars(importlib.import_module("netapp_ontap.resources." + m.name)).values():
                if inspect.isclass(c) and issubclass(c, resource.Resource) and getattr(c, "_path", None):
                    path = re.sub(r"\\\{.*?\\\}", "[^/]+", re.escape(c._path))
                    self.schemas[re.compile(path + "(/[^/]+)?")] = c

    def schema(self, path):
        """Of a collection or of one record: the longest path decides."""
        found = [(p.pattern, c) for p, c in self.schemas.items() if p.fullmatch(path)]
        return max(found, key=lambda f: len(f[0]))[1]._schema if found else None

    def below(self, schema, name):
        """The field of a dotted name; None where there is none."""
        field = None
        for part in name.split("."):
            fields = {f.data_key or n: f for n, f in schema.fields.items()} if schema else {}
            field = fields.get(part)
            field = getattr(field, "inner", field)
            schema = getattr(field, "schema", None)
        return field

    def look(self, e, url):
        schema = self.schema(url.path)
        yield "path", url.path, schema is not None
        if schema is None:
            return
        schema = schema() if inspect.isclass(schema) else schema
        for key, value in parse_qsl(url.query):
            if key == "fields":
                for name in value.split(","):
                    yield "field asked for", name, self.below(schema, name) is not None
            elif not self.any_collection.fullmatch(key):
                yield "query", key, self.below(schema, key) is not None
        if e["sent"]:
            for name, _ in leaves(json.loads(e["sent"])):
                yield "sent", name, self.below(schema, name) is not None
        if e["status"] == 200:
            answer = json.loads(e["answer"])
            for record in answer.get("records", [answer]):
                for name, value in leaves(record):
                    field = self.below(schema, name)
                    yield "answered", name, name in self.also or field is not None
                    wanted = self.types.get(type(field).__name__, type(value))
                    yield "type", f"{name} {value}", value is None or type(value) is wanted
                wrong = schema.validate(record, partial=True)
                yield "value", json.dumps(wrong, default=str), not wrong


class FlashBlade:
    """py-pure-client describes each version of REST with classes of calls and of answers."""

    def __init__(self):
        import pypureclient.flashblade as library
        found = [m.name for m in pkgutil.iter_modules(library.__path__) if m.name.startswith("FB_")]
        self.newest = max(found, key=lambda name: int(name.split("_")[2]))
        self.calls = {}

    def call(self, version, method, path):
        """The parameters of a call and the class of its answer; None where there is no such call."""
        if version not in self.calls:
            all_ = self.calls[version] = {}
            api = importlib.import_module(f"pypureclient.flashblade.{version}.api")
            for loader in vars(api)["__class_apis_dict"].values():
                c = loader.load()
                for _, f in inspect.getmembers(getattr(c, "func", c), inspect.isfunction):
                    doc = re.match(r"(GET|POST|PATCH|PUT|DELETE) (\S+)(?s:.*):rtype: tuple\((\w+),", f.__doc__ or "")
                    if doc:
                        all_[doc[1], doc[2].strip("/")] = set(inspect.signature(f).parameters), doc[3]
        found = self.calls[version].get((method, path))
        if found is None:
            return None
        models = importlib.import_module(f"pypureclient.flashblade.{version}.models")
        return found[0], getattr(models, found[1], None)

    def unknown(self, model, value, at=""):
        """The names in an answer that its class lacks."""
        if isinstance(value, list):
            for v in value:
                yield from self.unknown(model, v, at)
        elif isinstance(value, dict):
            fields = {f.alias or n: f.type_ for n, f in getattr(model, "__fields__", {}).items()}
            for key, v in value.items():
                if key not in fields:
                    yield at + key
                else:
                    yield from self.unknown(fields[key], v, at + key + ".")

    def look(self, e, url):
        m = re.fullmatch(r"/api/2\.(\d+)/(.*)", url.path)
        if m is None:
            return  # the versions, and the login
        for version in sorted({"FB_2_" + m[1], self.newest}):
            call = self.call(version, e["method"], m[2])
            yield "path", f"{version} {url.path}", call is not None
            if call is None:
                continue
            for key, _ in parse_qsl(url.query):
                yield "query", f"{version} {m[2]} {key}", key in call[0]
            if e["status"] == 200 and e["answer"]:
                answer = json.loads(e["answer"])
                for name in self.unknown(call[1], answer):
                    yield "answered", f"{version} {m[2]} {name}", False
                try:
                    call[1].parse_obj(answer)
                    yield "value", m[2], True
                except ValueError as wrong:
                    yield "value", f"{version} {m[2]} {wrong}", False


def leaves(value, at=""):
    """The values below an object, with their dotted names."""
    if isinstance(value, dict):
        for key, v in value.items():
            if key != "_links":
                yield from leaves(v, f"{at}.{key}".strip("."))
    elif isinstance(value, list):
        for v in value:
            yield from leaves(v, at)
    else:
        yield at, value


def main(recorded):
    libraries, fits, wrong = {}, collections.Counter(), collections.Counter()
    for line in open(recorded):
        e = json.loads(line)
        library = ONTAP if e["array"] == "ontap" else FlashBlade
        if library not in libraries:
            libraries[library] = library()
        for kind, what, good in libraries[library].look(e, urlsplit(e["url"])):
            if good:
                fits[e["array"] + ": " + kind] += 1
            else:
                wrong[f"{e['array']}: {kind}: {what}"] += 1
    for what, n in wrong.items():
        print("not in the library:", what, f"({n} times)")
    print(", ".join(f"{what} {n}" for what, n in sorted(fits.items())))
    return 1 if wrong or not fits else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
