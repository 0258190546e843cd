package process_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
)

func TestARunDirectoryHasOneGateway(t *testing.T) {
	r := newHarness(t, nil)
	spec := newSpec(launchertest.StopsWhenAsked)
	r.launch(spec)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.runDir, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{r.runDir, link} {
		_, err := process.New(settings(dir, r.marks, r.log))
		if err == nil || !strings.Contains(err.Error(), r.runDir) || !strings.Contains(err.Error(), "another gateway") {
			t.Errorf("got %v, want an error that names the directory", err)
		}
	}
	r.expectListed(spec.Generation)
	if err := r.launcher.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.expectFiles()
	r.startLauncher(nil)
}

// irregularFiles are what may be found instead of a file.
var irregularFiles = map[string]func(path string) error{
	"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	"link":      func(path string) error { return os.Symlink("/dev/zero", path) },
	"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
}

func TestTheRuntimeIDIsThatOfTheDirectory(t *testing.T) {
	r := newHarness(t, nil)
	first := r.launcher.Runtime()
	if id, err := os.ReadFile(filepath.Join(r.runDir, "id")); err != nil || first.ID+"\n" != string(id) {
		t.Errorf("its id is %q, and on disk %q, %v", first.ID, id, err)
	}
	_ = r.launcher.Close(t.Context())
	r.startLauncher(nil)
	if got := r.launcher.Runtime(); got != first {
		t.Errorf("it was %+v and is %+v", first, got)
	}
	if other := newHarness(t, nil).launcher.Runtime(); other.ID == first.ID {
		t.Error("two directories have the same id")
	}

	for kind, put := range irregularFiles {
		t.Run("an id that is a "+kind+" is made anew, or says so", func(t *testing.T) {
			r := newHarnessWithoutLauncher(t)
			r.writeFile("lock", "")
			if err := put(filepath.Join(r.runDir, "id")); err != nil {
				t.Fatal(err)
			}
			l, err := process.New(settings(r.runDir, r.marks, r.log))
			if err != nil {
				if !strings.Contains(err.Error(), "run directory") {
					t.Error(err)
				}
				return
			}
			_ = l.Close(t.Context())
			r.expectLogged("WARN", filepath.Join(r.runDir, "id"))
		})
	}
	for name, content := range map[string]string{"empty": "", "cut": first.ID[:12], "binary": "\x00\xff\x17"} {
		t.Run("an id that is "+name+" is made anew", func(t *testing.T) {
			r := newHarnessWithoutLauncher(t)
			r.writeFile("id", content)
			r.startLauncher(nil)
			r.expectLogged("WARN", filepath.Join(r.runDir, "id"))
			made := r.launcher.Runtime()
			_ = r.launcher.Close(t.Context())
			r.startLauncher(nil)
			if got := r.launcher.Runtime(); got != made || got.ID == first.ID {
				t.Errorf("made was %v, found %v", made, got)
			}
		})
	}
}

func TestADirectoryThatCannotBeUsedIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "run"), "/proc/run"} {
		if _, err := process.New(settings(dir, t.TempDir(), &logRecorder{})); err == nil || !strings.Contains(err.Error(), "run directory") {
			t.Errorf("%s: got %v", dir, err)
		}
	}
}

