package postgres_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy forwards connections to the server. It parses the protocol as far as is
// needed to break connections at chosen statements.
type proxy struct {
	dsn      string
	unix     string
	listener net.Listener

	dropAll   atomic.Bool                   // it drops everything in both directions
	frozen    atomic.Pointer[chan struct{}] // everything waits until it is closed; nil: nothing does
	exchanges atomic.Int64                  // how often a client waited for an answer
	withheld  atomic.Int64                  // answers of the server that were lost
	deadlocks atomic.Int64                  // transactions that the server has ended because of one

	// halt, if it is set, is called before each statement with those of its transaction up to it.
	halt atomic.Pointer[func(transaction []string)]

	mu     sync.Mutex
	choose func(statement string) loss // called for every executed statement; nil: nothing is lost
	conns  []net.Conn
	ended  bool
	lost   int // how often something was
}

// loss says which part of a statement is lost.
type loss int

const (
	noLoss      loss = iota
	lostRequest      // the connection breaks before the server receives it
	lostAnswer       // the connection breaks after the server has executed it
	silentLoss       // the server has executed it, and neither side receives anything any more
)

var (
	hostWord = regexp.MustCompile(`host='([^']*)' port=(\d+)`)
	nul      = []byte{0}
)

// startProxy starts a proxy to the server of dsn, until the test ends.
func startProxy(t testing.TB, dsn string) *proxy {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	words := hostWord.FindStringSubmatch(dsn)
	if words == nil {
		t.Fatalf("no socket in %s", dsn)
	}
	w := &proxy{
		unix: words[1] + "/.s.PGSQL." + words[2],
		dsn: strings.Replace(dsn, words[0],
			fmt.Sprintf("host=127.0.0.1 port=%d", l.Addr().(*net.TCPAddr).Port), 1),
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.forward(c) })
		}
	})
	w.listener = l
	t.Cleanup(func() {
		w.close()
		all.Wait()
	})
	return w
}

func (w *proxy) close() {
	_ = w.listener.Close()
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.drop()
}

// freeze lets everything wait in both directions, as a gateway does that is halted, until thaw.
func (w *proxy) freeze() (thaw func()) {
	until := make(chan struct{})
	w.frozen.Store(&until)
	return sync.OnceFunc(func() { close(until) })
}

// pass waits while everything is frozen.
func (w *proxy) pass() {
	if until := w.frozen.Load(); until != nil {
		<-*until
	}
}

func (w *proxy) lose(choose func(statement string) loss) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.choose = choose
}

func (w *proxy) decide(statement string) loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.choose == nil {
		return noLoss
	}
	what := w.choose(statement)
	if what != noLoss {
		w.lost++
	}
	return what
}

func (w *proxy) losses() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

func (w *proxy) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func (w *proxy) forward(client net.Conn) {
	server, err := net.Dial("unix", w.unix)
	if err != nil {
		_ = client.Close()
		return
	}
	var fate fate
	end := func() {
		w.pass() // the server does not learn what a halted gateway does
		_ = client.Close()
		if !fate.unknown.Load() {
			_ = server.Close()
		}
	}
	w.mu.Lock()
	w.conns = append(w.conns, client, server)
	if w.ended {
		end()
	}
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { defer end(); w.ask(bufio.NewReader(client), server, &fate) })
	both.Go(func() { defer end(); w.reply(bufio.NewReader(server), client, &fate) })
	both.Wait()
	_ = server.Close()
}

// fate is the decision about a connection.
type fate struct {
	swallow atomic.Bool // the answer that comes is lost
	unknown atomic.Bool // the server does not learn that the client has hung up
}

func (w *proxy) ask(client *bufio.Reader, server net.Conn, fate *fate) {
	prepared, byName := "", map[string]string{}
	var transaction []string
	for started := false; ; started = true {
		batch, err := readBatch(client, started)
		if err != nil {
			return
		}
		if last := batch[len(batch)-1]; w.dropAll.Load() || last.kind == 'X' && fate.unknown.Load() {
			continue
		}
		w.pass()
		var request []byte
		for _, m := range batch {
			what := noLoss
			if m.kind == 'Q' || m.kind == 'S' {
				w.exchanges.Add(1)
			}
			switch m.kind {
			case 'Q': // a query in one
				text, _, _ := bytes.Cut(m.bytes[5:], nul)
				transaction = w.began(transaction, string(text))
				what = w.decide(string(text))
			case 'P': // parse: a name and a query
				parts := bytes.SplitN(m.bytes[5:], nul, 3)
				prepared = string(parts[1])
				byName[string(parts[0])] = prepared
			case 'B': // bind: a portal, and the name of a prepared statement
				parts := bytes.SplitN(m.bytes[5:], nul, 3)
				prepared = byName[string(parts[1])]
			case 'E': // execute
				transaction = w.began(transaction, prepared)
				what = w.decide(prepared)
			}
			switch what {
			case lostRequest:
				return
			case lostAnswer:
				fate.swallow.Store(true)
			case silentLoss:
				fate.unknown.Store(true)
				fate.swallow.Store(true)
			}
			request = append(request, m.bytes...)
		}
		if _, err := server.Write(request); err != nil {
			return
		}
	}
}

// frame is a message of the protocol. The first of a connection has no kind.
type frame struct {
	kind  byte
	bytes []byte
}

// readBatch reads the messages until the server is to answer: a client sends them at once. A server that has
// a part of them only would wait for the rest, and end no transaction because it is idle.
func readBatch(client *bufio.Reader, kinded bool) (batch []frame, err error) {
	for {
		m, err := readMessage(client, kinded)
		if err != nil {
			return nil, err
		}
		batch = append(batch, m)
		if strings.IndexByte("PBDEC", m.kind) < 0 { // parse, bind, describe, execute, close
			return batch, nil
		}
	}
}

// began returns the statements of a transaction with a new one, before which the client may be halted.
func (w *proxy) began(transaction []string, statement string) []string {
	if strings.HasPrefix(statement, "BEGIN") {
		transaction = nil
	}
	transaction = append(transaction, statement)
	if halt := w.halt.Load(); halt != nil {
		(*halt)(transaction)
	}
	return transaction
}

func (w *proxy) reply(server *bufio.Reader, client net.Conn, fate *fate) {
	for {
		m, err := readMessage(server, true)
		if err != nil {
			return
		}
		if m.kind == 'E' && bytes.Contains(m.bytes, []byte("C40P01\x00")) { // the code of an error
			w.deadlocks.Add(1)
		}
		switch {
		case fate.swallow.Load() && m.kind == 'Z': // ready for the next: it has been done
			w.withheld.Add(1)
			if !fate.unknown.Load() {
				return
			}
			continue
		case fate.swallow.Load(), w.dropAll.Load():
			continue
		}
		w.pass()
		if _, err := client.Write(m.bytes); err != nil {
			return
		}
	}
}

func readMessage(r *bufio.Reader, kinded bool) (m frame, err error) {
	head := 5 // bytes: the kind, and the length of all but the kind
	if !kinded {
		head = 4
	}
	start, err := r.Peek(head)
	if err != nil {
		return frame{}, err
	}
	if kinded {
		m.kind = start[0]
	}
	m.bytes = make([]byte, head-4+int(binary.BigEndian.Uint32(start[head-4:])))
	_, err = io.ReadFull(r, m.bytes)
	return m, err
}
