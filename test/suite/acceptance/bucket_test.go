package acceptance_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/blob/s3"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
)

// bucketServer is an S3 server (versitygw) with a bucket in a directory.
type bucketServer struct {
	t         *testing.T
	dir, meta string
	addr      string
	process   *exec.Cmd
	log       bytes.Buffer
}

// versitygw is built by "make test", in the version that the Makefile names.
var versitygw = filepath.Join("..", "..", "..", ".tools", "bin", "versitygw-v1.8.0")

const (
	bucketName   = "evidence"
	bucketAccess = "test-access"
	bucketSecret = "test-secret-key"
)

// startBucket starts a server until the test ends.
func startBucket(t *testing.T) *bucketServer {
	t.Helper()
	address, err := loopback.FreeAddress() // the same after a restart
	if err != nil {
		t.Fatal(err)
	}
	s := &bucketServer{t: t, dir: t.TempDir(), meta: t.TempDir(), addr: address}
	if err := os.Mkdir(filepath.Join(s.dir, bucketName), 0o700); err != nil {
		t.Fatal(err)
	}
	s.run()
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the bucket's log:\n%s", s.log.String())
		}
	})
	return s
}

// run starts the process, and waits until it listens.
func (s *bucketServer) run() {
	s.t.Helper()
	s.process = exec.Command(versitygw, "--port", s.addr, "--quiet", "--keep-alive", "posix", "--sidecar", s.meta, s.dir)
	s.process.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+bucketAccess, "ROOT_SECRET_ACCESS_KEY="+bucketSecret)
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, 20*time.Second, "the bucket's server listens", func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// stop makes the server neither answer nor take anything. resume ends that.
func (s *bucketServer) stop()   { _ = s.process.Process.Signal(syscall.SIGSTOP) }
func (s *bucketServer) resume() { _ = s.process.Process.Signal(syscall.SIGCONT) }

func (s *bucketServer) kill() {
	_ = s.process.Process.Kill() // it may have ended
	_ = s.process.Wait()
}

// env returns the settings of a gateway that uses the bucket.
func (s *bucketServer) env() []string {
	return []string{"EVIDENCE_STORE=s3://" + bucketName, "EVIDENCE_S3_ENDPOINT=http://" + s.addr,
		"EVIDENCE_S3_ACCESS_KEY=" + bucketAccess, "EVIDENCE_S3_SECRET_KEY=" + bucketSecret}
}

// store opens the bucket as the gateway does.
func (s *bucketServer) store() *s3.Store {
	s.t.Helper()
	store, err := s3.New(s3.Config{Endpoint: "http://" + s.addr, AccessKey: bucketAccess, SecretKey: bucketSecret, Bucket: bucketName})
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}
