//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// askInterval is how often the specification's method asks yt-dlp.
const askInterval = 30 * time.Second

// yardstickCost is what the specification's method has used. Fetching is not counted.
type yardstickCost struct {
	Streams             int
	CPUSecPerStreamHour float64
	FFmpegSec           float64 // of it, for each segment
	YTDLPSec            float64 // of it, for each call
}

// startYardsticks watches the yardstick's streams until end. The returned function waits
// for it.
func (m *run) startYardsticks(ctx context.Context, end time.Time) (finish func() (yardstickCost, error)) {
	ctx, cancel := context.WithDeadline(ctx, end)
	began := time.Now()
	var all sync.WaitGroup
	sticks := make([]yardstick, m.yardstick)
	errs := make([]error, m.yardstick)
	for i := range sticks {
		all.Go(func() {
			if errs[i] = sticks[i].run(ctx, m, i); ctx.Err() != nil {
				errs[i] = nil // the measurement has ended
			}
		})
	}
	return func() (yardstickCost, error) {
		all.Wait()
		cancel()
		return costOf(sticks, time.Since(began)), errors.Join(errs...)
	}
}

// costOf sums up what the streams have cost in a time.
func costOf(sticks []yardstick, took time.Duration) (c yardstickCost) {
	var ffmpeg, ytdlp time.Duration
	segments, asks := 0, 0
	for _, s := range sticks {
		ffmpeg, ytdlp = ffmpeg+s.ffmpeg, ytdlp+s.ytdlp
		segments, asks = segments+s.segments, asks+s.asks
	}
	c.Streams = len(sticks)
	if c.Streams == 0 {
		return c
	}
	c.CPUSecPerStreamHour = (ffmpeg + ytdlp).Seconds() / (float64(c.Streams) * took.Hours())
	c.FFmpegSec, c.YTDLPSec = ffmpeg.Seconds()/float64(max(1, segments)), ytdlp.Seconds()/float64(max(1, asks))
	return c
}

// yardstick watches one stream by the specification's method, without optimizations.
type yardstick struct {
	ffmpeg, ytdlp  time.Duration // CPU time
	segments, asks int
}

func (y *yardstick) run(ctx context.Context, m *run, number int) error {
	client, err := m.mediaClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	ffmpeg, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		return err
	}
	ytdlp, err := testtools.Tool("yt-dlp", "")
	if err != nil {
		return err
	}
	file := filepath.Join(m.dir, fmt.Sprintf("yardstick-%d.ts", number))
	var playlist string
	var asked time.Time
	check := time.NewTicker(time.Duration(m.interval) * time.Second)
	defer check.Stop()
	for {
		if time.Since(asked) >= askInterval {
			asked = time.Now()
			if playlist, err = y.ask(ctx, ytdlp, m.server.Env); err != nil {
				return err
			}
		}
		if err := fetchNewest(ctx, client, playlist, file); err != nil {
			return err
		}
		y.segments++
		for _, filter := range [][]string{{"-vf", "blackdetect=d=0.1:pix_th=0.10", "-an"}, {"-af", "silencedetect=n=-50dB:d=0.5", "-vn"}} {
			cmd := exec.CommandContext(ctx, ffmpeg, slices.Concat([]string{"-nostdin", "-i", file}, filter, []string{"-f", "null", "-"})...)
			if _, err := output(cmd, &y.ffmpeg); err != nil {
				return err
			}
		}
		select {
		case <-check.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask asks yt-dlp for the playlist of the best quality.
func (y *yardstick) ask(ctx context.Context, path string, env []string) (string, error) {
	cmd := exec.CommandContext(ctx, path, "--ignore-config", "-f", "best", "-J", "https://www.youtube.com/watch?v="+yardstickID)
	cmd.Env = slices.Concat(os.Environ(), env)
	y.asks++
	out, err := output(cmd, &y.ytdlp)
	if err != nil {
		return "", err
	}
	var answer struct {
		URL    string `json:"url"`
		Height int    `json:"height"`
	}
	if err := json.Unmarshal(out, &answer); err != nil || answer.Height != best.Height {
		return "", fmt.Errorf("yt-dlp names a best quality of %d lines, expected %d: %w", answer.Height, best.Height, err)
	}
	return answer.URL, nil
}

// output runs a command and adds its CPU time.
func output(cmd *exec.Cmd, cpu *time.Duration) ([]byte, error) {
	out, err := cmd.Output()
	if s := cmd.ProcessState; s != nil {
		*cpu += s.UserTime() + s.SystemTime()
	}
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, failed.Stderr)
		}
		return nil, err
	}
	return out, nil
}

// mediaClient returns a client that the media server's environment directs there.
func (m *run) mediaClient() (*http.Client, error) {
	variable := func(name string) string {
		for _, v := range m.server.Env {
			if value, found := strings.CutPrefix(v, name+"="); found {
				return value
			}
		}
		return ""
	}
	proxy, err := url.Parse(variable("https_proxy"))
	if err != nil {
		return nil, err
	}
	root, err := os.ReadFile(variable("SSL_CERT_FILE"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(root)
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}, nil
}

// fetchNewest writes the newest segment of a media playlist to a file.
func fetchNewest(ctx context.Context, client *http.Client, playlist, file string) error {
	text, err := get(ctx, client, playlist)
	if err != nil {
		return err
	}
	lines := strings.Fields(string(text))
	segment, err := get(ctx, client, lines[len(lines)-1])
	if err != nil {
		return err
	}
	return os.WriteFile(file, segment, 0o600)
}

func get(ctx context.Context, client *http.Client, of string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, of, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || len(body) == 0) {
		err = fmt.Errorf("the media server answers %s with %d bytes", res.Status, len(body))
	}
	return body, err
}
