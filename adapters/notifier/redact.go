package notifier

import (
	"net/url"
	"slices"
	"strings"
)

// minSecret is the length from which a part of a secret URL counts as a secret itself.
const minSecret = 8

// redacted replaces a secret in what is kept.
const redacted = "[hidden]"

// redactor returns a function that redacts the secrets of a destination in a text. Of secrets that
// are URLs, it also redacts the parts that hold tokens: path and query.
func redactor(secrets map[string]string) func(string) string {
	var found []string
	for _, secret := range secrets {
		found = append(found, secret)
		u, err := url.Parse(secret)
		if err != nil || u.Host == "" {
			continue
		}
		parts := strings.Split(u.EscapedPath()+"/"+u.Path, "/")
		for _, values := range u.Query() {
			parts = append(parts, values...)
		}
		if password, has := u.User.Password(); has {
			parts = append(parts, password)
		}
		found = append(found, slices.DeleteFunc(parts, func(s string) bool { return len(s) < minSecret })...)
	}
	found = slices.DeleteFunc(found, func(s string) bool { return s == "" })
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) }) // the whole before its parts
	pairs := make([]string, 0, 2*len(found))
	for _, s := range slices.Compact(found) {
		pairs = append(pairs, s, redacted)
	}
	return strings.NewReplacer(pairs...).Replace
}
