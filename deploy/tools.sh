#!/bin/bash
# Installs yt-dlp, streamlink and deno from PyPI into /opt/tools: the releases of the lock
# file that it is given, whose hashes pip checks. The pip of /opt/pip, which is not part of
# the image, installs them.
#
#	tools.sh FILE
set -euo pipefail

python=/opt/tools/bin/python
# Only wheels: what builds a source distribution would be installed without a check.
/opt/pip/bin/pip --python "$python" install --quiet --no-input --no-cache-dir --no-compile \
	--disable-pip-version-check --require-hashes --only-binary :all: --requirement "$1"
echo "tools: $(grep -oE '^(yt-dlp|streamlink|deno)==[^ ]+' "$1" | tr '\n' ' ')" >&2

# Compiled files save half a second of CPU per call. They need no check against the
# sources, which do not change in an image.
"$python" -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/tools/lib
# Translated country names are not needed (22 MB).
rm -rf /opt/tools/include /opt/tools/share /opt/tools/lib/python3*/site-packages/pycountry/locales \
	/opt/tools/bin/[Aa]ctivate*
