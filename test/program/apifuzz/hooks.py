"""Changes the generated requests so that no webhook leaves this machine, and so
that they follow rules that openapi.yaml states only in words."""

import datetime
import os
import re

import schemathesis

# A callback URL whose form the API accepts.
VALID_CALLBACK = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+([/?][!-~]*)?", re.ASCII)


@schemathesis.hook
def before_call(context, case, kwargs):
    if not isinstance(case.body, dict):
        return
    body = dict(case.body)
    replace_callback(body)
    if isinstance(body.get("config"), dict):
        body["config"] = dict(body["config"])
        fix_schedule(body["config"])
    case.body = body


def replace_callback(body):
    """Replaces a valid callback URL by that of the receiver on this machine.
    An invalid one stays: the API must refuse it."""
    url = body.get("callback_url")
    if isinstance(url, str) and len(url) <= 512 and "#" not in url and VALID_CALLBACK.fullmatch(url):
        body["callback_url"] = os.environ["RECEIVER"]


def fix_schedule(config):
    """Removes a scheduled end that is in the past or not after the start."""
    try:
        end = datetime.datetime.fromisoformat(config["scheduled_end_time"])
        start = config.get("scheduled_start_time")
        if end <= datetime.datetime.now(datetime.UTC) or start is not None and end <= datetime.datetime.fromisoformat(start):
            del config["scheduled_end_time"]
    except (KeyError, TypeError, ValueError):
        pass  # it is absent or invalid, and the API must refuse an invalid one
