package tempfile_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/tempfile"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// asWorker is the variable that makes the test binary another worker. That worker fills
// files until the budget is used up, and prints how much it could write. It keeps the
// files until its input ends.
const asWorker = "TEMPFILE_TEST_WORKER"

const budget = 8 // MiB

func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		files, written := fill(tempfile.NewBudget(budget), 5<<20)
		fmt.Println(len(files), written)
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fill writes up to limit bytes, in files of at most 1 MiB, until the budget is used up.
func fill(b *tempfile.Budget, limit int) (files []*tempfile.File, written int) {
	chunk := make([]byte, 100_000)
	for written < limit {
		f, err := b.New()
		if err != nil {
			return files, written
		}
		files = append(files, f)
		for size := int64(0); size < 1<<20 && written < limit; size += int64(len(chunk)) {
			if _, err := f.WriteAt(chunk, size); err != nil {
				return files, written
			}
			written += len(chunk)
		}
	}
	return files, written
}

// worker is another process that holds files.
type worker struct {
	cmd     *exec.Cmd
	release io.Closer
	files   int
	written int
}

func startWorker(t *testing.T) *worker {
	t.Helper()
	w := &worker{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	w.cmd.Env = append(os.Environ(), asWorker+"=1")
	stdin := must.Get(w.cmd.StdinPipe())(t)
	stdout := must.Get(w.cmd.StdoutPipe())(t)
	must.Do(t, w.cmd.Start())
	w.release = stdin
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if _, scanErr := fmt.Sscan(line, &w.files, &w.written); err != nil || scanErr != nil {
		t.Fatalf("the worker said %q: %v %v", line, err, scanErr)
	}
	return w
}

func TestAllProcessesOfAHostShareTheBudget(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first := startWorker(t)
	if first.written != 5<<20/100_000*100_000+100_000 {
		t.Fatalf("a worker alone wrote %d bytes", first.written)
	}
	second := startWorker(t)
	if all := first.written + second.written; all > budget<<20 || all < budget<<20*8/10 {
		t.Errorf("two workers wrote %d bytes, the budget is %d", all, budget<<20)
	}
	b := tempfile.NewBudget(budget)
	if _, err := b.New(); !errors.Is(err, collector.ErrBudget) {
		t.Errorf("a third file: %v", err)
	}

	// One is killed, the other ends: the kernel frees what they held.
	must.Do(t, first.cmd.Process.Kill())
	_ = first.cmd.Wait()
	_ = second.release.Close()
	_ = second.cmd.Wait()
	files, written := fill(b, 100<<20)
	if written > budget<<20 || written < budget<<20*8/10 {
		t.Errorf("after both have ended, %d bytes could be written", written)
	}
	for _, f := range files {
		must.Do(t, f.Close())
	}
}

func TestGoroutinesShareTheBudget(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var total int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			files, written := fill(tempfile.NewBudget(budget), 5<<20)
			t.Cleanup(func() {
				for _, f := range files {
					_ = f.Close()
				}
			})
			mu.Lock()
			defer mu.Unlock()
			total += written
		})
	}
	all.Wait()
	if total > budget<<20 || total < budget<<20*8/10 {
		t.Errorf("4 goroutines wrote %d bytes, the budget is %d", total, budget<<20)
	}
}

func TestAFileThatIsClosedFreesItsPart(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := tempfile.NewBudget(1)
	content := bytes.Repeat([]byte("segment "), 1<<17)
	for range 3 {
		f := must.Get(b.New())(t)
		if n, err := f.WriteAt(content, 0); n != len(content) || err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if n, err := f.WriteAt([]byte("x"), int64(len(content))); n != 0 || !errors.Is(err, collector.ErrBudget) {
			t.Errorf("one byte more: %d, %v", n, err)
		}
		got := make([]byte, len(content))
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, content) {
			t.Errorf("it reads otherwise: %v", err)
		}
		must.Do(t, f.Close())
	}
}

func TestOnlyTheEmptyLockFileHasAName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f := must.Get(tempfile.NewBudget(1).New())(t)
	defer f.Close()
	must.Get(f.WriteAt([]byte("media"), 0))(t)
	names := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
	must.Equal(t, "number of names", len(names), 1)
	if info, err := os.Lstat(names[0]); err != nil || info.Size() != 0 || info.Mode() != 0o600 {
		t.Errorf("%s is %+v: %v", names[0], info, err)
	}
	must.Do(t, errors.Join(os.Remove(names[0]), os.Symlink(filepath.Join(dir, "victim"), names[0])))
	if _, err := tempfile.NewBudget(1).New(); err == nil {
		t.Error("it followed a link in place of the file")
	}
}
