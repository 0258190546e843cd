package webhookreceiver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// maxBody is the longest body taken, in bytes.
const maxBody = 1 << 20

// receive takes one delivery.
func (s *Receiver) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d := Delivery{Received: time.Now(), Method: r.Method, Header: r.Header.Clone(), Body: body}
	problem := parse(&d)
	if problem == nil {
		problem = errors.Join(
			verifyHMAC(s.config, r.Header, body, d.Received),
			verifyStandard(s.config, r.Header, body),
			agree(r.Header, d),
		)
	}
	if r.Method != http.MethodPost {
		problem = errors.Join(fmt.Errorf("method %s", r.Method), problem)
	}
	d.Verified = problem == nil
	if problem != nil {
		d.Problem = strings.ReplaceAll(problem.Error(), "\n", "; ")
	}
	accept := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	if problem != nil {
		accept = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, d.Problem, http.StatusUnauthorized) }
	}
	n, f := s.remember(d)
	if f == nil {
		accept(w, r)
		return
	}
	f(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.accepted(n)
		accept(w, r)
	}))
}

// remember keeps a delivery and returns its number and what is to happen to
// it, or nil.
func (s *Receiver) remember(d Delivery) (int, httpfault.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Attempt = 1
	for _, other := range s.deliveries {
		if other.EventID == d.EventID {
			d.Attempt++
		}
	}
	var f httpfault.Fault
	for _, i := range slices.Backward(s.faults) {
		if i.left != 0 {
			f = i.what
			i.left = max(i.left-1, -1)
			break
		}
	}
	d.Accepted = d.Verified && f == nil
	s.deliveries = append(s.deliveries, d)
	s.announce()
	if s.config.Out != nil {
		_, _ = fmt.Fprintf(s.config.Out, "%s %s\n", d.Received.Local().Format(time.TimeOnly), d)
	}
	return len(s.deliveries) - 1, f
}

// accepted notes that a fault let delivery n through after all.
func (s *Receiver) accepted(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliveries[n].Accepted = s.deliveries[n].Verified
	s.announce()
}

// announce wakes who waits; s.mu is held.
func (s *Receiver) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}
