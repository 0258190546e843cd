// Package architecture_test holds who may import whom (docs/architecture.md). It reads imports
// only: nothing is compiled and nothing downloaded, so it answers in about a second.
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
	"testing"
)

// list asks the go command for every package of the module. Imports that cannot be found
// are listed all the same.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &complaint)
	}
	var packages []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}

func TestEveryImportFollowsTheRules(t *testing.T) {
	packages := list(t)
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
