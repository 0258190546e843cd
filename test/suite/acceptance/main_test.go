package acceptance_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

var (
	binary    string             // of stream-monitor, built once
	migrated  string             // directory of an empty database with all migrations
	recording *youtube.Recording // of the real yt-dlp, for the tests that are not about it
	shared    *scenario.Env      // watched by all tests that need neither a gateway of their own nor evidence
)

// unlimited is the value of -parallel: runTimeline limits the timelines instead.
const unlimited = "1000"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", unlimited); err != nil {
		os.Exit(fail(err))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "stream-monitor-acceptance-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var buildErr, recordErr error
	var prepare sync.WaitGroup
	prepare.Go(func() {
		if binary, buildErr = system.Build(ctx, dir); buildErr == nil {
			migrated, buildErr = testenv.PrepareDatabase(ctx, binary, dir)
		}
	})
	prepare.Go(func() { recording, recordErr = testenv.RecordYtdlp(ctx) })
	prepare.Wait()
	if err := errors.Join(buildErr, recordErr); err != nil {
		return fail(err)
	}
	env, err := testenv.Start(ctx, testenv.Config{Binary: binary, Database: migrated, Env: []string{"EVIDENCE_CAPTURE=off"}, Recording: recording})
	if err != nil {
		return fail(err)
	}
	shared = installed(env)
	status := m.Run()
	// Close fails if a process is left behind.
	if err := shared.Close(); err != nil {
		return fail(err)
	}
	for _, l := range shared.Service.Log() {
		if l.Malformed {
			return fail(fmt.Errorf("a log line is not in the format of section 11.2: %s", l.Raw))
		}
	}
	return status
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "acceptance:", err)
	return 1
}
