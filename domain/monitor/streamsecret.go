package monitor

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Limits of the header fields of a stream.
const (
	MaxHeaders     = 16
	MaxHeaderBytes = 8 << 10 // of all names and values
)

// StreamSecret is what the requests for a stream carry and only its workers may see (decision A1). It is encrypted in the
// database, and never shown: answers have the names of its header fields. Its JSON is what is encrypted, and what an
// assignment has.
type StreamSecret struct {
	Query    string            `json:"query,omitempty"`     // follows the canonical URL, with its question mark
	Headers  map[string]string `json:"headers,omitempty"`   // by their names in lower case
	TokenURL string            `json:"token_url,omitempty"` // answers with a Token; "": there is none

	// CopyQuery is that of Config, for whoever makes the requests. It is not secret by itself.
	CopyQuery bool `json:"copy_query,omitempty"`
}

// String hides the secret from whoever prints it.
func (StreamSecret) String() string { return "…" }

// GoString hides the secret from whoever prints it with %#v.
func (StreamSecret) GoString() string { return "…" }

// IsZero reports whether there is nothing secret.
func (s StreamSecret) IsZero() bool { return s.Query == "" && len(s.Headers) == 0 && s.TokenURL == "" }

// HeaderNames returns the names of the header fields in their order, separated by commas, as Config has them.
func (s StreamSecret) HeaderNames() string {
	return strings.Join(slices.Sorted(maps.Keys(s.Headers)), ",")
}

// SecretQueryOf returns the secret words of a URL that ParseStreamURL accepts.
func SecretQueryOf(s string) string {
	public, err := ParseStreamURL(s)
	if err != nil || SourceOf(public).SecretQuery == nil {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return SourceOf(public).SecretQuery(u)
}

var (
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$") // RFC 9110, section 5.6.2
	headerValue = regexp.MustCompile(`^[!-~\x80-\x{10ffff}]([\t -~\x80-\x{10ffff}]*[!-~\x80-\x{10ffff}])?$`)
)

// clientHeaders are what the client of a request sets itself.
var clientHeaders = []string{"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "range", "accept-encoding", "proxy-authorization"}

// SetHeaders replaces the header fields of a stream of a source. A nil value keeps the one that a field of this name has.
// It returns an InvalidConfig for each field that is wrong, without its value, and then changes nothing.
func (s *StreamSecret) SetHeaders(given map[string]*string, of Source) (refused []error) {
	const field = "config.http_headers"
	if len(given) > 0 && of.Name != "" && !of.TakesHeaders {
		return []error{FieldErrorf(field, "is given; a stream of %s takes none", of.Title)}
	}
	headers, size := map[string]string{}, 0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		key := strings.ToLower(name)
		stored, known := s.Headers[key]
		_, twice := headers[key]
		switch value := given[name]; {
		case !headerName.MatchString(name):
			refused = append(refused, FieldErrorf(field, "has the name %.40q, which no header field has", name))
		case slices.Contains(clientHeaders, key):
			refused = append(refused, FieldErrorf(field, "has %s, which every request sets itself", key))
		case twice:
			refused = append(refused, FieldErrorf(field, "has %s twice", key))
		case value == nil && !known:
			refused = append(refused, FieldErrorf(field, "has no value for %s, and none is stored: give its text", key))
		case value == nil:
			headers[key] = stored
		case !headerValue.MatchString(*value):
			refused = append(refused, FieldErrorf(field, "has a value for %s that is empty, has a line break or begins or ends with a space", key))
		default:
			headers[key] = *value
		}
		size += len(key) + len(headers[key])
	}
	if len(given) > MaxHeaders || size > MaxHeaderBytes {
		refused = append(refused, FieldErrorf(field, "has %d fields of %d bytes; accepted are %d fields of %d bytes", len(given), size, MaxHeaders, MaxHeaderBytes))
	}
	if len(refused) == 0 {
		s.Headers = headers
	}
	return refused
}

// TokenURLSet is what stands for a token URL where config is shown.
const TokenURLSet = "set"

// SetTokenURL replaces the token URL of a stream of a source. "" removes it, and TokenURLSet keeps the stored one. It returns
// an InvalidConfig for what is no such URL, without its value, and then changes nothing.
func (s *StreamSecret) SetTokenURL(given string, of Source) error {
	const field, expected = "config.token_url", "expected is an http or https URL of at most 2048 characters"
	if given == "" {
		s.TokenURL = ""
		return nil
	}
	if of.Name != "" && !of.TakesToken {
		return FieldErrorf(field, "is given; a stream of %s has no token", of.Title)
	}
	if given == TokenURLSet {
		if s.TokenURL == "" {
			return FieldErrorf(field, "is %q, which keeps the stored URL, and none is stored; %s", TokenURLSet, expected)
		}
		return nil
	}
	u, err := url.Parse(given)
	switch {
	case len(given) > MaxTokenURL:
		return FieldErrorf(field, "is too long; %s", expected)
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "", !validPort(u.Port()):
		return FieldErrorf(field, "is no such URL; %s", expected)
	case u.User != nil:
		return FieldErrorf(field, "must not carry a user name or password; %s", expected)
	case strings.Contains(given, "#"):
		return FieldErrorf(field, "must not carry a fragment; %s", expected)
	}
	s.TokenURL = given
	return nil
}

// SetCopyQuery sets CopyQuery for a stream of a source. It returns an InvalidConfig if such a stream has no query to copy.
func (s *StreamSecret) SetCopyQuery(copied bool, of Source) error {
	if copied && of.Name != "" && !of.TakesToken {
		return FieldErrorf("config.copy_query", "is given; a stream of %s has no query to copy", of.Title)
	}
	s.CopyQuery = copied
	return nil
}
