package acceptance_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// evidenceUpload is one file of evidence that the test uploads in place of a worker.
type evidenceUpload struct {
	monitor, evidence, event, variant string
	data                              []byte
}

func newEvidenceUpload(monitor, event, variant string, size int) evidenceUpload {
	return evidenceUpload{monitor, uuid.Must(uuid.NewV7()).String(), event, variant, bytes.Repeat([]byte(variant), size/len(variant))}
}

func (u evidenceUpload) path() string {
	query := url.Values{
		"generation": {"1"}, "event_id": {u.event}, "condition": {"black"}, "phase": {"alert"},
		"sha256": {fmt.Sprintf("%x", sha256.Sum256(u.data))}, "taken_at": {time.Now().UTC().Format(time.RFC3339)},
	}
	return "/internal/v1/monitors/" + u.monitor + "/evidence/" + u.evidence + "/" + u.variant + "?" + query.Encode()
}

// send uploads the file and returns the status.
func (u evidenceUpload) send(t *testing.T, s *system.Service) int {
	t.Helper()
	return sendAsWorker(t, s, http.MethodPost, u.monitor, u.path(), u.data)
}

// begin sends the head and half of the file, and returns the connection.
func (u evidenceUpload) begin(t *testing.T, s *system.Service) net.Conn {
	t.Helper()
	at, err := url.Parse(s.InternalURL())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nX-Internal-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		u.path(), at.Host, system.WorkerToken(u.monitor), len(u.data), u.data[:len(u.data)/2])
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// link asks for a signed link, and returns its path.
func (u evidenceUpload) link(t *testing.T, s *system.Service) string {
	t.Helper()
	answer, err := s.Call(t.Context(), "POST", "/api/v1/evidence/"+u.evidence+"/link", map[string]any{"variant": u.variant})
	if err != nil {
		t.Fatal(err)
	}
	path, _ := answer.Body["url"].(string)
	if path == "" {
		t.Fatalf("no link: %d %v", answer.Status, answer.Body)
	}
	return path
}

// download follows a link without a key.
func download(t *testing.T, s *system.Service, path string, headers ...string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, body
}

// reportBlackout reports an alert, as the monitor's worker does, and returns the id of the event.
func reportBlackout(t *testing.T, s *system.Service, id string) (event string) {
	t.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	event = uuid.Must(uuid.NewV7()).String()
	body, err := json.Marshal(map[string]any{
		"generation": 1, "status": "monitoring", "stream_status": "live", "health": map[string]any{"video": "black", "audio": "ok", "last_check_at": now},
		"events": []any{map[string]any{"event_id": event, "event_type": scenario.Blackout, "timestamp": now,
			"data": map[string]any{"duration_sec": 30, "started_at": now, "threshold_sec": 30, "segment_info": map[string]any{"sequence": 1, "duration": 5}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	requireStatus(t, "the report", sendAsWorker(t, s, http.MethodPut, id, "/internal/v1/monitors/"+id+"/status", body), http.StatusOK)
	return event
}

// sendAsWorker makes a request as a monitor's worker does, and returns the status.
func sendAsWorker(t *testing.T, s *system.Service, method, id, path string, body []byte) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.InternalURL()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Internal-API-Key", system.WorkerToken(id))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// TestEvidenceSurvivesAKilledGateway uploads a clip through the real ports of a gateway and
// kills it in the middle of another one. An older link then shows the first clip.
func TestEvidenceSurvivesAKilledGateway(t *testing.T) { // section 16.2
	t.Parallel()
	for name, store := range map[string]func(*testing.T) []string{
		"database": func(*testing.T) []string { return []string{"EVIDENCE_STORE=postgres"} },
		"directory": func(t *testing.T) []string {
			return []string{"EVIDENCE_STORE=dir:" + filepath.Join(t.TempDir(), "evidence")}
		},
		"bucket": startBucket,
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 1)
			settings := testenv.Config{Binary: binary, Env: store(t)}
			env := startEnv(t, settings.Env...)
			// A reservation has no worker, so its generation stays 1. An ended monitor takes evidence, too.
			id := env.Register(t, newVideoID(), map[string]any{"scheduled_start_time": time.Now().Add(24 * time.Hour).Format(time.RFC3339)})
			event := reportBlackout(t, env.Service, id)
			callOK(t, env.Service, "DELETE", "/api/v1/monitors/"+id, nil)
			clip := newEvidenceUpload(id, event, "clip", 5<<20)
			requireStatus(t, "the upload", clip.send(t, env.Service), http.StatusOK)
			path := clip.link(t, env.Service)
			cut := newEvidenceUpload(id, event, "clip", 8<<20)
			conn := cut.begin(t, env.Service)
			defer conn.Close()
			if err := env.KillAndRestart(t.Context(), settings); err != nil {
				t.Fatal(err)
			}
			eventually(t, 30*time.Second, "the gateway is ready", func() bool {
				return get(t.Context(), env.Service, "/readyz").status == http.StatusOK
			})
			assertDownload(t, env.Service, path, clip.data)
			status, body := download(t, env.Service, path, "Range", "bytes=3000000-3000099")
			if requireStatus(t, "a range", status, http.StatusPartialContent); !bytes.Equal(body, clip.data[3000000:3000100]) {
				t.Errorf("the range has %d other bytes", len(body))
			}
			status, _ = download(t, env.Service, strings.Replace(path, "/clip", "/onset", 1))
			requireStatus(t, "an altered link", status, http.StatusForbidden)
			requireStatus(t, "the upload that was cut", get(t.Context(), env.Service, "/api/v1/evidence/"+cut.evidence).status, http.StatusNotFound)
			requireStatus(t, "the repeated upload", cut.send(t, env.Service), http.StatusOK)
			assertDownload(t, env.Service, cut.link(t, env.Service), cut.data)
		})
	}
}

// startBucket starts an S3 server (versitygw) with a bucket in a directory, and returns the
// settings of a gateway that uses it. "make test" builds it, in the version that the Makefile names.
func startBucket(t *testing.T) []string {
	t.Helper()
	address, err := loopback.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "evidence"), 0o700); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(filepath.Join("..", "..", "..", ".tools", "bin", "versitygw-v1.8.0"), "--port", address, "--quiet", "posix", "--sidecar", t.TempDir(), dir)
	server.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID=test-access", "ROOT_SECRET_ACCESS_KEY=test-secret-key")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	eventually(t, 20*time.Second, "the bucket's server listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return []string{"EVIDENCE_STORE=s3://evidence", "EVIDENCE_S3_ENDPOINT=http://" + address,
		"EVIDENCE_S3_ACCESS_KEY=test-access", "EVIDENCE_S3_SECRET_KEY=test-secret-key"}
}

func requireStatus(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Fatalf("%s is answered with %d, want %d", what, got, want)
	}
}

// assertDownload asserts that a link shows a file.
func assertDownload(t *testing.T, s *system.Service, path string, want []byte) {
	t.Helper()
	if status, body := download(t, s, path); status != http.StatusOK || !bytes.Equal(body, want) {
		t.Errorf("the link answers %d with %d bytes, want %d bytes", status, len(body), len(want))
	}
}