// The gateway starts whatever files the run directory contains, and logs the bad ones.
func TestDamagedFilesInTheRunDirectoryDoNoHarm(t *testing.T) {
	spec := newSpec(launchertest.StopsWhenAsked)
	name := fmt.Sprintf("%s.%d.json", spec.ID, spec.Generation)
	for _, c := range []struct {
		what, name, content string
		stays               bool
	}{
		{"an empty record", name, "", false},
		{"a truncated record", name, `{"monitor_id":"mon-`, false},
		{"a null record", name, "null", false},
		{"a record that is no object", name, `[{"monitor_id":7}]`, false},
		{"a record that is no JSON", name, "\x00\x01\xff", false},
		{"a record of another worker", name, fmt.Sprintf(`{"monitor_id":%q,"generation":9}`, spec.ID), false},
		{"a record of another directory", name, fmt.Sprintf(`{"monitor_id":%q,"generation":3,"mark":"elsewhere"}`, spec.ID), false},
		{"a record of an impossible process", name, fmt.Sprintf(`{"monitor_id":%q,"generation":3,"process":{"pid":-1}}`, spec.ID), false},
		{"a huge record", name, strings.Repeat(" ", 100<<10), false},
		{"another program's file", "notes.txt", "buy milk", true},
		{"a file name with an invalid ID", "mon-1.3.json", "{}", true},
		{"a file name with an invalid generation", strings.Replace(name, ".3.", ".03.", 1), "{}", true},
		{"an output file that is no FIFO", strings.Replace(name, "json", "log", 1), "lines", true},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := newHarnessWithoutLauncher(t)
			r.writeFile(c.name, c.content)
			r.startLauncher(nil)
			r.expectLogged("WARN", filepath.Join(r.runDir, c.name))
			r.expectListed()
			if c.stays {
				r.expectFiles(c.name)
			} else {
				r.expectFiles()
			}
			r.launch(spec)
			r.expectListed(spec.Generation)
		})
	}
	for kind, put := range irregularFiles {
		t.Run("a record that is a "+kind, func(t *testing.T) {
			r := newHarness(t, nil)
			_ = r.launcher.Close(t.Context())
			if err := put(filepath.Join(r.runDir, name)); err != nil {
				t.Fatal(err)
			}
			r.startLauncher(nil)
			r.expectLogged("WARN", filepath.Join(r.runDir, name))
			r.launch(spec)
			r.expectListed(spec.Generation)
		})
	}
}

// A killed gateway leaves temporary files, FIFOs and records of workers that have ended.
func TestFilesOfEndedWorkersAreRemoved(t *testing.T) {
	r, spec := newHarnessWithoutLauncher(t), newSpec(launchertest.StopsWhenAsked)
	stem := fmt.Sprintf("%s.%d", spec.ID, spec.Generation)
	r.writeFile(".new-"+stem+".json", "{")
	r.writeFile(".new-id", "")
	if err := syscall.Mkfifo(filepath.Join(r.runDir, stem+".log"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.startLauncher(nil)
	r.expectFiles()
	for _, line := range r.log.all() {
		if strings.Contains(line, "WARN") {
			t.Errorf("of what is nothing to worry about it says %s", line)
		}
	}
}

// With a full disk streams are watched, and the next gateway finds the worker.
func TestWorkersAreLaunchedThoughTheRunDirectoryCannotBeWritten(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("the gateway is killed: %v", killed), func(t *testing.T) {
			r, spec := newHarnessWithoutLauncher(t), newSpec(printsLines)
			// A directory in the place of each file keeps it from being written.
			for _, suffix := range []string{".json", ".log"} {
				if err := os.MkdirAll(filepath.Join(r.runDir, fmt.Sprintf("%s.%d%s", spec.ID, spec.Generation, suffix), "full"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if killed {
				r.startEarlierGateway(nil, spec).kill()
				r.startLauncher(nil)
			} else {
				r.startLauncher(nil)
				r.launch(spec)
				r.eventually("the worker's output", func() bool { return strings.Contains(strings.Join(r.log.all(), ""), "plain words") })
			}
			r.expectLogged("WARN", "record could not be written", string(spec.ID))
			r.expectListed(spec.Generation)
			if err := r.launcher.Stop(t.Context(), spec.ID); err != nil {
				t.Error(err)
			}
			r.exit()
		})
	}
}

// The reports of a replaced worker are refused already, so it gets a shorter grace
// period than one that may still report.
func TestAReplacedWorkerGetsFiveSeconds(t *testing.T) {
	r := newHarness(t, func(c *process.Config) { c.GracePeriod = time.Hour })
	spec := newSpec(launchertest.IgnoresStop)
	r.launch(spec)
	r.eventually("the worker", func() bool { return len(r.alive(spec.ID)) == 1 })
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.launcher.Stop(over, spec.ID); err == nil { // it begins, with the whole grace period
		t.Error("a worker that ignores its stop has ended at once")
	}
	began := time.Now()
	spec.Generation++
	r.launch(spec)
	if took := time.Since(began); took < 4900*time.Millisecond || took > 20*time.Second {
		t.Errorf("it was given %v, want 5 s", took)
	}
}

func TestNothingLeaksWithEachWorker(t *testing.T) {
	r := newHarness(t, nil)
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := 0
	for n := range 51 {
		spec := newSpec(launchertest.ExitsCleanly)
		spec.Generation = n + 1
		r.launch(spec)
		r.exit()
		if n == 0 {
			before = open() // the runtime poller has its descriptors by now
		}
	}
	if after := open(); after > before {
		t.Errorf("%d files are open, %d were after the first", after, before)
	}
	r.expectFiles()
}
