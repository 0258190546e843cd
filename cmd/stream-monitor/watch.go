package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// watchForeground watches one stream with the loop of a worker, and prints its
// events. It returns nil when the stream has ended or the user interrupts it, and
// an error when the stream cannot be watched.
func watchForeground(ctx context.Context, c *config.Watch, out console) error {
	constructor := logging.NewText
	if c.JSON {
		constructor = logging.New
	}
	log, err := newLog(constructor, out.err, c.Log.LogLevel)
	if err != nil {
		return err
	}
	if err := prepareTools(c.Watching); err != nil {
		return err
	}
	cfg := worker.Config{
		ID:         monitor.NewID(uuid.Must(uuid.NewV7())),
		Generation: 1,
		Preference: watch.RenditionPreference(c.Watching.StreamRendition),
		NewEventID: newEventID,
		Log:        log,
	}
	if c.Record != "" {
		file, err := os.OpenFile(c.Record, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // the user names the file to write
		if err != nil {
			return fmt.Errorf("recording: %w", err)
		}
		defer func() { _ = file.Close() }()
		cfg.Recording = file
	}
	pictures, err := readReferences(c.Reference)
	if err != nil {
		return err
	}
	g := &terminalGateway{printEvent: eventPrinter(out.out, c.JSON), config: c.Config(), references: pictures}
	if err := g.name(c); err != nil {
		return err
	}
	if g.cookies, err = readCookies(c.Cookies, g.stream.Source()); err != nil {
		return err
	}
	pool := newDecoderPool(c.Watching, 1, log)
	defer pool.Close()
	if err := worker.New(newWatchingTools(c.Watching, pool, newResolvingTools(c.Watching, log)).ports(g, nil, nil, cfg.ID, log), cfg).Run(ctx); err != nil {
		return err
	}
	return g.failure()
}

// readReferences reads pictures as uploads with the usual values. They have the names of their files.
func readReferences(files []string) (list []detector.Reference, err error) {
	for _, file := range files {
		raw, err := os.ReadFile(file) //nolint:gosec // the user names the file to read
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
		read, err := references.Digest(raw)
		if err != nil {
			return nil, fmt.Errorf("reference %s: %w", file, err)
		}
		list = append(list, detector.Reference{
			Name: filepath.Base(file), Unwanted: detector.AfterStart, Similarity: detector.DefaultSimilarity, Digests: read.Digests,
		})
	}
	return list, nil
}

// readCookies reads a cookie file; nil without one. The file stays as it is: what yt-dlp renews is kept in memory.
func readCookies(file string, of monitor.SourceName) (*cookie.Jar, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file) //nolint:gosec // the user names the file to read
	if err != nil {
		return nil, fmt.Errorf("cookies: %w", err)
	}
	all, err := cookie.Parse(string(raw))
	if err != nil {
		return nil, fmt.Errorf("cookies: %s %w", file, err)
	}
	kept, sources := monitor.KeepCookies(all)
	if !slices.Contains(sources, of) {
		return nil, fmt.Errorf("cookies: %s has none for %s, or those of other sources besides", file, of)
	}
	return &cookie.Jar{Name: filepath.Base(file), Version: 1, Text: kept.Text()}, nil
}

// terminalGateway is the gateway of a watch in the foreground. Its assignment is the
// command line, and it prints the events of each report.
type terminalGateway struct {
	printEvent func(event.Event)
	stream     monitor.StreamURL
	secret     monitor.StreamSecret
	config     monitor.Config
	references []detector.Reference
	cookies    *cookie.Jar // nil: none

	mu   sync.Mutex
	last monitor.Status
}

// name sets the stream, and what its requests carry. Error: the source of the stream does not take it.
func (g *terminalGateway) name(c *config.Watch) (err error) {
	if g.stream, err = monitor.ParseStreamURL(c.URL); err != nil {
		return fmt.Errorf("the stream: %w", err)
	}
	headers := map[string]*string{}
	for i, field := range c.Header {
		name, value, found := strings.Cut(field, ":")
		if !found {
			return fmt.Errorf("--header number %d has no colon; expected is NAME:VALUE", i+1)
		}
		headers[name] = new(strings.TrimSpace(value))
	}
	row := monitor.SourceOf(g.stream)
	g.secret.Query = monitor.SecretQueryOf(c.URL)
	return monitor.Join(append(g.secret.SetHeaders(headers, row), g.secret.SetTokenURL(c.TokenURL, row), g.secret.SetCopyQuery(c.CopyQuery, row))...)
}

// Assignment implements worker.Gateway.
func (g *terminalGateway) Assignment(_ context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	return monitor.Assignment{ID: id, Generation: generation, StreamURL: g.stream, Config: g.config, References: g.references, Cookies: g.cookies, Secret: g.secret}, nil
}

// ReturnCookies implements worker.Gateway.
func (g *terminalGateway) ReturnCookies(_ context.Context, _ monitor.ID, _ int, u cookie.Use) (cookie.Jar, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	*g.cookies = g.stream.Source().Site().Renew(*g.cookies, u, monitor.CookieHosts(), time.Now())
	return *g.cookies, nil
}

// Report implements worker.Gateway.
func (g *terminalGateway) Report(_ context.Context, _ monitor.ID, r monitor.Report) (monitor.Answer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = r.Status
	for _, e := range r.Events {
		g.printEvent(e)
	}
	return monitor.Answer{Order: monitor.Run}, nil
}

func (g *terminalGateway) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == monitor.Failed {
		return errors.New("the stream cannot be watched; the last event says why")
	}
	return nil
}
