package cookie

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Text is a cookie file in the form of Netscape (cookies.txt), as File.Text writes it. It prints as a placeholder.
type Text string

// String returns a placeholder.
func (Text) String() string { return "[cookies]" }

// GoString returns a placeholder.
func (Text) GoString() string { return "[cookies]" }

// Cookie is one line of a cookie file.
type Cookie struct {
	Domain  string // with a leading dot: its subdomains, too
	Path    string
	Secure  bool
	Expires int64 // Unix seconds; 0: with the session of the browser
	Name    string
	Value   string
}

// key is what two cookies of one file differ in.
func (c Cookie) key() string { return c.Domain + "\t" + c.Path + "\t" + c.Name }

// sentTo reports whether a browser would send the cookie to a host.
func (c Cookie) sentTo(host string) bool {
	domain := strings.ToLower(c.Domain)
	return host == strings.TrimPrefix(domain, ".") || strings.HasPrefix(domain, ".") && strings.HasSuffix(host, domain)
}

// File has the cookies of a cookie file, sorted by domain, path and name, each of which is there once.
type File []Cookie

// expected says what a cookie file is.
const expected = `expected is a cookie file in the form of Netscape ("cookies.txt"), as extensions of browsers export it: on each line 7 fields that are separated by tabs`

// Parse reads a cookie file. The last of several lines for one cookie holds. An error says what Parse found and what it
// expects, and quotes nothing of the file.
func Parse(text string) (File, error) {
	if start := strings.TrimLeft(text, "\ufeff \t\r\n"); strings.HasPrefix(start, "[") || strings.HasPrefix(start, "{") {
		return nil, errors.New("is JSON; " + expected)
	}
	byKey := map[string]Cookie{}
	number := 0
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		number++
		line = strings.TrimPrefix(strings.TrimRight(line, "\r"), "#HttpOnly_")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d %w; %s", number, err, expected)
		}
		byKey[c.key()] = c
	}
	if len(byKey) == 0 {
		return nil, errors.New("has no cookie; " + expected)
	}
	return sorted(byKey), nil
}

func sorted(byKey map[string]Cookie) (f File) {
	for _, c := range byKey {
		f = append(f, c)
	}
	slices.SortFunc(f, func(a, b Cookie) int { return cmp.Compare(a.key(), b.key()) })
	return f
}

// parseLine reads: domain, subdomains too, path, only by HTTPS, expiry, name, value.
func parseLine(line string) (Cookie, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 7 {
		return Cookie{}, fmt.Errorf("has %d", len(fields))
	}
	for _, field := range fields {
		if strings.ContainsFunc(field, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return Cookie{}, errors.New("has control characters")
		}
	}
	for _, flag := range []int{1, 3} {
		if !strings.EqualFold(fields[flag], "TRUE") && !strings.EqualFold(fields[flag], "FALSE") {
			return Cookie{}, fmt.Errorf("has no TRUE or FALSE as field %d", flag+1)
		}
	}
	c := Cookie{Domain: fields[0], Path: fields[2], Secure: strings.EqualFold(fields[3], "TRUE"), Name: fields[5], Value: fields[6]}
	if strings.Trim(c.Domain, ".") == "" || !strings.HasPrefix(c.Path, "/") || c.Name == "" {
		return Cookie{}, errors.New("has no domain, no path that begins with a slash, or no name")
	}
	if strings.EqualFold(fields[1], "TRUE") && !strings.HasPrefix(c.Domain, ".") {
		c.Domain = "." + c.Domain
	}
	expires, err := strconv.ParseFloat(cmp.Or(fields[4], "0"), 64)
	if err != nil || !(expires >= 0 && expires <= math.MaxInt32<<10) {
		return Cookie{}, errors.New("has no Unix time in seconds as field 5")
	}
	c.Expires = int64(expires)
	return c, nil
}

// Keep returns the cookies that a browser would send to one of these hosts, which are in lower case.
func (f File) Keep(hosts []string) (kept File) {
	for _, c := range f {
		if slices.ContainsFunc(hosts, c.sentTo) {
			kept = append(kept, c)
		}
	}
	return kept
}

// Text writes the file, with the first line that tools ask for.
func (f File) Text() Text {
	var b strings.Builder
	b.WriteString("# Netscape HTTP Cookie File\n")
	flag := func(is bool) string { return strings.ToUpper(strconv.FormatBool(is)) }
	for _, c := range f {
		b.WriteString(strings.Join([]string{
			c.Domain, flag(strings.HasPrefix(c.Domain, ".")), c.Path, flag(c.Secure), strconv.FormatInt(c.Expires, 10), c.Name, c.Value,
		}, "\t") + "\n")
	}
	return Text(b.String())
}

// value returns the value of the cookie with a name that has not expired at a time; empty: there is none.
func (f File) value(name string, at time.Time) string {
	for _, c := range f {
		if c.Name == name && (c.Expires == 0 || c.Expires > at.Unix()) {
			return c.Value
		}
	}
	return ""
}
