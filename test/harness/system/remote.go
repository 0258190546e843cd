package system

import "net/http"

// Remote is a service that runs elsewhere, such as in a cluster. It is called
// with the same keys as one that was started here, and has neither log nor
// process.
func Remote(url string, httpClient *http.Client) *Service {
	return &Service{client: client{public: url, http: httpClient}, exited: make(chan struct{}), news: make(chan struct{})}
}

// Client is the HTTP client of the service's calls.
func (s *Service) Client() *http.Client { return s.client.http }
