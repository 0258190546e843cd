package doctor

import (
	"context"
	"fmt"
)

// The versions of Landlock that matter: the first one, and the first one by which a tool can
// signal only its own processes (Linux 6.12).
const (
	landlockFiles   = 1
	landlockSignals = 6
)

// confinement checks whether the kernel can confine tools.
func (d Doctor) confinement(context.Context) []finding {
	f := finding{
		subject: "confined tools", verdict: warn,
		expected: "tools that reach only their own files",
		advice:   "use Linux 5.13 or newer, with landlock among the lsm= of the kernel; or run workers in Kubernetes",
	}
	switch version := d.Landlock(); {
	case d.Settings.Watching.ReadableFiles() == nil:
		f.found, f.advice = "off (TOOL_FILES): tools read and write what this user may, keys.json included", "set TOOL_FILES to the files that your tools need in addition"
	case version < landlockFiles:
		f.found = "no: the kernel has no Landlock, so tools read and write what this user may, keys.json included"
	case version < landlockSignals:
		f.verdict, f.found = fine, fmt.Sprintf("yes (Landlock %d); before Linux 6.12 they can signal other processes of this user", version)
	default:
		f.verdict, f.found = fine, fmt.Sprintf("yes (Landlock %d)", version)
	}
	return []finding{f}
}
