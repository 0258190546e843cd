// Command api lets a client that was made up from openapi.yaml alone loose on a
// real service with a database of its own: schemathesis sends what the document
// allows and what it does not, in sequences, without keys and with methods that
// are not there, and holds every answer against the document. It is what "make
// test-api" runs, and takes about two minutes. What it sends is made up from the
// same seed each time, so that a change answers for itself; "make nightly" looks
// further, from a new seed and for longer.
//
// Beside what schemathesis finds, it is a failure if the service logs an error,
// if a webhook that it sends meanwhile cannot be verified, or if it does not end
// in good order afterwards.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// Where things are, from the root of the repository.
const (
	client   = ".tools/api-venv/bin/schemathesis"
	document = "adapters/httpapi/openapi.yaml"
	settings = "test/program/apifuzz/schemathesis.toml"
	hooks    = "test/program/apifuzz/hooks.py"
	logFile  = "bin/test-api.log"
)

// spare is how much longer than its budget the client may take: it finishes
// the case that it is at, and makes a failing one smaller.
const spare = time.Minute

var (
	budget = flag.Duration("budget", 110*time.Second, "how long the client goes on, over both ports")
	seed   = flag.Int("seed", 1, "what is made up depends on, as far as its time allows; 0: a new one")
)

func main() {
	flag.Parse()
	if *seed == 0 {
		*seed = rand.IntN(1 << 31)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "test-api:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if _, err := os.Stat(client); err != nil {
		return fmt.Errorf("schemathesis is not installed: run it as \"make test-api\" (%w)", err)
	}
	dir, err := os.MkdirTemp("", "stream-monitor-api-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.MkdirAll(filepath.Dir(logFile), 0o755); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the private database runs as another user than root
		return err
	}
	binary, err := system.Build(ctx, dir)
	if err != nil {
		return err
	}
	receiver, err := webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey})
	if err != nil {
		return err
	}
	log, err := os.Create(logFile)
	if err != nil {
		return errors.Join(err, receiver.Close())
	}
	defer func() { _ = log.Close() }()
	service, err := system.Start(ctx, system.Config{
		Binary: binary, DataDir: filepath.Join(dir, "data"), Log: log,
		// Workers that find nothing, and few of them: this is not about them.
		Env: []string{"YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true", "MAX_MONITORS=20", "LOG_LEVEL=debug"},
	})
	if err != nil {
		return errors.Join(err, receiver.Close())
	}
	err = errors.Join(
		play(ctx, service, receiver, dir, "internal", service.InternalURL(), *budget/5),
		play(ctx, service, receiver, dir, "public", service.URL(), *budget*4/5),
		service.Stop(),
		receiver.Close(),
		logged(service),
		verified(receiver),
	)
	if err != nil {
		return fmt.Errorf("seed %d, log %s: %w", *seed, logFile, err)
	}
	return nil
}

// play runs the client against one port, which it knows a monitor of.
func play(ctx context.Context, service *system.Service, receiver *webhookreceiver.Receiver, dir, port, url string, budget time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id, event, err := happening(ctx, service, receiver)
	if err != nil {
		return err
	}
	config := filepath.Join(dir, port+".toml")
	if err := configure(config, map[string]string{
		"HOOKS": hooks, "MONITOR": id, "EVENT": event,
		"API_KEY": system.APIKey, "INTERNAL_API_KEY": system.InternalKey,
	}); err != nil {
		return err
	}
	fmt.Printf("\ntest-api: the %s port\n\n", port)
	ctx, cancel := context.WithTimeout(ctx, budget+spare)
	defer cancel()
	which := "--exclude-tag=internal"
	if port == "internal" {
		which = "--include-tag=internal"
	}
	cmd := exec.CommandContext(ctx, client, "--config-file="+config, "run", document, "--url="+url, which,
		"--max-time="+strconv.Itoa(int(budget.Seconds())), "--seed="+strconv.Itoa(*seed))
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "RECEIVER="+receiver.URL(), "HYPOTHESIS_STORAGE_DIRECTORY="+dir, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // it then still reports
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the client on the %s port: %w", port, err)
	}
	return nil
}

// configure writes the client's settings with the variables in them filled in,
// which the client itself does not do in all places.
func configure(path string, variables map[string]string) error {
	text, err := os.ReadFile(settings)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(os.Expand(string(text), func(name string) string { return variables[name] })), 0o600)
}

// logged is an error if the service has logged one, or anything in another
// shape than that of section 11.2.
func logged(service *system.Service) (err error) {
	for _, l := range service.Log() {
		if l.Malformed || l.Level == "ERROR" {
			err = errors.Join(err, fmt.Errorf("the service logged: %s", l.Raw))
		}
	}
	return err
}

// verified is an error if the receiver could not verify a webhook.
func verified(receiver *webhookreceiver.Receiver) (err error) {
	all := receiver.All()
	for _, d := range all {
		if !d.Verified {
			err = errors.Join(err, fmt.Errorf("a webhook could not be verified: %s", d))
		}
	}
	fmt.Printf("\ntest-api: %d webhooks arrived\n", len(all))
	return err
}
