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
func init() { zerolog.SetGlobalLevel(zerolog.Disabled) } //nolint:gochecknoinits // the level must be set before a toxic is made

// linkID names a link of an environment by its destination.
type linkID int

const (
	databaseLink linkID = iota
	receiverLink
	gatewayLink // each gateway has one
)

// link is a TCP proxy (toxiproxy) whose connections can be disturbed.
type link struct{ proxy *toxiproxy.Proxy }

// newLink listens on a free port and forwards connections to an address.
// Nothing needs to listen there yet.
func newLink(name, address string) (*link, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, name, "127.0.0.1:0", address)
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("link to the %s: %w", name, err)
	}
	return &link{p}, nil
}

func (l *link) address() string { return l.proxy.Listen }

func (l *link) close() {
	if l != nil {
		l.proxy.Stop()
	}
}

// refuseConnections is the fault that toxiproxy has no toxic for: the link
// stops listening.
const refuseConnections = "refusing"

// toxicAttributes returns the attributes of each toxic for a fault's parameter
// (0 to 999).
var toxicAttributes = map[string]func(parameter int) string{
	"reset_peer": func(parameter int) string { return fmt.Sprintf(`{"timeout": %d}`, parameter%50) },
	"timeout":    func(int) string { return `{"timeout": 0}` }, // data is dropped and the connection stays open
	"latency": func(parameter int) string {
		return fmt.Sprintf(`{"latency": %d, "jitter": %d}`, 100+parameter/2, parameter/4)
	},
	"bandwidth": func(parameter int) string { return fmt.Sprintf(`{"rate": %d}`, 2+parameter/100) }, // KB/s
}

// removeToxicTimeout is how long the removal of a toxic may take.
const removeToxicTimeout = 10 * time.Second

// addToxic applies a toxic to both directions of the link for a while and then
// removes it.
func (l *link) addToxic(ctx context.Context, toxic string, parameter int, duration time.Duration) error {
	if toxic == refuseConnections {
		l.proxy.Stop()
		pause(ctx, duration)
		return l.proxy.Start()
	}
	var names []string
	for _, direction := range []string{"upstream", "downstream"} {
		text := fmt.Sprintf(`{"type": %q, "stream": %q, "attributes": %s}`, toxic, direction, toxicAttributes[toxic](parameter))
		added, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(text))
		if err != nil {
			return fmt.Errorf("add a toxic: %w", err)
		}
		names = append(names, added.Name)
	}
	pause(ctx, duration)
	var errs []error
	for _, name := range names {
		removal, cancel := context.WithTimeout(context.Background(), removeToxicTimeout)
		errs = append(errs, l.proxy.Toxics.RemoveToxic(removal, name))
		cancel()
	}
	return errors.Join(errs...)
}

// ports hands out the ports that a gateway keeps over its restarts. They are
// below the kernel's ephemeral ports, so that no outgoing connection takes the
// port of a gateway that has just ended.
var ports struct {
	sync.Mutex
	next int
}

// The range of the ports that are handed out.
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
