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

// maxBody is the longest body that is read, in bytes.
const maxBody = 1 << 20

// receive handles one delivery.
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
			checkHeaders(r.Header, d),
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
	n, f := s.store(d)
	if f == nil {
		accept(w, r)
		return
	}
	f(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.markAccepted(n)
		accept(w, r)
	}))
}

// store stores a delivery. It returns its index and the fault that it meets, or
// nil.
func (s *Receiver) store(d Delivery) (int, httpfault.Fault) {
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
		if i.remaining > 0 {
			f = i.fault
			i.remaining--
			break
		}
	}
	d.Accepted = d.Verified && f == nil
	s.deliveries = append(s.deliveries, d)
	s.notify()
	if s.config.Out != nil {
		_, _ = fmt.Fprintf(s.config.Out, "%s %s\n", d.Received.Local().Format(time.TimeOnly), d)
	}
	return len(s.deliveries) - 1, f
}

// markAccepted records that a fault passed delivery n on after all.
func (s *Receiver) markAccepted(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliveries[n].Accepted = s.deliveries[n].Verified
	s.notify()
}

// notify wakes the callers of Wait. s.mu is held.
func (s *Receiver) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}
