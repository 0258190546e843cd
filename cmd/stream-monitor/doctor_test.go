package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
)

// machine is one the doctor examines: tools that are shell scripts, in a PATH
// of their own.
type machine struct {
	t     *testing.T
	cfg   DoctorCmd
	bin   string
	pings error
	pods  error // why none may be run
}

// What healthy tools print.
const (
	newYTDLP = `case "$*" in
*--version*) echo 2026.10.26 ;;
*--verbose*) echo "[debug] Optional libraries: certifi-2026.10.18, yt_dlp_ejs-0.8.0" >&2
	echo "[debug] JS runtimes: deno-2.9.8" >&2
	exit 2 ;;
esac`
	newStreamlink = `echo streamlink 8.6.3`
	newFFmpeg     = `case "$*" in
-version) echo "ffmpeg version 7.1.5-0+deb13u1 Copyright (c)"; echo configuration: x ;;
*) echo " T.. blackdetect       V->V       Detect"; echo " ... silencedetect     A->A       Detect" ;;
esac`
)

// healthy is a machine that lacks nothing.
func healthy(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, bin: t.TempDir(), pods: errors.New("there is no cluster, and none is wanted")}
	t.Setenv("PATH", m.bin)
	m.cfg.Database.DataDir = t.TempDir()
	m.cfg.Database.DBDSN = "postgres://app:hunter2@db.example/monitor?sslmode=require"
	m.cfg.Keys = KeyFlags{APIKey: "hunter2a", WebhookSigningKey: webhook.Keys{"hunter2b"}, InternalAPIKey: "hunter2c"}
	m.tool("yt-dlp", newYTDLP)
	m.tool("streamlink", newStreamlink)
	m.tool("ffmpeg", newFFmpeg)
	return m
}

// tool puts a script into the machine's PATH.
func (m *machine) tool(name, script string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) without(name string) {
	m.t.Helper()
	if err := os.Remove(filepath.Join(m.bin, name)); err != nil {
		m.t.Fatal(err)
	}
}

// examine returns the verdict and the report.
func (m *machine) examine() (bool, string) {
	m.t.Helper()
	var report strings.Builder
	ok, err := doctor{
		m.cfg, func(context.Context, string) error { return m.pings },
		func(_ context.Context, f ClusterFlags) (string, error) { return f.WorkerNamespace, m.pods },
	}.examine(m.t.Context(), &report)
	if err != nil {
		m.t.Fatal(err)
	}
	if strings.Contains(report.String(), "hunter2") {
		m.t.Errorf("the report gives a secret away:\n%s", &report)
	}
	return ok, report.String()
}

