package outboundtest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// DNSRecords are the records of a DNS server. The key is a name, the value its answers:
// each query of a name gets the next answer, and the last one repeats. An answer is
// addresses separated by blanks, "=" and the target of a CNAME, or NoResponse. A number
// in place of a name resolves to loopback, as in the C library. Other names do not
// exist (NXDOMAIN).
type DNSRecords map[string][]string

// NoResponse makes the server ignore the query.
const NoResponse = "silence"

// dnsServer is a DNS server on loopback.
type dnsServer struct {
	records DNSRecords

	mu      sync.Mutex
	queries map[dnsmessage.Question]int
	clients []net.Conn // of the resolver, which keeps querying after its caller has returned
	closed  bool
}

// Resolver starts a DNS server on loopback, which runs until the test ends, and returns
// a resolver that queries only this server.
func (n DNSRecords) Resolver(t *testing.T) *net.Resolver {
	t.Helper()
	socket := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	s := &dnsServer{records: n, queries: map[dnsmessage.Question]int{}}
	var serving sync.WaitGroup
	serving.Go(func() { s.serve(socket) })
	t.Cleanup(func() {
		s.closeClients()
		_ = socket.Close()
		serving.Wait()
	})
	address := socket.LocalAddr().String()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return s.dial(ctx, address)
	}}
}

func (s *dnsServer) dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "udp", address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return nil, errors.New("the test has ended")
	}
	s.clients = append(s.clients, c)
	return c, nil
}

func (s *dnsServer) closeClients() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, c := range s.clients {
		_ = c.Close()
	}
}

// serve answers until the socket is closed.
func (s *dnsServer) serve(socket net.PacketConn) {
	query := make([]byte, 1232) // the buffer size that resolvers announce (EDNS)
	for {
		n, from, err := socket.ReadFrom(query)
		if err != nil {
			return
		}
		if answer := s.answer(query[:n]); answer != nil {
			_, _ = socket.WriteTo(answer, from)
		}
	}
}

// answer returns the packed response, or nil for none.
func (s *dnsServer) answer(query []byte) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	exists, respond := s.addRecords(&m, q, q.Name)
	if !respond {
		return nil
	}
	if !exists {
		m.RCode = dnsmessage.RCodeNameError
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// addRecords adds the records of name to the response to q.
func (s *dnsServer) addRecords(m *dnsmessage.Message, q dnsmessage.Question, name dnsmessage.Name) (exists, respond bool) {
	answer := s.nextAnswer(q.Type, name)
	header := dnsmessage.ResourceHeader{Name: name, Class: q.Class}
	if target, ok := strings.CutPrefix(answer, "="); ok {
		cname := dnsmessage.MustNewName(target + ".")
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.CNAMEResource{CNAME: cname}})
		return s.addRecords(m, q, cname)
	}
	if answer == NoResponse {
		return true, false
	}
	for field := range strings.FieldsSeq(answer) {
		a := netip.MustParseAddr(field)
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return answer != "", true
}

// nextAnswer returns the next answer for a name. Each record type counts by itself:
// a resolver queries both at once.
func (s *dnsServer) nextAnswer(t dnsmessage.Type, name dnsmessage.Name) string {
	key := strings.ToLower(strings.TrimSuffix(name.String(), "."))
	label := key[strings.LastIndex(key, ".")+1:]
	if label != "" && strings.Trim(label, "0123456789") == "" || strings.HasPrefix(label, "0x") {
		return "127.0.0.1"
	}
	answers := s.records[key]
	if len(answers) == 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := dnsmessage.Question{Name: dnsmessage.MustNewName(key + "."), Type: t}
	i := min(s.queries[q], len(answers)-1)
	s.queries[q]++
	return answers[i]
}
