package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
)

// exceptions are the methods that the table leaves out, each with the reason.
var exceptions = map[string]string{
	"Store.BlobStore":            "returns a part of the store",
	"Store.Close":                "closes connections",
	"Store.Migrate":              "runs statements of migrations",
	"Store.CheckWrites":          "reads and changes no row",
	"Store.Ping":                 "reads no table",
	"SessionKeyStore.SessionKey": "reads one row, at the start of a gateway",
	"Listener.Listen":            "sends LISTEN and waits",
	"Listener.ListenFeed":        "sends LISTEN and waits",
}

func TestTheTableHasAQueryForEveryMethodOfTheStore(t *testing.T) {
	exists := map[string]bool{}
	for _, m := range methodsOfStore() {
		exists[m] = true
	}
	queried := map[string]bool{}
	for _, q := range queriesOf(&sample{}) {
		queried[q.method] = true
	}
	called := calledMethods(t)
	for _, m := range slices.Sorted(maps.Keys(exists)) {
		if !queried[m] && exceptions[m] == "" {
			t.Errorf("no query calls %s: add one, or an exception with its reason", m)
		}
	}
	for _, m := range slices.Sorted(maps.Keys(queried)) {
		if !exists[m] {
			t.Errorf("a query names %s, which the store does not have", m)
		}
		if exceptions[m] != "" {
			t.Errorf("a query names %s, which is an exception", m)
		}
		if _, name, _ := strings.Cut(m, "."); !called[name] {
			t.Errorf("a query names %s, and nothing here calls %s", m, name)
		}
	}
	for _, m := range slices.Sorted(maps.Keys(exceptions)) {
		if !exists[m] {
			t.Errorf("an exception names %s, which the store does not have", m)
		}
	}
}

func TestEveryPartOfTheStoreIsKnown(t *testing.T) {
	all := methodsOfStore()
	for _, m := range []string{"Outbox.Lease", "MonitorStore.List", "BlobStore.Put"} {
		if !slices.Contains(all, m) {
			t.Errorf("%s is missing among %s", m, strings.Join(all, ", "))
		}
	}
}

// calledMethods returns the names of the methods and functions that the program calls.
func calledMethods(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if c, is := n.(*ast.CallExpr); is {
				if s, is := c.Fun.(*ast.SelectorExpr); is {
					called[s.Sel.Name] = true
				}
			}
			return true
		})
	}
	return called
}

// methodsOfStore returns the methods of the store, of its exported fields and of the parts that
// its own methods return, as Type.Method.
func methodsOfStore() (all []string) {
	store := reflect.TypeFor[*postgres.Store]()
	promoted := map[string]int{} // of how many fields
	for field := range store.Elem().Fields() {
		if !field.IsExported() {
			continue
		}
		for m := range field.Type.Methods() {
			all = append(all, field.Name+"."+m.Name)
			promoted[m.Name]++
		}
	}
	for m := range store.Methods() {
		if promoted[m.Name] == 1 {
			continue
		}
		all = append(all, "Store."+m.Name)
		for part := range m.Type.Outs() {
			if part.Kind() == reflect.Pointer && part.Elem().PkgPath() == store.Elem().PkgPath() {
				for m := range part.Methods() {
					all = append(all, part.Elem().Name()+"."+m.Name)
				}
			}
		}
	}
	return all
}
