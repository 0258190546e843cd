#!/bin/bash
# Installs yt-dlp, streamlink and deno from PyPI into /opt/tools. Each argument is a
# name, for the newest release, or name==version. The pip of /opt/pip, which is not
# part of the image, installs them.
set -euo pipefail

python=/opt/tools/bin/python
install() {
	/opt/pip/bin/pip --python "$python" install --quiet --no-input --no-cache-dir --no-compile \
		--disable-pip-version-check --upgrade "$@"
}

install "$@"
# Install the dependencies of yt-dlp's extra "default", as the installed release
# lists them. With yt-dlp[default] pip silently chooses an old yt-dlp when the index
# lacks a dependency's newest release. certifi is only data: take the newest.
mapfile -t extra < <(/opt/pip/bin/python - <<'END'
from importlib.metadata import Distribution
from pip._vendor.packaging.requirements import Requirement

(path,) = __import__("glob").glob("/opt/tools/lib/python3*/site-packages/yt_dlp-*.dist-info")
for text in Distribution.at(path).requires:
    need = Requirement(text)
    if need.marker and need.marker.evaluate({"extra": "default"}) and not need.marker.evaluate({"extra": ""}):
        print(need.name if need.name == "certifi" else f"{need.name}{need.specifier}")
END
)
((${#extra[@]})) || {
	echo 'tools: yt-dlp has no extra called default any more' >&2
	exit 1
}
echo "tools: $* ${extra[*]}" >&2
install "${extra[@]}"

# Compiled files save half a second of CPU per call. They need no check against the
# sources, which do not change in an image.
"$python" -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/tools/lib
# Translated country names are not needed (22 MB).
rm -rf /opt/tools/include /opt/tools/share /opt/tools/lib/python3*/site-packages/pycountry/locales \
	/opt/tools/bin/[Aa]ctivate*
