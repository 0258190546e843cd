package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

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
