//go:build cluster

package cluster_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
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

// newVideo returns a video ID that no other test uses.
func newVideo() string { return youtube.NewVideoID() }

// timeLimit returns a context that ends after d.
func timeLimit(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventsOf lists the accepted events of a monitor, in order.
func eventsOf(s *clusterEnv, id string) (all []webhookreceiver.Delivery) {
	for _, d := range s.Receiver.Accepted() {
		if d.MonitorID == id {
			all = append(all, d)
		}
	}
	return all
}
