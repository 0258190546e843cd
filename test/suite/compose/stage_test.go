//go:build compose

package compose_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// site is a project with stand-ins around it.
type site struct {
	*project
	*testenv.Env
}

// set puts up the stand-ins, where containers reach them, and prepares a project
// that is led to them by its environment alone.
func set(t *testing.T, image string) *site {
	t.Helper()
	address := freeAddress(t)
	s := &site{project: newProject(t, image, "LISTEN="+address), Env: &testenv.Env{}}
	s.Service = system.Remote("http://"+address, &http.Client{Timeout: 10 * time.Second, Transport: keyed{s.secrets["API_KEY"]}})

	network := s.name + "-stand-ins"
	docker(t, "network", "create", network)
	t.Cleanup(func() { docker(t, "network", "rm", network) })
	host := docker(t, "network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", network)

	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755)) // the container's user is another one
	var err error
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
			"networks":    []string{"stand-ins"},
			"volumes":     []string{dir + ":" + dir + ":ro"},
		}},
		"networks": map[string]any{"stand-ins": map[string]any{"external": true, "name": network}},
	})
	t.Cleanup(func() { s.remove(t) })
	return s
}

// keyed makes requests with the key that the project was given, and not through
// the proxy that the environment names.
type keyed struct{ key string }

var direct = &http.Transport{DisableKeepAlives: true} // the other end comes and goes

func (k keyed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-API-Key", k.key)
	return direct.RoundTrip(req)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// ready waits until the gateway says that it is.
func (s *site) ready(t *testing.T, within time.Duration) {
	t.Helper()
	eventually(t, within, "the gateway is ready", func() bool {
		a, err := s.Service.Call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && a.Status == http.StatusOK
	})
}

// register registers a monitor whose alerts come soon.
func (s *site) register(t *testing.T, video string) (id string) {
	t.Helper()
	id, err := s.Service.Register(t.Context(), s.YouTube.URL(video), s.Receiver.URL(), map[string]any{
		"check_interval_sec": 2, "blackout_threshold_sec": int(threshold.Seconds()), "silence_threshold_sec": int(threshold.Seconds()),
	})
	must(t, err)
	return id
}

// checks is how many segments of a monitor have been looked at; negative: it
// cannot be told, or nobody is looking.
func (s *site) checks(ctx context.Context, id string) int {
	m, err := s.Service.Monitor(ctx, id)
	statistics, _ := m["statistics"].(map[string]any)
	total, found := statistics["total_segments_analyzed"].(float64)
	if err != nil || !found || m["status"] != "monitoring" {
		return -1
	}
	return int(total)
}

// watched waits until so many more segments of each monitor have been looked at.
func (s *site) watched(t *testing.T, more int, within time.Duration, ids ...string) {
	t.Helper()
	before := map[string]int{}
	for _, id := range ids {
		before[id] = max(0, s.checks(t.Context(), id))
	}
	for _, id := range ids {
		eventually(t, within, id+" is watched", func() bool { return s.checks(t.Context(), id) >= before[id]+more })
	}
}

// arrives waits for an event of a monitor, the first, the second, ….
func (s *site) arrives(t *testing.T, id, event string, number int, within time.Duration) (found webhookreceiver.Delivery) {
	t.Helper()
	eventually(t, within, event+" of "+id, func() bool {
		seen := 0
		for _, d := range s.about(id) {
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

// about is the accepted events of a monitor, in order.
func (s *site) about(id string) (all []webhookreceiver.Delivery) {
	for _, d := range s.Receiver.Accepted() {
		if d.MonitorID == id {
			all = append(all, d)
		}
	}
	return all
}

// only fails the test unless a monitor's events are exactly these, and verified.
func (s *site) only(t *testing.T, id string, want ...string) {
	t.Helper()
	var got []string
	for _, d := range s.about(id) {
		got = append(got, d.EventType)
		if !d.Verified {
			t.Errorf("%s is not verified: %s", d.EventType, d.Problem)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("events %v, want %v", got, want)
	}
}

// gateway is the container's id, what image it runs and since when.
func (s *site) gateway(t *testing.T) (container, image, since string) {
	t.Helper()
	words := strings.Fields(docker(t, "inspect", "-f", "{{.Id}} {{.Image}} {{.State.StartedAt}}", s.name+"-gateway-1"))
	return words[0], words[1], words[2]
}

// workers is each monitor's worker: its process in the gateway's container.
func (s *site) workers(t *testing.T) map[string]string {
	t.Helper()
	const list = `for p in /proc/[0-9]*; do
		[[ $(tr '\0' ' ' <"$p/cmdline") == */"stream-monitor worker "* ]] || continue
		echo "$(tr '\0' '\n' <"$p/environ" | sed -n 's/^MONITOR_ID=//p') ${p#/proc/}"
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
