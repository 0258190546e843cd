//go:build compose

package compose_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// deployment is a compose project, with the fakes that it uses.
type deployment struct {
	*project
	*testenv.Env
}

// newDeployment starts the fakes at an address that containers reach, and prepares
// a project whose environment points to them.
func newDeployment(t *testing.T, image string) *deployment {
	t.Helper()
	address, err := loopback.FreeAddress()
	must(t, err)
	s := &deployment{project: newProject(t, image, "LISTEN="+address), Env: &testenv.Env{}}
	s.Service = system.Remote("http://"+address, &http.Client{Timeout: 10 * time.Second, Transport: apiKeyTransport{s.secrets["API_KEY"]}})

	network := s.name + "-fakes"
	docker(t, "network", "create", network)
	t.Cleanup(func() { docker(t, "network", "rm", network) })
	host := docker(t, "network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", network)

	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755)) // the container runs as another user
	s.Library, err = livestream.Open(livestream.Options{})
	must(t, err)
	s.YouTube, err = youtube.Start(youtube.Config{Addr: host + ":0", Dir: dir})
	must(t, err)
	t.Cleanup(func() { _ = s.YouTube.Close() })
	s.Receiver, err = webhookreceiver.Start(webhookreceiver.Config{Addr: host + ":0", Key: s.secrets["WEBHOOK_SIGNING_KEY"]})
	must(t, err)
	t.Cleanup(func() { _ = s.Receiver.Close() })

	environment := map[string]string{"CALLBACK_ALLOWED_NETWORKS": host + "/32", "RATE_LIMIT_QUERY_PER_MIN": "0"}
	for _, line := range s.YouTube.Env() {
		name, value, _ := strings.Cut(line, "=")
		environment[name] = value
	}
	s.override(t, map[string]any{
		"services": map[string]any{"gateway": map[string]any{
			"environment": environment,
			"networks":    []string{"fakes"},
			"volumes":     []string{dir + ":" + dir + ":ro"},
		}},
		"networks": map[string]any{"fakes": map[string]any{"external": true, "name": network}},
	})
	t.Cleanup(func() { s.remove(t) })
	return s
}

// apiKeyTransport adds the project's API key, and ignores HTTP_PROXY.
type apiKeyTransport struct{ key string }

var directTransport = &http.Transport{DisableKeepAlives: true} // the gateway is restarted

func (k apiKeyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-API-Key", k.key)
	return directTransport.RoundTrip(req)
}

// waitUntilReady waits until /readyz answers 200.
func (s *deployment) waitUntilReady(t *testing.T, within time.Duration) {
	t.Helper()
	waitFor(t, within, "a ready gateway", func() bool {
		a, err := s.Service.Call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && a.Status == http.StatusOK
	})
}

// register registers a monitor with short thresholds.
func (s *deployment) register(t *testing.T, video string) (id string) {
	t.Helper()
	id, err := s.Service.Register(t.Context(), s.YouTube.URL(video), s.Receiver.URL(), map[string]any{
		"check_interval_sec": 2, "blackout_threshold_sec": int(alertThreshold.Seconds()), "silence_threshold_sec": int(alertThreshold.Seconds()),
	})
	must(t, err)
	return id
}

// analysedSegments reads how many segments of a monitor have been analysed; -1: the
// API does not answer, or the monitor is not in status monitoring.
func (s *deployment) analysedSegments(ctx context.Context, id string) int {
	m, err := s.Service.Monitor(ctx, id)
	statistics, _ := m["statistics"].(map[string]any)
	total, found := statistics["total_segments_analyzed"].(float64)
	if err != nil || !found || m["status"] != "monitoring" {
		return -1
	}
	return int(total)
}

// waitUntilWatched waits until so many more segments of each monitor have been
// analysed.
func (s *deployment) waitUntilWatched(t *testing.T, more int, within time.Duration, ids ...string) {
	t.Helper()
	before := map[string]int{}
	for _, id := range ids {
		before[id] = max(0, s.analysedSegments(t.Context(), id))
	}
	for _, id := range ids {
		waitFor(t, within, id+" to be watched", func() bool { return s.analysedSegments(t.Context(), id) >= before[id]+more })
	}
}

// waitForEvent waits for the number-th event of this type of a monitor, from 1.
func (s *deployment) waitForEvent(t *testing.T, id, event string, number int, within time.Duration) (found webhookreceiver.Delivery) {
	t.Helper()
	waitFor(t, within, event+" of "+id, func() bool {
		seen := 0
		for _, d := range s.eventsOf(id) {
			if d.EventType == event {
				if seen++; seen == number {
					found = d
					return true
				}
			}
		}
		return false
	})
	return found
}

// eventsOf lists the accepted events of a monitor, in order.
func (s *deployment) eventsOf(id string) (all []webhookreceiver.Delivery) {
	for _, d := range s.Receiver.Accepted() {
		if d.MonitorID == id {
			all = append(all, d)
		}
	}
	return all
}

// expectEvents fails the test unless a monitor's events are exactly these, with
// valid signatures.
func (s *deployment) expectEvents(t *testing.T, id string, want ...string) {
	t.Helper()
	var got []string
	for _, d := range s.eventsOf(id) {
		got = append(got, d.EventType)
		if !d.Verified {
			t.Errorf("the signature of %s is not valid: %s", d.EventType, d.Problem)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("events %v, want %v", got, want)
	}
}

// gatewayContainer reads the gateway's container ID, image and start time.
func (s *deployment) gatewayContainer(t *testing.T) (container, image, startedAt string) {
	t.Helper()
	fields := strings.Fields(docker(t, "inspect", "-f", "{{.Id}} {{.Image}} {{.State.StartedAt}}", s.name+"-gateway-1"))
	return fields[0], fields[1], fields[2]
}

// workerProcesses reads the process ID of each monitor's worker in the gateway's
// container, by monitor ID.
func (s *deployment) workerProcesses(t *testing.T) map[string]string {
	t.Helper()
	const list = `for p in /proc/[0-9]*; do
		[[ $(tr '\0' ' ' <"$p/cmdline") == */"stream-monitor worker "* ]] || continue
		echo "$(tr '\0' '\n' <"$p/cmdline" | sed -n 's/^--monitor-id=//p') ${p#/proc/}"
	done 2>/dev/null; true`
	all := map[string]string{}
	for line := range strings.Lines(s.compose(t, "exec", "-T", "gateway", "bash", "-c", list)) {
		var id, pid string
		if _, err := fmt.Sscan(line, &id, &pid); err == nil {
			all[id] = pid
		}
	}
	return all
}
