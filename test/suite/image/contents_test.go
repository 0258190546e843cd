//go:build image

package image_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/docker"
)

// maxCompressed limits the compressed size of the image, in bytes.
const maxCompressed = 200_000_000

// Section 13.1.
func TestTheToolsHaveTheVersionsOfTheSpecification(t *testing.T) {
	minimums := map[string]string{"yt-dlp": "2025.01.15", "ffmpeg": "7.1", "streamlink": "8.6.0", "deno": "2", "segment-decoder": "1", "stream-monitor": "", "python": "3.10"}
	labels := inspect(t).Labels
	seen := 0
	for line := range strings.Lines(runInside(t, "cat", "/usr/share/stream-monitor/versions")) {
		tool, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		minimum, known := minimums[tool]
		if !known || version == "" {
			t.Errorf("unexpected line %q in versions", line)
			continue
		}
		seen++
		t.Logf("%s %s", tool, version)
		if minimum != "" && slices.Compare(parseVersion(t, version), parseVersion(t, minimum)) < 0 {
			t.Errorf("%s is %s, want %s or newer", tool, version, minimum)
		}
		if labels["stream-monitor."+tool] != version {
			t.Errorf("%s is %s, its label is %q", tool, version, labels["stream-monitor."+tool])
		}
	}
	if seen != len(minimums) {
		t.Errorf("%d tools are listed, want %d", seen, len(minimums))
	}
}

// parseVersion splits a version into up to four numbers.
func parseVersion(t *testing.T, version string) (all []int) {
	t.Helper()
	for _, digits := range regexp.MustCompile(`[0-9]+`).FindAllString(version, 4) {
		n, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// TestTheImageContainsTheDashboard: the page of a binary without it has another title.
func TestTheImageContainsTheDashboard(t *testing.T) {
	runInside(t, "grep", "-aq", "<title>stream-monitor</title>", "/usr/local/bin/stream-monitor")
}

func TestTheImageRunsWithoutRoot(t *testing.T) {
	c := inspect(t)
	if c.User != "65532:65532" {
		t.Errorf("the user is %q, want 65532:65532: a kubelet verifies only numeric users", c.User)
	}
	if got := runInside(t, "id"); !strings.HasPrefix(got, "uid=65532(stream-monitor) gid=65532(stream-monitor)") {
		t.Errorf("it runs as %s", got)
	}
	if !strings.HasSuffix(c.Entrypoint[0], "/tini") || !slices.Equal(c.Cmd, []string{"serve"}) {
		t.Errorf("the entrypoint is %v %v", c.Entrypoint, c.Cmd)
	}
	if got := runInside(t, "sh", "-c", "find /usr /opt /etc -xdev -writable ! -type l 2>/dev/null || true"); got != "" {
		t.Errorf("the user may write to %s", got)
	}
}

// The LGPL requires the licence texts, the sources and the build instructions.
func TestFFmpegComesWithItsLicences(t *testing.T) {
	const dir = "/usr/share/doc/ffmpeg/"
	configured := strings.TrimPrefix(runInside(t, "sh", "-c", "ffmpeg -hide_banner -version | grep ^configuration:"), "configuration: ")
	for file, want := range map[string][]string{
		"COPYING.LGPLv2.1":  {"GNU LESSER GENERAL PUBLIC LICENSE"},
		"LICENSE.md":        {"LGPL"},
		"COPYING.dav1d":     {"VideoLAN", "Redistribution and use in source and binary forms"},
		"ffmpeg.sh":         {"./configure"},
		"debian-source.sh":  {"sha256sum -c"},
		"ffmpeg-sources":    {"ffmpeg ", "dav1d ", "sha256:"},
		"segment-decoder.c": {"int main("},
		"sound.h":           {"BS.1770"},
		"decoder.sh":        {"gcc"},
		"README":            {configured, "apt-get source ffmpeg=", inspect(t).Labels["stream-monitor.ffmpeg"] + "\n", "apt-get source dav1d="},
	} {
		text := runInside(t, "cat", dir+file)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s%s does not contain %q", dir, file, part)
			}
		}
	}
	runInside(t, "cat", "/usr/share/doc/libc6/copyright") // ffmpeg links it statically
	if licence := inspect(t).Labels["org.opencontainers.image.licenses"]; licence != "" {
		t.Errorf("the label states %s for the whole image", licence)
	}
}

// Scanners look here for packages of Debian, and know the vulnerabilities of each version.
func TestFFmpegIsListedAsThePackageOfDebianThatItIs(t *testing.T) {
	for line := range strings.Lines(runInside(t, "grep", "^[a-z]", "/usr/share/doc/ffmpeg/ffmpeg-sources")) {
		fields := strings.Fields(line)
		status := runInside(t, "cat", "/var/lib/dpkg/status.d/"+fields[0])
		for _, want := range []string{"Package: " + fields[0] + "\n", "Version: " + fields[1] + "\n", "Status: install ok installed\n"} {
			if !strings.Contains(status, want) {
				t.Errorf("%s is listed as\n%s\nwithout %q", fields[0], status, want)
			}
		}
	}
}

func TestTheToolsFindEachOtherInAReadOnlyContainer(t *testing.T) {
	said := runInside(t, "sh", "-c", "yt-dlp -v 2>&1; true")
	for _, want := range []string{"JS runtimes: deno-", "yt_dlp_ejs-", "exe versions: ffmpeg "} {
		if !strings.Contains(said, want) {
			t.Errorf("yt-dlp does not print %q:\n%s", want, said)
		}
	}
	if got := runInside(t, "sh", "-c", "echo 'console.log(6*7)' | deno run --no-config -"); got != "42" {
		t.Errorf("deno prints %q", got)
	}
	if got := runInside(t, "sh", "-c", `python3 -c 'import yt_dlp; print(yt_dlp.__cached__)'`); !strings.HasSuffix(got, ".pyc") {
		t.Errorf("yt-dlp is not compiled: %q", got)
	}
	for _, name := range []string{"pip", "pip3", "gcc", "curl", "wget"} {
		if got := runInside(t, "sh", "-c", "command -v "+name+" || true"); got != "" {
			t.Errorf("the image has %s, which nothing needs", got)
		}
	}
}

func TestTheImageIsSmall(t *testing.T) {
	size, err := strconv.Atoi(docker.Exec(t, exec.Command("bash", "-o", "pipefail", "-c", `docker save "$0" | gzip | wc -c`, image)))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB compressed", size/1_000_000)
	if size > maxCompressed {
		t.Errorf("%d MB compressed, want at most %d", size/1_000_000, maxCompressed/1_000_000)
	}
	// du counts each file at its first argument.
	t.Logf("MB unpacked:\n%s", runInside(t, "sh", "-c",
		`du -smx /opt/tools/bin/deno /opt/tools/lib/python3*/site-packages/* /opt/tools /usr/local/bin/* /usr/lib/python3* /usr/share/zoneinfo / 2>/dev/null | awk '$1 >= 3' | sort -rn`))
}
