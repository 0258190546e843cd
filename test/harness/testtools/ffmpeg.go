package testtools

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// FFmpeg runs the ffmpeg of a path in a directory, with input on its standard input, and returns
// what it writes to its standard output. Errors: ctx's; ffmpeg's, with its messages.
func FFmpeg(ctx context.Context, path, dir string, input []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, append([]string{"-hide_banner", "-loglevel", "error", "-nostdin", "-y"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, bytes.NewReader(input), &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w\n%s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// MakeDir makes a directory that fill fills. Other processes see all of it or nothing. It replaces
// a directory that is there already.
func MakeDir(dir string, fill func(dir string) error) error {
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := fill(temp); err != nil {
		return err
	}
	if os.Rename(temp, dir) == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil { // damaged, or of a process that was faster
		return err
	}
	return os.Rename(temp, dir)
}
