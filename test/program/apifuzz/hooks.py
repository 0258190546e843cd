"""Changes the generated requests so that no webhook or message leaves this machine, and so
that they follow rules that openapi.yaml states only in words."""

import datetime
import hashlib
import os
import re
import uuid

import schemathesis

# A callback URL whose form the API accepts.
VALID_CALLBACK = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+([/?][!-~]*)?", re.ASCII)

KINDS = ("webhook", "slack", "discord", "teams", "line", "telegram", "pagerduty", "ntfy", "email")

CURSOR = re.compile("[A-Za-z0-9_-]+", re.ASCII)
LABEL = re.compile(r"[a-z][a-z0-9_.-]{0,62}:\S.*", re.ASCII | re.DOTALL)
ZONE = re.compile("[A-Za-z0-9_+/-]{1,64}", re.ASCII)


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.operation.path.endswith("/evidence/{evidence_id}/{variant}") and case.method == "POST":
        fix_upload(case)
        return
    if case.operation.path == "/api/v1/feed":
        end_feed(case)
        return
    if case.operation.path.startswith("/api/v1/destinations") and isinstance(case.body, dict):
        case.body = fix_destination(case.body)
        return
    if case.operation.path.startswith(("/api/v1/routes", "/api/v1/silences")):
        if isinstance(case.body, dict) and not case.operation.path.endswith(("/order", "/explain")):
            case.body = fix_route_or_silence(case.body, case.operation.path.startswith("/api/v1/silences"))
        return
    if case.method == "GET" and isinstance(case.query, dict):
        case.query = fix_query(case.operation.path, case.query)
    if case.media_type == "text/csv" and isinstance(case.body, (str, bytes)):
        # openapi.yaml cannot state the form of a CSV file.
        case.body = f"stream_url,callback_url\nhttps://www.youtube.com/watch?v=dQw4w9WgXcQ,{os.environ['RECEIVER']}\n"
    elif isinstance(case.body, dict) and isinstance(case.body.get("monitors"), list):
        monitors = [fix_registration(m) if isinstance(m, dict) else m for m in case.body["monitors"]]
        case.body = {**case.body, "monitors": monitors}
    elif isinstance(case.body, dict):
        case.body = fix_registration(case.body)
        if case.method == "PATCH" and isinstance(case.body.get("config"), dict):
            complete_schedule(case.body["config"])


def fix_registration(registration):
    """Copies a registration, or a change of one, with a local callback and a schedule
    in the future."""
    body = dict(registration)
    replace_callback(body)
    fix_labels(body)
    if isinstance(body.get("config"), dict):
        body["config"] = dict(body["config"])
        fix_schedule(body["config"])
    return body


def fix_destination(destination):
    """Copies a destination, or a change of one, so that nothing listens where it leads to.
    A body of wrong types stays: the API must refuse it."""
    body = dict(destination)
    if body.get("kind") in KINDS:
        body["kind"] = "discord"
        body.setdefault("secrets", {})
    for field, fields in (("config", {}), ("secrets", {"webhook_url": "http://127.0.0.1:9/api/webhooks/1/x"})):
        given = body.get(field)
        if isinstance(given, dict) and all(value is None or isinstance(value, str) for value in given.values()):
            body[field] = fields
    return body


def fix_route_or_silence(given, is_silence):
    """Copies a route or a silence, or a change of one, without what openapi.yaml permits
    and the API refuses: control characters, names that are taken, destinations that do not
    exist, short repetitions, hints beside what they are refused with, and times that are over. A wrong value stays."""
    body = dict(given)
    for field, longest, text in (("name", 100, f"r-{uuid.uuid4()}"), ("owner", 100, "file"), ("by", 100, "ann"), ("comment", 500, "text")):
        value = body.get(field)
        if isinstance(value, str) and value.strip() and len(value) <= longest:
            body[field] = text
    if isinstance(body.get("repeat_sec"), int) and 0 < body["repeat_sec"] < 60:
        body["repeat_sec"] = 60
    if isinstance(body.get("destinations"), list) and all(is_uuid(d) for d in body["destinations"]):
        body["destinations"] = []
    match = body.get("match")
    if isinstance(match, dict) and isinstance(match.get("metadata"), dict) and all(isinstance(v, str) for v in match["metadata"].values()):
        body["match"] = {**match, "metadata": {"venue.city": "a"}}
    match = body.get("match")
    if isinstance(match, dict):
        body["match"] = match = dict(match)
        fix_labels(match)
    if isinstance(match, dict) and isinstance(match.get("hints"), list) and (is_silence or match.get("events") or match.get("min_severity")):
        body["match"] = {name: value for name, value in match.items() if name != "hints"}
    if is_silence:
        fix_times(body)
    return body


