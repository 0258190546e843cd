package s3_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stream-monitor/stream-monitor/adapters/blob/blobtest"
	"github.com/stream-monitor/stream-monitor/adapters/blob/s3"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const (
	accessKey = "test-access"
	secretKey = "test-secret-key"
	bucket    = "evidence"
)

// server is a versitygw: an S3 server over a directory.
type server struct {
	dir     string
	addr    string
	process *exec.Cmd
}

// versitygw is built by "make test", in the version that the Makefile names.
var versitygw = filepath.Join("..", "..", "..", ".tools", "bin", "versitygw-v1.8.0")

// start starts a server with one bucket, until the test ends.
func start(t *testing.T) *server {
	t.Helper()
	if _, err := os.Stat(versitygw); err != nil {
		t.Fatalf("%v; run: make %s", err, strings.TrimPrefix(versitygw, "../../../"))
	}
	address := must.Get(loopback.FreeAddress())(t)
	s := &server{dir: t.TempDir(), addr: address}
	var log bytes.Buffer
	s.process = exec.Command(versitygw, "--port", s.addr, "--quiet", "--keep-alive", "posix", "--sidecar", t.TempDir(), s.dir)
	s.process.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+accessKey, "ROOT_SECRET_ACCESS_KEY="+secretKey)
	s.process.Stdout, s.process.Stderr = &log, &log
	must.Do(t, s.process.Start())
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the server's log:\n%s", log.String())
		}
	})
	client := must.Get(minio.New(s.addr, &minio.Options{Creds: credentials.NewStaticV4(accessKey, secretKey, "")}))(t)
	await.True(t, "the server answers", func() bool {
		exists, err := client.BucketExists(t.Context(), bucket)
		return err == nil && (exists || client.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{}) == nil)
	})
	return s
}

// kill ends the server. It may be called again.
func (s *server) kill() {
	_ = s.process.Process.Kill() // it may have ended
	_ = s.process.Wait()
}

// count returns how many files the server has in its bucket, whatever they are.
func (s *server) count(t *testing.T) int {
	t.Helper()
	return blobtest.CountFiles(t, filepath.Join(s.dir, bucket))
}

func open(t *testing.T, addr string) *s3.Store {
	t.Helper()
	s := must.Get(s3.New(s3.Config{
		Endpoint: "http://" + addr, AccessKey: accessKey, SecretKey: secretKey, Bucket: bucket, Prefix: "/of/one/installation/", Timeout: 2 * time.Second,
	}))(t)
	return s
}

func TestConformance(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Harness {
		realServer := start(t)
		return blobtest.Harness{
			Store: open(t, realServer.addr),
			Count: realServer.count,
			Hang: func(t *testing.T) { // the kernel accepts connections and what they send
				err := realServer.process.Process.Signal(syscall.SIGSTOP)
				if err == nil {
					_, err = syscall.Wait4(realServer.process.Process.Pid, nil, syscall.WUNTRACED, nil) // until all its threads have stopped
				}
				must.Do(t, err)
			},
			Kill:  func(*testing.T) { realServer.kill() },
			Limit: 10 * time.Second,
		}
	})
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	realServer := start(t)
	data := []byte("a picture")
	d := evidence.Digest(sha256.Sum256(data))
	for name, c := range map[string]struct {
		change func(*s3.Config)
		says   string
	}{
		"no such bucket":     {func(c *s3.Config) { c.Bucket = "no-such-bucket" }, "bucket"},
		"a wrong secret key": {func(c *s3.Config) { c.SecretKey = "wrong" }, "ignature"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := s3.Config{Endpoint: "http://" + realServer.addr, AccessKey: accessKey, SecretKey: secretKey, Bucket: bucket}
			c.change(&cfg)
			s, err := s3.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, listErr := s.List(t.Context(), evidence.Digest{}, 10)
			opened, openErr := s.Open(t.Context(), d, 0)
			if openErr == nil {
				_, openErr = io.Copy(io.Discard, opened)
				_ = opened.Close()
			}
			for method, err := range map[string]error{
				"Put": s.Put(t.Context(), evidences.NewContent(d, int64(len(data)), bytes.NewReader(data))), "Open": openErr, "List": listErr,
			} {
				if err == nil || errors.Is(err, evidences.ErrNoBlob) || method == "List" && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: the error is %v", method, err)
				}
			}
		})
	}
}

func TestAnIncompleteConfigIsRefused(t *testing.T) {
	whole := s3.Config{Endpoint: "https://host", AccessKey: "a", SecretKey: "b", Bucket: "c"}
	must.Get(s3.New(whole))(t)
	for i, change := range []func(*s3.Config){
		func(c *s3.Config) { c.Endpoint = "host:9000" },
		func(c *s3.Config) { c.Endpoint = "ftp://host" },
		func(c *s3.Config) { c.AccessKey = "" },
		func(c *s3.Config) { c.SecretKey = "" },
		func(c *s3.Config) { c.Bucket = "" },
	} {
		cfg := whole
		change(&cfg)
		if _, err := s3.New(cfg); err == nil {
			t.Errorf("case %d: %s was accepted", i, fmt.Sprint(cfg))
		}
	}
}
