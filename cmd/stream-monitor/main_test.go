package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// clearEnvironment removes every setting from the environment of one test.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range config.Variables() {
		if name != "LAUNCHER_PATH" {
			t.Setenv(name, "")
		}
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("XDG_DATA_HOME", t.TempDir())
}

// runFailing runs a command and returns its exit status and its errors.
func runFailing(t *testing.T, args ...string) (status int, errors string) {
	t.Helper()
	var out, failure bytes.Buffer
	status = run(args, console{&out, &failure})
	return status, failure.String()
}

func TestTheErrorThatEndsACommandIsInItsLog(t *testing.T) { // section 11
	clearEnvironment(t)
	const nobody = "127.0.0.1:1" // no connection and no listener is given this port
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dsn := "--db-dsn=postgres://" + nobody + "/x?sslmode=disable&connect_timeout=1"
	for name, args := range map[string][]string{
		"serve": {"serve", dsn, "--api-key=an-api-key-for-tests", "--webhook-signing-key=b", "--internal-api-key=an-internal-key-for-tests", // it would wait for the database
			"--listen-addr=127.0.0.1:0", "--internal-listen-addr=" + taken.Addr().String()},
		"migrate": {"migrate", dsn},
		"worker": {"worker", "--monitor-id=mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d", "--generation=1", "--internal-api-key=c",
			"--gateway-url=http://" + nobody, "--probe-listen-addr=" + taken.Addr().String()},
	} {
		t.Run("that of "+name, func(t *testing.T) {
			status, said := runFailing(t, args...)
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

// net/http prints with the standard library's log what a server sends after an answer without a
// body. It is the only thing that this test can make a library print.
func TestWhatALibraryPrintsIsALineOfTheLog(t *testing.T) { // section 11
	clearEnvironment(t)
	var asked atomic.Bool
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Swap(true) { // so that the worker ends
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"code":"MONITOR_NOT_FOUND","message":"no such monitor"}}`)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, err = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\na body https://user:pass@receiver.example/?token=geheim")
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer gateway.Close()
	_, said := runFailing(t, "worker", "--monitor-id=mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d", "--generation=1", "--internal-api-key=c",
		"--gateway-url="+gateway.URL, "--log-level=debug")
	for line := range strings.Lines(said) {
		var l struct{ Level, Component, Message string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("a line that is no log line: %s", line)
		}
		if strings.HasPrefix(l.Message, "Unsolicited response") {
			if l.Level != "DEBUG" || l.Component != "library" || strings.Contains(line, "geheim") {
				t.Errorf("the line is %s", line)
			}
			return
		}
	}
	t.Errorf("what net/http prints is missing: %s", said)
}

func TestAGeneratedKeyMustDifferFromAConfiguredOne(t *testing.T) { // section 8.6
	clearEnvironment(t)
	dir := t.TempDir()
	stored, _, err := config.LoadKeys(dir, config.KeyFlags{})
	if err != nil {
		t.Fatal(err)
	}
	status, errors := runFailing(t, "serve", "--data-dir="+dir, "--api-key="+stored.Internal)
	if status != config.UsageStatus || strings.TrimSpace(errors) != config.SameKeys {
		t.Errorf("ends with %d: %s", status, errors)
	}
}

func TestAPortInUseIsExplained(t *testing.T) {
	clearEnvironment(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, setting := range []string{"LISTEN_ADDR", "INTERNAL_LISTEN_ADDR", "PROBE_LISTEN_ADDR"} {
		args := []string{"serve", "--db-dsn=postgres://127.0.0.1:1/x?sslmode=disable", "--api-key=an-api-key-for-tests", "--webhook-signing-key=b", "--internal-api-key=an-internal-key-for-tests",
			"--listen-addr=127.0.0.1:0", "--internal-listen-addr=127.0.0.1:0"}
		flag := "--" + strings.ToLower(strings.ReplaceAll(setting, "_", "-"))
		_, errors := runFailing(t, append(args, flag+"="+l.Addr().String())...)
		for _, part := range []string{"cannot listen on " + l.Addr().String(), "(" + setting + ")", "another process listens there"} {
			if !strings.Contains(errors, part) {
				t.Errorf("%q is not in: %s", part, errors)
			}
		}
	}
}

func TestAMisspeltVariableIsReportedAtTheStart(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("LISTEN_ADR", "127.0.0.1:0")
	_, errors := runFailing(t, "serve", "--data-dir=/dev/null/x")
	if !strings.Contains(errors, "LISTEN_ADR") || !strings.Contains(errors, `"similar_setting":"LISTEN_ADDR"`) {
		t.Errorf("does not name it: %s", errors)
	}
}

func TestThereAreTwoDeliveriesInFlightForEveryMonitorAndFourForEveryDestination(t *testing.T) {
	for monitors, want := range map[int]int{1: 928, 50: 928, 63: 928, 64: 929, 10000: 20801} {
		if got := maxInFlight(monitors); got != want {
			t.Errorf("%d deliveries at once for %d monitors, want %d", got, monitors, want)
		}
	}
}

func TestAReplayOfAnotherFileSaysWhatIsAccepted(t *testing.T) {
	clearEnvironment(t)
	for name, content := range map[string]string{"text": "# stream-monitor\n", "an empty file": "", "other JSON": "{}\n[1]\n"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			status, errors := runFailing(t, "replay", file)
			if status != statusFailed || !strings.Contains(errors, file+" is not a complete recording") || !strings.Contains(errors, "watch --record FILE URL") {
				t.Errorf("ends with %d: %s", status, errors)
			}
		})
	}
}
