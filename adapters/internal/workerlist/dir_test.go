package workerlist_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/workerlist"
)

// held is a directory that is held until the test ends, without a problem.
func held(t *testing.T, path string) *workerlist.Dir {
	t.Helper()
	d, problem, err := workerlist.Acquire(path)
	if err != nil || problem != nil {
		t.Fatalf("%v, %v", problem, err)
	}
	t.Cleanup(d.Close)
	return d
}

func TestADirectoryIsHeldByOneGateway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "when", "needed")
	first := held(t, path)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{path, link} {
		if _, _, err := workerlist.Acquire(way); err == nil || !strings.Contains(err.Error(), "another gateway") {
			t.Errorf("by %s a second one gets %v", way, err)
		}
	}
	first.Close()
	if next := held(t, link); next.ID != first.ID || next.Path != first.Path {
		t.Errorf("it was %+v and is %+v", first, next)
	}
}

func TestTheIDIsMadeOnce(t *testing.T) {
	path := t.TempDir()
	first := held(t, path)
	if other := held(t, t.TempDir()); other.ID == first.ID {
		t.Error("two directories have the same")
	}
	first.Close()
	for name, content := range map[string]string{"empty": "", "cut": first.ID.String()[:12], "too long": strings.Repeat(first.ID.String(), 4000)} {
		t.Run("anew when it is "+name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(path, workerlist.IDName), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			d, problem, err := workerlist.Acquire(path)
			if err != nil {
				t.Fatal(err)
			}
			d.Close()
			if problem == nil || d.ID == first.ID {
				t.Errorf("%v is its id, the problem %v", d.ID, problem)
			}
			if again := held(t, path); again.ID != d.ID {
				t.Errorf("made was %v, found %v", d.ID, again.ID)
			}
		})
	}
}

func TestADirectoryThatCannotBeWrittenIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := workerlist.Acquire(filepath.Join(file, "run")); err == nil {
		t.Error("it is held")
	}
	path := t.TempDir()
	if err := os.Mkdir(filepath.Join(path, workerlist.IDName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := workerlist.Acquire(path); err == nil {
		t.Error("one whose id cannot be written is held")
	}
	if err := os.Remove(filepath.Join(path, workerlist.IDName)); err != nil {
		t.Fatal(err)
	}
	held(t, path) // what failed has let go of it
}
