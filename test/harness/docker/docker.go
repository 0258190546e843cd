// Package docker runs the commands of a container engine for tests.
package docker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// limit is how long a command may take.
const limit = 5 * time.Minute

// Run runs a docker command and returns its standard output. It fails the test if the command fails.
func Run(t *testing.T, args ...string) string {
	t.Helper()
	return Exec(t, exec.Command("docker", args...))
}

// Exec is Run of any command.
func Exec(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Try is Run without the failure, also after the test has ended.
func Try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return output(exec.CommandContext(ctx, "docker", args...))
}

func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return strings.TrimSpace(stdout.String()), nil
}

// NewNetwork makes a network that is removed after the test. host is this machine's address in it.
func NewNetwork(t *testing.T) (name, host string) {
	t.Helper()
	name = fmt.Sprintf("stream-monitor-%d-%s", os.Getpid(), strings.ToLower(t.Name()))
	Run(t, "network", "create", name)
	t.Cleanup(func() { _, _ = Try("network", "rm", name) })
	return name, Run(t, "network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", name)
}
