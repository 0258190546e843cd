package watch

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// RequestHeader is what the requests for the media of a manifest have to carry beside their URL, as the resolver
// says. It may be secret: it is in no log, report of an event, or recording. A nil RequestHeader carries nothing.
//
//   - User-Agent goes with every request.
//   - Cookies go to the hosts of their domain and path (RFC 6265, section 5.4).
//   - All other fields go to Origins alone, and not after a redirect to another origin.
type RequestHeader struct {
	Fields  map[string]string `json:"fields,omitempty"` // by their names in lower case
	Cookies []Cookie          `json:"cookies,omitempty"`
	Origins []string          `json:"origins,omitempty"` // scheme and host of the URLs that the resolver gave
}

// Cookie is one cookie. Its expiry is left to the server.
type Cookie struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Domain string `json:"domain"` // with a leading dot: also of its subdomains
	Path   string `json:"path,omitempty"`
	Secure bool   `json:"secure,omitempty"`
}

// Limits of a RequestHeader. Fields and cookies beyond them are left out.
const (
	MaxHeaderBytes = 16 << 10 // of all names and values
	maxOrigins     = 16
)

// userAgent is the one field that every server gets.
const userAgent = "user-agent"

// NewRequestHeader returns a RequestHeader for the requests of these URLs, with the fields that matter; nil: there
// is nothing to carry.
func NewRequestHeader(fields map[string]string, cookies []Cookie, urls []string) *RequestHeader {
	h, left := &RequestHeader{Fields: map[string]string{}}, MaxHeaderBytes
	fits := func(texts ...string) bool {
		size := 0
		for _, text := range texts {
			size += len(text)
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return false
			}
		}
		if size > left {
			return false
		}
		left -= size
		return true
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if lower := strings.ToLower(name); matters(lower) && fields[name] != "" && fits(lower, fields[name]) {
			h.Fields[lower] = fields[name]
		}
	}
	for _, c := range cookies {
		if c.Name != "" && c.Domain != "" && !strings.ContainsAny(c.Name+c.Value, ";") && fits(c.Name, c.Value, c.Domain, c.Path) {
			h.Cookies = append(h.Cookies, c)
		}
	}
	if len(h.Fields) == 0 && len(h.Cookies) == 0 {
		return nil
	}
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err == nil && raw != "" && len(h.Origins) < maxOrigins && !slices.Contains(h.Origins, OriginOf(u)) {
			h.Origins = append(h.Origins, OriginOf(u))
		}
	}
	return h
}

// OwnRequestHeader returns a RequestHeader with all fields that the owner of a stream gives for the requests of its URL,
// by their names in lower case; nil: there are none.
func OwnRequestHeader(fields map[string]string, stream string) *RequestHeader {
	u, err := url.Parse(stream)
	if err != nil || len(fields) == 0 {
		return nil
	}
	return &RequestHeader{Fields: fields, Origins: []string{OriginOf(u)}}
}

// matters reports whether a server may judge a request by a field. The others say what a client can read.
func matters(name string) bool {
	switch name {
	case userAgent, "referer", "origin", "cookie", "authorization":
		return true
	}
	return strings.HasPrefix(name, "x-")
}

// For returns the fields of a request to u, by their names in lower case. before are the URLs that led to it by
// redirects.
func (h *RequestHeader) For(u *url.URL, before ...*url.URL) map[string]string {
	if h == nil {
		return nil
	}
	fields := map[string]string{}
	own := slices.Contains(h.Origins, OriginOf(u))
	for _, b := range before {
		own = own && OriginOf(b) == OriginOf(u)
	}
	for name, value := range h.Fields {
		if own || name == userAgent {
			fields[name] = value
		}
	}
	for _, c := range h.Cookies {
		if !c.matches(u) {
			continue
		}
		if fields["cookie"] != "" {
			fields["cookie"] += "; "
		}
		fields["cookie"] += c.Name + "=" + c.Value
	}
	return fields
}

// Names returns the names of all fields that For may return.
func (h *RequestHeader) Names() []string {
	if h == nil {
		return nil
	}
	return append(slices.Collect(maps.Keys(h.Fields)), "cookie")
}

// String hides the values from whoever prints them.
func (h *RequestHeader) String() string { return "…" }

// matches reports whether a request to u carries the cookie.
func (c Cookie) matches(u *url.URL) bool {
	host, domain := strings.ToLower(u.Hostname()), strings.ToLower(c.Domain)
	parent, subdomains := strings.CutPrefix(domain, ".")
	ofHost := host == parent || subdomains && strings.HasSuffix(host, domain)
	path := cmp.Or(u.Path, "/")
	ofPath := c.Path == "" || path == c.Path || strings.HasPrefix(path, strings.TrimSuffix(c.Path, "/")+"/")
	return ofHost && ofPath && (!c.Secure || u.Scheme == "https")
}

// OriginOf returns scheme, host and port of a URL (RFC 6454).
func OriginOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
