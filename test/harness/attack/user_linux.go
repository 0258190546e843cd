package attack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// AsPlainUser runs a test of this binary as another user, who cannot read the folders of this one.
func AsPlainUser(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "plain-user-") //nolint:usetesting // its parents are closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const nobody = 65534
	for name, from := range map[string]string{"test": "/proc/self/exe", "tool-launcher": os.Getenv("LAUNCHER_PATH")} {
		program, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), "-test.run=^"+table+"$", "-test.v")
	cmd.Dir, cmd.Env = "/tmp", []string{"PATH=" + os.Getenv("PATH"), "LAUNCHER_PATH=" + filepath.Join(dir, "tool-launcher"), "TMPDIR=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "--- PASS") {
		t.Errorf("%v\n%s", err, said)
	}
}
