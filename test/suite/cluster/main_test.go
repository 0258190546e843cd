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

// together is how many streams are played at once, at most.
const together = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	if os.Getenv(kubeconfig) == "" {
		fmt.Fprintf(os.Stderr, "cluster: %s must name a kubeconfig; test/suite/cluster/run.sh sees to all\n", kubeconfig)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

var began = time.Now()

// say shows how far it has got, at once.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "cluster: %4.0f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

// video is the id of a video that no other test has.
func video() string { return youtube.NewVideoID() }

// limited is a context for one wait.
func limited(t *testing.T, d time.Duration) context.Context {
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

// about is the accepted events of a monitor, in order.
func about(s *site, id string) (all []webhookreceiver.Delivery) {
	for _, d := range s.Receiver.Accepted() {
		if d.MonitorID == id {
			all = append(all, d)
		}
	}
	return all
}
