package process_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the workers start tools
)

// The variable that makes the test binary a worker, and names the directory of its marks.
const marksVariable = "PROCESS_TEST_MARKS"

// Behaviours in addition to the suite's.
const (
	printsLines         launchertest.Behaviour = "prints-----" // prints all kinds of lines, then as StopsWhenAsked
	hasTools            launchertest.Behaviour = "tools------" // starts tools in their own groups, then as StopsWhenAsked
	hasToolsIgnoresStop launchertest.Behaviour = "toolsstub--" // starts such tools, then as IgnoresStop
	hasToolsExits       launchertest.Behaviour = "toolsexit--" // starts such tools, and exits without ending them
	showsEnviron        launchertest.Behaviour = "environ----" // writes its environment to its mark, then as StopsWhenAsked
)

func TestMain(m *testing.M) {
	if marks := os.Getenv(gatewayVariable); marks != "" {
		os.Exit(runGateway(marks))
	}
	if marks := os.Getenv(marksVariable); marks != "" {
		os.Exit(childProcess(marks))
	}
	goleak.VerifyTestMain(m)
}

// childProcess is the worker of these tests.
func childProcess(marks string) int {
	// Neither it nor its tools may outlive the test.
	time.AfterFunc(time.Minute, func() { os.Exit(9) })
	if os.Getenv("PROCESS_TEST_TOOL") != "" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGPIPE)
		mark(marks, "tool", "")
		time.Sleep(time.Hour)
		return 0
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)

	behaviour := launchertest.BehaviourOf(monitor.StreamURL(os.Getenv("STREAM_URL")))
	switch behaviour {
	case launchertest.ExitsWithError:
		return 7
	case launchertest.ExitsCleanly:
		return 0
	case printsLines:
		printLogLines()
	case hasTools, hasToolsIgnoresStop, hasToolsExits:
		if err := startTools(); err != nil {
			return 8
		}
	}
	content := ""
	if behaviour == showsEnviron {
		content = strings.Join(os.Environ(), "\n")
	}
	mark(marks, "worker", content)
	if behaviour == hasToolsExits {
		for len(readMarks(marks, "tool", os.Getenv("MONITOR_ID"))) < 2 {
			time.Sleep(5 * time.Millisecond)
		}
		return 7
	}
	for range asked {
		if behaviour != launchertest.IgnoresStop && behaviour != hasToolsIgnoresStop {
			return 0
		}
	}
	return 5
}

func startTools() error {
	for range 2 {
		_, err := subprocess.Start(subprocess.Command{Path: os.Args[0], Env: append(os.Environ(), "PROCESS_TEST_TOOL=1")})
		if err != nil {
			return err
		}
	}
	return nil
}

// The variable that makes the test binary a gateway, and names the directory of its worker's marks.
const gatewayVariable = "PROCESS_TEST_GATEWAY"

// runGateway launches a worker and never ends by itself.
func runGateway(marks string) int {
	l, err := process.New(settings(filepath.Join(marks, "id"), marks, &logRecorder{}))
	if err == nil {
		err = l.Launch(context.Background(), newSpec(hasToolsIgnoresStop))
	}
	if err != nil {
		fmt.Println("failed:", err)
		return 6
	}
	time.Sleep(time.Minute)
	return 9
}

// loudLine has a level that no log line has.
const loudLine = `{"timestamp":"2024-01-15T20:15:30.120+09:00","level":"LOUD","message":"m"}`

func printLogLines() {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	fmt.Fprintln(out, `{"timestamp":"2024-01-15T20:15:30.120+09:00","level":"INFO","component":"segment_analyzer","message":"own line","data":{"n":1}}`)
	// It pretends to be of another monitor: a name comes twice, and one is the gateway's own.
	fmt.Fprintln(out, `{"timestamp":"2024-01-15T20:15:30.120+09:00","level":"INFO","monitor_id":"mon-1","Monitor_ID":"mon-2","generation":7,"component":"segment_analyzer","message":"own line","data":{"n":1},"time":"now"}`)
	fmt.Fprintln(out, loudLine)
	fmt.Fprintln(out, `plain words`)
	fmt.Fprintln(out, ``)
	fmt.Fprintln(out, `{"not":"a log line"}`)
	fmt.Fprintln(out, `{"timestamp":"2024","level":"INFO","message":"cut`)
	fmt.Fprintln(out, "bad \xff bytes")
	fmt.Fprintln(out, strings.Repeat("x", 200<<10))
	fmt.Fprintln(out, "after the long one")
	_ = out.Flush()
	fmt.Fprintln(os.Stderr, "on stderr")
	fmt.Fprint(os.Stdout, "no line end")
}

// mark writes a file that names a running process: kind, monitor, generation, pid.
func mark(marks, kind, content string) {
	name := fmt.Sprintf("%s.%s.%s.%d", kind, os.Getenv("MONITOR_ID"), os.Getenv("GENERATION"), os.Getpid())
	if err := os.WriteFile(filepath.Join(marks, ".new"+name), []byte(content), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(filepath.Join(marks, ".new"+name), filepath.Join(marks, name)); err != nil {
		panic(err)
	}
}

// processMark is a mark that was read.
type processMark struct {
	file            string
	generation, pid int
}

func readMarks(marks, kind, id string) []processMark {
	files, _ := filepath.Glob(filepath.Join(marks, kind+"."+id+".*.*"))
	var out []processMark
	for _, f := range files {
		part := strings.Split(filepath.Base(f), ".")
		generation, _ := strconv.Atoi(part[2])
		pid, _ := strconv.Atoi(part[3])
		out = append(out, processMark{f, generation, pid})
	}
	return out
}
