package supplychain_test

import (
	"errors"
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

// runScript runs a script of the repository in a copy of a folder, with more files. The programs in its bin
// hide others. $DIR in a variable is that copy. It returns the copy and the output.
func runScript(t *testing.T, script, folder string, files map[string]string, env []string, args ...string) (dir, output string, err error) {
	t.Helper()
	dir = t.TempDir()
	err = os.CopyFS(dir, os.DirFS(folder))
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if err != nil {
		t.Fatal(err)
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

// pins are the lines that name what is downloaded, and how each must name it.
var pins = map[string]struct {
	files *regexp.Regexp
	lines *regexp.Regexp // of these files, without comments
	form  *regexp.Regexp
	least int // how many there are, or the search is broken
}{
	"an action, by the commit of a release": {
		regexp.MustCompile(`^\.github/workflows/`), regexp.MustCompile(`^(?:- )?uses:`), regexp.MustCompile(`uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`), 10,
	},
	"a base image, by its tag and digest": {
		regexp.MustCompile(`^deploy/base-images$`), regexp.MustCompile(`.`), regexp.MustCompile(`^[a-z0-9./-]+:[\w.-]+( sha256:[0-9a-f]{64})?$`), 3,
	},
	"a source of FFmpeg, by its version and hash": {
		regexp.MustCompile(`^deploy/ffmpeg-sources$`), regexp.MustCompile(`.`), regexp.MustCompile(`^(dav1d|ffmpeg) \d[\w.:+~-]* sha256:[0-9a-f]{64}$`), 2,
	},
	"a package of Python, by its release and hashes": {
		regexp.MustCompile(`^test/tools/requirements.*\.txt$`), regexp.MustCompile(`.`), regexp.MustCompile(`^[a-z0-9-]+==[^ ;]+( ; [^=].*?)?(\s+--hash=sha256:[0-9a-f]{64})+$`), 20,
	},
	"what pip installs, by hashes and without a build": {
		regexp.MustCompile(`\.sh$|Dockerfile$|Makefile$|^\.github/|^\.ci/run$`), regexp.MustCompile(`\bpip3?"?( --python \S+)? install\b`),
		regexp.MustCompile(`--require-hashes.* --only-binary :all:|--only-binary :all:.* --require-hashes`), 3,
	},
}

func TestWhatIsDownloadedIsPinned(t *testing.T) {
	for what, pin := range pins {
		found := 0
		for _, name := range trackedFiles(t) {
			if !pin.files.MatchString(name) {
				continue
			}
			for _, line := range logicalLines(read(t, name)) {
				if !pin.lines.MatchString(line) {
					continue
				}
				if found++; !pin.form.MatchString(line) {
					t.Errorf("%s: %.80s: want %s", name, line, what)
				}
			}
		}
		if found < pin.least {
			t.Errorf("%s: found %d, want at least %d: the search is broken", what, found, pin.least)
		}
	}
}

var fromLine = regexp.MustCompile(`(?m)^FROM (\S+)(?: AS (\S+))?$`)

func TestEveryBaseImageIsListed(t *testing.T) {
	var listed []string
	for _, line := range logicalLines(read(t, "deploy/base-images")) {
		listed = append(listed, strings.Fields(line)[0])
	}
	used := 0
	for _, name := range trackedFiles(t) {
		if filepath.Base(name) != "Dockerfile" {
			continue
		}
		var stages []string
		for _, from := range fromLine.FindAllStringSubmatch(read(t, name), -1) {
			used++
			if image := from[1]; !strings.Contains(image, "${") && !slices.Contains(stages, image) && !slices.Contains(listed, image) {
				t.Errorf("%s is built on %s, which is not in deploy/base-images", name, image)
			}
			stages = append(stages, from[2])
		}
	}
	if used < 8 {
		t.Errorf("found %d FROM lines, want at least 8: the search is broken", used)
	}
}

// mirrors are hosts from which packages or sources are downloaded.
var mirrors = []string{"deb.debian.org", "security.debian.org", "snapshot.debian.org", "archive.debian.org", "ftp.debian.org", "archive.ubuntu.com",
	"ffmpeg.org/releases", "code.videolan.org", "download.videolan.org", "pypi.org/simple", "files.pythonhosted.org",
	"registry.npmjs.org", "registry.yarnpkg.com", "proxy.golang.org", "registry-1.docker.io", "index.docker.io", "registry.k8s.io"}

// Whoever builds says where packages come from, by the configuration of apt, pip, npm, Go and
// Docker.
func TestNoFileNamesAMirror(t *testing.T) {
	for _, name := range trackedFiles(t) {
		text := read(t, name)
		for _, mirror := range mirrors {
			if strings.Contains(text, mirror) {
				t.Errorf("%s names %s", name, mirror)
			}
		}
	}
}
