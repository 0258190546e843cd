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
)

// Names is what a name service knows: each name has a list of answers, given in
// turn, the last one for ever. An answer is addresses separated by blanks, "="
// and another name, or Silence. What is a number in place of a name is loopback,
// as the C library would have it; another name does not exist.
type Names map[string][]string

// Silence is no answer at all.
const Silence = "silence"

// server is a name service on loopback.
type server struct {
	names Names

	mu      sync.Mutex
	asked   map[dnsmessage.Question]int
	clients []net.Conn // of the resolver, which goes on asking after its caller has gone
	over    bool
}

// Resolver starts a name service on loopback that runs until the test ends, and
// asks nobody else.
func (n Names) Resolver(t *testing.T) *net.Resolver {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{names: n, asked: map[dnsmessage.Question]int{}}
	var serving sync.WaitGroup
	serving.Go(func() { s.serve(socket) })
	t.Cleanup(func() {
		s.hangUp()
		_ = socket.Close()
		serving.Wait()
	})
	at := socket.LocalAddr().String()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return s.dial(ctx, at)
	}}
}

func (s *server) dial(ctx context.Context, at string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "udp", at)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		_ = c.Close()
		return nil, errors.New("the test is over")
	}
	s.clients = append(s.clients, c)
	return c, nil
}

func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, c := range s.clients {
		_ = c.Close()
	}
}

// serve answers until the socket is closed.
func (s *server) serve(socket net.PacketConn) {
	query := make([]byte, 1232) // what resolvers announce
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

// answer is nil where there is none.
func (s *server) answer(query []byte) []byte {
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
	known, silent := s.records(&m, q, q.Name)
	if silent {
		return nil
	}
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// records adds what is known of a name to an answer to q.
func (s *server) records(m *dnsmessage.Message, q dnsmessage.Question, name dnsmessage.Name) (known, silent bool) {
	answer := s.next(q.Type, name)
	header := dnsmessage.ResourceHeader{Name: name, Class: q.Class}
	if alias, is := strings.CutPrefix(answer, "="); is {
		to := dnsmessage.MustNewName(alias + ".")
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.CNAMEResource{CNAME: to}})
		return s.records(m, q, to)
	}
	if answer == Silence {
		return true, true
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
	return answer != "", false
}

// next is the answer whose turn it is, for each type on its own: a resolver asks
// for both at once.
func (s *server) next(t dnsmessage.Type, name dnsmessage.Name) string {
	key := strings.ToLower(strings.TrimSuffix(name.String(), "."))
	last := key[strings.LastIndex(key, ".")+1:]
	if last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "127.0.0.1"
	}
	list := s.names[key]
	if len(list) == 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := dnsmessage.Question{Name: dnsmessage.MustNewName(key + "."), Type: t}
	i := min(s.asked[q], len(list)-1)
	s.asked[q]++
	return list[i]
}
