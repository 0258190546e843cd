package cookie

import (
	"slices"
	"time"
)

// MaxName is the length of the longest name of a jar, in characters.
const MaxName = 60

// Jar is a version of a named cookie file, as a worker gets it. Its JSON is that of the internal API.
type Jar struct {
	Name    string `json:"name"`
	Version int    `json:"version"`        // counts the contents, from 1; 0: the gateway has no such jar, or cannot decrypt it
	Text    Text   `json:"text,omitempty"` // empty if Version is 0
}

// Use says what a run that got a version of a jar has learned of it. Its JSON is that of the internal API.
type Use struct {
	Jar // with the file that the run has left; without Text: it is as it was

	Accepted bool `json:"accepted,omitempty"` // the source has answered, and refused no login
	Rejected bool `json:"rejected,omitempty"` // the source no longer accepts the login
}

// Site says whose cookies a source needs.
type Site struct {
	Hosts []string   // in lower case
	Login [][]string // names of the cookies of a login: one of each list; empty: the source knows no login
}

// SignedIn reports whether a file has the cookies of a login that have not expired at a time.
func (s Site) SignedIn(f File, at time.Time) bool {
	f = f.Keep(s.Hosts)
	for _, names := range s.Login {
		if !slices.ContainsFunc(names, func(name string) bool { return f.value(name, at) != "" }) {
			return false
		}
	}
	return len(s.Login) > 0
}

// Renew returns the jar after a use. hosts are those whose cookies are kept. Only a file that still has a login renews a
// jar: a source that rejects a login deletes its cookies. If the jar has been renewed meanwhile, the newest login wins:
// of two files of one login the cookies are kept that expire later, because they were given later; a file of another
// login than that of the jar, which somebody has uploaded, is dropped.
func (s Site) Renew(jar Jar, u Use, hosts []string, at time.Time) Jar {
	if u.Rejected || u.Text == "" || jar.Version == 0 {
		return jar
	}
	left, err := Parse(string(u.Text))
	if err != nil {
		return jar
	}
	left = left.Keep(hosts)
	if !s.SignedIn(left, at) {
		return jar
	}
	if u.Version != jar.Version {
		stored, err := Parse(string(jar.Text))
		if err != nil || !s.sameLogin(stored, left, at) {
			return jar
		}
		left = merge(stored, left)
	}
	if text := left.Text(); text != jar.Text {
		jar.Text, jar.Version = text, jar.Version+1
	}
	return jar
}

// sameLogin reports whether two files have the same cookies of a login.
func (s Site) sameLogin(a, b File, at time.Time) bool {
	for _, names := range s.Login {
		for _, name := range names {
			if a.value(name, at) != b.value(name, at) {
				return false
			}
		}
	}
	return true
}

// merge returns the cookies of two files; of those that both have, the one that expires later.
func merge(a, b File) File {
	byKey := map[string]Cookie{}
	for _, c := range slices.Concat(a, b) {
		if other, is := byKey[c.key()]; !is || c.Expires > other.Expires {
			byKey[c.key()] = c
		}
	}
	return sorted(byKey)
}

// Left returns what a run has left of the jar; empty: the same cookies, or no cookie file.
func (j Jar) Left(file string) Text {
	if f, err := Parse(file); err == nil && f.Text() != j.Text {
		return f.Text()
	}
	return ""
}
