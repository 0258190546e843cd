package inline_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/inline"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/internal/localworkers"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id monitor.ID = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"

func newSpec(generation int) supervisor.WorkerSpec {
	return supervisor.WorkerSpec{ID: id, Generation: generation}
}

// workers is the workers of a harness.
type workers struct {
	mu    sync.Mutex
	alive map[supervisor.WorkerSpec]bool
}

func (w *workers) set(spec supervisor.WorkerSpec, alive bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alive[spec] = alive
}

func (w *workers) running(id monitor.ID) (generations []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for spec, alive := range w.alive {
		if alive && spec.ID == id {
			generations = append(generations, spec.Generation)
		}
	}
	return generations
}

func (w *workers) run(ctx, force context.Context, spec supervisor.WorkerSpec) error {
	behaviour := launchertest.BehaviourOf(spec.StreamURL)
	switch behaviour {
	case launchertest.ExitsWithError:
		return errors.New("crashed")
	case launchertest.ExitsCleanly:
		return nil
	}
	w.set(spec, true)
	defer w.set(spec, false)
	if behaviour == launchertest.StopsWhenAsked {
		<-ctx.Done()
		return nil
	}
	return stubborn(ctx, force, spec)
}

func TestLauncher(t *testing.T) {
	launchertest.Run(t, func(t *testing.T) launchertest.Harness {
		c := &workers{alive: map[supervisor.WorkerSpec]bool{}}
		const grace = 300 * time.Millisecond
		l := made(t, inline.Config{IDFile: newID(t), RunWorker: c.run, GracePeriod: grace})
		return launchertest.Harness{Launcher: l, Close: l.Close, Alive: c.running, GracePeriod: grace}
	})
}

// newID is where the ID of a runtime may be kept.
func newID(t *testing.T) string { return filepath.Join(t.TempDir(), "id") }

func made(t *testing.T, cfg inline.Config) *localworkers.Launcher {
	t.Helper()
	return must.Get(inline.New(cfg))(t)
}

// launching makes a launcher of one kind of work and closes it in the end.
func launching(t *testing.T, work inline.WorkerFunc, change ...func(*inline.Config)) *localworkers.Launcher {
	t.Helper()
	cfg := inline.Config{IDFile: newID(t), RunWorker: work}
	for _, c := range change {
		c(&cfg)
	}
	l := made(t, cfg)
	t.Cleanup(func() { must.Do(t, l.Close(context.Background())) })
	return l
}

func launch(t *testing.T, l *localworkers.Launcher, spec supervisor.WorkerSpec) {
	t.Helper()
	must.Do(t, l.Launch(t.Context(), spec))
}

// stubborn ends by force alone.
func stubborn(_, force context.Context, _ supervisor.WorkerSpec) error {
	<-force.Done()
	return errors.New("ended by force")
}

func TestAnExitSaysHowTheWorkerEnded(t *testing.T) {
	for name, c := range map[string]struct {
		work   func() error
		detail string
		clean  bool
		logged string
	}{
		"without an error":               {func() error { return nil }, "ended", true, ""},
		"with an error":                  {func() error { return errors.New("no stream") }, "no stream", false, ""},
		"with an error of several lines": {func() error { return errors.New("no stream\nnor anything else") }, "no stream", false, ""},
		"with an empty error":            {func() error { return errors.New("") }, "an error without a message", false, ""},
		"with a long error":              {func() error { return errors.New(strings.Repeat("é", 200)) }, strings.Repeat("é", 150), false, ""},
		"with a panic":                   {func() error { panic("out of ideas") }, "panic: out of ideas", false, "launcher_test.go"},
		"with runtime.Goexit":            {func() error { runtime.Goexit(); return nil }, "the worker's goroutine ended without returning", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				l := launching(t, func(context.Context, context.Context, supervisor.WorkerSpec) error { return c.work() },
					func(cfg *inline.Config) { cfg.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
				launch(t, l, newSpec(3))
				got := <-l.Exits()
				if want := (supervisor.Exit{ID: id, Generation: 3, Detail: c.detail, Clean: c.clean}); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
				if text := log.String(); strings.Contains(text, `"level":"ERROR"`) != (c.logged != "") || !strings.Contains(text, c.logged) {
					t.Errorf("the log says\n%s", text)
				}
				if all, err := l.Workers(t.Context()); err != nil || len(all) != 0 {
					t.Errorf("it is still listed: %v, %v", all, err)
				}
			})
		})
	}
}

