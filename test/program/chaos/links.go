//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// The toxics have loggers of their own, which would print.
func init() { zerolog.SetGlobalLevel(zerolog.Disabled) } //nolint:gochecknoinits // before any of them is made

// way is which connection of a site a fault cuts.
type linkID int

const (
	databaseLink linkID = iota
	gatewayLink
	receiverLink
)

// pipe is a TCP proxy that can be poisoned.
type link struct{ proxy *toxiproxy.Proxy }

// newPipe listens on a free port and leads to an address, which need not answer
// yet.
func newLink(name, to string) (*link, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, name, "127.0.0.1:0", to)
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("pipe to the %s: %w", name, err)
	}
	return &link{p}, nil
}

func (l *link) address() string { return l.proxy.Listen }

func (l *link) close() {
	if l != nil {
		l.proxy.Stop()
	}
}

// refusing is what no toxic does: nobody listens.
const refuseConnections = "refusing"

// poisons are the toxics, with their attributes for an amount from 0 to 999.
var toxicAttributes = map[string]func(amount int) string{
	"reset_peer": func(amount int) string { return fmt.Sprintf(`{"timeout": %d}`, amount%50) },
	"timeout":    func(int) string { return `{"timeout": 0}` }, // nothing passes, and nothing is said
	"latency":    func(amount int) string { return fmt.Sprintf(`{"latency": %d, "jitter": %d}`, 100+amount/2, amount/4) },
	"bandwidth":  func(amount int) string { return fmt.Sprintf(`{"rate": %d}`, 2+amount/100) }, // KB/s
}

// healLimit is how long the cure of a connection may take.
const removeToxicTimeout = 10 * time.Second

// poison lets a pipe suffer for a while.
func (l *link) addToxic(ctx context.Context, toxic string, amount int, by time.Duration) error {
	if toxic == refuseConnections {
		l.proxy.Stop()
		pause(ctx, by)
		return l.proxy.Start()
	}
	var names []string
	for _, direction := range []string{"upstream", "downstream"} {
		text := fmt.Sprintf(`{"type": %q, "stream": %q, "attributes": %s}`, toxic, direction, toxicAttributes[toxic](amount))
		added, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(text))
		if err != nil {
			return fmt.Errorf("poison: %w", err)
		}
		names = append(names, added.Name)
	}
	pause(ctx, by)
	var errs []error
	for _, name := range names {
		healing, cancel := context.WithTimeout(context.Background(), removeToxicTimeout)
		errs = append(errs, l.proxy.Toxics.RemoveToxic(healing, name))
		cancel()
	}
	return errors.Join(errs...)
}

// ports gives out the numbers that a gateway keeps over its restarts. They lie
// below those that the kernel gives to outgoing connections, one of which would
// take the place of a gateway that has just died.
var ports struct {
	sync.Mutex
	next int
}

// Where to look for free ports.
const (
	lowestPort  = 20000
	highestPort = 32000
)

func freePort() int {
	ports.Lock()
	defer ports.Unlock()
	if ports.next == 0 {
		ports.next = lowestPort + os.Getpid()*37%(highestPort-lowestPort)
	}
	for {
		ports.next++
		if ports.next >= highestPort {
			ports.next = lowestPort
		}
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports.next)); err == nil {
			_ = l.Close()
			return ports.next
		}
	}
}
