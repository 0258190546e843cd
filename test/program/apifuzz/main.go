// Command apifuzz tests the API with requests generated from openapi.yaml. It runs
// schemathesis against a real service with a database of its own. schemathesis sends
// valid and invalid requests, in sequences, without keys and with other methods. It
// compares every answer with the document.
//
// "make test-api" runs it for about two minutes with a fixed seed, so that a failure
// comes from the change under test. "make nightly" uses a new seed and more time.
//
// It also fails if the service logs an error, if a webhook cannot be verified, or if
// the service does not stop in an orderly way.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// Paths from the root of the repository.
const (
	client   = ".tools/api-venv/bin/schemathesis"
	document = "adapters/httpapi/openapi.yaml"
	settings = "test/program/apifuzz/schemathesis.toml"
	hooks    = "test/program/apifuzz/hooks.py"
	logFile  = "bin/test-api.log"
)

// grace is added to the budget of the client, which finishes its last case and
// shrinks a failing one.
const grace = time.Minute

var (
	budget = flag.Duration("budget", 110*time.Second, "time of the client on both ports together")
	seed   = flag.Int("seed", 1, "seed of the generated requests; 0: a new one")
)

func main() {
	bench.Main("test-api", "Does the API do what its document says?\n", func(ctx context.Context) error {
		if *seed == 0 {
			*seed = rand.IntN(1 << 31)
		}
		if _, err := os.Stat(client); err != nil {
			return fmt.Errorf("schemathesis is not installed: run it as \"make test-api\" (%w)", err)
		}
		return bench.InTempDir(func(dir string) error { return run(ctx, dir) })
	})
}

func run(ctx context.Context, dir string) error {
	binary, err := system.Build(ctx, dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(logFile), 0o755); err != nil {
		return err
	}
	log, err := os.Create(logFile)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	set, err := testenv.Start(ctx, testenv.Config{
		Binary: binary, Log: log,
		// Few workers, which find nothing: this test is about the API.
		Env: []string{"YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true", "MAX_MONITORS=20", "LOG_LEVEL=debug"},
	})
	if err != nil {
		return err
	}
	err = errors.Join(
		fuzz(ctx, set, dir, "internal", set.Service.InternalURL(), *budget/5),
		fuzz(ctx, set, dir, "public", set.Service.URL(), *budget*4/5),
		set.Close(),
		checkLog(set.Service),
		checkWebhooks(set.Receiver),
	)
	if err != nil {
		return fmt.Errorf("seed %d, log %s: %w", *seed, logFile, err)
	}
	return nil
}

// fuzz runs the client against one port. It gives it a monitor, an event, a
// destination, a route and a silence that exist.
func fuzz(ctx context.Context, set *testenv.Env, dir, port, url string, budget time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id, event, err := registerWithEvent(ctx, set)
	if err != nil {
		return err
	}
	variables, err := createRouting(ctx, set.Service, port)
	if err != nil {
		return err
	}
	maps.Copy(variables, map[string]string{
		"HOOKS": hooks, "MONITOR": id, "EVENT": event, "API_KEY": system.APIKey, "INTERNAL_API_KEY": system.WorkerToken(id),
	})
	config := filepath.Join(dir, port+".toml")
	if err := configure(config, variables); err != nil {
		return err
	}
	fmt.Printf("\ntest-api: the %s port\n\n", port)
	ctx, cancel := context.WithTimeout(ctx, budget+grace)
	defer cancel()
	which := "--exclude-tag=internal"
	if port == "internal" {
		which = "--include-tag=internal"
	}
	cmd := exec.CommandContext(ctx, client, "--config-file="+config, "run", document, "--url="+url, which,
		"--max-time="+strconv.Itoa(int(budget.Seconds())), "--seed="+strconv.Itoa(*seed))
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "RECEIVER="+set.Receiver.URL(), "HYPOTHESIS_STORAGE_DIRECTORY="+dir, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // the client then still prints its report
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the client on the %s port: %w", port, err)
	}
	return nil
}

// configure writes the settings of the client with their variables replaced. The
// client itself does not replace all of them.
func configure(path string, variables map[string]string) error {
	text, err := os.ReadFile(settings)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(os.Expand(string(text), func(name string) string { return variables[name] })), 0o600)
}

// checkLog returns an error for each line of level ERROR and for each line that does
// not have the format of section 11.2.
func checkLog(service *system.Service) (err error) {
	for _, l := range service.Log() {
		if l.Malformed || l.Level == "ERROR" {
			err = errors.Join(err, fmt.Errorf("the service logged: %s", l.Raw))
		}
	}
	return err
}

// checkWebhooks returns an error for each webhook that could not be verified.
func checkWebhooks(receiver *webhookreceiver.Receiver) (err error) {
	all := receiver.All()
	for _, d := range all {
		if !d.Verified {
			err = errors.Join(err, fmt.Errorf("a webhook could not be verified: %s", d))
		}
	}
	fmt.Printf("\ntest-api: %d webhooks arrived\n", len(all))
	return err
}
