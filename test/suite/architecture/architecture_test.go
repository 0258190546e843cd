package architecture_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The test reads imports only: nothing is compiled and nothing downloaded, so
// it answers in well under a second.

// list asks the go command for every package of the module in dir. Imports
// that cannot be found are listed all the same.
func list(t *testing.T, dir string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v\n%s", dir, err, &complaint)
	}
	var packages []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatalf("go list in %s: %v", dir, err)
		}
		packages = append(packages, p)
	}
}

func TestEveryImportFollowsTheRules(t *testing.T) {
	packages := list(t, "../../..")
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages; the test looks in the wrong place", len(packages))
	}
	for _, v := range violations(packages) {
		t.Error(v)
	}
	for _, v := range clocks(t, packages) {
		t.Error(v)
	}
}

// TestEachRuleFires checks a module that breaks every rule once.
func TestEachRuleFires(t *testing.T) {
	packages := list(t, unpack(t, "testdata/violations.txtar"))
	var got []string
	for _, v := range violations(packages) {
		got = append(got, fmt.Sprintf("%s: %s imports %s", v.rule.name, v.from, v.imported))
	}
	got = append(got, clocks(t, packages)...)
	slices.Sort(got)
	want := []string{
		"adapters-apart: adapters/notifier imports adapters/notifier/slack",
		"adapters-apart: adapters/notifier/slack imports adapters/notifier/discord",
		"adapters-apart: adapters/webhook imports adapters/notifier",
		"adapters-apart: adapters/stream/fallback imports adapters/stream/hls",
		"adapters-apart: adapters/stream/hls imports adapters/runtime/kube",
		"application-knows-the-domain: application/delivery imports application/monitors",
		"application-knows-the-domain: application/delivery imports github.com/gin-gonic/gin",
		"application-knows-the-domain: application/delivery imports github.com/sony/gobreaker/v2",
		"application-knows-the-domain: application/worker imports adapters/stream/hls",
		"application-touches-nothing: application/monitors imports net/http",
		"domain-is-pure: domain/monitor imports github.com/google/uuid",
		"domain-is-pure: domain/watch imports application/monitors",
		"domain-is-pure: domain/watch imports context",
		"domain-reads-no-clock: domain/event calls time.Now",
		"domain-tests-know-the-domain: domain/event imports adapters/runtime/kube",
		"libraries-at-home: adapters/stream/hls imports github.com/lib/pq",
		"libraries-at-home: adapters/notifier/slack imports github.com/wneessen/go-mail",
		"libraries-at-home: adapters/runtime/kube imports github.com/sirupsen/logrus",
		"libraries-at-home: application/delivery imports github.com/gin-gonic/gin",
		"libraries-at-home: application/delivery imports github.com/sony/gobreaker/v2",
		"only-cmd-sees-all: adapters/runtime/kube imports cmd/stream-monitor",
		"only-cmd-sees-all: application/worker imports adapters/stream/hls",
		"only-cmd-sees-all: migrations imports adapters/stream/hls",
		"product-knows-no-test: adapters/runtime/kube imports adapters/internal/subprocess/subprocesstest",
		"product-knows-no-test: adapters/runtime/kube imports test/fake/webhookreceiver",
		"shared-code-imports-no-port: adapters/internal/subprocess imports application/monitors",
	}
	if missing := without(want, got); len(missing) > 0 {
		t.Errorf("not noticed:\n  %s", strings.Join(missing, "\n  "))
	}
	if extra := without(got, want); len(extra) > 0 {
		t.Errorf("noticed, though nothing is wrong there:\n  %s", strings.Join(extra, "\n  "))
	}
	for _, r := range rules {
		if !slices.ContainsFunc(want, func(s string) bool { return strings.HasPrefix(s, r.name+":") }) {
			t.Errorf("nothing in testdata/violations.txtar breaks %s", r.name)
		}
		if r.reason == "" {
			t.Errorf("%s gives no reason", r.name)
		}
	}
}

// unpack writes the files of an archive to a directory. A line "-- PATH --" begins each.
func unpack(t *testing.T, archive string) (dir string) {
	t.Helper()
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for file := range strings.SplitSeq("\n"+string(text), "\n-- ") {
		name, content, _ := strings.Cut(file, " --\n")
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil && name != "" {
			t.Fatal(err)
		}
	}
	return dir
}

func without(list, remove []string) (rest []string) {
	for _, s := range list {
		if !slices.Contains(remove, s) {
			rest = append(rest, s)
		}
	}
	return rest
}

// timeOfDay is the part of package time that reads a clock or waits.
var timeOfDay = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// clocks finds the domain reading a clock, which its imports cannot show.
func clocks(t *testing.T, packages []pkg) (found []string) {
	t.Helper()
	for _, p := range packages {
		at, _ := place(p.ImportPath)
		if !within(at, "domain") {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(timeOfDay, sel.Sel.Name) {
					found = append(found, fmt.Sprintf("domain-reads-no-clock: %s calls time.%s", at, sel.Sel.Name))
				}
				return true
			})
		}
	}
	return found
}
