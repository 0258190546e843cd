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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stream-monitor/stream-monitor/adapters/blob/blobtest"
	"github.com/stream-monitor/stream-monitor/adapters/blob/s3"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
)

const (
	accessKey = "test-access"
	secretKey = "test-secret-key"
	bucket    = "evidence"
)

// server is a versitygw: an S3 server over a directory.
type server struct {
	dir  string
	meta string // what S3 keeps beside the files
	addr string
	kill func() // may be called again

	process *os.Process
}

// versitygw is built by "make test", in the version that the Makefile names.
var versitygw = filepath.Join("..", "..", "..", ".tools", "bin", "versitygw-v1.8.0")

// start starts a server with one bucket, until the test ends.
func start(t *testing.T) *server {
	t.Helper()
	if _, err := os.Stat(versitygw); err != nil {
		t.Fatalf("%v; run: make %s", err, strings.TrimPrefix(versitygw, "../../../"))
	}
	address, err := loopback.FreeAddress() // the same after a restart
	if err != nil {
		t.Fatal(err)
	}
	s := &server{dir: t.TempDir(), meta: t.TempDir(), addr: address}
	s.run(t)
	return s
}

// run starts the process, and waits until it answers.
func (s *server) run(t *testing.T) {
	t.Helper()
	var log bytes.Buffer
	process := exec.Command(versitygw, "--port", s.addr, "--quiet", "--keep-alive", "posix", "--sidecar", s.meta, s.dir)
	process.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+accessKey, "ROOT_SECRET_ACCESS_KEY="+secretKey)
	process.Stdout, process.Stderr = &log, &log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = process.Process
	s.kill = sync.OnceFunc(func() {
		_ = process.Process.Kill() // it may have ended
		_ = process.Wait()
	})
	kill := s.kill
	t.Cleanup(func() {
		kill()
		if t.Failed() {
			t.Logf("the server's log:\n%s", log.String())
		}
	})
	client, err := minio.New(s.addr, &minio.Options{Creds: credentials.NewStaticV4(accessKey, secretKey, "")})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		exists, err := client.BucketExists(t.Context(), bucket)
		if err == nil && !exists {
			err = client.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{})
		}
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not answer: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// count returns how many files the server has in its bucket, whatever they are.
func (s *server) count(t *testing.T) int {
	t.Helper()
	return blobtest.CountFiles(t, filepath.Join(s.dir, bucket))
}

func open(t *testing.T, addr string) *s3.Store {
	t.Helper()
	s, err := s3.New(s3.Config{
		Endpoint: "http://" + addr, AccessKey: accessKey, SecretKey: secretKey, Bucket: bucket, Prefix: "/of/one/installation/", Timeout: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Harness {
		realServer := start(t)
		return blobtest.Harness{
			Store: open(t, realServer.addr),
			Count: realServer.count,
			Hang: func(t *testing.T) { // the kernel accepts connections and what they send
				err := realServer.process.Signal(syscall.SIGSTOP)
				if err == nil {
					_, err = syscall.Wait4(realServer.process.Pid, nil, syscall.WUNTRACED, nil) // until all its threads have stopped
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			Kill:  func(*testing.T) { realServer.kill() },
			Limit: 10 * time.Second,
		}
	})
}

// TestAServerThatIsKilledDuringAnUploadLeavesNoBlob kills the server when half of the
// bytes are sent, and starts it again.
func TestAServerThatIsKilledDuringAnUploadLeavesNoBlob(t *testing.T) {
	realServer := start(t)
	s := open(t, realServer.addr)
	data := bytes.Repeat([]byte("0123456789abcdef"), 512<<10) // 8 MiB
	d := evidence.Digest(sha256.Sum256(data))
	sent := 0
	source := readerFunc(func(p []byte) (int, error) {
		if sent > len(data)/2 {
			realServer.kill()
		}
		n := copy(p, data[sent:])
		sent += n
		return n, nil
	})
	err := s.Put(t.Context(), evidences.NewContent(d, int64(len(data)), source))
	if err == nil || !strings.Contains(err.Error(), "store blob") {
		t.Fatalf("the error is %v", err)
	}
	t.Logf("the error: %v", err)
	realServer.run(t)
	if list, err := s.List(t.Context(), evidence.Digest{}, 10); err != nil || len(list) > 0 {
		t.Errorf("listed are %v: %v", list, err)
	}
	if _, err := s.Open(t.Context(), d, 0); !errors.Is(err, evidences.ErrNoBlob) {
		t.Errorf("opening the blob: %v", err)
	}
	if err := s.Put(t.Context(), evidences.NewContent(d, int64(len(data)), bytes.NewReader(data))); err != nil {
		t.Errorf("putting it again: %v", err)
	}
}

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

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
	if _, err := s3.New(whole); err != nil {
		t.Fatal(err)
	}
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
