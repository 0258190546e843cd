//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// The toxics have loggers of their own, which would print.
func init() { zerolog.SetGlobalLevel(zerolog.Disabled) } //nolint:gochecknoinits // before any of them is made

// way is which connection of a site a fault cuts.
type way int

const (
	toDatabase way = iota
	toGateway
	toReceiver
)

// pipe is a TCP proxy that can be poisoned.
type pipe struct{ proxy *toxiproxy.Proxy }

// newPipe listens on a free port and leads to an address, which need not answer
// yet.
func newPipe(name, to string) (*pipe, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, name, "127.0.0.1:0", to)
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("pipe to the %s: %w", name, err)
	}
	return &pipe{p}, nil
}

func (p *pipe) address() string { return p.proxy.Listen }

func (p *pipe) close() {
	if p != nil {
		p.proxy.Stop()
	}
}

// refusing is what no toxic does: nobody listens.
const refusing = "refusing"

// poisons are the toxics, with their attributes for an amount from 0 to 999.
var poisons = map[string]func(amount int) string{
	"reset_peer": func(amount int) string { return fmt.Sprintf(`{"timeout": %d}`, amount%50) },
	"timeout":    func(int) string { return `{"timeout": 0}` }, // nothing passes, and nothing is said
	"latency":    func(amount int) string { return fmt.Sprintf(`{"latency": %d, "jitter": %d}`, 100+amount/2, amount/4) },
	"bandwidth":  func(amount int) string { return fmt.Sprintf(`{"rate": %d}`, 2+amount/100) }, // KB/s
}

// healLimit is how long the cure of a connection may take.
const healLimit = 10 * time.Second

// poison lets a pipe suffer for a while.
func (p *pipe) poison(ctx context.Context, toxic string, amount int, by time.Duration) error {
	if toxic == refusing {
		p.proxy.Stop()
		pause(ctx, by)
		return p.proxy.Start()
	}
	var names []string
	for _, direction := range []string{"upstream", "downstream"} {
		text := fmt.Sprintf(`{"type": %q, "stream": %q, "attributes": %s}`, toxic, direction, poisons[toxic](amount))
		added, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(text))
		if err != nil {
			return fmt.Errorf("poison: %w", err)
		}
		names = append(names, added.Name)
	}
	pause(ctx, by)
	var errs []error
	for _, name := range names {
		healing, cancel := context.WithTimeout(context.Background(), healLimit)
		errs = append(errs, p.proxy.Toxics.RemoveToxic(healing, name))
		cancel()
	}
	return errors.Join(errs...)
}

// pause waits, but not longer than ctx lasts.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
