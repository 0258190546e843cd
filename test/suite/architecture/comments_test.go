package architecture_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocCommentsSayWhatTheThingIs refuses the first sentences that a stranger has to
// read twice, and package comments with another package's name.
func TestDocCommentsSayWhatTheThingIs(t *testing.T) {
	for _, complaint := range unclearComments(t, "../../..") {
		t.Error(complaint)
	}
}

func TestUnclearDocCommentsAreFound(t *testing.T) {
	got := unclearComments(t, "testdata/comments")
	want := []string{
		"comments.go:1: the comment of package comments does not begin with \"Package comments\"",
		"comments.go:4: the comment of Kind begins with \"What\"",
		"comments.go:7: the comment of Limit begins with \"Limit is how\"",
		"comments.go:10: the comment of Method begins with \"That\"",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// unclear matches the beginning of a doc comment that does not name its subject, or
// defines it by a question.
var unclear = regexp.MustCompile(`^((What|Who|That|Where)\b|\w+ is (what|who|where|how)\b)`)

// unclearComments lists the comments below root of exported identifiers and packages,
// tests included, that begin unclearly. Folders of other modules are left out.
func unclearComments(t *testing.T, root string) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	check := func(name string, doc *ast.CommentGroup) {
		if doc == nil || !ast.IsExported(name) {
			return
		}
		if m := unclear.FindString(doc.Text()); m != "" {
			at := set.Position(doc.Pos())
			found = append(found, fmt.Sprintf("%s:%d: the comment of %s begins with %q", relative(root, at.Filename), at.Line, name, m))
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if start := "Package " + file.Name.Name; file.Name.Name != "main" && file.Doc != nil && !regexp.MustCompile(`^`+start+`\b`).MatchString(file.Doc.Text()) {
			at := set.Position(file.Doc.Pos())
			found = append(found, fmt.Sprintf("%s:%d: the comment of package %s does not begin with %q", relative(root, path), at.Line, file.Name.Name, start))
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				check(n.Name.Name, n.Doc)
			case *ast.GenDecl:
				for _, spec := range n.Specs {
					for _, name := range names(spec) {
						check(name, n.Doc)
					}
				}
			case *ast.TypeSpec:
				check(n.Name.Name, n.Doc)
			case *ast.ValueSpec:
				for _, name := range n.Names {
					check(name.Name, n.Doc)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Compact(found)
}

// names returns the name that the comment of a whole declaration is of.
func names(spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []string{s.Name.Name}
	case *ast.ValueSpec:
		return []string{s.Names[0].Name}
	}
	return nil
}

func relative(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}