func TestDoctor(t *testing.T) {
	for name, c := range map[string]struct {
		with    func(*machine)
		verdict verdict
		subject string
		says    []string
	}{
		"a healthy machine": {func(*machine) {}, fine, "yt-dlp", []string{"2026.10.26", "(found by PATH)", "Everything is there."}},
		"no yt-dlp": {func(m *machine) { m.without("yt-dlp") }, fail, "yt-dlp",
			[]string{"not found in PATH", "2026.01.29 or newer", "pip install", "make tools"}},
		"a yt-dlp below section 13.1": {func(m *machine) { m.tool("yt-dlp", "echo 2025.01.14") }, fail, "yt-dlp", []string{"2025.01.14", "pip install"}},
		"a yt-dlp of section 13.1":    {func(m *machine) { m.tool("yt-dlp", "echo 2025.01.15") }, warn, "yt-dlp", []string{"expected: 2026.01.29"}},
		"a yt-dlp just too old for today": {
			func(m *machine) { m.tool("yt-dlp", "echo 2026.01.28.232323") }, warn, "yt-dlp", nil},
		"the first yt-dlp of today": {func(m *machine) { m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, "2026.10.26", "2026.01.29")) }, fine, "yt-dlp", nil},
		"a yt-dlp that is broken":   {func(m *machine) { m.tool("yt-dlp", "echo Traceback; exit 1") }, fail, "yt-dlp", []string{`"Traceback"`}},
		"YTDLP_PATH to nothing": {func(m *machine) { m.cfg.Watching.YTDLPPath = "/nowhere/yt-dlp" }, fail, "yt-dlp",
			[]string{"/nowhere/yt-dlp (found by YTDLP_PATH) cannot be run", "no such file"}},
		"no JavaScript runtime": {func(m *machine) { m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, "deno-2.9.8", "none")) }, warn, "JavaScript runtime",
			[]string{"none", "deno 2.3 or newer", "pip install deno"}},
		"one that is too old": {func(m *machine) {
			m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, "deno-2.9.8", "deno-1.4.0 (unsupported)"))
		}, warn, "JavaScript runtime", []string{"deno-1.4.0 (unsupported)"}},
		"one of two is good": {func(m *machine) {
			m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, "deno-2.9.8", "deno-1.4.0 (unsupported), node-24.1.0"))
		}, fine, "JavaScript runtime", nil},
		"no solver scripts": {func(m *machine) { m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, ", yt_dlp_ejs-0.8.0", "")) }, warn, "yt-dlp-ejs",
			[]string{"none", `yt-dlp[default]`}},
		"no streamlink":                   {func(m *machine) { m.without("streamlink") }, warn, "streamlink", []string{"7.1.0 or newer"}},
		"a streamlink below section 13.1": {func(m *machine) { m.tool("streamlink", "echo streamlink 7.0.9") }, warn, "streamlink", nil},
		"a streamlink of section 13.1":    {func(m *machine) { m.tool("streamlink", "echo streamlink 7.1.0") }, fine, "streamlink", nil},
		"no ffmpeg":                       {func(m *machine) { m.without("ffmpeg") }, fail, "ffmpeg", []string{"7.1 or newer", "apt-get install ffmpeg"}},
		"an ffmpeg below section 13.1": {func(m *machine) {
			m.tool("ffmpeg", strings.ReplaceAll(newFFmpeg, "7.1.5-0+deb13u1", "5.1.9-0+deb12u1"))
		}, warn, "ffmpeg", []string{"5.1.9-0+deb12u1", "7.1 or newer", "known to work"}},
		"a newer ffmpeg":          {func(m *machine) { m.tool("ffmpeg", strings.ReplaceAll(newFFmpeg, "7.1.5-0+deb13u1", "n10.0")) }, fine, "ffmpeg", nil},
		"an ffmpeg of some day":   {func(m *machine) { m.tool("ffmpeg", strings.ReplaceAll(newFFmpeg, "7.1.5", "N-118-gabc")) }, warn, "ffmpeg", nil},
		"an ffmpeg with a lack":   {func(m *machine) { m.tool("ffmpeg", strings.ReplaceAll(newFFmpeg, "silencedetect", "x")) }, fail, "ffmpeg", []string{"without the filter silencedetect"}},
		"something else as that":  {func(m *machine) { m.tool("ffmpeg", "echo hello") }, fail, "ffmpeg", []string{`"hello"`}},
		"a database that answers": {func(*machine) {}, fine, "PostgreSQL", []string{"postgres://db.example/monitor answers"}},
		"a database that does not": {func(m *machine) { m.pings = errors.New("connection refused") }, fail, "PostgreSQL",
			[]string{"postgres://db.example/monitor does not answer: connection refused", "check DB_DSN"}},
		"a cluster that lets it": {func(m *machine) {
			m.cfg.WorkerRuntime, m.cfg.Cluster.WorkerNamespace, m.pods = runtimeKubernetes, "live", nil
		}, fine, "Kubernetes", []string{"pods may be run in namespace live"}},
		"a cluster that does not": {func(m *machine) {
			m.cfg.WorkerRuntime, m.pods = runtimeKubernetes, errors.Join(errors.New("may not create pods"), errors.New("may not watch pods"))
		}, fail, "Kubernetes", []string{"may not create pods; may not watch pods", "section 14.3", "Helm chart"}},
		"a data directory still to be made": {func(m *machine) { m.cfg.Database.DataDir += "/a/b" }, fine, "data directory", []string{"made at the first start"}},
		"a data directory below a file":     {func(m *machine) { m.cfg.Database.DataDir = filepath.Join(m.bin, "ffmpeg", "x") }, fail, "data directory", []string{"set DATA_DIR"}},
		"a key missing in production": {func(m *machine) { m.cfg.Keys.InternalAPIKey = "" }, fail, "keys",
			[]string{"INTERNAL_API_KEY not set", "openssl rand -hex 32"}},
		"keys still to be made": {func(m *machine) {
			m.cfg.Database.DBDSN, m.cfg.Keys = "", KeyFlags{}
		}, fine, "keys", []string{"API_KEY, INTERNAL_API_KEY, WEBHOOK_SIGNING_KEY generated at the first start"}},
		"a file of keys that others can read": {func(m *machine) {
			m.cfg.Database.DBDSN, m.cfg.Keys = "", KeyFlags{}
			if err := os.WriteFile(keysPath(m.cfg.Database.DataDir), []byte(`{}`), 0o644); err != nil {
				m.t.Fatal(err)
			}
		}, fail, "keys", []string{"chmod 600"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := healthy(t)
			c.with(m)
			ok, report := m.examine()
			if want := fmt.Sprintf("%-4s  %-18s  ", c.verdict, c.subject); !strings.Contains(report, want) {
				t.Errorf("no line begins with %q", want)
			}
			for _, say := range c.says {
				if !strings.Contains(report, say) {
					t.Errorf("does not say %q", say)
				}
			}
			if strings.Contains(report, "FAIL") == ok {
				t.Errorf("its end is %v", ok)
			}
			if c.verdict == fail && ok {
				t.Error("it finds nothing to mend")
			}
			if t.Failed() {
				t.Log(report)
			}
		})
	}
}

