package embedded_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// All committed rows are there again, and repeated deaths are logged once.
func TestADeadServerIsStartedAgain(t *testing.T) {
	s := started(t, t.TempDir())
	s.expect(`CREATE TABLE kept AS SELECT 'yes' AS word`, "")
	for n := range 3 {
		pid := s.signal(syscall.SIGKILL)
		await.True(t, "another one answers", func() bool {
			word, err := s.query(`SELECT word FROM kept`)
			// The next death must not be one of its start.
			return err == nil && word == "yes" && postmasterPID(s.dir) != pid && s.log.Count("database started") == n+2
		})
	}
	if died, back := s.log.Count("database died"), s.log.Count(`level=INFO msg="database started"`); died != 1 || back != 2 {
		t.Errorf("it died %d times and started %d, the log says\n%s", died, back, s.log)
	}
}

func TestAServerThatOutlivedItsGatewayIsEndedByTheNext(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 20)) // too long for a socket, which is in a temporary directory
	tempDir := shortTempDir(t)
	gateway := exec.CommandContext(t.Context(), os.Args[0]) // it does not end by itself
	gateway.Env = append(os.Environ(), gatewayDir+"="+dir)
	out := must.Get(gateway.StdoutPipe())(t)
	must.Do(t, gateway.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "started\n" {
		t.Fatalf("the gateway says %q, %v", line, err)
	}
	pid := postmasterPID(dir)
	must.Do(t, gateway.Process.Kill())
	_ = gateway.Wait() // returns that it was killed
	if await.Ended(pid) {
		t.Fatal("the server went with its gateway: there is nothing to test")
	}
	s := started(t, dir)
	s.expect(`SELECT 'here'`, "here")
	if !await.Ended(pid) {
		t.Errorf("process %d still runs", pid)
	}
	expectSocketDirs(t, tempDir, 1)
	s.stop()
	expectSocketDirs(t, tempDir, 0)
}
