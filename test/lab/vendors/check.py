#!/usr/bin/env python3
"""Compare recorded exchanges with what the client libraries of NetApp and Pure Storage know.

usage: PYTHONPATH=FOLDER python3 check.py RECORDED

FOLDER has netapp-ontap and py-pure-client. Each line of RECORDED is the JSON of one exchange: method, url,
sent, status, answer. Each path, query parameter with its value, and each name, type and value in what is sent and
answered must be one of the library, also in the answer to a change (202) and in that of an error.
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
        from marshmallow import ValidationError
        from netapp_ontap import resource, resources
        from netapp_ontap.models.job_link import JobLinkSchema
        from netapp_ontap.models.returned_error import ReturnedErrorSchema
        self.invalid, self.job, self.error = ValidationError, JobLinkSchema(), ReturnedErrorSchema()
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
        for key, value in parse_qsl(url.query, keep_blank_values=True):
            if key == "fields":
                for name in value.split(","):
                    yield "field asked for", name, self.below(schema, name) is not None
            elif not self.any_collection.fullmatch(key):
                yield "query", f"{key} {value}", self.fits(self.below(schema, key), value)
        if e["sent"]:
            yield from self.compare("sent", schema, json.loads(e["sent"]))
        answer = json.loads(e["answer"])
        if e["status"] == 200:
            for record in answer.get("records", [answer]):
                yield from self.compare("answered", schema, record)
        elif e["status"] == 202:
            yield from self.compare("job", self.job, answer["job"])
        else:
            yield from self.compare("error", self.error, answer["error"])

    def compare(self, kind, schema, document):
        for name, value in leaves(document):
            field = self.below(schema, name)
            yield kind, name, name in self.also or field is not None
            wanted = self.types.get(type(field).__name__, type(value))
            yield kind + " type", f"{name} {value}", value is None or type(value) is wanted
        wrong = schema.validate(document, partial=True)
        yield kind + " value", json.dumps(wrong, default=str), not wrong

    def fits(self, field, text):
        """Whether a field can have the value that a query names."""
        wanted = self.types.get(type(field).__name__)
        try:
            value = json.loads(text) if wanted in (int, bool) else text
            field.deserialize(value)
        except (AttributeError, ValueError, self.invalid):  # there is no such field, or it takes no such value
            return False
        return type(value) is wanted


class FlashBlade:
    """py-pure-client describes each version of REST with classes of calls and of answers."""

    def __init__(self):
        import pypureclient.flashblade as library
        found = [m.name for m in pkgutil.iter_modules(library.__path__) if m.name.startswith("FB_")]
        self.newest = max(found, key=lambda name: int(name.split("_")[2]))
        self.calls = {}

    def call(self, version, method, path):
        """The parameters of a call, with type and text, and the class of its answer; None where there is no such call."""
        if version not in self.calls:
            all_ = self.calls[version] = {}
            api = importlib.import_module(f"pypureclient.flashblade.{version}.api")
            for loader in vars(api)["__class_apis_dict"].values():
                c = loader.load()
                for _, f in inspect.getmembers(getattr(c, "func", c), inspect.isfunction):
                    doc = re.match(r"(GET|POST|PATCH|PUT|DELETE) (\S+)(?s:.*):rtype: (?:tuple\((\w+))?", f.__doc__ or "")
                    if doc:
                        told = re.findall(r":param (\w+): ?(.*)\n\s*:type \w+: (\S+)", f.__doc__)
                        all_[doc[1], doc[2].strip("/")] = {name: (type_, text) for name, text, type_ in told}, doc[3]
        found = self.calls[version].get((method, path))
        if found is None:
            return None
        models = importlib.import_module(f"pypureclient.flashblade.{version}.models")
        body = [getattr(models, type_, None) for type_, _ in found[0].values()]
        return found[0], next((b for b in body if b), None), getattr(models, found[1] or "", None)

    def unknown(self, model, value, at=""):
        """The names in a document that its class lacks."""
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
        m = re.fullmatch(r"/api/(?:2\.(\d+)/)?(.*)", url.path)
        # The login has no version in its path, and the library does not describe it after 2.25.
        for version in sorted({"FB_2_" + m[1], self.newest} if m[1] else {"FB_2_17"}):
            call = self.call(version, e["method"], m[2])
            yield "path", f"{version} {url.path}", call is not None
            if call is None:
                continue
            for key, value in parse_qsl(url.query, keep_blank_values=True):
                yield "query", f"{version} {m[2]} {key} {value}", self.fits(value, *call[0].get(key, ("", "")))
            for kind, model, text in ("sent", call[1], e["sent"]), ("answered", call[2], e["answer"]):
                if text:
                    yield from self.compare(kind, f"{version} {m[2]}", model, json.loads(text))

    def fits(self, value, type_, text):
        """Whether a parameter can have a value: the library tells its type, and in words its values."""
        words = re.match(r".*Valid values are (.*?)\.", text)
        return {"int": value.isdecimal(), "bool": value in ("true", "false"), "": False}.get(type_, True) and (
            words is None or value in re.findall("`(.*?)`", words[1]))

    def compare(self, kind, what, model, document):
        if model is None:
            yield kind, f"{what} {document}", False
            return
        for name in self.unknown(model, document):
            yield kind, f"{what} {name}", False
        try:
            model.parse_obj(document)
            yield kind + " value", what, True
        except ValueError as wrong:
            yield kind + " value", f"{what} {wrong}", False


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
