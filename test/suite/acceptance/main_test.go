package acceptance_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	shared    *scenario.Env      // of all tests that need neither a gateway of their own nor evidence
	complete  *scenario.Env      // of those that need evidence, which is in a directory, or servers of their own
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
	if shared, err = start(ctx, "EVIDENCE_CAPTURE=off"); err == nil {
		complete, err = start(ctx, "EVIDENCE_STORE=dir:"+filepath.Join(dir, "evidence"), "MEDIA_ALLOWED_NETWORKS=127.0.0.0/8")
	}
	if err != nil {
		return fail(err)
	}
	status := m.Run()
	for _, env := range []*scenario.Env{shared, complete} {
		// Close fails if a process is left behind.
		if err := env.Close(); err != nil {
			return fail(err)
		}
		for _, l := range env.Service.Log() {
			if l.Malformed {
				return fail(fmt.Errorf("a log line is not in the format of section 11.2: %s", l.Raw))
			}
		}
	}
	return status
}

// start starts a gateway that tests share.
func start(ctx context.Context, settings ...string) (*scenario.Env, error) {
	env, err := testenv.Start(ctx, testenv.Config{Binary: binary, Database: migrated, Env: settings, Recording: recording})
	if err != nil {
		return nil, err
	}
	return installed(env), nil
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "acceptance:", err)
	return 1
}
