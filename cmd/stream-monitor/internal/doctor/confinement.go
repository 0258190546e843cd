package doctor

import (
	"context"
	"fmt"
	"strings"
)

// launcher checks the program that starts all others.
func (d Doctor) launcher(context.Context) []finding {
	t := d.Settings.Watching.Launcher()
	f := finding{
		"tool-launcher", fine, fmt.Sprintf("%s (found by %s)", t.Path, t.FoundBy),
		"the program of this version, which confines every tool and starts it", `run "make build", or put it beside stream-monitor; or set LAUNCHER_PATH`,
	}
	if err := d.CheckLauncher(); err != nil {
		f.verdict, f.found = fail, err.Error()
	}
	return []finding{f}
}

// confinement checks whether the kernel can confine tools.
func (d Doctor) confinement(context.Context) []finding {
	f := finding{
		subject: "confined tools", verdict: warn,
		expected: "tools that reach only their own files",
		advice: "use Linux 6.12 or newer (5.13 at least), with landlock among the lsm= of the kernel, " +
			"and in a container a seccomp profile that allows landlock and seccomp; or run workers in Kubernetes",
	}
	switch missing := d.Missing(); {
	case d.Settings.Watching.ReadableFiles() == nil:
		f.found, f.advice = "off (TOOL_FILES): tools read and write what this user may, keys.json included", "set TOOL_FILES to the files that your tools need in addition"
	case len(missing) > 0:
		f.found = "not completely; this kernel or container does not grant " + strings.Join(missing, "; ")
	default:
		f.verdict, f.found = fine, fmt.Sprintf("yes (Landlock %d)", d.Landlock())
	}
	return []finding{f}
}
