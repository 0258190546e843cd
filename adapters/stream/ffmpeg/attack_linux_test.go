package ffmpeg_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// hostileFFmpeg is the name by which this program is an ffmpeg that a stream has taken over.
const hostileFFmpeg = "hostile-ffmpeg"

var _ = attack()

// attack tries what such an ffmpeg would, prints what it got as ffmpeg prints errors, and exits. It
// returns false in a process that is no such ffmpeg.
func attack() bool {
	if filepath.Base(os.Args[0]) != hostileFFmpeg {
		return false
	}
	dir, parent := filepath.Dir(os.Args[0]), os.Getppid()
	found := []string{"found"}
	for _, attempt := range []struct {
		what string
		do   func() error
	}{
		{"keys", func() error { _, err := os.ReadFile(filepath.Join(dir, "keys.json")); return err }},
		{"environment", func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", parent)); return err }},
		{"memory", func() error { _, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", parent), os.O_RDWR, 0); return err }},
		{"trace", func() error { return unix.PtraceSeize(parent) }},
		{"place", func() error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o600) }},
		{"network", func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err }},
		{"sockets", func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
		{"programs", func() error { return exec.Command("/bin/true").Run() }},
	} {
		if attempt.do() == nil {
			found = append(found, attempt.what)
		}
	}
	fmt.Fprintln(os.Stderr, strings.Join(append(found, "end"), " "))
	os.Exit(1)
	return true
}

func TestAnFFmpegThatIsTakenOverReachesNothing(t *testing.T) {
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, hostileFFmpeg)
	if err := os.Symlink(program, path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "keys.json"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"confined":     {[]string{}, "found end"},
		"not confined": {nil, "found keys place network sockets programs end"}, // the rest takes capabilities here
	} {
		if name == "not confined" && os.Geteuid() != 0 {
			c.want = "found keys environment memory trace place network sockets programs end"
		}
		_, err := ffmpeg.New(ffmpeg.Config{Path: path, Files: c.files}).Analyse(t.Context(), watch.Segment{}, watch.Calm{}, bytes.NewReader(scene{}.make(t)), settings)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
