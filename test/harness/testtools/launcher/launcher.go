// Package launcher builds tool-launcher for the tests of a package that starts tools, which
// import it for that alone. Where it cannot be built, they say that it was not found.
package launcher

import (
	"os"
	"runtime"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

func init() { //nolint:gochecknoinits // an import is all that a package needs
	if runtime.GOOS != "linux" {
		return
	}
	if path, err := testtools.Launcher(); err == nil { // a test's own program, as a confined tool, reads no source
		_ = os.Setenv("LAUNCHER_PATH", path)
	}
}
