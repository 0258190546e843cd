package supplychain_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// trackedFiles returns the files of the repository, except those of this package,
// whose examples are wrong on purpose.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool {
		return strings.HasPrefix(name, "test/suite/supplychain/")
	})
}

func read(t *testing.T, name string) string {
	t.Helper()
	return readAbsolute(t, root, name)
}

// runScript runs a script of the repository in a new directory with these files, of which those
// in bin hide programs. $DIR in a variable is that directory. It returns the directory and the output.
func runScript(t *testing.T, script string, files map[string]string, env []string, args ...string) (dir, output string, err error) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script, err = filepath.Abs(filepath.Join(root, script))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), script, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "TMPDIR="+dir, "XDG_CACHE_HOME="+dir)
	for _, variable := range env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(variable, "$DIR", dir))
	}
	out, err := cmd.CombinedOutput()
	return dir, string(out), err
}

func readAbsolute(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// logicalLines returns the lines of a script, without comments; a backslash at the end of a
// line joins it to the next one.
func logicalLines(text string) []string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

var lockedPackage = regexp.MustCompile(`^([a-z0-9-]+)==[^ ;]+( ; [^=].*?)?(\s+--hash=sha256:[0-9a-f]{64})+$`)

// lockFaults names the lines of a lock file that do not pin one release by hashes, and the
// packages of wanted that it lacks.
func lockFaults(lock, wanted string) []string {
	var faults, names []string
	for _, line := range logicalLines(lock) {
		match := lockedPackage.FindStringSubmatch(line)
		if match == nil {
			faults = append(faults, "has no release or hash: "+line[:min(len(line), 60)])
			continue
		}
		names = append(names, match[1])
	}
	for _, line := range logicalLines(wanted) {
		if name, _, _ := strings.Cut(line, "["); !slices.Contains(names, name) {
			faults = append(faults, "lacks "+name)
		}
	}
	return faults
}

func TestEveryPythonPackageIsLockedWithItsHashes(t *testing.T) {
	wanted, err := filepath.Glob(filepath.Join(root, "test/tools/requirements*.in"))
	if err != nil || len(wanted) < 4 {
		t.Fatalf("found %v (%v), want at least four lists of Python tools", wanted, err)
	}
	for _, path := range wanted {
		name := "test/tools/" + filepath.Base(path)
		lock := strings.TrimSuffix(name, ".in") + ".txt"
		for _, fault := range lockFaults(read(t, lock), read(t, name)) {
			t.Errorf("%s %s", lock, fault)
		}
	}
}

var pipInstall = regexp.MustCompile(`\bpip3?"?( --python \S+)? install\b`)

// unlocked returns the calls of pip in a script which install what no hash was checked of.
func unlocked(script string) []string {
	var found []string
	for _, line := range logicalLines(script) {
		if pipInstall.MatchString(line) &&
			(!strings.Contains(line, "--require-hashes") || !strings.Contains(line, "--only-binary :all:")) {
			found = append(found, line)
		}
	}
	return found
}

func TestNothingIsInstalledByPipWithoutHashes(t *testing.T) {
	calls := 0
	for _, name := range trackedFiles(t) {
		if !strings.HasSuffix(name, ".sh") && !strings.HasSuffix(name, "Dockerfile") && !strings.HasSuffix(name, "Makefile") &&
			!strings.HasPrefix(name, ".github/") && name != ".ci/run" {
			continue
		}
		script := read(t, name)
		calls += len(pipInstall.FindAllString(script, -1))
		for _, line := range unlocked(script) {
			t.Errorf("%s: %s: want --require-hashes --only-binary :all:", name, line)
		}
	}
	if calls < 3 {
		t.Errorf("found %d calls of pip, want at least 3: the search is broken", calls)
	}
}
