package doctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/tool"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// runTool runs a tool as serve would, and returns its output. An exit status other
// than 0 is not an error: tools that print their version exit with any status.
func runTool(ctx context.Context, c tool.Confinement, path string, args ...string) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, toolTimeout, fmt.Errorf("did not answer within %v", toolTimeout))
	defer cancel()
	return tool.Ask(limited, c, path, args...)
}

// versionNumbers holds the numbers of a dotted version, such as 7.1.0.
type versionNumbers []int

var numbers = regexp.MustCompile(`[0-9]+`)

// parseVersion reads the numbers of a dotted version. It returns nil if text has none.
func parseVersion(text string) (r versionNumbers) {
	for _, digits := range numbers.FindAllString(text, 4) {
		n, err := strconv.Atoi(digits)
		if err != nil {
			return nil
		}
		r = append(r, n)
	}
	return r
}

// before reports whether the version is older than minimum. It is false for an unknown
// version (nil).
func (r versionNumbers) before(minimum string) bool {
	return r != nil && slices.Compare(r, parseVersion(minimum)) < 0
}

// describeTool returns the version of a tool, its path, and how doctor found it.
func describeTool(version string, t config.Tool) string {
	return fmt.Sprintf("%s, %s (found by %s)", version, t.Path, t.FoundBy)
}

// days returns how many whole days a time has.
func days(d time.Duration) int { return int(d / (24 * time.Hour)) }

// toolMissing returns the finding that a tool cannot be run.
func toolMissing(subject string, v verdict, t config.Tool, err error, expected, advice string) finding {
	found := "not found in PATH"
	if t.FoundBy != "" {
		found = fmt.Sprintf("%s (found by %s) cannot be run: %v", t.Path, t.FoundBy, err)
	}
	return finding{subject, v, found, expected, advice}
}

// firstLine returns the first line that is not blank.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
