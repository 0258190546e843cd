package outbound

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the length from which a part of a secret URL counts as a secret itself.
const minSecret = 8

// redacted replaces a secret in what is kept.
const redacted = "[hidden]"

// Redactor returns a function that replaces secrets in a text. Of secrets that are URLs, it also
// replaces the parts that hold tokens: user, password, path and query.
func Redactor(secrets ...string) func(string) string {
	found := slices.Clone(secrets)
	for _, secret := range secrets {
		if u, err := url.Parse(secret); err == nil && u.Host != "" {
			found = append(found, slices.DeleteFunc(secretParts(u), func(s string) bool { return len(s) < minSecret })...)
		}
	}
	found = slices.DeleteFunc(found, func(s string) bool { return s == "" })
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) }) // the whole before its parts
	pairs := make([]string, 0, 2*len(found))
	for _, s := range slices.Compact(found) {
		pairs = append(pairs, s, redacted)
	}
	return strings.NewReplacer(pairs...).Replace
}

// secretParts returns the parts of a URL that may be secrets, as they are written and as a
// receiver understands them.
func secretParts(u *url.URL) []string {
	parts := strings.Split(u.EscapedPath()+"/"+u.Path, "/")
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		parts = append(parts, pair, value)
	}
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		parts = append(parts, u.User.Username(), password,
			base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))) // the header Authorization
	}
	return parts
}
