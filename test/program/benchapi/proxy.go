package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// roundTrip is how long a message to the database and its answer take through a proxy.
const roundTrip = 5 * time.Millisecond

// proxy forwards connections to a database as a network would that takes roundTrip. It
// times the transactions that change anything, from their first message to the answer
// of the last one. No lock of a transaction lasts for longer than that.
type proxy struct {
	dsn      string
	socket   string
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	took  []time.Duration // of each transaction since the last call of times
}

var hostWords = regexp.MustCompile(`host='([^']*)' port=(\d+)`)

// startProxy starts a proxy to the database of a DSN that names a unix socket.
func startProxy(ctx context.Context, dsn string) (*proxy, error) {
	words := hostWords.FindStringSubmatch(dsn)
	if words == nil {
		return nil, fmt.Errorf("no socket in %s", dsn)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{
		dsn:      strings.Replace(dsn, words[0], fmt.Sprintf("host=127.0.0.1 port=%d", listener.Addr().(*net.TCPAddr).Port), 1),
		socket:   words[1] + "/.s.PGSQL." + words[2],
		listener: listener,
	}
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.forward(ctx, client) })
		}
	})
	return p, nil
}

// close closes all connections.
func (p *proxy) close() error {
	err := p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close() // may be closed already
	}
	p.mu.Unlock()
	p.running.Wait()
	return err
}

// times returns the durations of the transactions since its last call, in order.
func (p *proxy) times() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.took
	p.took = nil
	slices.Sort(took)
	return took
}

func (p *proxy) forward(ctx context.Context, client net.Conn) {
	server, err := new(net.Dialer).DialContext(ctx, "unix", p.socket)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	timing := &transactionTiming{proxy: p}
	p.running.Go(func() {
		defer func() { _ = server.Close() }()
		sendRequests(client, server, timing)
	})
	defer func() { _ = client.Close() }()
	sendAnswers(bufio.NewReader(server), client, timing)
}

// sendRequests forwards requests.
func sendRequests(client io.Reader, server io.Writer, timing *transactionTiming) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		timing.begin()
		time.Sleep(roundTrip / 2)
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// sendAnswers forwards answers, and reads from them when a transaction has ended.
func sendAnswers(server *bufio.Reader, client io.Writer, timing *transactionTiming) {
	var burst []byte
	for {
		head, err := server.Peek(5) // the kind, and the length of all but the kind
		if err != nil {
			return
		}
		frame := make([]byte, 1+int(binary.BigEndian.Uint32(head[1:])))
		if _, err := io.ReadFull(server, frame); err != nil {
			return
		}
		timing.answer(frame)
		burst = append(burst, frame...)
		if server.Buffered() > 0 {
			continue
		}
		time.Sleep(roundTrip / 2)
		if _, err := client.Write(burst); err != nil {
			return
		}
		burst = burst[:0]
	}
}

// transactionTiming times the transactions of one connection.
type transactionTiming struct {
	proxy *proxy

	mu      sync.Mutex
	began   time.Time // zero: no transaction is open
	changes bool      // it has changed something
}

func (t *transactionTiming) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() {
		t.began = time.Now()
	}
}

// answer takes in a message of the server. Two of them count: a command is complete (C),
// and the server is ready for the next (Z), outside of a transaction ('I').
func (t *transactionTiming) answer(frame []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch kind, body := frame[0], frame[5:]; {
	case kind == 'C' && (bytes.HasPrefix(body, []byte("INSERT")) || bytes.HasPrefix(body, []byte("UPDATE")) || bytes.HasPrefix(body, []byte("DELETE"))):
		t.changes = true
	case kind == 'Z' && body[0] == 'I':
		if t.changes {
			t.proxy.mu.Lock()
			t.proxy.took = append(t.proxy.took, time.Since(t.began))
			t.proxy.mu.Unlock()
		}
		t.began, t.changes = time.Time{}, false
	}
}
