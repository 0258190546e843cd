package acceptance_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
)

// With evidence, which must not delay an alert. The database stores it in the other environments.
func TestTheMainScenario(t *testing.T) { // decisions P2, S1
	t.Parallel()
	t.Run("worker processes, evidence in a directory", func(t *testing.T) {
		runTimeline(t, 1)
		complete.PlayMain(t)
	})
	t.Run("inline workers, picture and sound in two playlists, evidence in a bucket", func(t *testing.T) {
		runTimeline(t, 1)
		env := startEnv(t, append(startBucket(t), "WORKER_RUNTIME=inline")...)
		env.Renditions = []livestream.Rendition{livestream.Video144p, livestream.AudioOnly}
		env.PlayMain(t)
	})
}

func TestOptionalDetectorsAreSeenFromOnsetToRecovery(t *testing.T) {
	t.Parallel()
	t.Run("process", func(t *testing.T) {
		runTimeline(t, 2)
		complete.PlayDetectors(t)
	})
	t.Run("inline", func(t *testing.T) {
		runTimeline(t, 2)
		startEnv(t, "WORKER_RUNTIME=inline").PlayDetectors(t)
	})
}

func TestEachBadQualityOfALadderIsTold(t *testing.T) { // sections 6.8 and 16.2
	runTimeline(t, 2)
	complete.PlayLadders(t)
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
