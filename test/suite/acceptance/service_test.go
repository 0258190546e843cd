package acceptance_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

func TestItIsReadySoonAndGoesOnAfterARestart(t *testing.T) { // P3, P4, S11
	t.Parallel()
	s := own(t)
	ready := func(within time.Duration) {
		t.Helper()
		eventually(t, 20*time.Second, "ready", func() bool {
			res, err := http.Get(s.Service.URL() + "/readyz")
			if err != nil {
				return false
			}
			defer res.Body.Close()
			return res.StatusCode == http.StatusOK
		})
		took := time.Since(s.Service.StartedAt())
		t.Logf("ready after %s", took)
		if took > within {
			t.Errorf("ready after %s, want %s", took, within)
		}
	}
	ready(10 * time.Second)

	v := video()
	stream, err := s.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	id := register(t, s, v, quick())
	arrives(t, s, id, "stream.started", 60*time.Second)
	black := stream.Black(true)
	arrives(t, s, id, "alert.blackout", 60*time.Second)
	if err := s.Restart(t.Context(), testenv.Config{Binary: binary}); err != nil {
		t.Fatal(err)
	}
	ready(3 * time.Second)
	stream.Black(false)
	e := arrives(t, s, id, "alert.blackout_recovered", 60*time.Second)
	near(t, "started_at", e.Data.StartedAt, black, exact)
	stream.End()
	arrives(t, s, id, "stream.ended", 60*time.Second)
	only(t, s, id, "stream.started", "alert.blackout", "alert.blackout_recovered", "stream.ended")
}

func TestItOutlivesWhoeverReadsItsLog(t *testing.T) {
	t.Parallel()
	s := own(t)
	v := video()
	s.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	id := register(t, s, v, quick())
	becomes(t, s, id, "waiting", 60*time.Second)
	if err := s.Service.CloseLogPipe(); err != nil {
		t.Fatal(err)
	}
	stream, err := s.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	arrives(t, s, id, "stream.started", 60*time.Second)
	stream.End()
	arrives(t, s, id, "stream.ended", 60*time.Second)
	only(t, s, id, "stream.started", "stream.ended")
}

func TestAMonitorThatIsStopped(t *testing.T) { // 3.2, A6
	t.Parallel()
	v := video()
	common.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
	id := register(t, common, v, nil)
	becomes(t, common, id, "waiting", 60*time.Second)
	for range 2 {
		a, err := common.Service.Call(t.Context(), "DELETE", "/api/v1/monitors/"+id, nil)
		if err != nil || a.Status != 200 || a.Body["status"] != "stopped" || a.Body["stopped_at"] == nil {
			t.Fatalf("stopping: %v %v", a, err)
		}
	}
	gone(t, common, id)
	only(t, common, id)
}

func TestAWorkersOwnMemory(t *testing.T) {
	t.Parallel()
	v := video()
	stream, err := common.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	id := register(t, common, v, quick())
	// By then it has given back what only finding the stream has needed.
	eventually(t, 120*time.Second, "sixteen checks", func() bool { return checks(t, common, id) >= 16 })
	var own, resident int64
	for _, p := range common.Service.Workers() {
		if p.Env("MONITOR_ID") == id {
			own, resident = p.Memory()
		}
	}
	// How much of the program's file is resident, which all workers share, depends
	// on the machine.
	const mb = 1 << 20
	t.Logf("the worker holds %.1f MB of its own, %.1f MB in all", float64(own)/mb, float64(resident)/mb)
	if own == 0 || own > workerMemory {
		t.Errorf("the worker holds %d MB, want %d", own/mb, workerMemory/mb)
	}
	stream.End()
	arrives(t, common, id, "stream.ended", 30*time.Second)
}

func TestTheSpecifiedRowsOfBadRequests(t *testing.T) { // 3.5
	t.Parallel()
	body := func(stream string) map[string]any {
		return map[string]any{"stream_url": stream, "callback_url": common.Receiver.URL()}
	}
	for name, c := range map[string]struct {
		body   any
		status int
		code   string
	}{
		"not a YouTube URL": {body("https://example.com/live"), 400, "INVALID_URL"},
		"a channel":         {body("https://www.youtube.com/@somebody/live"), 400, "INVALID_URL"},
		"no object":         {"hello", 400, "INVALID_CONFIG"},
	} {
		a, err := common.Service.Call(t.Context(), "POST", "/api/v1/monitors", c.body)
		e, _ := a.Body["error"].(map[string]any)
		if err != nil || a.Status != c.status || e["code"] != c.code || e["message"] == "" {
			t.Errorf("%s: %v %v", name, a, err)
		}
	}
}

func TestWatchInTheForeground(t *testing.T) { // P1
	t.Parallel()
	v := video()
	stream, err := common.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	recording := filepath.Join(t.TempDir(), "recording.jsonl")
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, "watch", common.YouTube.URL(v),
		"--check-interval-sec=2", "--blackout-threshold-sec=6", "--json", "--record", recording)
	cmd.Env = append(cmd.Environ(), common.Service.Environment(common.YouTube.Env())...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	asked := func(n int) func() bool {
		return func() bool { return common.YouTube.Count(youtube.Segment, v) >= n }
	}
	eventually(t, 60*time.Second, "two checks", asked(2))
	stream.Black(true)
	time.Sleep(12 * time.Second) // program time: what the test is about
	stream.Black(false)
	time.Sleep(4 * time.Second)
	stream.End()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	want := []string{"stream.started", "alert.blackout", "alert.blackout_recovered", "stream.ended"}
	if got := types(t, out.Bytes()); !slices.Equal(got, want) {
		t.Errorf("printed %v, want %v", got, want)
	}
	t.Run("and its recording replays to the same", func(t *testing.T) {
		replayed, err := exec.CommandContext(t.Context(), binary, "replay", "--json", recording).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := types(t, replayed); !slices.Equal(got, want) {
			t.Errorf("replayed %v, want %v", got, want)
		}
	})
}

// types is the event types of JSON lines.
func types(t *testing.T, lines []byte) (all []string) {
	t.Helper()
	for line := range strings.Lines(string(lines)) {
		var e struct {
			Type string `json:"event_type"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, e.Type)
	}
	return all
}

func TestRegisteringAnswersSoon(t *testing.T) {
	s := own(t, "MAX_MONITORS=200", "YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true")
	var took []time.Duration
	for range 100 {
		v := video()
		began := time.Now()
		id, err := s.Service.Register(t.Context(), s.YouTube.URL(v), s.Receiver.URL(), nil)
		took = append(took, time.Since(began))
		if err != nil {
			t.Fatal(err)
		}
		// The launch is not waited for, and not what is measured: one core's
		// worth of starting workers would be.
		if _, err := s.Service.Call(t.Context(), "DELETE", "/api/v1/monitors/"+id, nil); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(took)
	t.Logf("registering: median %s, p99 %s, most %s", took[50], took[98], took[99])
}
