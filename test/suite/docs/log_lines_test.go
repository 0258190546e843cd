package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const logPage = "../../../docs/operations/log.md"

// relayed lists the files that log messages of others, which are found where they are written.
var relayed = []string{
	"application/worker/loop.go", // watch.LogEntry, found in domain/watch
	"domain/watch/effect.go",     // logWarn, found where it is called
}

// row matches a row of a table of log lines: level, message, explanation. An
// ellipsis in the message stands for a part that varies.
var row = regexp.MustCompile("(?m)^\\| (WARN|ERROR) \\| `([^`]+)` \\| (.+) \\|$")

// TestEveryWarningIsExplained compares the tables of the page with the code: they
// list every line of level WARN and ERROR, and no other.
func TestEveryWarningIsExplained(t *testing.T) {
	page, err := os.ReadFile(logPage)
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		line := m[1] + " " + m[2]
		if explained[line] {
			t.Errorf("%s is explained twice", line)
		}
		if len(m[3]) < 20 {
			t.Errorf("%s is hardly explained: %q", line, m[3])
		}
		explained[line] = true
	}
	found := warnings(t)
	if len(found) < 50 {
		t.Fatalf("%d lines were found; the test does not recognise them", len(found))
	}
	for _, line := range slices.Sorted(maps.Keys(found)) {
		if !explained[line] {
			t.Errorf("%s: %s is not in docs/operations/log.md", found[line], line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(explained)) {
		if found[line] == "" {
			t.Errorf("docs/operations/log.md has %q, which nothing logs", line)
		}
	}
}

// warnings finds every line of level WARN and ERROR in the code: level and message,
// and where it is logged.
func warnings(t *testing.T) map[string]string {
	t.Helper()
	found, root, set := map[string]string{}, "../../..", token.NewFileSet()
	for _, dir := range []string{"adapters", "application", "cmd", "domain"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (strings.HasSuffix(d.Name(), "test") || d.Name() == "node_modules"): // suites for other packages' tests
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				level, message := logged(n)
				if message == nil {
					return true
				}
				text := wording(message)
				if text == "…" {
					if !slices.Contains(relayed, filepath.ToSlash(name)) {
						t.Errorf("%s logs messages of others at %s; add it to relayed", name, level)
					}
					return true
				}
				found[level+" "+text] = fmt.Sprintf("%s:%d", name, set.Position(n.Pos()).Line)
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// logged returns the level and message of a node that logs a warning or an error. Such a
// node is a call of a logger, or a log entry of the watcher. For others message is nil.
func logged(n ast.Node) (level string, message ast.Expr) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		var warn bool
		for _, e := range n.Elts {
			if kv, is := e.(*ast.KeyValueExpr); is && named(kv.Key, "Warn") && named(kv.Value, "true") {
				warn = true
			} else if is && named(kv.Key, "Message") {
				message = kv.Value
			}
		}
		if warn {
			return "WARN", message
		}
	case *ast.CallExpr:
		for i, arg := range n.Args[:max(len(n.Args)-1, 0)] {
			if level := levels[selected(arg)]; level != "" {
				return level, n.Args[i+1]
			}
		}
		call, is := n.Fun.(*ast.SelectorExpr)
		switch {
		case !is:
		case call.Sel.Name == "logWarn" && len(n.Args) > 1:
			return "WARN", n.Args[0]
		case !logger(call.X) || len(n.Args) == 0:
		case levels["Level"+call.Sel.Name] != "":
			return levels["Level"+call.Sel.Name], n.Args[0]
		}
	}
	return "", nil
}

var levels = map[string]string{"LevelWarn": "WARN", "LevelError": "ERROR"}

// logger reports whether an expression is a logger. Every logger is named log.
func logger(x ast.Expr) bool { return named(x, "log") || strings.EqualFold(selected(x), "log") }

func named(x ast.Expr, name string) bool {
	id, is := x.(*ast.Ident)
	return is && id.Name == name
}

// selected returns the selector of an expression: b of a.b.
func selected(x ast.Expr) string {
	if s, is := x.(*ast.SelectorExpr); is {
		return s.Sel.Name
	}
	return ""
}

// wording returns a message as the page writes it.
func wording(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return wording(x.X) + wording(x.Y)
	}
	return "…"
}
