package system

import "net/http"

// Remote is a service that runs elsewhere, at a URL, such as in a cluster: it
// can be called as one that was started here, with the same keys. It has no log
// and no process.
func Remote(url string, with *http.Client) *Service {
	return &Service{client: client{public: url, http: with}, exited: make(chan struct{}), news: make(chan struct{})}
}

// Client is what the service is called with.
func (s *Service) Client() *http.Client { return s.client.http }
