package architecture_test

import (
	"fmt"
	"slices"
	"strings"
)

const module = "github.com/stream-monitor/stream-monitor"

// pkg is what "go list -json" says of a package, as far as the rules ask.
type pkg struct {
	ImportPath   string
	Dir          string
	Imports      []string // of the product's own code
	GoFiles      []string
	TestImports  []string
	XTestImports []string
}

// place returns the path of a package below the module, "" for its root. Packages of
// other modules have none.
func place(importPath string) (at string, ours bool) {
	if importPath == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// within reports whether a place is dir or below it.
func within(at, dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }

// helper reports whether a package is shared by tests, beside what they test: named as
// httptest is.
func helper(at string) bool { return strings.HasSuffix(at, "test") && !within(at, "test") }

// standard reports whether a package is of the standard library: its first element
// has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// rule is one thing that has to hold of every import.
type rule struct {
	name   string
	reason string
	of     func(pkg) []string // which imports it is about; nil: the product's own

	// breaks checks one import of the package at a place.
	breaks func(at, imported string) bool
}

func product(p pkg) []string    { return p.Imports }
func testsOnly(p pkg) []string  { return slices.Concat(p.TestImports, p.XTestImports) }
func everything(p pkg) []string { return slices.Concat(product(p), testsOnly(p)) }

// domainNeeds is the handful of standard packages the domain may use: data and
// text, nothing that knows a clock, a context, a file or a network.
var domainNeeds = []string{
	"bytes", "cmp", "crypto/hmac", "crypto/sha256", "encoding/base64", "encoding/hex", "encoding/json", "errors", "fmt", "iter", "maps", "math",
	"net/url", "regexp", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf16", "unicode/utf8",
}

// applicationNeeds is what the application uses from outside.
var applicationNeeds = []string{
	"github.com/google/uuid", "golang.org/x/sync",
}

// outside is what only adapters may touch.
var outside = []string{"database/sql", "net", "net/http", "os", "os/exec", "os/signal", "syscall"}

// homes is where each library lives.
var homes = []struct {
	library string
	at      []string
}{
	{"github.com/gin-gonic", []string{"adapters/httpapi"}},
	{"github.com/gin-contrib", []string{"adapters/httpapi"}},
	{"github.com/jmoiron/sqlx", []string{"adapters/postgres"}},
	{"github.com/lib/pq", []string{"adapters/postgres"}},
	{"database/sql", []string{"adapters/postgres", "migrations"}},
	{"github.com/pressly/goose", []string{"adapters/postgres", "migrations"}},
	{"k8s.io", []string{"adapters/runtime/kube"}},
	{"golang.org/x/text", []string{"cmd/stream-monitor/internal/importer"}},
	{"sigs.k8s.io/yaml", []string{"adapters/runtime/kube", "cmd/stream-monitor/internal/applier"}},
	{"sigs.k8s.io", []string{"adapters/runtime/kube"}},
	{"github.com/minio/minio-go", []string{"adapters/blob/s3"}},
	{"github.com/sony/gobreaker", []string{"adapters/stream/fallback"}},
	{"github.com/grafov/m3u8", []string{"adapters/stream/hls"}},
	{"github.com/Eyevinn/dash-mpd", []string{"adapters/stream/dash"}},
	{"github.com/wneessen/go-mail", []string{"adapters/notifier/email"}},
	{"github.com/coder/websocket", []string{"adapters/twitchapi"}},
	{"github.com/sirupsen/logrus", []string{"adapters/logging"}},
	{"github.com/alecthomas/kong", []string{"cmd"}},
}

// rules say who may import whom (docs/architecture.md).
var rules = []rule{
	{
		name:   "domain-is-pure",
		reason: "the domain is a pure core: the same observations give the same effects, always; it needs data and text, nothing else",
		breaks: func(at, imported string) bool {
			inner, ours := place(imported)
			switch {
			case !within(at, "domain"):
				return false
			case ours:
				return !within(inner, "domain")
			}
			return !slices.Contains(domainNeeds, imported)
		},
	},
	{
		name:   "application-knows-the-domain",
		reason: "the application declares ports and knows what is behind them only by their contract; its parts meet in cmd, and all may use application/wait",
		breaks: func(at, imported string) bool {
			inner, ours := place(imported)
			switch {
			case !within(at, "application"):
				return false
			case ours:
				return !within(inner, "domain") && !within(inner, part(at)) && inner != "application/wait"
			case standard(imported):
				return false
			}
			return !slices.ContainsFunc(applicationNeeds, func(lib string) bool { return within(imported, lib) })
		},
	},
	{
		name:   "application-touches-nothing",
		reason: "the application owns time, goroutines and transactions; files, sockets and processes are the adapters' business",
		breaks: func(at, imported string) bool {
			return within(at, "application") && slices.Contains(outside, imported)
		},
	},
	{
		name:   "adapters-apart",
		reason: "an adapter can be replaced without reading another; what several need mechanically is in adapters/internal, for the channels of messages in adapters/notifier, for tools and sources in adapters/stream, for the launchers in adapters/runtime/internal, and one that combines others (fallback, manifest) gets them from cmd",
		breaks: func(at, imported string) bool {
			inner, ours := place(imported)
			shared := within(inner, "adapters/internal") || (inner == "adapters/notifier" || inner == "adapters/stream") && within(at, inner) ||
				within(inner, "adapters/runtime/internal") && within(at, "adapters/runtime")
			return ours && within(at, "adapters") && within(inner, "adapters") && !shared && part(inner) != part(at)
		},
	},
	{
		name:   "shared-code-imports-no-port",
		reason: "every adapter uses adapters/internal; it may import the domain, but no port",
		breaks: func(at, imported string) bool {
			inner, ours := place(imported)
			return ours && within(at, "adapters/internal") && !helper(at) && !within(inner, "adapters/internal") && !within(inner, "domain")
		},
	},
	{
		name:   "only-cmd-sees-all",
		reason: "the wiring is in one place: nothing imports cmd, and of the rest only cmd and test know adapters",
		breaks: func(at, imported string) bool {
			inner, ours := place(imported)
			switch {
			case !ours || within(at, "test"):
				return false
			case within(inner, "cmd"):
				return !within(at, "cmd")
			}
			return within(inner, "adapters") && !within(at, "cmd") && !within(at, "adapters")
		},
	},
	{
		name:   "product-knows-no-test",
		reason: "the fakes are for tests and must not be part of the product",
		breaks: func(at, imported string) bool {
			inner, ours := place(imported)
			return ours && (within(inner, "test") || helper(inner)) && !within(at, "test") && !helper(at)
		},
	},
	{
		name:   "libraries-at-home",
		reason: "a library is known in one place, so that replacing it changes one package",
		of:     everything,
		breaks: func(at, imported string) bool {
			if within(at, "test") {
				return false
			}
			for _, h := range homes {
				if within(imported, h.library) {
					return !slices.ContainsFunc(h.at, func(home string) bool { return within(at, home) })
				}
			}
			return false
		},
	},
	{
		name:   "domain-tests-know-the-domain",
		reason: "the domain's tests are its executable specification; they need a clock of their own, and no world",
		of:     testsOnly,
		breaks: func(at, imported string) bool {
			inner, ours := place(imported)
			return within(at, "domain") && (ours && !within(inner, "domain") || imported == "net/http" || imported == "os/exec")
		},
	},
}

// part names the replaceable piece that a package belongs to: adapters/postgres
// for adapters/postgres/embedded, adapters/stream/hls for adapters/stream/hls.
func part(at string) string {
	depth := 2
	if within(at, "adapters/runtime") || within(at, "adapters/stream") || within(at, "adapters/notifier") {
		depth = 3
	}
	elements := strings.SplitN(at, "/", depth+1)
	return strings.Join(elements[:min(len(elements), depth)], "/")
}

// violation is one import that breaks a rule.
type violation struct {
	rule           rule
	from, imported string
}

func (v violation) String() string {
	return fmt.Sprintf("%s imports %s\n    %s: %s", v.from, v.imported, v.rule.name, v.rule.reason)
}

// violations checks every import against every rule.
func violations(packages []pkg) []violation {
	var found []violation
	for _, p := range packages {
		at, _ := place(p.ImportPath)
		for _, r := range rules {
			of := r.of
			if of == nil {
				of = product
			}
			imports := of(p)
			slices.Sort(imports)
			for _, imported := range slices.Compact(imports) {
				if r.breaks(at, imported) {
					found = append(found, violation{r, at, strings.TrimPrefix(imported, module+"/")})
				}
			}
		}
	}
	return found
}
