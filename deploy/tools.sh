#!/bin/bash
# Installs yt-dlp, streamlink and deno from PyPI into /opt/tools, each as its
# argument says: a name for the newest, or name==version. Run with the pip of
# /opt/pip, which does not come along.
set -euo pipefail

python=/opt/tools/bin/python
install() {
	/opt/pip/bin/pip --python "$python" install --quiet --no-input --no-cache-dir --no-compile \
		--disable-pip-version-check --upgrade "$@"
}

install "$@"
# yt-dlp's extra "default", taken from the release just installed. Asked for as
# yt-dlp[default], an index that lags behind with one of them would give an old
# yt-dlp, without a word. Of certifi, which is only data, the newest there is.
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

# Compiled files save half a second of CPU at every call. They hold whatever the
# times of the sources are: nobody changes a source in an image.
"$python" -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/tools/lib
# Nobody reads the names of countries in all languages (22 MB).
rm -rf /opt/tools/include /opt/tools/share /opt/tools/lib/python3*/site-packages/pycountry/locales \
	/opt/tools/bin/[Aa]ctivate*