func TestAWorkerGetsItsGracePeriod(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, l *localworkers.Launcher)
		took time.Duration
	}{
		"when it is stopped": {func(t *testing.T, l *localworkers.Launcher) {
			must.Do(t, l.Stop(t.Context(), id))
		}, 30 * time.Second},
		"5 s when it is replaced": {func(t *testing.T, l *localworkers.Launcher) { launch(t, l, newSpec(2)) }, 5 * time.Second},
		"5 s when it is replaced while it is stopped": {func(t *testing.T, l *localworkers.Launcher) {
			go func() { _ = l.Stop(context.Background(), id) }()
			synctest.Wait()
			time.Sleep(time.Second)
			launch(t, l, newSpec(2))
		}, 6 * time.Second},
		"the rest when it is replaced late": {func(t *testing.T, l *localworkers.Launcher) {
			go func() { _ = l.Stop(context.Background(), id) }()
			synctest.Wait()
			time.Sleep(28 * time.Second)
			launch(t, l, newSpec(2))
		}, 30 * time.Second},
		"even if the same generation is launched meanwhile": {func(t *testing.T, l *localworkers.Launcher) {
			go func() { _ = l.Stop(context.Background(), id) }()
			synctest.Wait()
			launch(t, l, newSpec(1))
		}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := launching(t, stubborn)
				launch(t, l, newSpec(1))
				began := time.Now()
				c.end(t, l)
				if took := time.Since(began); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
				if e := <-l.Exits(); e.Generation != 1 || e.Clean {
					t.Errorf("got %+v", e)
				}
			})
		})
	}
}

func TestAWorkerThatIgnoresForceIsWaitedForAndNeverDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		running := 0
		l := launching(t, func(ctx, _ context.Context, spec supervisor.WorkerSpec) error {
			if running++; running > 1 {
				t.Error("two of one monitor")
			}
			defer func() { running-- }()
			if spec.Generation > 1 {
				<-ctx.Done()
				return nil
			}
			<-release
			return nil
		})
		launch(t, l, newSpec(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := l.Launch(ctx, newSpec(2)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		if all, _ := l.Workers(t.Context()); len(all) != 1 || all[0].Generation != 1 {
			t.Errorf("running are %v", all)
		}
		close(release)
		launch(t, l, newSpec(2))
		synctest.Wait()
	})
}

func TestAWorkerThatIgnoresForceDelaysCloseByFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		l := made(t, inline.Config{IDFile: newID(t), RunWorker: func(context.Context, context.Context, supervisor.WorkerSpec) error {
			<-release
			return nil
		}})
		launch(t, l, newSpec(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began, closed := time.Now(), make(chan error, 1)
		go func() { closed <- l.Close(ctx) }()
		select {
		case err := <-closed:
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 6*time.Second {
				t.Errorf("%v after %v", err, took)
			}
		case <-time.After(time.Minute):
			t.Error("it waits")
		}
		close(release)
		time.Sleep(time.Second)
	})
}

func TestAWorkerOutlivesWhoeverLaunchedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := launching(t, func(ctx, _ context.Context, _ supervisor.WorkerSpec) error { <-ctx.Done(); return nil })
		ctx, cancel := context.WithCancel(t.Context())
		must.Do(t, l.Launch(ctx, newSpec(1)))
		cancel()
		synctest.Wait()
		if all, _ := l.Workers(t.Context()); len(all) != 1 {
			t.Errorf("running are %v", all)
		}
	})
}

func TestAnInvalidConfigIsRefused(t *testing.T) {
	for name, cfg := range map[string]inline.Config{
		"no file":                {RunWorker: stubborn},
		"no RunWorker":           {IDFile: newID(t)},
		"a negative GracePeriod": {IDFile: newID(t), RunWorker: stubborn, GracePeriod: -1},
	} {
		if _, err := inline.New(cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
