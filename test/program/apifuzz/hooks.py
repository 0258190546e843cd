"""What keeps the made-up client from doing harm, and from being wrong where
openapi.yaml says something in words that a schema cannot say."""

import datetime
import os
import re

import schemathesis

# A callback URL that would be accepted, as far as its form goes.
ACCEPTABLE = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+([/?][!-~]*)?", re.ASCII)


@schemathesis.hook
def before_call(context, case, kwargs):
    if not isinstance(case.body, dict):
        return
    body = dict(case.body)
    to_receiver(body)
    if isinstance(body.get("config"), dict):
        body["config"] = dict(body["config"])
        in_order(body["config"])
    case.body = body


def to_receiver(body):
    """No webhook goes into the world: a good callback URL becomes that of the
    receiver on this machine. One that is to be refused for its form stays."""
    url = body.get("callback_url")
    if isinstance(url, str) and len(url) <= 512 and "#" not in url and ACCEPTABLE.fullmatch(url):
        body["callback_url"] = os.environ["RECEIVER"]


def in_order(config):
    """A scheduled end is yet to come, and after the start."""
    try:
        end = datetime.datetime.fromisoformat(config["scheduled_end_time"])
        start = config.get("scheduled_start_time")
        if end <= datetime.datetime.now(datetime.UTC) or start is not None and end <= datetime.datetime.fromisoformat(start):
            del config["scheduled_end_time"]
    except (KeyError, TypeError, ValueError):
        pass  # it is not there, or is to be refused anyway
