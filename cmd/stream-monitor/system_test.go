package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheSecondSignalForcesTheShutdown(t *testing.T) {
	const apart = 50 * time.Millisecond
	for name, c := range map[string]struct {
		pauses []time.Duration // before each signal
		want   string
	}{
		"the first asks, the second forces": {[]time.Duration{0, apart}, "end force "},
		"two at once are one":               {[]time.Duration{0, time.Millisecond}, "end "},
		"two at once, then one more":        {[]time.Duration{0, time.Millisecond, apart}, "end force "},
		"a third has no effect here":        {[]time.Duration{0, apart, apart}, "end force "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals, released := make(chan os.Signal, len(c.pauses)), make(chan struct{})
				var actions string
				listening := start(func(_ context.Context) {
					onEachSignal(signals, released, func() { actions += "end " }, func() { actions += "force " })
				})
				for _, pause := range c.pauses {
					time.Sleep(pause)
					signals <- syscall.SIGTERM
				}
				synctest.Wait()
				close(released)
				listening.stop()
				if actions != c.want {
					t.Errorf("called %q, want %q", actions, c.want)
				}
			})
		})
	}
}

func TestTheListedSignalsEndTheProcess(t *testing.T) {
	// The tests themselves may run under nohup.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	t.Cleanup(func() { signal.Reset(syscall.SIGHUP) })
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !slices.Contains(endSignals(), sig) {
			t.Errorf("%v does not end the process", sig)
		}
	}
	t.Run("SIGHUP stays ignored under nohup", func(t *testing.T) {
		signal.Ignore(syscall.SIGHUP)
		if slices.Contains(endSignals(), os.Signal(syscall.SIGHUP)) {
			t.Error("SIGHUP ends the process")
		}
	})
}

// listenAsSystemd makes the socket of a service's manager, with a watchdog, and returns what was sent to it so far.
func listenAsSystemd(t *testing.T, watchdog time.Duration) (sent func() []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", strconv.FormatInt(watchdog.Microseconds(), 10))
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	var all []string
	return func() []string {
		buffer := make([]byte, 256)
		for {
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			n, err := conn.Read(buffer)
			if err != nil {
				return all
			}
			all = append(all, string(buffer[:n]))
		}
	}
}

func TestSystemdIsToldWhenTheGatewayIsReadyAndAlive(t *testing.T) {
	const answers = 3 // before the supervisor hangs
	sent := listenAsSystemd(t, 60*time.Millisecond)
	asked, ready, hangs := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var log bytes.Buffer
	calls := 0
	n := systemdNotifier{
		ready: func(context.Context) error { close(asked); <-ready; return nil },
		alive: func(ctx context.Context) error {
			calls++
			if calls == answers+3 {
				close(hangs)
			}
			if calls > answers {
				<-ctx.Done()
				return errors.New("it hangs")
			}
			return nil
		},
		log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	run := start(n.run)
	<-asked
	if got := sent(); len(got) > 0 {
		t.Errorf("before the gateway is ready, systemd is told %q", got)
	}
	close(ready)
	<-hangs
	run.stop()
	n.notify("STOPPING=1")
	want := append([]string{"READY=1"}, append(slices.Repeat([]string{"WATCHDOG=1"}, answers), "STOPPING=1")...)
	if got := sent(); !slices.Equal(got, want) {
		t.Errorf("systemd is told %q, want %q", got, want)
	}
	if !strings.Contains(log.String(), "the gateway hangs") {
		t.Errorf("the log is %s", log.String())
	}
}

func TestWithoutSystemdNothingIsSaid(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "")
	var log bytes.Buffer
	n := systemdNotifier{ready: func(context.Context) error { return nil }, log: slog.New(slog.NewTextHandler(&log, nil))}
	n.run(t.Context()) // returns: there is no watchdog
	if log.Len() > 0 {
		t.Errorf("the log is %s", log.String())
	}
}
