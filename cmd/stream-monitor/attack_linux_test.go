package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/attack"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// attacker is the name by which the test binary is a tool that was taken over.
const attacker = "yt-dlp"

// attacking begins what the tool says. yt-dlp says so why it fails, and the log has it.
const attacking = "ERROR: an attack on "

// attackService attacks the gateway that runs this process, or the one that is named, its workers, its database and its
// other tools. It says what has succeeded.
func attackService() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("2026.01.01")
		return
	}
	gateway, err := strconv.Atoi(os.Args[1])
	if err != nil {
		gateway = os.Getppid()
		if slices.Contains(argumentsOf(gateway), "worker") {
			gateway, _, _ = processInfo(gateway)
		}
	}
	var dir string
	for _, argument := range argumentsOf(gateway) {
		if value, is := strings.CutPrefix(argument, "--data-dir="); is {
			dir = value
		}
	}
	processes, names := familyOf(gateway)
	succeeded, err := attack.Try(dir, processes)
	fmt.Fprintf(os.Stderr, attacking+"%s in %s succeeds in %q, %v.\n", strings.Join(names, " "), filepath.Base(dir), succeeded, err)
}

func argumentsOf(process int) []string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", process))
	return strings.Split(string(line), "\x00")
}

// processInfo returns the parent and the name of a process.
func processInfo(process int) (parent int, name string, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0, "", err
	}
	_, after, _ := strings.Cut(string(stat), "(")
	name, after, _ = strings.Cut(after, ") ")
	parent, err = strconv.Atoi(strings.Fields(after)[1]) // after the state
	return parent, name, err
}

// familyOf returns a process and its descendants but the attackers, and their names.
func familyOf(process int) (family []int, names []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range all {
		id, _ := strconv.Atoi(filepath.Base(folder))
		_, name, err := processInfo(id)
		for ancestor := id; err == nil && ancestor > 1 && name != attacker; {
			if ancestor == process {
				if arguments := argumentsOf(id); len(arguments) > 1 && (arguments[1] == "serve" || arguments[1] == "worker") {
					name = arguments[1]
				}
				family, names = append(family, id), append(names, name)
				break
			}
			ancestor, _, err = processInfo(ancestor)
		}
	}
	slices.Sort(names)
	return family, slices.Compact(names)
}

// A tool that was taken over reaches neither gateway nor worker nor database. The same program, run by hand as the same
// user, reaches all of it.
func TestAToolThatIsTakenOverReachesNothingOfAService(t *testing.T) {
	for runtime, victims := range map[string]string{"process": "postgres serve worker", "inline": "postgres serve"} {
		t.Run(runtime, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			dir, err := os.MkdirTemp("/tmp", "attacked-") //nolint:usetesting // the user of the private database must enter it
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			tool := filepath.Join(dir, attacker)
			if err := os.Symlink(program, tool); err != nil {
				t.Fatal(err)
			}
			if _, err := system.StoreKeys(filepath.Join(dir, "data")); err != nil {
				t.Fatal(err)
			}
			service, err := system.Start(ctx, system.Config{
				Binary: program, DataDir: filepath.Join(dir, "data"), Args: []string{"--data-dir=" + filepath.Join(dir, "data")},
				Env: []string{asProgram + "=1", "WORKER_RUNTIME=" + runtime, "YTDLP_PATH=" + tool, "STREAMLINK_PATH=" + tool, "HTTPS_PROXY=http://127.0.0.1:1", "LOG_LEVEL=debug"},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := service.Stop(); err != nil {
					t.Error(err)
				}
			}()
			if _, err := service.Register(ctx, "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "https://receiver.example/hook", nil); err != nil {
				t.Fatal(err)
			}
			line, err := service.WaitLog(ctx, func(l system.Line) bool { return strings.Contains(fmt.Sprint(l.Data["stderr"]), attacking) })
			if err != nil {
				t.Fatalf("the tool was not run: %v\n%s", err, service.Tail(20))
			}
			if want := fmt.Sprintf(attacking+"%s in data succeeds in %q, <nil>.", victims, attack.Remaining()); line.Data["stderr"] != want {
				t.Errorf("it said\n%s, want\n%s", line.Data["stderr"], want)
			}
			byHand := exec.CommandContext(ctx, tool, strconv.Itoa(service.PID()))
			byHand.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as tools are
			said, _ := byHand.CombinedOutput()
			if want := fmt.Sprintf("in data succeeds in %q, <nil>.", attack.Everything()); !strings.Contains(string(said), want) {
				t.Errorf("without confinement it said\n%s, want\n%s", said, want)
			}
		})
	}
	if os.Getuid() == 0 { // else all of it runs as one
		t.Run("as a plain user", attack.AsPlainUser)
	}
}
