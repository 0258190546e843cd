package subprocess

import (
	"os"
	"slices"
	"strings"
)

// passedOn are the variables that a tool inherits, in upper case. All others stay with this
// process: they hold its keys, and what one of its own libraries needs.
var passedOn = []string{
	"PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "TZ", "LANG", "LANGUAGE", "LD_LIBRARY_PATH",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8",
	"PYENV_ROOT", "PYENV_VERSION", // a python of pyenv is a script that reads them
	"DENO_DIR", "DENO_NO_UPDATE_CHECK", "DENO_CERT", "DENO_TLS_CA_STORE",
}

// Environment returns the variables of this process that a tool may have: search paths, cache,
// proxy, certificates, locale and time zone.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		name = strings.ToUpper(name)
		return !slices.Contains(passedOn, name) && !strings.HasPrefix(name, "LC_")
	})
}
