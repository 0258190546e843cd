package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// maxAnswer limits the output of a tool that is kept, in bytes. The list of
// ffmpeg's filters has about 50 KB.
const maxAnswer = 1 << 20

// runTool runs a tool and returns its output on both streams. An exit status other
// than 0 is not an error: tools that print their version exit with any status.
func runTool(ctx context.Context, t config.Tool, args ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	var answer capped
	cmd := exec.CommandContext(limited, t.Path, args...)
	cmd.Stdout, cmd.Stderr = &answer, &answer
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case limited.Err() != nil:
		return "", fmt.Errorf("did not answer within %v", toolTimeout)
	case errors.As(err, &status) && status.Exited():
		return answer.String(), nil
	case err != nil:
		return "", err
	}
	return answer.String(), nil
}

// capped keeps the first maxAnswer bytes.
type capped struct{ bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	c.Buffer.Write(p[:min(len(p), max(maxAnswer-c.Len(), 0))])
	return len(p), nil
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
