package dns

import (
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// maxMessage is the size of the largest message over UDP, in bytes (RFC 1035,
// section 4.2.1). A longer one is cut off and gets no answer.
const maxMessage = 512

// Mode decides how a Server answers.
type Mode int

// The modes of a Server.
const (
	Answering Mode = iota
	Silent         // no answer
	Failing        // SERVFAIL for every host
)

// Server is a fake name server. It is safe for concurrent use.
type Server struct {
	socket  net.PacketConn
	hosts   map[string]netip.Addr
	serving sync.WaitGroup

	mu   sync.Mutex
	mode Mode
}

// Serve answers on socket until Close, which closes the socket. hosts maps
// domains to IPv4 addresses; a domain includes its subdomains.
func Serve(socket net.PacketConn, hosts map[string]netip.Addr) *Server {
	s := &Server{socket: socket, hosts: hosts}
	s.serving.Go(s.serve)
	return s
}

// Set changes the mode.
func (s *Server) Set(m Mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = m
}

// Close closes the socket and waits until the server has ended.
func (s *Server) Close() error {
	err := s.socket.Close()
	s.serving.Wait()
	return err
}

func (s *Server) serve() {
	buffer := make([]byte, maxMessage)
	for {
		n, from, err := s.socket.ReadFrom(buffer)
		if err != nil {
			return // Close has closed the socket
		}
		if reply := s.answer(buffer[:n]); reply != nil {
			_, _ = s.socket.WriteTo(reply, from) // resolvers repeat a lost question
		}
	}
}

// answer returns the reply to a message; nil for no reply.
func (s *Server) answer(message []byte) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(message)
	if err != nil || header.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	host := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	s.mu.Lock()
	mode := s.mode
	s.mu.Unlock()

	address, known := s.address(host)
	code := dnsmessage.RCodeSuccess
	switch {
	case mode == Silent:
		return nil
	case mode == Failing:
		code = dnsmessage.RCodeServerFailure
	case !known:
		code = dnsmessage.RCodeNameError
	}
	return reply(header, q, code, address)
}

// address looks up a host or the nearest parent domain that is known.
func (s *Server) address(host string) (a netip.Addr, known bool) {
	for {
		if a, known = s.hosts[host]; known {
			return a, true
		}
		_, parent, found := strings.Cut(host, ".")
		if !found {
			return netip.Addr{}, false
		}
		host = parent
	}
}

// reply encodes a reply. The TTL is 0, so that the next connection asks again.
func reply(to dnsmessage.Header, q dnsmessage.Question, code dnsmessage.RCode, address netip.Addr) []byte {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{
		ID: to.ID, Response: true, OpCode: to.OpCode, RCode: code,
		Authoritative: true, RecursionDesired: to.RecursionDesired, RecursionAvailable: true,
	})
	err := b.StartQuestions()
	if err == nil {
		err = b.Question(q)
	}
	if err == nil && code == dnsmessage.RCodeSuccess && q.Type == dnsmessage.TypeA {
		if err = b.StartAnswers(); err == nil {
			err = b.AResource(dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, dnsmessage.AResource{A: address.As4()})
		}
	}
	if err != nil {
		return nil
	}
	packed, err := b.Finish()
	if err != nil {
		return nil
	}
	return packed
}
