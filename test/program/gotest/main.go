// Command gotest runs "go test -json" with its arguments and prints progress. Each
// package and each slow test gets a line when it ends. The output of a test is
// printed only if it failed. The slowest tests and the names of the failed ones follow
// at the end.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	slow   = 20 * time.Second // a test that takes longer gets a line of its own
	ranked = 10               // of the slowest tests at the end
)

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
	report(out, os.Stdout)
	if err := cmd.Wait(); err != nil {
		os.Exit(1)
	}
}

// event is a line of "go test -json" (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // instead of Package, of a build's output
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// result is a test that has ended.
type result struct {
	name string
	took time.Duration
}

// report prints the progress of a run until in ends.
func report(in io.Reader, out io.Writer) {
	began := time.Now()
	output := map[string]*strings.Builder{} // of the tests and packages that run
	var results []result
	var failed []string
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		key := e.Package + e.ImportPath + " " + e.Test
		if output[key] == nil {
			output[key] = &strings.Builder{}
		}
		took := time.Duration(e.Elapsed * float64(time.Second))
		line := func(verdict, name string) {
			fmt.Fprintf(out, "%5.0f s  %-4s  %6.1f s  %s\n", time.Since(began).Seconds(), verdict, took.Seconds(), name)
		}
		switch name := shortName(e); e.Action {
		case "output", "build-output":
			output[key].WriteString(e.Output)
		case "build-fail":
			fmt.Fprint(out, output[key])
		case "fail":
			line("FAIL", name)
			fmt.Fprint(out, output[key])
			delete(output, key)
			failed = append(failed, name)
			if e.Test == "" {
				failed = append(failed, printUnended(out, output, e.Package)...)
			}
		case "pass", "skip":
			switch {
			case e.Test == "" && e.Action == "pass":
				line("ok", name)
			case e.Test != "":
				results = append(results, result{name, took})
				if took >= slow && !strings.Contains(e.Test, "/") {
					line("", name)
				}
			}
			delete(output, key)
		}
	}
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(b.took, a.took) })
	fmt.Fprintln(out, "the slowest tests:")
	for _, r := range results[:min(ranked, len(results))] {
		fmt.Fprintf(out, "%8.1f s  %s\n", r.took.Seconds(), r.name)
	}
	for _, name := range failed {
		fmt.Fprintln(out, "FAIL", name)
	}
	fmt.Fprintf(out, "%.0f s in all\n", time.Since(began).Seconds())
}

// printUnended prints the output of a failed package's tests that have not ended. It has the
// panic that ended them all, such as that of a timeout. It returns their names.
func printUnended(out io.Writer, output map[string]*strings.Builder, pkg string) (names []string) {
	for _, key := range slices.Sorted(maps.Keys(output)) {
		if test, ok := strings.CutPrefix(key, pkg+" "); ok {
			fmt.Fprint(out, output[key])
			delete(output, key)
			names = append(names, shortName(event{Package: pkg, Test: test})+" (not ended)")
		}
	}
	return names
}

// shortName returns a test's or package's name without the module's.
func shortName(e event) string {
	pkg := strings.TrimPrefix(e.Package, "github.com/stream-monitor/stream-monitor/")
	if e.Test == "" {
		return pkg
	}
	return pkg + " " + e.Test
}