// privatePostgres puts a server of a version into the machine's PATH.
func (m *machine) privatePostgres(version string) {
	m.cfg.Database.DBDSN = ""
	m.tool("postgres", "echo 'postgres (PostgreSQL) "+version+" (Debian)'")
	m.tool("initdb", "")
}

func TestDoctorPrivateDatabase(t *testing.T) {
	t.Run("binaries are enough", func(t *testing.T) {
		m := healthy(t)
		m.privatePostgres("98.3")
		if ok, report := m.examine(); !ok || !strings.Contains(report, "98.3, "+m.bin) {
			t.Error(report)
		}
	})
	t.Run("a database of another version is not to be served", func(t *testing.T) {
		m := healthy(t)
		m.privatePostgres("98.3")
		cluster := filepath.Join(m.cfg.Database.DataDir, "postgres")
		if err := os.Mkdir(cluster, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte("97\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if ok, report := m.examine(); ok || !strings.Contains(report, `version "97"`) {
			t.Error(report)
		}
	})
}

// TestDoctorSecret runs the command that the report recommends.
func TestDoctorSecret(t *testing.T) {
	for name, c := range map[string]struct {
		given webhook.Keys
		env   string
	}{
		"from the environment":                   {webhook.Keys{"a/b+c%d"}, "a/b+c%d"},
		"from the environment, the first of two": {webhook.Keys{"new", "old"}, "new,old"},
		"from the file":                          {},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "it's here")
			keys, _ := load(t, dir, KeyFlags{WebhookSigningKey: c.given})
			d := doctor{cfg: DoctorCmd{Database: DatabaseFlags{DataDir: dir}, Keys: KeyFlags{WebhookSigningKey: c.given}}}
			t.Setenv("WEBHOOK_SIGNING_KEY", c.env)
			out, err := exec.CommandContext(t.Context(), "sh", "-c", d.secretCommand()).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want := "whsec_" + base64.StdEncoding.EncodeToString([]byte(keys.Signing[0]))
			if got := strings.TrimSpace(string(out)); got != want {
				t.Errorf("it prints %s, want %s", got, want)
			}
			if !strings.Contains(d.secretHelp(), d.secretCommand()) {
				t.Error("the report does not have it")
			}
		})
	}
}

// TestReadmeSecret runs the command of the README, for one key and for two.
func TestReadmeSecret(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^printf 'whsec_.*$`).FindString(string(readme))
	for _, given := range []string{"new", "new,old"} {
		t.Setenv("WEBHOOK_SIGNING_KEY", given)
		out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
		if want := "whsec_" + base64.StdEncoding.EncodeToString([]byte("new")); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("for %s it prints %s (%v), want %s", given, out, err, want)
		}
	}
}

// TestDoctorRealTools examines this machine, where "make tools" has been run.
func TestDoctorRealTools(t *testing.T) {
	alone(t)
	cli := accepted(t, "doctor")
	cfg := cli.Doctor
	for variable, path := range map[string]*string{"yt-dlp": &cfg.Watching.YTDLPPath, "streamlink": &cfg.Watching.StreamlinkPath} {
		venv, err := filepath.Abs(filepath.Join("..", "..", ".tools", "venv", "bin", variable))
		if err != nil {
			t.Fatal(err)
		}
		if *path, err = exec.LookPath(venv); err != nil {
			if *path, err = exec.LookPath(variable); err != nil {
				t.Fatalf("%s is not installed: run make tools", variable)
			}
		}
	}
	var report strings.Builder
	ok, err := doctor{cfg: cfg}.examine(t.Context(), &report)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Errorf("this machine is not fit; run make tools:\n%s", &report)
	}
	for _, subject := range []string{"yt-dlp", "JavaScript runtime", "yt-dlp-ejs", "streamlink", "PostgreSQL", "data directory", "keys"} {
		if !strings.Contains(report.String(), fmt.Sprintf("%-4s  %-18s  ", fine, subject)) {
			t.Errorf("%s is not fine:\n%s", subject, &report)
		}
	}
	t.Log("\n" + report.String())
}

func TestDoctorHangingTool(t *testing.T) {
	m := healthy(t)
	note := filepath.Join(m.bin, "pid")
	m.tool("yt-dlp", "/bin/sleep 600 & echo $! >"+note+"; wait")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := ask(ctx, Tool{Path: filepath.Join(m.bin, "yt-dlp")})
		done <- err
	}()
	var pid string
	eventually(t, "the tool starts a process of its own", func() bool {
		raw, _ := os.ReadFile(note)
		pid = strings.TrimSpace(string(raw))
		return strings.HasSuffix(string(raw), "\n")
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	eventually(t, "that process ends with it", func() bool {
		raw, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(raw), ") Z ")
	})
}

// eventually polls until what holds, for at most ten seconds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
