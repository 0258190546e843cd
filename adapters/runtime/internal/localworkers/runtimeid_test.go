package localworkers_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/internal/localworkers"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// open makes a launcher with an ID file, and closes it with the test.
func open(t *testing.T, path string, log *bytes.Buffer) *localworkers.Launcher {
	t.Helper()
	l := must.Get(localworkers.New(localworkers.Config{Name: "local", IDFile: path, Log: slog.New(slog.NewTextHandler(log, nil))}))(t)
	t.Cleanup(func() { _ = l.Close(t.Context()) })
	return l
}

func TestTheRuntimeIDIsThatOfItsFile(t *testing.T) { // decision O4
	path := filepath.Join(t.TempDir(), "made", "when", "needed", "id")
	var log bytes.Buffer
	first := open(t, path, &log)
	link := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(path, link))
	for _, way := range []string{path, link} {
		expect.Failed(localworkers.New(localworkers.Config{IDFile: way}))(t, "another gateway")
	}
	id := first.Runtime().ID
	_ = first.Close(t.Context())
	if next := open(t, link, &log); next.Runtime().ID != id {
		t.Errorf("it was %s and is %s", id, next.Runtime().ID)
	}
	if other := open(t, filepath.Join(t.TempDir(), "id"), &log); other.Runtime().ID == id {
		t.Error("two files have the same")
	}
	if log.Len() > 0 {
		t.Errorf("the log says %s", &log)
	}
}

func TestAnUnreadableRuntimeIDIsMadeAnew(t *testing.T) {
	for name, content := range map[string]string{"cut": uuid.NewString()[:12], "too long": strings.Repeat(uuid.NewString(), 4000), "binary": "\x00\xff\x17"} {
		t.Run("when it is "+name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "id")
			must.Do(t, os.WriteFile(path, []byte(content), 0o600))
			var log bytes.Buffer
			l := open(t, path, &log)
			id := l.Runtime().ID
			if err := uuid.Validate(id); err != nil || !strings.Contains(log.String(), path) {
				t.Errorf("the ID is %q, the log says %s", id, &log)
			}
			_ = l.Close(t.Context())
			if again := open(t, path, &log); again.Runtime().ID != id {
				t.Errorf("made was %s, found %s", id, again.Runtime().ID)
			}
		})
	}
}

func TestAFileThatCannotBeWrittenIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{filepath.Join(file, "id"), t.TempDir(), "/proc/id"} {
		if _, err := localworkers.New(localworkers.Config{IDFile: path}); err == nil {
			t.Errorf("%s is used", path)
		}
	}
}
