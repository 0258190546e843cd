//go:build image

package image_test

import (
	"compress/gzip"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxCompressed is how large the image may be in a registry.
const maxCompressed = 200_000_000

func TestToolsAreThoseOfTheSpecification(t *testing.T) { // 13.1
	floors := map[string]string{"yt-dlp": "2025.01.15", "ffmpeg": "7.1", "streamlink": "7.1.0", "deno": "2", "stream-monitor": "", "python": "3.10"}
	labels := inspect(t).Labels
	seen := 0
	for line := range strings.Lines(inside(t, "cat", "/usr/share/stream-monitor/versions")) {
		tool, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		floor, known := floors[tool]
		if !known || version == "" {
			t.Errorf("the image lists %q", line)
			continue
		}
		seen++
		t.Logf("%s %s", tool, version)
		if floor != "" && slices.Compare(numbers(t, version), numbers(t, floor)) < 0 {
			t.Errorf("%s is %s, want %s or newer", tool, version, floor)
		}
		if labels["stream-monitor."+tool] != version {
			t.Errorf("%s is %s, its label says %q", tool, version, labels["stream-monitor."+tool])
		}
	}
	if seen != len(floors) {
		t.Errorf("%d tools are listed, want %d", seen, len(floors))
	}
}

// numbers is a version, number by number.
func numbers(t *testing.T, version string) (all []int) {
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

func TestItIsNobody(t *testing.T) {
	c := inspect(t)
	if c.User != "65532:65532" {
		t.Errorf("the user is %q: a kubelet believes only numbers", c.User)
	}
	if got := inside(t, "id"); !strings.HasPrefix(got, "uid=65532(stream-monitor) gid=65532(stream-monitor)") {
		t.Errorf("it runs as %s", got)
	}
	if !strings.HasSuffix(c.Entrypoint[0], "/tini") || !slices.Equal(c.Cmd, []string{"serve"}) {
		t.Errorf("it starts with %v %v", c.Entrypoint, c.Cmd)
	}
	if got := inside(t, "sh", "-c", "find /usr /opt /etc -xdev -writable ! -type l 2>/dev/null || true"); got != "" {
		t.Errorf("it may write to its own programs: %s", got)
	}
}

// TestItsFFmpegComesWithItsLicences wants what the LGPL does: the texts, of what
// it was made and how.
func TestItsFFmpegComesWithItsLicences(t *testing.T) {
	const dir = "/usr/share/doc/ffmpeg/"
	configured := strings.TrimPrefix(inside(t, "sh", "-c", "ffmpeg -hide_banner -version | grep ^configuration:"), "configuration: ")
	for file, want := range map[string][]string{
		"COPYING.LGPLv2.1": {"GNU LESSER GENERAL PUBLIC LICENSE"},
		"LICENSE.md":       {"LGPL"},
		"COPYING.dav1d":    {"VideoLAN", "Redistribution and use in source and binary forms"},
		"ffmpeg.sh":        {"sha256sum -c", "./configure"},
		"README":           {configured, "https://ffmpeg.org/releases/ffmpeg-" + inspect(t).Labels["stream-monitor.ffmpeg"], "/dav1d-", "sha256 "},
	} {
		text := inside(t, "cat", dir+file)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s%s does not say %q", dir, file, part)
			}
		}
	}
	inside(t, "cat", "/usr/share/doc/libc6/copyright") // it is linked in
	if said := inspect(t).Labels["org.opencontainers.image.licenses"]; said != "" {
		t.Errorf("its label says that all of it is under %s", said)
	}
}

func TestToolsFindEachOtherWithNothingToWriteTo(t *testing.T) {
	said := inside(t, "sh", "-c", "yt-dlp -v 2>&1; true")
	for _, want := range []string{"JS runtimes: deno-", "yt_dlp_ejs-", "exe versions: ffmpeg "} {
		if !strings.Contains(said, want) {
			t.Errorf("yt-dlp does not say %q:\n%s", want, said)
		}
	}
	if got := inside(t, "sh", "-c", "echo 'console.log(6*7)' | deno run --no-config -"); got != "42" {
		t.Errorf("deno says %q", got)
	}
	if got := inside(t, "sh", "-c", `python3 -c 'import yt_dlp; print(yt_dlp.__cached__)'`); !strings.HasSuffix(got, ".pyc") {
		t.Errorf("yt-dlp is not compiled: %q", got)
	}
	for _, name := range []string{"pip", "pip3", "gcc", "curl", "wget"} {
		if got := inside(t, "sh", "-c", "command -v "+name+" || true"); got != "" {
			t.Errorf("nobody needs %s", got)
		}
	}
}

func TestItIsSmall(t *testing.T) {
	save := exec.CommandContext(t.Context(), "docker", "save", image)
	out, err := save.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := save.Start(); err != nil {
		t.Fatal(err)
	}
	var size counter
	zip, _ := gzip.NewWriterLevel(&size, gzip.DefaultCompression)
	if _, err := io.Copy(zip, out); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := save.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB compressed", size/1_000_000)
	if size > maxCompressed {
		t.Errorf("%d MB compressed, want %d", size/1_000_000, maxCompressed/1_000_000)
	}
	// Each file counts where it is listed first.
	t.Logf("MB unpacked:\n%s", inside(t, "sh", "-c",
		`du -smx /opt/tools/bin/deno /opt/tools/lib/python3*/site-packages/* /opt/tools /usr/local/bin/* /usr/lib/python3* /usr/share/zoneinfo / 2>/dev/null | awk '$1 >= 3' | sort -rn`))
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
