// Package tool runs a tool for its version, as it runs when streams are watched. It also says how
// far this kernel confines tools (section 5.2).
package tool

import (
	"context"
	"fmt"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

// maxAnswer limits what is kept of each output of a tool, in bytes. The list of ffmpeg's filters
// has about 50 KB.
const maxAnswer = 1 << 20

// Confinement limits what a tool may reach.
type Confinement struct {
	Files   []string // further files and folders that it may read; nil: it is not confined
	Network bool
}

// Ask runs a tool, with the variables of tools only, and returns its outputs, stdout first. An exit status
// other than 0 is no error. It blocks until the tool has ended. Errors: the tool cannot be run; a signal
// ended it; ctx's cause.
func Ask(ctx context.Context, c Confinement, path string, args ...string) (answer string, err error) {
	res, err := subprocess.Run(ctx, subprocess.Command{
		Path: path, Args: args, MaxOutput: maxAnswer, Confinement: subprocess.NewConfinement(c.Files, c.Network),
	})
	switch {
	case err != nil:
		return "", err
	case res.Signal != "":
		return "", fmt.Errorf("it was ended by a signal (%s)", res.Signal)
	}
	return string(res.Stdout) + string(res.Stderr), nil
}

// IsScript reports whether the tool at path is a script, which may start programs although it has no network.
func IsScript(path string) bool { return subprocess.IsScript(path) }

// CheckLauncher returns why no tool can be started, or nil: on Linux, tool-launcher starts them.
func CheckLauncher() error { return subprocess.CheckLauncher() }

// Landlock returns the version of Landlock that confines tools; 0: none does.
func Landlock() int { return subprocess.Landlock() }

// Missing names the means that this kernel, or a sandbox around this process, does not grant, each
// with what tools can do without it.
func Missing() []string { return subprocess.Missing() }
