package dashboard_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

const pages = "../../../adapters/httpapi/ui"

var (
	binary   string // of stream-monitor, with the pages
	browser  string // path of Chromium
	nodePath string // PATH with node
)

// atOnce is the value of -parallel. Each browser needs a core while it does not wait, which the longest scripts mostly do.
const atOnce = "3"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		os.Exit(fail(err))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "stream-monitor-dashboard-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := prepare(ctx, dir); err != nil {
		return fail(err)
	}
	return m.Run()
}

// prepare finds the browser and builds the pages and the binary.
func prepare(ctx context.Context, dir string) (err error) {
	if browser, err = findBrowser(); err != nil {
		return err
	}
	tools, err := filepath.Abs("../../../.tools/node/bin")
	if err != nil {
		return err
	}
	nodePath = os.Getenv("PATH") + string(filepath.ListSeparator) + tools
	out, err := exec.CommandContext(ctx, filepath.Join(pages, "build.sh")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the pages: %w\n%s", err, out)
	}
	binary, err = system.Build(ctx, dir)
	return err
}

// findBrowser returns the path of a Chromium. The headless shell takes half of the CPU time of the others.
func findBrowser() (string, error) {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "chromium", "google-chrome", "chromium-browser"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New(`Chromium is not installed: "make test" installs it, or run "apt-get install chromium-headless-shell fonts-noto-cjk"`)
}

// node runs a command of Node.js in the folder of the pages, and logs its output. It fails
// the test if the command fails.
func node(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = pages
	cmd.Env = append(os.Environ(), append(env, "PATH="+nodePath, "CHROMIUM="+browser, "NO_COLOR=1")...)
	out, err := cmd.CombinedOutput()
	if t.Logf("%s %s:\n%s", name, strings.Join(args, " "), out); err != nil {
		t.Error(err)
	}
}

// scripts lists the tests in a folder of the pages.
func scripts(t *testing.T, folder string) (files []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pages, folder, "*.test.mjs"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts are in %s: %v", folder, err)
	}
	for i := range files {
		if files[i], err = filepath.Rel(pages, files[i]); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "dashboard:", err)
	return 1
}