def fix_labels(body):
    """Replaces labels whose number and values openapi.yaml permits: it cannot state what their names are like."""
    labels = body.get("labels")
    if isinstance(labels, dict) and len(labels) <= 16 and all(value is None or isinstance(value, str) and 1 <= len(value) <= 100 for value in labels.values()):
        body["labels"] = {"team": "a"}


def fix_times(silence):
    """Gives a silence a time in which it can last."""
    for field, at in (("from", None), ("to", "2999-01-01T00:00:00Z")):
        try:
            if silence.get(field) is not None and not 2000 <= datetime.datetime.fromisoformat(silence[field]).year <= 9998:
                continue
        except (TypeError, ValueError):
            continue  # the API must refuse it
        silence[field] = at
    if silence.get("until_recovered") is True:
        silence["until_recovered"] = False
    window = silence.get("window")
    if isinstance(window, dict) and isinstance(window.get("timezone"), str):
        silence["window"] = {**window, "timezone": "Asia/Tokyo"}


def is_uuid(value):
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False


def fix_upload(case):
    """Gives an upload the digest of its body, if the given one has the form of a
    digest: openapi.yaml cannot state that they match."""
    query = dict(case.query or {})
    body = getattr(case.body, "data", case.body)  # a generated file is wrapped
    if isinstance(body, bytes) and re.fullmatch("[0-9A-Fa-f]{64}", str(query.get("sha256"))):
        query["sha256"] = hashlib.sha256(body).hexdigest()
        case.query = query


def end_feed(case):
    """Asks for the form of the feed that ends: the client reads each answer to its
    end, and one that follows the feed has none."""
    case.headers = {**(case.headers or {}), "Accept": "application/x-ndjson"}
    if (case.query or {}).get("follow") == "true":
        case.query = {**case.query, "follow": "false"}


def fix_query(path, query):
    """Copies a query without what openapi.yaml permits and the API refuses: a cursor
    of no page, an unknown time zone, and a time span of more than 366 days or that
    ends before it begins."""
    query = dict(query)
    for name in ("after", "cursor"):
        if CURSOR.fullmatch(str(query.get(name, ""))):
            del query[name]
    if ZONE.fullmatch(str(query.get("zone", ""))):
        query["zone"] = "Asia/Tokyo"
    labels = query.get("label")
    if isinstance(labels, list) and all(LABEL.fullmatch(str(label)) for label in labels):
        query["label"] = ["team:a"]
    if "monitor_id" in query and path.endswith("/statistics"):
        query.pop("label", None)
    if path.endswith(("/timeline", "/statistics", "/incidents")):
        try:
            if 2000 <= datetime.datetime.fromisoformat(query["from"]).year <= 9998:
                del query["from"]
        except (KeyError, TypeError, ValueError):
            pass  # it is absent or invalid, and the API must refuse an invalid one
    return query


def replace_callback(body):
    """Replaces a valid callback URL by that of the receiver on this machine.
    An invalid one stays: the API must refuse it."""
    url = body.get("callback_url")
    if isinstance(url, str) and len(url) <= 512 and "#" not in url and VALID_CALLBACK.fullmatch(url):
        body["callback_url"] = os.environ["RECEIVER"]


def complete_schedule(config):
    """Resets the other time of a change's schedule. The one that the monitor has may
    contradict what the change sets."""
    times = ("scheduled_start_time", "scheduled_end_time")
    if any(config.get(name) is not None for name in times):
        for name in times:
            config.setdefault(name, None)


def fix_schedule(config):
    """Removes a scheduled end that is in the past or not after the start."""
    try:
        end = datetime.datetime.fromisoformat(config["scheduled_end_time"])
        start = config.get("scheduled_start_time")
        if end <= datetime.datetime.now(datetime.UTC) or start is not None and end <= datetime.datetime.fromisoformat(start):
            del config["scheduled_end_time"]
    except (KeyError, TypeError, ValueError):
        pass  # it is absent or invalid, and the API must refuse an invalid one
