package main

import (
	"bytes"
	"encoding/json"
	"net"
	"strings"
	"testing"
)

// ended runs a command that fails, and returns its status and what it said.
func ended(t *testing.T, args ...string) (status int, said string) {
	t.Helper()
	var out, complaints bytes.Buffer
	status = run(args, console{&out, &complaints})
	return status, complaints.String()
}

func TestFailuresAreInTheLog(t *testing.T) { // section 11
	alone(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	_ = l.Close()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dsn := "--db-dsn=postgres://" + nobody + "/x?sslmode=disable&connect_timeout=1"
	for name, args := range map[string][]string{
		"serve": {"serve", dsn, "--api-key=a", "--webhook-signing-key=b", "--internal-api-key=c", // it would wait for the database
			"--listen-addr=127.0.0.1:0", "--internal-listen-addr=" + taken.Addr().String()},
		"migrate": {"migrate", dsn},
		"worker": {"worker", "--monitor-id=mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d", "--generation=1", "--internal-api-key=c",
			"--gateway-url=http://" + nobody, "--gateway-patience=1s"},
	} {
		t.Run("that of "+name, func(t *testing.T) {
			status, said := ended(t, args...)
			if status != statusFailed {
				t.Errorf("ends with %d, want %d", status, statusFailed)
			}
			var last struct {
				Timestamp, Level, Component, Message string
				MonitorID                            string `json:"monitor_id"`
				Data                                 map[string]any
			}
			for line := range strings.Lines(said) {
				if err := json.Unmarshal([]byte(line), &last); err != nil {
					t.Errorf("a line that is no log line: %s", line)
				}
			}
			if last.Level != "ERROR" || last.Timestamp == "" || last.Component == "" || last.Message == "" || last.Data["error"] == nil {
				t.Errorf("the last line is %+v", last)
			}
			if name == "worker" && last.MonitorID == "" {
				t.Error("does not say whose worker it was")
			}
		})
	}
}

func TestOneKeyForTwoAPIs(t *testing.T) { // 8.6
	t.Run("is refused", func(t *testing.T) {
		alone(t)
		got := refused(t, "serve", "--api-key=hunter2", "--internal-api-key=hunter2")
		if len(got) != 1 || !strings.HasPrefix(got[0], "INTERNAL_API_KEY ") || !strings.Contains(got[0], "API_KEY (--api-key)") || strings.Contains(got[0], "hunter2") {
			t.Errorf("says %q", got)
		}
	})
	t.Run("is refused when one of them was generated, before anything is started", func(t *testing.T) {
		alone(t)
		dir := t.TempDir()
		kept, _ := load(t, dir, KeyFlags{})
		status, said := ended(t, "serve", "--data-dir="+dir, "--api-key="+kept.Internal)
		if status != usageStatus || strings.TrimSpace(said) != sameKeys {
			t.Errorf("ends with %d: %s", status, said)
		}
	})
}

func TestNoReceiverHoldsUpAnother(t *testing.T) {
	for monitors, want := range map[int]int{1: 128, 50: 128, 127: 128, 128: 129, 10000: 10001} {
		if got := couriers(monitors); got != want {
			t.Errorf("%d webhooks at once for %d monitors, want %d", got, monitors, want)
		}
	}
}
