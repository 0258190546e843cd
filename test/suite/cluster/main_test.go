//go:build cluster

package cluster_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

// parallelStreams is how many streams run at once, at most.
const parallelStreams = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", parallelStreams); err != nil {
		panic(err)
	}
	if os.Getenv(kubeconfig) == "" {
		fmt.Fprintf(os.Stderr, "cluster: %s must name a kubeconfig; test/suite/cluster/run.sh sets it\n", kubeconfig)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

var started = time.Now()

// logProgress prints to standard error at once: go test -v buffers the log of a test.
func logProgress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "cluster: %4.0f s  %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
